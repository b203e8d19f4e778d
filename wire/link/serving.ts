import { HEADER_BYTES } from '../codec/frames.ts'
import type { Failure, Limits, Message } from '../codec/messages.ts'
import { WireError } from '../errors.ts'
import { LightSignal, type Signal } from '../signal.ts'
import type { Outbox } from './outbox.ts'

/** What a server knows of a call that it serves. */
export interface ServedCall {
  /** Aborted when the caller cancels, and when the link ends; the reason is then `LINK_CLOSED`. */
  readonly signal: Signal
  /**
   * Sends news of the call, or holds it until the caller has granted credit and reads again. Never waits.
   * `dropped` means that it is gone: too much is held already, it cannot be encoded, or the call has ended.
   */
  event(event: unknown): 'sent' | 'dropped'
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
export class Serving {
  /** Bytes of events that are held back for want of credit or of room. */
  heldBytes = 0
  readonly outbox: Outbox
  readonly limits: Limits
  readonly #name: string
  readonly #serve: Serve
  readonly #calls = new Map<number, Served>()
  readonly #holding = new Set<Served>()
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
    const call = new Served(id, this)
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

  /** For `Served`: a call that holds events, or its answer behind them. */
  hold(call: Served) {
    this.#holding.add(call)
  }

  /** For `Served`: its answer is sent. */
  done(call: Served) {
    this.#calls.delete(call.id)
    this.#holding.delete(call)
  }

  async #run(call: Served, method: string, params: unknown) {
    try {
      call.return(await this.#serve(method, params, call))
    } catch (error) {
      call.fail(failureOf(error))
    }
  }

  #release(call: Served) {
    if (call.release() === 'empty') this.#holding.delete(call)
  }

  #admit(id: number) {
    if (id <= this.#highest) throw this.#broken(`asked call ${id} after call ${this.#highest}`)
    this.#highest = id
  }

  /** The call, or undefined if it was answered already: cancel and credit may come late. */
  #known(id: number): Served | undefined {
    if (id > this.#highest) throw this.#broken(`spoke of call ${id}, which it never asked`)
    return this.#calls.get(id)
  }

  #broken(what: string): WireError {
    return new WireError('PROTOCOL_BROKEN', `${this.#name} ${what}.`)
  }
}

class Served implements ServedCall {
  readonly id: number
  readonly signal = new LightSignal()
  credit: number
  readonly #serving: Serving
  #held: { message: Message; frame: Buffer }[] = []
  #heldBytes = 0
  #answer: { message: Message; frame: Buffer } | undefined
  #state: 'open' | 'answered' | 'dropped' = 'open'

  constructor(id: number, serving: Serving) {
    this.id = id
    this.credit = serving.limits.creditBytes
    this.#serving = serving
  }

  event(event: unknown): 'sent' | 'dropped' {
    if (this.#state !== 'open') return 'dropped'
    const { outbox, limits } = this.#serving
    const message: Message = { type: 'event', id: this.id, event }
    const frame = encoded(outbox, message)
    if (frame === undefined) return 'dropped'
    const size = frame.length - HEADER_BYTES
    if (this.#held.length === 0 && this.credit > 0 && !outbox.congested) {
      this.credit -= size
      outbox.send(message, frame)
      return 'sent'
    }
    if (this.#heldBytes + size > limits.creditBytes) return 'dropped'
    this.#held.push({ message, frame })
    this.#heldBytes += size
    this.#serving.heldBytes += size
    this.#serving.hold(this)
    return 'sent'
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
    const { outbox } = this.#serving
    let sent = 0
    for (const { message, frame } of this.#held) {
      if (this.credit <= 0 || outbox.congested || this.#state === 'dropped') break
      const size = frame.length - HEADER_BYTES
      this.credit -= size
      this.#heldBytes -= size
      this.#serving.heldBytes -= size
      outbox.send(message, frame)
      sent++
    }
    if (sent > 0) this.#held = this.#held.slice(sent)
    if (this.#held.length > 0) return 'holding'
    this.#sendAnswer()
    return 'empty'
  }

  #settle(message: Message) {
    if (this.#state !== 'open') return
    this.#state = 'answered'
    this.#answer = this.#encodeAnswer(message)
    if (this.#held.length === 0) this.#sendAnswer()
  }

  /** The answer, or the failure to encode it: a call never stays without one. */
  #encodeAnswer(message: Message): { message: Message; frame: Buffer } {
    const { outbox } = this.#serving
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
    this.#serving.done(this)
    this.#serving.outbox.send(message, frame)
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
