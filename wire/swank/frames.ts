import { WireError } from '../errors.ts'

/** Bytes of a message at most: its length is six hexadecimal digits. */
export const MOST_BYTES = 0xff_ff_ff

/** One message as Swank frames it: six hexadecimal digits, the length of the UTF-8 text in bytes, and the text. */
export function frame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  if (length > MOST_BYTES)
    throw new WireError('MESSAGE_TOO_LARGE', `A message of ${length} bytes is more than Swank can frame.`)
  const bytes = Buffer.allocUnsafe(6 + length)
  bytes.write(length.toString(16).padStart(6, '0'), 0, 'latin1')
  bytes.write(text, 6, 'utf8')
  return bytes
}

/** Takes bytes as they come and gives whole messages. Throws `FRAME_MALFORMED` for what is no length. */
export class Frames {
  #chunks: Buffer[] = []
  #held = 0
  #need: number | undefined;

  *add(chunk: Buffer): Generator<string> {
    this.#chunks.push(chunk)
    this.#held += chunk.length
    for (;;) {
      this.#need ??= this.#length()
      if (this.#need === undefined || this.#held < this.#need) return
      const text = this.#take(this.#need).toString('utf8')
      this.#need = undefined
      yield text
    }
  }

  /** Whether the stream may end here. */
  get between(): boolean {
    return this.#held === 0 && this.#need === undefined
  }

  #length(): number | undefined {
    if (this.#held < 6) return undefined
    const digits = this.#take(6).toString('latin1')
    if (!/^[0-9a-f]{6}$/i.test(digits))
      throw new WireError(
        'FRAME_MALFORMED',
        `${JSON.stringify(digits)} is no length of a message; what speaks there is not Swank.`,
      )
    return Number.parseInt(digits, 16)
  }

  #take(count: number): Buffer {
    const whole =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks)
    this.#held -= count
    const rest = whole.subarray(count)
    this.#chunks = rest.length === 0 ? [] : [rest]
    return whole.subarray(0, count)
  }
}
