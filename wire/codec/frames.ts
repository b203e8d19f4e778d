import { WireError } from '../errors.ts'

/** Bytes of a frame's length field: unsigned, big-endian, counting the body alone. docs/wire.md#frames */
export const HEADER_BYTES = 4

/** Cuts a stream of bytes into the bodies of frames, however the stream was sliced. Knows no socket. */
export interface FrameDecoder {
  /**
   * Hands every body that these bytes complete to `take`, in order, before it returns. A body that lies within
   * one push is a view of those bytes; one that spans several is copied once. Throws `FRAME_TOO_LARGE` or
   * `FRAME_MALFORMED` as soon as a length field says so, and what `take` throws; it is of no use after either.
   */
  push(bytes: Uint8Array): void
  /** The limit of the next frames, in bytes of body. */
  limit: number
  /** Whether a frame has begun that has not ended. */
  readonly midFrame: boolean
}

export function frameDecoder(options: { limit: number; take(body: Buffer): void }): FrameDecoder {
  return new Decoder(options)
}

class Decoder implements FrameDecoder {
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

  get midFrame() {
    return this.#body !== undefined || this.#headerBytes > 0
  }

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
