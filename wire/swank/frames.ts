import { isUtf8 } from 'node:buffer'
import { WireError } from '../errors.ts'

/** Bytes of a message at most: its length is six hexadecimal digits. */
export const MOST_BYTES = 0xff_ff_ff

const HEADER_BYTES = 6

/**
 * One message as Swank frames it: six hexadecimal digits, the length of the UTF-8 text in bytes, and the text. Half
 * of a surrogate pair, which UTF-8 cannot carry, becomes U+FFFD. Throws `MESSAGE_TOO_LARGE`.
 */
export function frame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  if (length > MOST_BYTES)
    throw new WireError('MESSAGE_TOO_LARGE', `A message of ${length} bytes is more than Swank can frame.`)
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length)
  bytes.write(length.toString(16).padStart(HEADER_BYTES, '0'), 0, 'latin1')
  bytes.write(text, HEADER_BYTES, 'utf8')
  return bytes
}

/**
 * Takes bytes as they come, in pieces of any size, and gives the bodies of whole messages: UTF-8, each to be read
 * before the next is asked for. Every byte is copied once at most. Throws `FRAME_MALFORMED` for what is no length or
 * no UTF-8, and `FRAME_TOO_LARGE`; after that nothing more can be read.
 */
export class Frames {
  /** Bytes that a message may have, from the next one on. */
  limit: number
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerBytes = 0
  #body: Buffer | undefined
  #filled = 0

  constructor({ limit = MOST_BYTES }: { readonly limit?: number } = {}) {
    this.limit = limit
  }

  /** Whether an end of the stream would cut a message. */
  get midFrame(): boolean {
    return this.#headerBytes > 0
  }

  *add(chunk: Buffer): Generator<Buffer> {
    let at = 0
    while (at < chunk.length) {
      if (this.#headerBytes < HEADER_BYTES) at = this.#begin(chunk, at)
      const body = this.#body
      if (body === undefined) continue
      const whole = this.#filled === 0 && chunk.length - at >= body.length
      const read = whole ? chunk.subarray(at, at + body.length) : body
      const copied = whole ? body.length : chunk.copy(body, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < body.length) return
      this.#body = undefined
      this.#headerBytes = 0
      if (!isUtf8(read))
        throw new WireError(
          'FRAME_MALFORMED',
          `A message of ${read.length} bytes is no UTF-8; what speaks there is not a Swank of today.`,
        )
      yield read
    }
  }

  /** Takes what there is of a length, and makes room for the message once all of it is there. */
  #begin(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerBytes, at)
    this.#headerBytes += copied
    const digits = this.#header.toString('latin1', 0, this.#headerBytes)
    if (!/^[0-9a-f]+$/i.test(digits)) throw notSwank(digits)
    if (this.#headerBytes < HEADER_BYTES) return at + copied
    this.#body = this.#room(Number.parseInt(digits, 16))
    this.#filled = 0
    return at + copied
  }

  #room(length: number): Buffer {
    if (length === 0)
      throw new WireError('FRAME_MALFORMED', 'A message of no bytes came; what speaks there is not Swank.')
    if (length > this.limit)
      throw new WireError(
        'FRAME_TOO_LARGE',
        `A message of ${length} bytes was announced; the limit here is ${this.limit}.`,
      )
    return Buffer.allocUnsafe(length)
  }
}

/** Names what is known by its first bytes; bytes of a stranger are not repeated. */
function notSwank(digits: string): WireError {
  const known = [
    ['HTTP', 'An HTTP server'],
    ['SSH-', 'An SSH server'],
    ['220', 'A mail or FTP server'],
    ['* OK', 'A mail server'],
    ['RFB', 'A VNC server'],
  ].find(([start = '']) => digits.startsWith(start))
  const who = known?.[1] ?? 'Something other than Swank'
  return new WireError(
    'FRAME_MALFORMED',
    `${who} speaks there: no length of a message came, which is six hexadecimal digits. ` +
      'Give the port that swank:create-server returned.',
  )
}
