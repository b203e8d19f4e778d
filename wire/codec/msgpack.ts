import { createRequire } from 'node:module'
import type { Options, Packr } from 'msgpackr'
import { WireError } from '../errors.ts'
import { type Codec, type DataLimits, HEADER_BYTES, tooDeep, tooMany } from './messages.ts'

/** Options that msgpackr 2 has and its types have not. */
interface AllOptions extends Omit<Options, 'int64AsType'> {
  int64AsType: 'auto'
  skipValues: readonly unknown[]
}

const options: AllOptions = {
  useRecords: false,
  useToJSON: false,
  variableMapSize: true,
  // As JSON does: an absent field is absent, not null.
  skipValues: [undefined],
  encodeUndefinedAsNil: true,
  int64AsType: 'auto',
}

let loaded: { readonly packr: Packr; readonly reserve: number } | undefined

/** Loaded when a link first speaks it: no command does, and the native part of msgpackr is slow to load. */
function load() {
  const require = createRequire(import.meta.filename)
  const { Packr, RESERVE_START_SPACE } = require('msgpackr') as typeof import('msgpackr')
  return { packr: new Packr(options as unknown as Options), reserve: RESERVE_START_SPACE }
}

function msgpackr() {
  loaded ??= load()
  return loaded
}

/** The buffer that msgpackr writes into, and the size above which it is not kept. */
const SLAB_BYTES = 8 * 1024

const KEPT_BYTES = 64 * 1024

/** MessagePack without extension types, with strings as the only keys. docs/wire.md#msgpack */
export const msgpack: Codec = {
  encoding: 'msgpack',

  frame(value, limits) {
    const frame = checked(packed(value), limits)
    return hasSurrogates(frame) ? checked(packed(wellFormed(value)), limits) : frame
  },

  decode(body, limits) {
    check(body, 0, limits)
    const { packr } = msgpackr()
    try {
      return packr.unpack(body)
    } catch (cause) {
      throw malformed('cannot be read', cause)
    }
  },
}

/** Room for the length field, then the body. */
function packed(value: unknown): Buffer {
  const { packr, reserve } = msgpackr()
  try {
    const frame = packr.pack(value, reserve | HEADER_BYTES)
    // One large message would otherwise hold its memory for as long as the process lives.
    if (frame.buffer.byteLength > KEPT_BYTES) packr.useBuffer(Buffer.allocUnsafeSlow(SLAB_BYTES))
    return frame
  } catch (cause) {
    packr.useBuffer(Buffer.allocUnsafeSlow(SLAB_BYTES))
    throw new WireError('MESSAGE_INVALID', 'A value cannot be written as msgpack; it was not sent.', {
      cause,
    })
  }
}

/** The frame, with its length, if the other end would take it. */
function checked(frame: Buffer, limits: DataLimits): Buffer {
  frame.writeUInt32BE(frame.length - HEADER_BYTES, 0)
  try {
    check(frame, HEADER_BYTES, limits)
  } catch (error) {
    if (error instanceof WireError && error.code === 'LIMIT_EXCEEDED') throw error
    throw new WireError('MESSAGE_INVALID', 'A value is not plain data; it was not sent.', { cause: error })
  }
  return frame
}

/** Whether bytes occur that msgpackr writes for a lone surrogate, which is no UTF-8. Numbers may look alike. */
function hasSurrogates(frame: Buffer): boolean {
  for (let at = frame.indexOf(0xed); at >= 0; at = frame.indexOf(0xed, at + 1))
    if ((frame[at + 1] ?? 0) >= 0xa0) return true
  return false
}

/** A copy with U+FFFD in place of lone surrogates. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value).toString()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [wellFormed(key), wellFormed(one)]))
}

/** What is still to come of each container that is open: elements, or keys and values. Reused between calls. */
const left: number[] = []

const isMap: boolean[] = []

/** Walks over one whole value without building it. Throws `FRAME_MALFORMED` or `LIMIT_EXCEEDED`. */
function check(bytes: Buffer, from: number, limits: DataLimits) {
  let at = from
  let depth = 0
  let items = 0
  left[0] = 1
  isMap[0] = false
  for (;;) {
    while (depth > 0 && left[depth] === 0) depth--
    const rest = left[depth] ?? 0
    if (rest === 0) break
    left[depth] = rest - 1
    const token = bytes[at++]
    if (token === undefined) throw malformed('ends too early')
    const kind = KINDS[token] ?? 0
    const width = kind >> 3
    const wantsKey = isMap[depth] === true && rest % 2 === 0
    if (wantsKey && (kind & 7) !== STRING) throw malformed('has a key that is not a string')
    switch (kind & 7) {
      case PLAIN:
        at += width
        break
      case STRING:
      case BYTES:
        at += width === 0 ? token & 0x1f : width + lengthAt(bytes, at, width)
        break
      case ARRAY:
      case MAP: {
        const count = width === 0 ? token & 0x0f : lengthAt(bytes, at, width)
        at += width
        items += count
        if (items > limits.items) throw tooMany(limits)
        if (++depth > limits.depth) throw tooDeep(limits)
        isMap[depth] = (kind & 7) === MAP
        left[depth] = isMap[depth] ? count * 2 : count
        break
      }
      default:
        throw malformed(`has a type that is not allowed here (0x${token.toString(16)})`)
    }
  }
  if (at !== bytes.length) throw malformed(at > bytes.length ? 'ends too early' : 'goes on after its value')
}

function lengthAt(bytes: Buffer, at: number, width: number): number {
  if (at + width > bytes.length) throw malformed('ends too early')
  return bytes.readUIntBE(at, width)
}

function malformed(how: string, cause?: unknown): WireError {
  return new WireError('FRAME_MALFORMED', `The body of a frame of msgpack ${how}.`, { cause })
}

/** What each first byte announces, as `kind | width << 3`: the width in bytes of the number, or length, after it. */
const REFUSED = 0

const PLAIN = 1

const STRING = 2

const BYTES = 3

const ARRAY = 4

const MAP = 5

/** First bytes from 0xc0 to 0xdf that are allowed. Those left out are extension types, and 0xc1. */
const WIDE: ReadonlyMap<number, readonly [kind: number, width: number]> = new Map([
  // nil, false, true
  [0xc0, [PLAIN, 0]],
  [0xc2, [PLAIN, 0]],
  [0xc3, [PLAIN, 0]],
  // bin 8, 16, 32
  [0xc4, [BYTES, 1]],
  [0xc5, [BYTES, 2]],
  [0xc6, [BYTES, 4]],
  // float 32, 64
  [0xca, [PLAIN, 4]],
  [0xcb, [PLAIN, 8]],
  // uint 8, 16, 32, 64, then int
  [0xcc, [PLAIN, 1]],
  [0xcd, [PLAIN, 2]],
  [0xce, [PLAIN, 4]],
  [0xcf, [PLAIN, 8]],
  [0xd0, [PLAIN, 1]],
  [0xd1, [PLAIN, 2]],
  [0xd2, [PLAIN, 4]],
  [0xd3, [PLAIN, 8]],
  // str 8, 16, 32
  [0xd9, [STRING, 1]],
  [0xda, [STRING, 2]],
  [0xdb, [STRING, 4]],
  // array 16, 32, then map
  [0xdc, [ARRAY, 2]],
  [0xdd, [ARRAY, 4]],
  [0xde, [MAP, 2]],
  [0xdf, [MAP, 4]],
])

const KINDS = Uint8Array.from({ length: 256 }, (_, token) => {
  if (token < 0x80 || token >= 0xe0) return PLAIN
  if (token < 0x90) return MAP
  if (token < 0xa0) return ARRAY
  if (token < 0xc0) return STRING
  const [kind, width] = WIDE.get(token) ?? [REFUSED, 0]
  return kind | (width << 3)
})
