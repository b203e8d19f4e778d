import type { Duplex } from 'node:stream'
import { codecOf } from '../codec/codec.ts'
import {
  Assembler,
  type Codec,
  type Encoding,
  FrameDecoder,
  LIMITS,
  type Limits,
  type Message,
  parseMessage,
} from '../codec/messages.ts'
import { WireError } from '../errors.ts'
import { type CallOptions, IncomingCalls, Outbox, OutgoingCalls, type Serve } from './calls.ts'
import { finish } from './transport.ts'

export interface LinkOptions {
  readonly transport: Duplex
  readonly encoding: Encoding
  /** What the other end is called in messages: `kernel myproject`, `the daemon`. */
  readonly name: string
  readonly limits?: Partial<Limits> | undefined
  /** Answers what the other end asks. Without it, every method is `unknown_method`. */
  readonly serve?: Serve | undefined
  /** Hears what the other end says unasked. */
  readonly note?: ((name: string, params: unknown) => void) | undefined
}

/**
 * Begins to speak over a transport whose handshake is done. Nothing is read before the caller's own turn ends, so
 * what it sets up at once, or when the promise that brought the link resolves, misses no message.
 */
export const openLink = (options: LinkOptions): Link => new OpenLink(options)

export type Link = Pick<OpenLink, keyof OpenLink>

/**
 * Calls both ways over one transport. docs/wire.md#messages
 *
 * Every call ends exactly once: with its answer, with `REMOTE_FAULT` when the other end failed it, with
 * `UNRESPONSIVE` at its deadline, or with `LINK_CLOSED` when the link ended first. All that is pending has settled
 * by the time `closed` does.
 */
class OpenLink {
  /** When the last frame came, on the clock of `performance.now()`. */
  lastHeard = performance.now()
  /** Never rejects. Undefined if this end closed it, else what ended it. */
  readonly closed: Promise<WireError | undefined>
  readonly #transport: Duplex
  readonly #name: string
  readonly #limits: Limits
  readonly #codec: Codec
  readonly #frames: FrameDecoder
  readonly #chunks: Assembler
  readonly #outbox: Outbox
  readonly #outgoing: OutgoingCalls
  readonly #incoming: IncomingCalls
  readonly #note: LinkOptions['note']
  #settleClosed: (error: WireError | undefined) => void = () => {}
  #gone: Promise<void> | undefined

  constructor({ transport, encoding, name, limits, serve, note }: LinkOptions) {
    this.#transport = transport
    this.#name = name
    this.#limits = { ...LIMITS, ...limits }
    this.#codec = codecOf(encoding)
    this.#frames = new FrameDecoder({ limit: this.#limits.frameBytes, take: body => this.#take(body) })
    this.#chunks = new Assembler({ encoding, messageBytes: this.#limits.messageBytes })
    const watch = {
      hasRoom: () => this.#incoming.hasRoom(),
      overflowed: (bytes: number) => this.#overflowed(bytes),
    }
    this.#outbox = new Outbox({ transport, codec: this.#codec, limits: this.#limits, watch })
    this.#outgoing = new OutgoingCalls({ name, outbox: this.#outbox, limits: this.#limits })
    this.#incoming = new IncomingCalls({ name, outbox: this.#outbox, limits: this.#limits, serve })
    this.#note = note
    this.closed = new Promise(resolve => {
      this.#settleClosed = resolve
    })
    this.#listen()
  }

  /** Bytes that wait for the other end to read, or to grant credit. */
  get queuedBytes() {
    return this.#outbox.queuedBytes + this.#incoming.heldBytes
  }

  /**
   * Asks the other end. Aborting the signal sends `cancel`, and the call still waits for its one answer; one that
   * was aborted, or is too many, before it was sent is `REMOTE_FAULT` with the code `cancelled` or `busy`. Also
   * throws `MESSAGE_INVALID`, `MESSAGE_TOO_LARGE` and `LIMIT_EXCEEDED` for params that cannot be sent.
   */
  call(method: string, params: unknown, options: CallOptions = {}) {
    return this.#outgoing.call(method, params, options)
  }

  /** Says something that is not answered. Throws as `call` rejects for what cannot be sent; is silent after the end. */
  note(name: string, params: unknown) {
    if (this.#gone === undefined) this.#outbox.send({ type: 'note', name, params })
  }

  /** Resolves when the other end has answered, and rejects with `UNRESPONSIVE` or `LINK_CLOSED`. */
  ping(deadlineMs: number) {
    return this.#outgoing.ping(deadlineMs)
  }

  /** Says goodbye and ends the link. Resolves when the transport is gone, a second later at most. */
  close(reason = { code: 'closed', message: 'It was no longer needed.' }) {
    this.#end(new WireError('LINK_CLOSED', reason.message), { bye: reason, closed: undefined })
    return this.#gone ?? Promise.resolve()
  }

  #listen() {
    const transport = this.#transport
    transport.on('data', (chunk: Buffer) => this.#hear(chunk))
    transport.on('end', () => this.#lost())
    transport.on('close', () => this.#lost())
    transport.on('error', cause => this.#lost(cause))
    if (transport.destroyed || transport.readableEnded) queueMicrotask(() => this.#lost())
  }

  #hear(chunk: Buffer) {
    if (this.#gone !== undefined) return
    try {
      this.#frames.push(chunk)
    } catch (error) {
      this.#broken(error)
    }
  }

  /** One frame: a message, or a piece of one. */
  #take(body: Buffer) {
    if (this.#gone !== undefined) return
    this.lastHeard = performance.now()
    const message = parseMessage(this.#codec.decode(body, this.#limits))
    if (message.type !== 'chunk') return this.#receive(message, body.length)
    const whole = this.#chunks.add(message)
    if (whole !== undefined)
      this.#receive(parseMessage(this.#codec.decode(whole, this.#limits)), whole.length)
  }

  #receive(message: Message, bytes: number) {
    switch (message.type) {
      case 'call':
        return this.#incoming.call(message.id, message.method, message.params ?? null)
      case 'return':
      case 'fail':
        return this.#outgoing.answered(message)
      case 'event':
        return this.#outgoing.event(message.id, message.event ?? null, bytes)
      case 'cancel':
        return this.#incoming.cancel(message.id)
      case 'credit':
        return this.#incoming.credit(message.id, message.bytes)
      case 'note':
        return this.#note?.(message.name, message.params ?? null)
      case 'ping':
        return this.#outbox.send({ type: 'pong', n: message.n })
      case 'pong':
        return this.#outgoing.pong(message.n)
      case 'chunk':
        throw new WireError(
          'PROTOCOL_BROKEN',
          `${this.#name} sent a message in pieces that was itself a piece.`,
        )
      case 'bye':
        return this.#dismissed(message.code, message.message)
      default:
        return message satisfies never
    }
  }

  /** The transport ended, with or without a word of its own. */
  #lost(cause?: Error) {
    const error =
      cause !== undefined
        ? new WireError('LINK_CLOSED', `The connection to ${this.#name} broke: ${cause.message}.`, { cause })
        : this.#frames.midFrame
          ? new WireError('FRAME_TRUNCATED', `${this.#name} ended in the middle of a frame.`)
          : new WireError('LINK_CLOSED', `${this.#name} ended the connection.`)
    this.#end(error, { closed: error })
  }

  #dismissed(code: string, message: string) {
    const error = new WireError('LINK_CLOSED', `${this.#name} closed the link (${code}): ${message}`)
    this.#end(error, { closed: error })
  }

  /** The other end broke a rule, and is told which; or a listener of this end threw, which nobody else is to bear. */
  #broken(cause: unknown) {
    const isTheirs = cause instanceof WireError
    const error = isTheirs
      ? cause
      : new WireError('LINK_CLOSED', `A listener on the link to ${this.#name} failed: ${String(cause)}`, {
          cause,
        })
    const bye = { code: isTheirs ? cause.code : 'fault', message: isTheirs ? cause.message : '' }
    this.#end(error, { bye, closed: error })
  }

  #overflowed(bytes: number) {
    const error = new WireError(
      'LINK_CLOSED',
      `${this.#name} reads too slowly: ${bytes} bytes wait for it, and the limit is ${this.#limits.sendCutBytes}.`,
    )
    this.#end(error, { closed: error })
    this.#transport.destroy()
  }

  #end(why: WireError, how: { bye?: { code: string; message: string }; closed: WireError | undefined }) {
    if (this.#gone !== undefined) return
    const bye = how.bye && this.#codec.frame({ type: 'bye', ...how.bye }, this.#limits)
    this.#gone = finish(this.#transport, bye)
    this.#outgoing.end(why)
    this.#incoming.end()
    this.#settleClosed(how.closed)
  }
}
