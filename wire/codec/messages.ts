import { isUtf8 } from 'node:buffer'
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

/** The version of `docs/wire.md` that this code speaks with kernels. */
export const PROTOCOL = 1

/** That of `docs/editor-protocol.md`, which clients and the daemon speak. */
export const CLIENT_PROTOCOL = 2

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
export class Assembler {
  bytes = 0
  readonly #encoding: Encoding
  readonly #messageBytes: number
  readonly #streams = new Map<number, { whole: Buffer; filled: number }>()

  constructor({ encoding, messageBytes }: { encoding: Encoding; messageBytes: number }) {
    this.#encoding = encoding
    this.#messageBytes = messageBytes
  }

  /**
   * The encoded message that this piece completes, or undefined. Throws `MESSAGE_TOO_LARGE` beyond the limit,
   * `MESSAGE_INVALID` for a piece that is empty or of the other encoding, `PROTOCOL_BROKEN` for too many at once.
   */
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

/** Bytes of a frame's length field: unsigned, big-endian, counting the body alone. docs/wire.md#frames */
export const HEADER_BYTES = 4

/** Cuts a stream of bytes into the bodies of frames, however the stream was sliced. Knows no socket. */
export class FrameDecoder {
  /** The limit of the next frames, in bytes of body. */
  limit: number
  readonly #take: (body: Buffer) => void
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerBytes = 0
  #body: Buffer | undefined
  #filled = 0

  constructor({ limit, take }: { limit: number; take(body: Buffer): void }) {
    this.limit = limit
    this.#take = take
  }

  /** Whether a frame has begun that has not ended. */
  get midFrame() {
    return this.#body !== undefined || this.#headerBytes > 0
  }

  /**
   * Hands every body that these bytes complete to `take`, in order, before it returns. A body that lies within
   * one push is a view of those bytes; one that spans several is copied once. Throws `FRAME_TOO_LARGE` or
   * `FRAME_MALFORMED` as soon as a length field says so, and what `take` throws; it is of no use after either.
   */
  push(bytes: Uint8Array) {
    const chunk = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    while (at < chunk.length) {
      if (this.#body !== undefined) at = this.#fill(this.#body, chunk, at)
      else if (this.#headerBytes === 0 && chunk.length - at >= HEADER_BYTES)
        at = this.#begin(checkedLength(chunk.readUInt32BE(at), this.limit), chunk, at + HEADER_BYTES)
      else at = this.#beginSlowly(chunk, at)
    }
  }

  /** One byte of a length field that was cut in two. */
  #beginSlowly(chunk: Buffer, at: number): number {
    this.#header[this.#headerBytes++] = chunk[at] ?? 0
    if (this.#headerBytes < HEADER_BYTES) return at + 1
    this.#headerBytes = 0
    return this.#begin(checkedLength(this.#header.readUInt32BE(0), this.limit), chunk, at + 1)
  }

  #begin(length: number, chunk: Buffer, at: number): number {
    if (length <= chunk.length - at) {
      this.#take(chunk.subarray(at, at + length))
      return at + length
    }
    this.#body = Buffer.allocUnsafe(length)
    this.#filled = 0
    return at
  }

  #fill(body: Buffer, chunk: Buffer, at: number): number {
    const copied = chunk.copy(body, this.#filled, at, at + body.length - this.#filled)
    this.#filled += copied
    if (this.#filled === body.length) {
      this.#body = undefined
      this.#take(body)
    }
    return at + copied
  }
}

/** The length itself, or the error that it is. */
export function checkedLength(length: number, limit: number): number {
  if (length === 0)
    throw new WireError('FRAME_MALFORMED', 'A frame of no bytes came; every frame has a body.')
  if (length > limit)
    throw new WireError(
      'FRAME_TOO_LARGE',
      `A frame of ${length} bytes was announced; the limit here is ${limit}.`,
    )
  return length
}

const QUOTE = 0x22

const COMMA = 0x2c

const BACKSLASH = 0x5c

const OPEN_ARRAY = 0x5b

const CLOSE_ARRAY = 0x5d

const OPEN_OBJECT = 0x7b

const CLOSE_OBJECT = 0x7d

/** JSON in UTF-8. docs/wire.md#json */
export const json: Codec = {
  encoding: 'json',

  frame(value, limits) {
    const text = textOf(value)
    const size = Buffer.byteLength(text)
    const frame = Buffer.allocUnsafe(HEADER_BYTES + size)
    frame.writeUInt32BE(size, 0)
    frame.write(text, HEADER_BYTES)
    checkLimits(frame, HEADER_BYTES, limits)
    return frame
  },

  decode(body, limits) {
    if (!isUtf8(body)) throw new WireError('FRAME_MALFORMED', 'A frame of JSON is not valid UTF-8.')
    checkLimits(body, 0, limits)
    const text = body.toString('utf8')
    try {
      return mentionsPrototype(text) ? JSON.parse(text, withoutPrototype) : JSON.parse(text)
    } catch (cause) {
      throw new WireError('FRAME_MALFORMED', 'The body of a frame is not JSON.', { cause })
    }
  },
}

function textOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new WireError('MESSAGE_INVALID', 'A value cannot be written as JSON; it was not sent.', { cause })
  }
  if (text === undefined)
    throw new WireError('MESSAGE_INVALID', `A ${typeof value} cannot be written as JSON; it was not sent.`)
  return text
}

/** An own `__proto__` turns into a prototype when an object is copied carelessly, so it is left out. */
const withoutPrototype = (key: string, value: unknown) => (key === '__proto__' ? undefined : value)

const mentionsPrototype = (text: string) => text.includes('__proto__') || text.includes('\\u005')

/** Counts what opens and what follows, without believing that the text is JSON. */
function checkLimits(bytes: Buffer, from: number, limits: DataLimits) {
  let depth = 0
  let items = 0
  let justOpened = false
  for (let at = from; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = closingQuote(bytes, at + 1)
        justOpened = false
        break
      case COMMA:
        items++
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > limits.depth) throw tooDeep(limits)
        items++
        justOpened = true
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        // What opened and closed at once was counted as if it had held something.
        if (justOpened) items--
        justOpened = false
        break
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        break
      default:
        justOpened = false
    }
  }
  if (items > limits.items) throw tooMany(limits)
}

/** Steps of the plain loop between two native searches, so that a text full of quotes stays cheap. */
const STRIDE = 64

/** Where the string that begins at `from` ends, or the end of the bytes. */
function closingQuote(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length) {
    for (const stop = Math.min(at + STRIDE, bytes.length); at < stop; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) return at
      if (byte === BACKSLASH) at++
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) return bytes.length
    let escapes = quote
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--
    if ((quote - escapes) % 2 === 0) return quote
    at = quote + 1
  }
  return at
}

export function tooDeep(limits: DataLimits): WireError {
  return new WireError('LIMIT_EXCEEDED', `A message nests deeper than ${limits.depth} levels.`)
}

export function tooMany(limits: DataLimits): WireError {
  return new WireError('LIMIT_EXCEEDED', `A message holds more than ${limits.items} items.`)
}
