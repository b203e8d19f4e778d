import { json } from './json.ts'
import type { Encoding, Limits } from './messages.ts'
import { msgpack } from './msgpack.ts'

/**
 * One way of writing values as bytes. Values are plain data: null, booleans, numbers, strings, arrays, and
 * objects with string keys; msgpack also has bytes, and integers beyond 2^53 as `bigint`.
 */
export interface Codec {
  readonly encoding: Encoding
  /**
   * A whole frame: the length field and the body in one buffer. Throws `MESSAGE_INVALID` for what is not plain
   * data, and `LIMIT_EXCEEDED` for what the other end would refuse by depth or count. Its size is not checked.
   */
  frame(value: unknown, limits: DataLimits): Buffer
  /**
   * The value that a body holds. Its limits are checked by one pass over the bytes, before anything is built.
   * Throws `FRAME_MALFORMED` or `LIMIT_EXCEEDED`, and nothing else.
   */
  decode(body: Buffer, limits: DataLimits): unknown
}

/** How deep values may nest, and how many elements and entries they may have in all. */
export type DataLimits = Pick<Limits, 'depth' | 'items'>

const codecs: Readonly<Record<Encoding, Codec>> = { json, msgpack }

export function codecOf(encoding: Encoding): Codec {
  return codecs[encoding]
}
