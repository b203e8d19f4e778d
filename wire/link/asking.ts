import { FAILURES, type Failure, type Limits, type Message } from '../codec/messages.ts'
import { WireError } from '../errors.ts'
import type { Signal } from '../signal.ts'
import type { Outbox } from './outbox.ts'

export interface CallOptions {
  /** Aborting it asks the other end to stop; the call still ends by its one answer. */
  signal?: Signal | undefined
  /** News of the call, in order, before it settles. What it throws becomes the call's own end. */
  on?: ((event: unknown) => void) | undefined
  /** Give up after so many milliseconds: the call is cancelled, and its late answer ignored. */
  deadlineMs?: number | undefined
}

/** The calls that this end has asked and that are not answered yet. */
export class Asking {
  readonly #name: string
  readonly #outbox: Outbox
  readonly #limits: Limits
  readonly #pending = new Map<number, Pending>()
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
      const pending: Pending = {
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

  #tell(id: number, pending: Pending, event: unknown) {
    try {
      pending.on?.(event)
    } catch (error) {
      this.#abandon(id, pending, error)
    }
  }

  #heed(id: number, pending: Pending, signal: Signal) {
    pending.signal = signal
    pending.stop = () => this.#outbox.send({ type: 'cancel', id })
    signal.addEventListener('abort', pending.stop, { once: true })
  }

  #limit(id: number, pending: Pending, deadlineMs: number) {
    const late = () => this.#abandon(id, pending, this.#late(pending.method, deadlineMs))
    pending.timer = setTimeout(late, deadlineMs)
  }

  /** Ends a call for this end. It stays known until its answer comes, which is expected, and ignored. */
  #abandon(id: number, pending: Pending, error: unknown) {
    const cancelled = pending.signal?.aborted === true
    release(pending)
    pending.abandoned = true
    pending.on = undefined
    pending.reject(error)
    if (!cancelled) this.#outbox.send({ type: 'cancel', id })
  }

  #find(id: number, what: string): Pending {
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

interface Pending {
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

function release(pending: Pending) {
  if (pending.timer !== undefined) clearTimeout(pending.timer)
  if (pending.stop !== undefined) pending.signal?.removeEventListener('abort', pending.stop)
  pending.timer = undefined
  pending.stop = undefined
}
