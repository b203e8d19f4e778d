import { WireError } from '../errors.ts'

/**
 * The messages of the framed link, as `docs/wire.md#messages` lists them. Both ends send and receive all of
 * them: whoever asks is the caller of that call, and numbers it; whoever serves it answers under that number.
 */
export type Message =
  /** Caller to server: run `method`. `id` counts up from 1, per sender, and calls arrive in that order. */
  | { readonly type: 'call'; readonly id: number; readonly method: string; readonly params: unknown }
  /** Server to caller: the one answer. Exactly one of `return` and `fail` follows each call. */
  | { readonly type: 'return'; readonly id: number; readonly result: unknown }
  | { readonly type: 'fail'; readonly id: number; readonly error: Failure }
  /** Server to caller, before the answer: news of the call. Its encoded size is taken from the call's credit. */
  | { readonly type: 'event'; readonly id: number; readonly event: unknown }
  /** Caller to server: stop this call if it still runs. It is answered all the same. Late ones are ignored. */
  | { readonly type: 'cancel'; readonly id: number }
  /** Caller to server: so many more bytes of events may be sent for this call. */
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }
  /** Either way, unanswered. */
  | { readonly type: 'note'; readonly name: string; readonly params: unknown }
  | { readonly type: 'ping'; readonly n: number }
  | { readonly type: 'pong'; readonly n: number }
  /** A piece of a message too large for one frame; `stream` is the sender's number for that message. */
  | {
      readonly type: 'chunk'
      readonly stream: number
      readonly last: boolean
      readonly data: string | Uint8Array
    }
  /** The sender closes the link, and says why. */
  | { readonly type: 'bye'; readonly code: string; readonly message: string }

export interface Failure {
  /** One of `FAILURES`, or another end's own word. */
  readonly code: string
  readonly message: string
  readonly data?: unknown
}

/** Faults that a server answers a call with. What a caller can act on is a result, not one of these. */
export const FAILURES = {
  unknown_method: 'The server has no such method.',
  invalid_params: 'The parameters do not have the form that the method takes.',
  cancelled: 'The call was cancelled before it had an effect.',
  busy: 'Too many calls wait already; nothing was run.',
  unknown_call: 'The server remembers no call of that name in this epoch.',
  fault: 'The server failed while serving the call; the message says where.',
} as const

/** The version of `docs/wire.md` that this code speaks. */
export const PROTOCOL = 1

export type Encoding = 'json' | 'msgpack'

/** Defaults of `docs/wire.md#limits`. Bytes, milliseconds, or counts. */
export const LIMITS = {
  /** One frame, once the handshake is over. */
  frameBytes: 8 * 1024 * 1024,
  /** One frame before the other end has proved itself. */
  handshakeFrameBytes: 4 * 1024,
  handshakeMs: 5_000,
  /** A hello: it may carry an environment. */
  helloFrameBytes: 256 * 1024,
  /** A message larger than this is sent in chunks of this size. */
  chunkBytes: 256 * 1024,
  /** A message put together from chunks. */
  messageBytes: 64 * 1024 * 1024,
  depth: 64,
  items: 100_000,
  /** Events of one call that may be under way without further credit. */
  creditBytes: 1024 * 1024,
  /** Bytes queued for a slow reader: above `high` events are held back, above `cut` the link is closed. */
  sendHighBytes: 1024 * 1024,
  sendCutBytes: 80 * 1024 * 1024,
  /** Calls of one sender that may be pending on one link. */
  pendingCalls: 1_024,
} as const

export type Limits = { readonly [Name in keyof typeof LIMITS]: number }

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

/**
 * Reads a decoded frame as a message. The value itself is the message: fields that are not in the list are left
 * in place and mean nothing, and `params`, `result` and `event` may be absent. Throws `MESSAGE_INVALID`.
 */
export function parseMessage(value: unknown): Message {
  if (!isRecord(value)) throw invalid('is not a map', undefined)
  const fault = faultIn(value)
  if (fault !== undefined) throw invalid(fault, value.type)
  return value as unknown as Message
}

/** What is wrong with a message, or undefined. */
function faultIn(message: Fields): string | undefined {
  switch (message.type) {
    case 'call':
      return typeof message.method === 'string' ? faultInNumber(message, 'id') : 'has no method'
    case 'return':
    case 'event':
    case 'cancel':
      return faultInNumber(message, 'id')
    case 'fail':
      return isFailure(message.error)
        ? faultInNumber(message, 'id')
        : 'has no error with a code and a message'
    case 'credit':
      return faultInNumber(message, 'bytes') ?? faultInNumber(message, 'id')
    case 'note':
      return typeof message.name === 'string' ? undefined : 'has no name'
    case 'ping':
    case 'pong':
      return faultInNumber(message, 'n')
    case 'chunk':
      if (typeof message.last !== 'boolean') return 'does not say whether it is the last'
      if (typeof message.data !== 'string' && !(message.data instanceof Uint8Array)) return 'has no data'
      return faultInNumber(message, 'stream')
    case 'bye':
      return typeof message.code === 'string' && typeof message.message === 'string'
        ? undefined
        : 'has no code'
    default:
      return 'is of no known type'
  }
}

type Fields = { readonly [name: string]: unknown }

export function isRecord(value: unknown): value is Fields {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  )
}

function faultInNumber(message: Fields, name: string): string | undefined {
  const value = message[name]
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value > 0
  return isCount ? undefined : `has no ${name} that counts from 1`
}

const isFailure = (value: unknown) =>
  isRecord(value) && typeof value.code === 'string' && typeof value.message === 'string'

function invalid(fault: string, type: unknown): WireError {
  const what = typeof type === 'string' && /^[a-z]{1,12}$/.test(type) ? `A message \`${type}\`` : 'A message'
  return new WireError('MESSAGE_INVALID', `${what} ${fault}.`)
}

type Chunk = Extract<Message, { type: 'chunk' }>

/** How many messages in pieces may be under way at once, each way. */
export const STREAMS = 16

/** The pieces of one encoded message, made one at a time as the transport takes them. docs/wire.md#chunks */
export interface Splitter {
  /** The next piece. Not to be called once `done`. */
  next(): Chunk
  readonly done: boolean
  /** Bytes of the message that are not yet in a piece. */
  readonly bytes: number
}

/** Cuts `body` into pieces of at most `chunkBytes`, or a few more where a character would be cut. */
export function splitter(o: {
  body: Buffer
  encoding: Encoding
  stream: number
  chunkBytes: number
}): Splitter {
  const { body, encoding, stream, chunkBytes } = o
  let at = 0
  return {
    next() {
      const from = at
      at = Math.min(from + chunkBytes, body.length)
      if (encoding === 'json') while (at < body.length && isContinuation(body[at])) at++
      const data = encoding === 'json' ? body.toString('utf8', from, at) : body.subarray(from, at)
      return { type: 'chunk', stream, last: at === body.length, data }
    },
    get done() {
      return at === body.length
    },
    get bytes() {
      return body.length - at
    },
  }
}

/** The second to fourth bytes of a UTF-8 character. */
const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** Puts messages together from pieces, several at once. Together they never hold more than `messageBytes`. */
export interface Assembler {
  /**
   * The encoded message that this piece completes, or undefined. Throws `MESSAGE_TOO_LARGE` beyond the limit,
   * `MESSAGE_INVALID` for a piece that is empty or of the other encoding, `PROTOCOL_BROKEN` for too many at once.
   */
  add(chunk: Chunk): Buffer | undefined
  /** Bytes that are held for messages that have not ended. */
  readonly bytes: number
}

export function assembler(o: { encoding: Encoding; messageBytes: number }): Assembler {
  return new Assembling(o)
}

class Assembling implements Assembler {
  bytes = 0
  readonly #encoding: Encoding
  readonly #messageBytes: number
  readonly #streams = new Map<number, { whole: Buffer; filled: number }>()

  constructor({ encoding, messageBytes }: { encoding: Encoding; messageBytes: number }) {
    this.#encoding = encoding
    this.#messageBytes = messageBytes
  }

  add({ stream, last, data }: Chunk): Buffer | undefined {
    const size = this.#sizeOf(data)
    if (this.bytes + size > this.#messageBytes)
      throw new WireError(
        'MESSAGE_TOO_LARGE',
        `Messages in pieces hold more than ${this.#messageBytes} bytes; the limit is for all of them together.`,
      )
    const parts = this.#streams.get(stream) ?? this.#begin(stream)
    this.bytes += size
    parts.whole = withRoom(parts, size, this.#messageBytes)
    if (typeof data === 'string') parts.whole.write(data, parts.filled)
    else parts.whole.set(data, parts.filled)
    parts.filled += size
    if (!last) return undefined
    this.#streams.delete(stream)
    this.bytes -= parts.filled
    return parts.whole.subarray(0, parts.filled)
  }

  #sizeOf(data: string | Uint8Array): number {
    const isText = typeof data === 'string'
    if (isText !== (this.#encoding === 'json') || data.length === 0)
      throw new WireError(
        'MESSAGE_INVALID',
        `A piece of a message in ${this.#encoding} is empty, or of the other kind.`,
      )
    return isText ? Buffer.byteLength(data) : data.length
  }

  #begin(stream: number) {
    if (this.#streams.size >= STREAMS)
      throw new WireError('PROTOCOL_BROKEN', `More than ${STREAMS} messages came in pieces at the same time.`)
    const parts = { whole: Buffer.alloc(0), filled: 0 }
    this.#streams.set(stream, parts)
    return parts
  }
}

/** Room for `size` more bytes. Doubling keeps the whole linear, however small the pieces are. */
function withRoom(parts: { whole: Buffer; filled: number }, size: number, most: number): Buffer {
  const needed = parts.filled + size
  if (needed <= parts.whole.length) return parts.whole
  const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(needed, parts.whole.length * 2), most))
  parts.whole.copy(grown, 0, 0, parts.filled)
  return grown
}
