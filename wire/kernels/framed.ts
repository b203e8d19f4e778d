import type { z } from 'zod'
import { WireError } from '../errors.ts'
import type {
  CallId,
  Evaluated,
  Evaluation,
  Health,
  InterruptReport,
  Kernel,
  KernelEnd,
  KernelIdentity,
  KernelStatus,
  Look,
  Looked,
  LookName,
  Looks,
  Stream,
  SuspensionNews,
  Watcher,
} from '../kernel.ts'
import { type Link, Refusal } from '../link/link.ts'
import { LightSignal } from '../signal.ts'
import { shortened, underDeadline } from './deadlines.ts'
import { Evaluations, type Pending } from './evaluations.ts'
import { busy, offenceOf, outcomeUnknown, QUEUE, unheard, unresponsive } from './faults.ts'
import { type FramedOptions, hearNote } from './framed-options.ts'
import { Line, type Rejoining } from './line.ts'
import { Listeners } from './listeners.ts'
import { LOOKED } from './look-shapes.ts'
import { PULSE, Pulse } from './pulse.ts'
import * as shapes from './shapes.ts'
import { asSent, identityOf } from './told.ts'

/** How long an image may take to report on an interrupt, in ms, unless told otherwise. It tries for 5 s. */
const INTERRUPT_MS = 6_000

/** How long a peer may be silent after an interrupt before its process is signalled, in ms. */
const NUDGE_MS = 300

/**
 * A kernel over a framed link, in any language. Waits for the handshake, and throws what `acceptKernel` throws.
 *
 * An answer is parsed once and may then be trusted; one that is not of the agreed form is `MESSAGE_INVALID`. When
 * the link breaks and the peer comes back in time, evaluations under way are asked for again by name (`recall`) and
 * never sent twice; when it does not, they are `LINK_CLOSED`.
 */
export async function framedKernel(options: FramedOptions): Promise<FramedKernel> {
  const evaluations = new Evaluations(options.name)
  const line = await Line.open({
    ...options,
    serve: async (method, params) => {
      if (method === 'ask') return evaluations.ask(params)
      throw new Refusal('unknown_method', `A kernel cannot ask for ${method}.`)
    },
    note: (name, params) => hearNote(options, { name, params }),
  })
  return new FramedKernel({ options, evaluations, line })
}

export class FramedKernel implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #options: FramedOptions
  readonly #evaluations: Evaluations
  readonly #line: Line
  readonly #pulse: Pulse
  readonly #health = new Listeners<Health>()
  readonly #suspensions = new Listeners<SuspensionNews>()
  #closing: Promise<void> | undefined

  constructor(parts: { options: FramedOptions; evaluations: Evaluations; line: Line }) {
    this.#options = parts.options
    this.#evaluations = parts.evaluations
    this.#line = parts.line
    this.identity = identityOf(parts.line.hello, { attached: parts.options.opener === 'daemon' })
    this.ended = parts.line.ended
    this.#pulse = new Pulse({
      link: () => this.#line.link,
      changed: health => this.#health.tell(health),
      times: parts.options.pulse ?? PULSE,
    })
    void this.ended.then(() => this.#pulse.stop())
  }

  get health(): Health {
    return this.#pulse.health
  }

  watchHealth(listener: (health: Health) => void): () => void {
    return this.#health.add(listener)
  }

  watchSuspensions(listener: (news: SuspensionNews) => void): () => void {
    return this.#suspensions.add(listener)
  }

  async evaluate({ call, who, work, again = false }: Evaluation, watcher: Watcher): Promise<Evaluated> {
    this.#refuse()
    if (watcher.signal?.aborted) return { type: 'withdrawn' }
    const pending = this.#evaluations.add(call, watcher)
    const aborted = () => this.#nudgeLater(call)
    watcher.signal?.addEventListener('abort', aborted, { once: true })
    this.#pulse.begin()
    try {
      const first = again ? recallOf(call) : { method: 'evaluate', params: { call, who, ...asSent(work) } }
      return await this.#carryThrough(pending, first)
    } finally {
      this.#pulse.end()
      this.#evaluations.remove(pending)
      watcher.signal?.removeEventListener('abort', aborted)
    }
  }

  look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>> {
    return this.#look({ method: name, query, shape: LOOKED[name] }, look)
  }

  status(look: Look): Promise<KernelStatus> {
    return this.#ask({ method: 'status', query: {}, shape: shapes.kernelStatus }, look)
  }

  async interrupt(call: CallId): Promise<InterruptReport> {
    this.#nudgeLater(call)
    const asking = { method: 'interrupt', query: { call }, shape: shapes.interruptReport }
    try {
      return await this.#ask(asking, { deadlineMs: this.#options.interruptMs ?? INTERRUPT_MS })
    } catch (error) {
      const { name, nudge } = this.#options
      const silent = error instanceof WireError && error.code === 'UNRESPONSIVE'
      if (silent) return unheard({ name, owned: nudge !== undefined })
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closing ??= this.#letGo()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Text from the process's own descriptors: output of the evaluation that runs, or, with `false`, of none. */
  hear(stream: Stream, text: string): boolean {
    const heard = this.#evaluations.hearOutput(stream, text)
    if (!heard) this.#options.background?.(stream, text)
    return heard
  }

  /** The peer came back over a new transport; see `Line.rejoin`. */
  rejoin(rejoining: Rejoining): Promise<'joined' | 'other_image'> {
    return this.#line.rejoin(rejoining)
  }

  /** The present link. It may be broken. */
  get link(): Link {
    return this.#line.link
  }

  /** Gives up a link of which nothing is heard; see `Line.drop`. */
  drop(why: string): void {
    this.#line.drop(why)
  }

  /** Asks an owned image to end its process in order; resolves once it has agreed, or can no longer be asked. */
  async askToEnd(deadlineMs: number): Promise<void> {
    this.#line.expectEnd('stopped')
    await this.#line.link.call('stop', {}, { deadlineMs }).catch(() => {})
  }

  /** Resolves once the present link has ended: what the peer had sent before has then been read. */
  async disconnected(): Promise<void> {
    await this.#line.link.closed
  }

  /** The image is gone: settles everything that is pending, and `ended`. Later ends change nothing. */
  lose(end: KernelEnd): void {
    this.#line.lose(end)
  }

  async #letGo(): Promise<void> {
    const { name, release } = this.#options
    if (release) await release()
    else this.#line.lose({ reason: 'closed', message: `${name} was let go of.` })
    await this.#line.link.closed
  }

  /** Nudges the process if nothing was heard of it for a while after the call that runs was to stop. */
  #nudgeLater(call: CallId): void {
    const { nudge } = this.#options
    if (nudge === undefined || this.#evaluations.running !== call) return
    const asked = performance.now()
    const look = () => {
      if (this.#evaluations.running === call && this.#line.link.lastHeard < asked) nudge()
    }
    setTimeout(look, NUDGE_MS).unref()
  }

  /** Turns an evaluation away before anything is sent. */
  #refuse(): void {
    const { name } = this.#options
    if (this.health === 'ended') throw this.#line.gone()
    if (this.health === 'unresponsive') {
      throw unresponsive(name)
    }
    if (this.#evaluations.size >= QUEUE) throw busy(name)
  }

  /** Sends an evaluation, and sees it through breaks of the link: after one, it is recalled by name. */
  async #carryThrough(pending: Pending, first: Asked): Promise<Evaluated> {
    const { name, piped, awaitLinkMs } = this.#options
    let link = this.#line.here ?? (await this.#line.present(awaitLinkMs))
    if (pending.watcher.signal?.aborted) return { type: 'withdrawn' }
    let asking = this.#send(link, { ...first, pending })
    for (;;) {
      try {
        const answer = await asking
        // What children wrote to the process's own descriptors before the answer is in our pipes by now: read it.
        if (piped) await new Promise(resolve => setImmediate(resolve))
        if (pending.fault) throw pending.fault
        return shapes.parseAnswer(shapes.evaluated, answer, `What ${name} made of an evaluation`)
      } catch (error) {
        if (!(error instanceof WireError)) throw error
        if (error.remote?.code === 'cancelled') return { type: 'withdrawn' }
        if (error.code !== 'LINK_CLOSED') throw this.#explained(error)
        const offence = offenceOf(await link.closed)
        if (offence) throw outcomeUnknown(name, offence)
        link = await this.#line.present()
        asking = this.#send(link, { ...recallOf(pending.call), pending })
      }
    }
  }

  /** An abort that came while the link was broken is sent after the call; the link itself would send neither. */
  #send(link: Link, sending: Asked & { readonly pending: Pending }): Promise<unknown> {
    const { method, params, pending } = sending
    const { signal } = pending.watcher
    if (!signal?.aborted) return link.call(method, params, { on: pending.hear, signal })
    const late = new LightSignal()
    const asking = link.call(method, params, { on: pending.hear, signal: late })
    late.abort()
    return asking
  }

  async #look<Found>(asking: Asking<Looked<Found>>, look: Look): Promise<Looked<Found>> {
    const query = { ...asking.query, deadline_ms: shortened(look.deadlineMs) }
    return underDeadline(await this.#ask({ ...asking, query }, look), look.deadlineMs)
  }

  async #ask<Answer>({ method, query, shape }: Asking<Answer>, look: Look): Promise<Answer> {
    const { deadlineMs, signal } = look
    const asked = performance.now()
    this.#pulse.begin()
    try {
      const link = await this.#line.present(deadlineMs)
      const left = Math.max(0, Math.round(deadlineMs - (performance.now() - asked)))
      const answer = await link.call(method, query, { deadlineMs: left, ...(signal && { signal }) })
      return shapes.parseAnswer(shape, answer, `What ${this.#options.name} answered to ${method}`)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw error instanceof WireError ? this.#explained(error) : error
    } finally {
      this.#pulse.end()
    }
  }

  /** The peer's own failures, as the faults of this layer that they are. */
  #explained(error: WireError): WireError {
    const { name } = this.#options
    switch (error.remote?.code) {
      case 'busy':
        return busy(name)
      case 'unknown_call':
        return outcomeUnknown(name, error)
      default:
        return error.code === 'LINK_CLOSED' && this.health === 'ended' ? this.#line.gone() : error
    }
  }
}

interface Asked {
  readonly method: string
  readonly params: object
}

/** Asks for what became of a call that the peer was given; nothing is begun. */
const recallOf = (call: CallId): Asked => ({ method: 'recall', params: { call } })

interface Asking<Answer> {
  readonly method: string
  readonly query: object
  readonly shape: z.ZodType<Answer>
}
