import type { Duplex } from 'node:stream'
import type { z } from 'zod'
import type { Limits } from '../codec/messages.ts'
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
  ScriptNews,
  Stream,
  Watcher,
} from '../kernel.ts'
import { type Link, Refusal } from '../link/link.ts'
import { LightSignal } from '../signal.ts'
import { Evaluations, type Pending } from './evaluations.ts'
import { busy, offenceOf, outcomeUnknown, QUEUE, unheard, unresponsive } from './faults.ts'
import { Line, type Rejoining } from './line.ts'
import { LOOKED } from './look-shapes.ts'
import { PULSE, Pulse, type PulseTimes } from './pulse.ts'
import * as shapes from './shapes.ts'
import { asSent, identityOf } from './told.ts'

/** How long an image may take to report on an interrupt, in ms, unless told otherwise. It tries for 5 s. */
const INTERRUPT_MS = 6_000

/** How long a peer may be silent after an interrupt before its process is signalled, in ms. */
const NUDGE_MS = 300

export interface FramedOptions {
  /** For messages: `python`, `myproject`. */
  readonly name: string
  /** The peer's end of the line; it proves that it knows `secret` before anything else. */
  readonly transport: Duplex
  readonly secret: string
  /** Which end has made the connection, and makes it again; the peer, unless told otherwise. */
  readonly opener?: 'peer' | 'daemon'
  /** See `LineOptions`. */
  readonly rejoinMs?: number
  broken?(why: string): void
  joined?(): void
  /** How long an evaluation waits for a link before it is sent, in ms; left out: as long as it takes. */
  readonly awaitLinkMs?: number
  /** The process's own descriptors are read by us: see `FramedKernel.hear`. */
  readonly piped?: boolean
  /** Output that belongs to no evaluation. */
  background?(stream: Stream, text: string): void
  /** News of the program that the image was started with. */
  scripted?(news: ScriptNews): void
  /**
   * Signals a process of ours that its reader must look: for code in C that holds the interpreter, and with it the
   * reader, but looks at signals. The peer raises nothing but what an interrupt that it reads then asks for.
   */
  nudge?(): void
  /** Lets go of the image, before the link is closed. Left out: closing the link is all there is to do. */
  release?(): Promise<void>
  readonly pulse?: PulseTimes
  /** How long it may take to report on an interrupt, in ms. */
  readonly interruptMs?: number
  readonly limits?: Partial<Limits>
}

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

/** What a peer says unasked. What is not understood may come from a newer one, and changes nothing. */
function hearNote(options: FramedOptions, { name, params }: { name: string; params: unknown }): void {
  if (name === 'output') {
    const note = shapes.outputNote.safeParse(params)
    if (note.success) options.background?.(note.data.stream, note.data.text)
  } else if (name === 'script') {
    const note = shapes.scriptNote.safeParse(params)
    if (note.success) options.scripted?.(note.data)
  }
}

export class FramedKernel implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #options: FramedOptions
  readonly #evaluations: Evaluations
  readonly #line: Line
  readonly #pulse: Pulse
  readonly #listeners = new Set<(health: Health) => void>()
  #closing: Promise<void> | undefined

  constructor(parts: { options: FramedOptions; evaluations: Evaluations; line: Line }) {
    this.#options = parts.options
    this.#evaluations = parts.evaluations
    this.#line = parts.line
    this.identity = identityOf(parts.line.hello, { attached: parts.options.opener === 'daemon' })
    this.ended = parts.line.ended
    this.#pulse = new Pulse({
      link: () => this.#line.link,
      changed: health => {
        for (const listener of this.#listeners) listener(health)
      },
      times: parts.options.pulse ?? PULSE,
    })
    void this.ended.then(() => this.#pulse.stop())
  }

  get health(): Health {
    return this.#pulse.health
  }

  watchHealth(listener: (health: Health) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
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
    // The peer keeps a slightly shorter deadline, so that it can still say that it ran out of time.
    const deadline_ms = Math.round(look.deadlineMs - Math.min(100, look.deadlineMs / 5))
    const found = await this.#ask({ ...asking, query: { ...asking.query, deadline_ms } }, look)
    // A deadline that is the peer's own, for code that it runs to look, is told as it is.
    const ours = found.type === 'timed_out' && found.deadline_ms >= deadline_ms
    return ours ? { type: 'timed_out', deadline_ms: look.deadlineMs } : found
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
