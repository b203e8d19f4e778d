import { WireError } from '../errors.ts'
import type { Encoding, Message } from './messages.ts'

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
