import type { Duplex } from 'node:stream'
import {
  type Codec,
  FAILURES,
  type Failure,
  HEADER_BYTES,
  type Limits,
  type Message,
  type Splitter,
  splitter,
} from '../codec/messages.ts'
import { WireError } from '../errors.ts'
import { LightSignal, type Signal } from '../signal.ts'

export interface CallOptions {
  /** Aborting it asks the other end to stop; the call still ends by its one answer. */
  signal?: Signal | undefined
  /** News of the call, in order, before it settles. What it throws becomes the call's own end. */
  on?: ((event: unknown) => void) | undefined
  /** Give up after so many milliseconds: the call is cancelled, and its late answer ignored. */
  deadlineMs?: number | undefined
}

/** The calls that this end has asked and that are not answered yet. */
export class OutgoingCalls {
  readonly #name: string
  readonly #outbox: Outbox
  readonly #limits: Limits
  readonly #pending = new Map<number, OutgoingCall>()
  readonly #pings = new Map<number, { pong(): void; lost(error: WireError): void }>()
  #lastId = 0
  #lastPing = 0
  #ended: WireError | undefined

  constructor(options: { name: string; outbox: Outbox; limits: Limits }) {
    this.#name = options.name
    this.#outbox = options.outbox
    this.#limits = options.limits
  }

  call(method: string, params: unknown, options: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#lost(method, this.#ended))
      if (options.signal?.aborted) return reject(this.#unsent(method, 'cancelled'))
      if (this.#pending.size >= this.#limits.pendingCalls) return reject(this.#unsent(method, 'busy'))
      const id = this.#lastId + 1
      const message: Message = { type: 'call', id, method, params }
      const frame = this.#outbox.encode(message)
      this.#lastId = id
      const pending: OutgoingCall = {
        method,
        resolve,
        reject,
        on: options.on,
        owed: 0,
        abandoned: false,
        signal: undefined,
        stop: undefined,
        timer: undefined,
      }
      if (options.signal !== undefined) this.#heed(id, pending, options.signal)
      if (options.deadlineMs !== undefined) this.#limit(id, pending, options.deadlineMs)
      this.#pending.set(id, pending)
      this.#outbox.send(message, frame)
    })
  }

  ping(deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#lost('a ping', this.#ended))
      const n = ++this.#lastPing
      const settle = (end: () => void) => {
        clearTimeout(timer)
        this.#pings.delete(n)
        end()
      }
      const timer = setTimeout(() => settle(() => reject(this.#late('a ping', deadlineMs))), deadlineMs)
      this.#pings.set(n, { pong: () => settle(resolve), lost: error => settle(() => reject(error)) })
      this.#outbox.send({ type: 'ping', n })
    })
  }

  pong(n: number) {
    this.#pings.get(n)?.pong()
  }

  /** The one answer to a call. Throws `PROTOCOL_BROKEN` for a call that was not asked, or is answered already. */
  answered(answer: Extract<Message, { type: 'return' | 'fail' }>) {
    const pending = this.#find(answer.id, 'an answer')
    this.#pending.delete(answer.id)
    release(pending)
    // Of a call that was given up, which has settled already, this changes nothing.
    if (answer.type === 'fail') pending.reject(this.#failed(pending.method, answer.error))
    else pending.resolve(answer.result ?? null)
  }

  /** News of a call, of so many bytes as encoded. Throws `PROTOCOL_BROKEN` like `answered`. */
  event(id: number, event: unknown, bytes: number) {
    const pending = this.#find(id, 'an event')
    pending.owed += bytes
    if (!pending.abandoned) this.#tell(id, pending, event)
    if (pending.owed * 2 < this.#limits.creditBytes || !this.#pending.has(id) || this.#ended !== undefined)
      return
    this.#outbox.send({ type: 'credit', id, bytes: pending.owed })
    pending.owed = 0
  }

  /** Settles everything with `LINK_CLOSED`. */
  end(why: WireError) {
    this.#ended = why
    for (const pending of this.#pending.values()) {
      release(pending)
      pending.reject(this.#lost(pending.method, why))
    }
    this.#pending.clear()
    for (const ping of [...this.#pings.values()]) ping.lost(this.#lost('a ping', why))
  }

  #tell(id: number, pending: OutgoingCall, event: unknown) {
    try {
      pending.on?.(event)
    } catch (error) {
      this.#abandon(id, pending, error)
    }
  }

  #heed(id: number, pending: OutgoingCall, signal: Signal) {
    pending.signal = signal
    pending.stop = () => this.#outbox.send({ type: 'cancel', id })
    signal.addEventListener('abort', pending.stop, { once: true })
  }

  #limit(id: number, pending: OutgoingCall, deadlineMs: number) {
    const late = () => this.#abandon(id, pending, this.#late(pending.method, deadlineMs))
    pending.timer = setTimeout(late, deadlineMs)
  }

  /** Ends a call for this end. It stays known until its answer comes, which is expected, and ignored. */
  #abandon(id: number, pending: OutgoingCall, error: unknown) {
    const cancelled = pending.signal?.aborted === true
    release(pending)
    pending.abandoned = true
    pending.on = undefined
    pending.reject(error)
    if (!cancelled) this.#outbox.send({ type: 'cancel', id })
  }

  #find(id: number, what: string): OutgoingCall {
    const pending = this.#pending.get(id)
    if (pending !== undefined) return pending
    const why = id > this.#lastId ? 'was never asked' : 'had its answer already'
    throw new WireError('PROTOCOL_BROKEN', `${this.#name} sent ${what} to call ${id}, which ${why}.`)
  }

  #lost(what: string, why: WireError): WireError {
    const message = `The link to ${this.#name} ended before ${what} was answered: ${why.message}`
    return new WireError('LINK_CLOSED', message, { cause: why })
  }

  #late(what: string, deadlineMs: number): WireError {
    const ms = Math.round(deadlineMs)
    return new WireError('UNRESPONSIVE', `${this.#name} did not answer ${what} within ${ms} ms.`)
  }

  #unsent(method: string, code: 'cancelled' | 'busy'): WireError {
    const message = `${method} was not sent to ${this.#name}. ${FAILURES[code]}`
    return new WireError('REMOTE_FAULT', message, {
      remote: { code, message, data: undefined },
    })
  }

  #failed(method: string, { code, message, data }: Failure): WireError {
    return new WireError('REMOTE_FAULT', `${this.#name} failed at ${method} (${code}): ${message}`, {
      remote: { code, message, data },
    })
  }
}

interface OutgoingCall {
  readonly method: string
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  on: ((event: unknown) => void) | undefined
  /** Bytes of events that came and were not granted anew. */
  owed: number
  abandoned: boolean
  signal: Signal | undefined
  stop: (() => void) | undefined
  timer: NodeJS.Timeout | undefined
}

function release(pending: OutgoingCall) {
  if (pending.timer !== undefined) clearTimeout(pending.timer)
  if (pending.stop !== undefined) pending.signal?.removeEventListener('abort', pending.stop)
  pending.timer = undefined
  pending.stop = undefined
}

/** What a server knows of a call that it serves. */
export interface ServedCall {
  /** Aborted when the caller cancels, and when the link ends; the reason is then `LINK_CLOSED`. */
  readonly signal: Signal
  /**
   * Sends news of the call, or holds it until the caller has granted credit and reads again. Never waits.
   * `dropped` means that it is gone: too much is held already, it cannot be encoded, or the call has ended.
   */
  event(event: unknown): 'sent' | 'dropped'
  /** Calls that once after an event was dropped, when the caller has read what was held. Never at once. */
  whenRead(work: () => void): void
}

/** Serves one method. What it resolves to is the answer; a `Refusal` is a `fail` of its code, all else `fault`. */
export type Serve = (method: string, params: unknown, call: ServedCall) => Promise<unknown>

/** Thrown by a server to fail a call with a code of its choice, one of `FAILURES` or its own. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: string
  readonly data: unknown

  constructor(code: string, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The calls that the other end has asked and that this end has not answered yet. */
export class IncomingCalls {
  /** Bytes of events that are held back for want of credit or of room. */
  heldBytes = 0
  readonly outbox: Outbox
  readonly limits: Limits
  readonly #name: string
  readonly #serve: Serve
  readonly #calls = new Map<number, IncomingCall>()
  readonly #holding = new Set<IncomingCall>()
  #highest = 0

  constructor(options: { name: string; outbox: Outbox; limits: Limits; serve: Serve | undefined }) {
    this.#name = options.name
    this.outbox = options.outbox
    this.limits = options.limits
    this.#serve = options.serve ?? (async method => Promise.reject(noMethod(method)))
  }

  /** Throws `PROTOCOL_BROKEN` for a number that is not above all that came before. */
  call(id: number, method: string, params: unknown) {
    this.#admit(id)
    const call = new IncomingCall(id, this)
    const busy = this.#calls.size >= this.limits.pendingCalls
    this.#calls.set(id, call)
    if (busy) call.fail({ code: 'busy', message: `${this.#calls.size - 1} calls wait already.` })
    else void this.#run(call, method, params)
  }

  cancel(id: number) {
    this.#known(id)?.signal.abort()
  }

  credit(id: number, bytes: number) {
    const call = this.#known(id)
    if (call === undefined) return
    call.credit += bytes
    this.#release(call)
  }

  /** Sends what was held, now that there is room. */
  hasRoom() {
    for (const call of this.#holding) {
      if (this.outbox.congested) return
      this.#release(call)
    }
  }

  /** Aborts everything; answers go nowhere from here on. */
  end() {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    this.#holding.clear()
    this.heldBytes = 0
    for (const call of calls) call.drop()
  }

  /** For `IncomingCall`: a call that holds events, or its answer behind them. */
  hold(call: IncomingCall) {
    this.#holding.add(call)
  }

  /** For `IncomingCall`: its answer is sent. */
  done(call: IncomingCall) {
    this.#calls.delete(call.id)
    this.#holding.delete(call)
  }

  async #run(call: IncomingCall, method: string, params: unknown) {
    try {
      call.return(await this.#serve(method, params, call))
    } catch (error) {
      call.fail(failureOf(error))
    }
  }

  #release(call: IncomingCall) {
    if (call.release() === 'empty') this.#holding.delete(call)
  }

  #admit(id: number) {
    if (id <= this.#highest) throw this.#broken(`asked call ${id} after call ${this.#highest}`)
    this.#highest = id
  }

  /** The call, or undefined if it was answered already: cancel and credit may come late. */
  #known(id: number): IncomingCall | undefined {
    if (id > this.#highest) throw this.#broken(`spoke of call ${id}, which it never asked`)
    return this.#calls.get(id)
  }

  #broken(what: string): WireError {
    return new WireError('PROTOCOL_BROKEN', `${this.#name} ${what}.`)
  }
}

/** The most events that are held for one call: a tiny event takes more memory than its bytes. */
const MOST_EVENTS = 4_096

/** The bytes that are held for all calls of a sender, in multiples of the bytes for one call. */
const MOST_HELD = 16

class IncomingCall implements ServedCall {
  readonly id: number
  readonly signal = new LightSignal()
  credit: number
  readonly #all: IncomingCalls
  #held: Buffer[] = []
  #heldBytes = 0
  #answer: { message: Message; frame: Buffer } | undefined
  #whenRead: (() => void) | undefined
  #state: 'open' | 'answered' | 'dropped' = 'open'

  constructor(id: number, all: IncomingCalls) {
    this.id = id
    this.credit = all.limits.creditBytes
    this.#all = all
  }

  event(event: unknown): 'sent' | 'dropped' {
    if (this.#state !== 'open') return 'dropped'
    const { outbox, limits } = this.#all
    const frame = encoded(outbox, { type: 'event', id: this.id, event })
    if (frame === undefined) return 'dropped'
    if (this.#held.length === 0 && this.credit > 0 && !outbox.congested) {
      this.#send(frame)
      return 'sent'
    }
    const size = frame.length - HEADER_BYTES
    const [own, all] = [this.#heldBytes + size, this.#all.heldBytes + size]
    if (own > limits.creditBytes || all > MOST_HELD * limits.creditBytes) return 'dropped'
    if (this.#held.length >= MOST_EVENTS) return 'dropped'
    this.#held.push(frame)
    this.#holds(size)
    this.#all.hold(this)
    return 'sent'
  }

  whenRead(work: () => void) {
    this.#whenRead = work
    this.#all.hold(this)
  }

  return(result: unknown) {
    this.#settle({ type: 'return', id: this.id, result: result ?? null })
  }

  fail(error: Failure) {
    this.#settle({ type: 'fail', id: this.id, error })
  }

  /** The link is gone: nothing more is sent. */
  drop() {
    this.#state = 'dropped'
    this.#held = []
    this.#answer = undefined
    this.signal.abort(new WireError('LINK_CLOSED', 'The link ended while the call ran.'))
  }

  /** Sends what is held for as long as there is credit and room, then the answer, if it waits. */
  release(): 'empty' | 'holding' {
    const { outbox } = this.#all
    let sent = 0
    for (const frame of this.#held) {
      if (this.credit <= 0 || outbox.congested || this.#state === 'dropped') break
      this.#holds(HEADER_BYTES - frame.length)
      this.#send(frame)
      sent++
    }
    if (sent > 0) this.#held = this.#held.slice(sent)
    if (this.#held.length > 0) return 'holding'
    this.#sendAnswer()
    const work = this.#state === 'open' ? this.#whenRead : undefined
    if (work === undefined) return 'empty'
    if (this.credit <= 0 || outbox.congested) return 'holding'
    this.#whenRead = undefined
    work()
    return this.#held.length > 0 || this.#whenRead !== undefined ? 'holding' : 'empty'
  }

  /** An event as a frame. What it says is not kept while it waits. */
  #send(frame: Buffer) {
    this.credit -= frame.length - HEADER_BYTES
    this.#all.outbox.send({ type: 'event', id: this.id, event: null }, frame)
  }

  #holds(bytes: number) {
    this.#heldBytes += bytes
    this.#all.heldBytes += bytes
  }

  #settle(message: Message) {
    if (this.#state !== 'open') return
    this.#state = 'answered'
    this.#answer = this.#encodeAnswer(message)
    if (this.#held.length === 0) this.#sendAnswer()
  }

  /** The answer, or the failure to encode it: a call never stays without one. */
  #encodeAnswer(message: Message): { message: Message; frame: Buffer } {
    const { outbox } = this.#all
    try {
      return { message, frame: outbox.encode(message) }
    } catch (error) {
      const because = error instanceof Error ? error.message : String(error)
      const failure: Failure = { code: 'fault', message: `The answer could not be sent. ${because}` }
      const instead: Message = { type: 'fail', id: this.id, error: failure }
      return { message: instead, frame: outbox.encode(instead) }
    }
  }

  #sendAnswer() {
    if (this.#answer === undefined) return
    const { message, frame } = this.#answer
    this.#answer = undefined
    this.#all.done(this)
    this.#all.outbox.send(message, frame)
  }
}

function encoded(outbox: Outbox, message: Message): Buffer | undefined {
  try {
    return outbox.encode(message)
  } catch {
    return undefined
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof Refusal)
    return error.data === undefined
      ? { code: error.code, message: error.message }
      : { code: error.code, message: error.message, data: error.data }
  return { code: 'fault', message: error instanceof Error ? error.message : String(error) }
}

function noMethod(method: string): Refusal {
  return new Refusal('unknown_method', `There is no method ${JSON.stringify(method.slice(0, 100))} here.`)
}

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
  readonly #waiting: QueuedMessage[] = []
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

interface OutboxWatcher {
  /** Less than `sendHighBytes` wait again. */
  hasRoom(): void
  /** More than `sendCutBytes` wait. */
  overflowed(queuedBytes: number): void
}

interface QueuedMessage {
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
