import type { Duplex } from 'node:stream'
import { HEADER_BYTES } from '../codec/frames.ts'
import { type Codec, type Limits, type Message, type Splitter, splitter } from '../codec/messages.ts'
import { WireError } from '../errors.ts'

/**
 * Writes messages to a transport, and knows how much of them the other end has not taken yet.
 *
 * A message that fits in one piece is one write. A larger one is cut into chunks, which are handed to the
 * transport one at a time as it drains, so that others pass between them. docs/wire.md#order says which may not.
 */
export class Outbox {
  readonly codec: Codec
  readonly #transport: Duplex
  readonly #limits: Limits
  readonly #watch: OutboxWatcher
  readonly #waiting: Waiting[] = []
  #waitingBytes = 0
  #streams = 0
  #corked = false
  readonly #uncork = () => {
    this.#corked = false
    this.#transport.uncork()
  }

  constructor(options: { transport: Duplex; codec: Codec; limits: Limits; watch: OutboxWatcher }) {
    this.codec = options.codec
    this.#transport = options.transport
    this.#limits = options.limits
    this.#watch = options.watch
    this.#transport.on('drain', () => {
      this.#pour()
      if (!this.congested) this.#watch.hasRoom()
    })
  }

  /** Bytes that were sent and that the transport has not yet handed to the system. */
  get queuedBytes(): number {
    return this.#transport.writableLength + this.#waitingBytes
  }

  /** Whether more than `sendHighBytes` wait. `hasRoom` is called when they no longer do. */
  get congested(): boolean {
    return this.#transport.writableNeedDrain && this.queuedBytes > this.#limits.sendHighBytes
  }

  /** A message as a frame, for `send`. Throws `MESSAGE_INVALID`, `LIMIT_EXCEEDED` or `MESSAGE_TOO_LARGE`. */
  encode(message: Message): Buffer {
    const frame = this.codec.frame(message, this.#limits)
    if (frame.length - HEADER_BYTES > this.#limits.messageBytes)
      throw new WireError(
        'MESSAGE_TOO_LARGE',
        `A ${message.type} of ${frame.length - HEADER_BYTES} bytes was not sent; the limit is ${this.#limits.messageBytes}.`,
      )
    return frame
  }

  /** Sends what `encode` made of this message. Calls `overflowed` if the other end has left too much unread. */
  send(message: Message, frame = this.encode(message)): void {
    const large = frame.length - HEADER_BYTES > this.#limits.chunkBytes
    if (large || (this.#waiting.length > 0 && this.#waiting.some(one => mayNotPass(message, one.outline))))
      this.#wait(message, frame, large)
    else this.#write(frame)
    if (this.queuedBytes > this.#limits.sendCutBytes) this.#watch.overflowed(this.queuedBytes)
  }

  #wait(message: Message, frame: Buffer, large: boolean) {
    const pieces = large ? this.#split(frame.subarray(HEADER_BYTES)) : undefined
    this.#waiting.push({ outline: outline(message), frame, pieces })
    this.#waitingBytes += frame.length
    if (!this.#transport.writableNeedDrain) this.#pour()
  }

  #split(body: Buffer): Splitter {
    const { encoding } = this.codec
    return splitter({ body, encoding, stream: ++this.#streams, chunkBytes: this.#limits.chunkBytes })
  }

  /** Writes what waits for as long as the transport takes it. */
  #pour() {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#transport.writableNeedDrain) return
      if (first.pieces === undefined) {
        this.#waitingBytes -= first.frame.length
        this.#write(first.frame)
      } else {
        const before = first.pieces.bytes
        this.#write(this.codec.frame(first.pieces.next(), this.#limits))
        this.#waitingBytes -= before - first.pieces.bytes
        if (!first.pieces.done) continue
        this.#waitingBytes -= HEADER_BYTES
      }
      this.#waiting.shift()
    }
  }

  /** All that is written in one turn of the event loop goes to the system together. */
  #write(frame: Buffer) {
    if (!this.#corked) {
      this.#corked = true
      this.#transport.cork()
      process.nextTick(this.#uncork)
    }
    this.#transport.write(frame)
  }
}

export interface OutboxWatcher {
  /** Less than `sendHighBytes` wait again. */
  hasRoom(): void
  /** More than `sendCutBytes` wait. */
  overflowed(queuedBytes: number): void
}

interface Waiting {
  readonly outline: Outline
  readonly frame: Buffer
  /** Absent for a message that is small, and waits only because it may not pass. */
  readonly pieces: Splitter | undefined
}

/** What decides over the order of a message; the rest of it need not be kept while it waits. */
type Outline = { readonly type: Message['type']; readonly lane: number }

const outline = (message: Message): Outline => ({ type: message.type, lane: laneOf(message) })

/** Messages of one call stay in order, so do notes, and so do calls. docs/wire.md#order */
function mayNotPass(message: Message, waiting: Outline): boolean {
  return laneOf(message) === waiting.lane || (message.type === 'call' && waiting.type === 'call')
}

/** Calls that this end asked are positive, those it serves negative, notes zero; NaN equals no lane. */
function laneOf(message: Message): number {
  switch (message.type) {
    case 'call':
    case 'cancel':
    case 'credit':
      return message.id
    case 'return':
    case 'fail':
    case 'event':
      return -message.id
    case 'note':
      return 0
    case 'ping':
    case 'pong':
    case 'chunk':
    case 'bye':
      return Number.NaN
    default:
      return message satisfies never
  }
}
