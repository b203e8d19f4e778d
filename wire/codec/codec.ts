import { type Codec, type Encoding, json } from './messages.ts'
import { msgpack } from './msgpack.ts'

const codecs: Readonly<Record<Encoding, Codec>> = { json, msgpack }

export function codecOf(encoding: Encoding): Codec {
  return codecs[encoding]
}
