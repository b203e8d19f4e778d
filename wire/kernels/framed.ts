import type { Duplex } from 'node:stream'
import type { z } from 'zod'
import type { Limits } from '../codec/messages.ts'
import {
  askParams,
  type EvalEvent,
  type Evaluated,
  type Evaluation,
  evalEvent,
  evaluated,
  type InterruptReport,
  interruptReport,
  type KernelStatus,
  kernelStatus,
  outputNote,
  type ScriptNews,
  type Stream,
  scriptNote,
  type Watcher,
} from '../contract/evaluation.ts'
import { LOOK_ANSWERS, type Look, type Looked, type LookName, type Looks } from '../contract/looks.ts'
import { type SuspensionEnd, type SuspensionNews, suspensionEnded } from '../contract/suspensions.ts'
import type { CallId } from '../contract/values.ts'
import { WireError } from '../errors.ts'
import type { Health, Kernel, KernelEnd, KernelIdentity, NewsOf } from '../kernel.ts'
import { Refusal } from '../link/calls.ts'
import type { Link } from '../link/link.ts'
import { LightSignal } from '../signal.ts'
import {
  asSent,
  busy,
  identityOf,
  offenceOf,
  outcomeUnknown,
  parseAnswer,
  QUEUE,
  shortened,
  suspendAsSent,
  underDeadline,
  unheard,
  unresponsive,
} from './answers.ts'
import { Line, type PeerConnection } from './line.ts'
import { Listeners } from './listeners.ts'
import { PULSE, Pulse, type PulseTimes } from './pulse.ts'
import { Suspensions } from './suspensions.ts'

export interface FramedOptions {
  /** For messages: `python`, `myproject`. */
  readonly name: string
  /** The peer's end of the line; it proves that it knows `secret` before anything else. */
  readonly transport: Duplex
  readonly secret: string
  /** Which end has made the connection, and makes it again; the peer, unless told otherwise. */
  readonly opener?: 'peer' | 'daemon'
  /** See `KernelIdentity`. Left out: where the daemon is the opener. */
  readonly attached?: true
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

interface NoteListeners extends Pick<FramedOptions, 'background' | 'scripted'> {
  /** A suspension has ended. */
  suspensionEnded(end: SuspensionEnd): void
  news(of: NewsOf): void
}

/** Characters that are kept of what a program failed with. */
const SCRIPT_MESSAGE = 4_096

/** What a peer says unasked. What is not understood may come from a newer one, and changes nothing. */
function hearNote(options: NoteListeners, { name, params }: { name: string; params: unknown }): void {
  if (name === 'output') {
    const note = outputNote.safeParse(params)
    if (note.success) options.background?.(note.data.stream, note.data.text)
  } else if (name === 'script') {
    const note = scriptNote.safeParse(params)
    if (!note.success) return
    const { state, message } = note.data
    options.scripted?.({ state, message: message?.slice(0, SCRIPT_MESSAGE) ?? null })
  } else if (name === 'suspension') {
    const note = suspensionEnded.safeParse(params)
    if (note.success) options.suspensionEnded(note.data)
  } else if (name === 'errors' || name === 'traces') options.news(name)
}

/** How long an image may take to report on an interrupt, in ms, unless told otherwise. It tries for 5 s. */
const INTERRUPT_MS = 6_000

/** How long a program may take to put back its hooks before it is let go of, in ms. */
const DETACH_MS = 1_000

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
  const suspensions = new Suspensions()
  const news = new Listeners<NewsOf>()
  const listeners = {
    ...options,
    suspensionEnded: suspensions.end.bind(suspensions),
    news: (of: NewsOf) => news.tell(of),
  }
  const line = await Line.open({
    ...options,
    serve: async (method, params) => {
      if (method === 'ask') return evaluations.ask(params)
      throw new Refusal('unknown_method', `A kernel cannot ask for ${method}.`)
    },
    note: (name, params) => hearNote(listeners, { name, params }),
    joined() {
      options.joined?.()
      // Tracepoints have ended with the link that was lost.
      news.tell('traces')
    },
  })
  return new FramedKernel({ options, evaluations, suspensions, news, line })
}

export class FramedKernel implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #options: FramedOptions
  readonly #evaluations: Evaluations
  readonly #line: Line
  readonly #pulse: Pulse
  readonly #health = new Listeners<Health>()
  readonly #suspensions: Suspensions
  readonly #news: Listeners<NewsOf>
  #closing: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#options = parts.options
    this.#evaluations = parts.evaluations
    this.#suspensions = parts.suspensions
    this.#news = parts.news
    this.#line = parts.line
    this.identity = identityOf(parts.line.hello, {
      attached: parts.options.attached ?? parts.options.opener === 'daemon',
    })
    this.ended = parts.line.ended
    this.#pulse = new Pulse({
      link: () => this.#line.link,
      changed: health => this.#health.tell(health),
      times: parts.options.pulse ?? PULSE,
    })
    void this.ended.then(({ message }) => {
      this.#pulse.stop()
      this.#suspensions.lose(message)
    })
  }

  get health(): Health {
    return this.#pulse.health
  }

  watchHealth(listener: (health: Health) => void): () => void {
    return this.#health.add(listener)
  }

  watchSuspensions(listener: (news: SuspensionNews) => void): () => void {
    return this.#suspensions.watch(listener)
  }

  watchNews(of: NewsOf, listener: () => void): () => void {
    return this.#news.add(one => one === of && listener())
  }

  async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { call, again } = evaluation
    this.#refuse()
    if (watcher.signal?.aborted) return { type: 'withdrawn' }
    const pending = this.#evaluations.add(call, watcher)
    const aborted = () => this.#nudgeLater(call)
    watcher.signal?.addEventListener('abort', aborted, { once: true })
    this.#pulse.begin()
    try {
      const result = await this.#carryThrough(pending, again ? recallOf(call) : this.#asked(evaluation))
      if (result.type === 'suspended') this.#suspensions.begin(result.suspension, call)
      return result
    } finally {
      this.#pulse.end()
      this.#evaluations.remove(pending)
      watcher.signal?.removeEventListener('abort', aborted)
    }
  }

  async look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>> {
    const looked = await this.#look({ method: name, query, shape: LOOK_ANSWERS[name] }, look)
    this.#suspensions.looked(name, looked)
    return looked
  }

  status(look: Look): Promise<KernelStatus> {
    return this.#ask({ method: 'status', query: {}, shape: kernelStatus }, look)
  }

  async interrupt(call: CallId): Promise<InterruptReport> {
    const suspended = this.#suspensions.notRunning(call)
    if (suspended !== undefined) return suspended
    this.#nudgeLater(call)
    const asking = { method: 'interrupt', query: { call }, shape: interruptReport }
    const { name, interruptMs = INTERRUPT_MS } = this.#options
    try {
      return await this.#ask(asking, { deadlineMs: interruptMs })
    } catch (error) {
      if (!(error instanceof WireError) || error.code !== 'UNRESPONSIVE') throw error
      return unheard({ name, owned: !this.identity.attached })
    }
  }

  async detach(): Promise<void> {
    // One that does not answer, or is of another version, is let go of as it is.
    await this.#line.here?.call('detach', {}, { deadlineMs: DETACH_MS }).catch(() => {})
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
  rejoin(rejoining: PeerConnection): Promise<'joined' | 'other_image'> {
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
    if (this.health === 'ended') throw this.#line.gone()
    if (this.health === 'unresponsive') throw unresponsive(this.#options.name)
    if (this.#evaluations.size >= QUEUE) throw busy(this.#options.name)
  }

  /** Sends an evaluation, and sees it through breaks of the link: after one, it is recalled by name. */
  async #carryThrough(pending: PendingEvaluation, first: LinkCall): Promise<Evaluated> {
    const { name, piped, awaitLinkMs } = this.#options
    let link = this.#line.here ?? (await this.#line.present(awaitLinkMs))
    if (pending.watcher.signal?.aborted) return { type: 'withdrawn' }
    let asking = send(link, { ...first, pending })
    for (;;) {
      try {
        const answer = await asking
        // What children wrote to the process's own descriptors before the answer is in our pipes by now: read it.
        if (piped) await new Promise(resolve => setImmediate(resolve))
        if (pending.fault) throw pending.fault
        return parseAnswer(evaluated, answer, `What ${name} made of an evaluation`)
      } catch (error) {
        if (!(error instanceof WireError)) throw error
        if (error.remote?.code === 'cancelled') return { type: 'withdrawn' }
        if (error.code !== 'LINK_CLOSED') throw this.#explained(error)
        const offence = offenceOf(await link.closed)
        if (offence) throw outcomeUnknown(name, offence)
        link = await this.#line.present()
        asking = send(link, { ...recallOf(pending.call), pending })
      }
    }
  }

  #asked({ call, who, work, suspend }: Evaluation): LinkCall {
    const suspending = suspend && this.identity.abilities.has('suspend') ? suspendAsSent(suspend) : {}
    return { method: 'evaluate', params: { call, who, ...asSent(work), ...suspending } }
  }

  async #look<Found>(asking: LinkRequest<Looked<Found>>, look: Look): Promise<Looked<Found>> {
    const query = { ...asking.query, deadline_ms: shortened(look.deadlineMs) }
    return underDeadline(await this.#ask({ ...asking, query }, look), look.deadlineMs)
  }

  async #ask<Answer>({ method, query, shape }: LinkRequest<Answer>, look: Look): Promise<Answer> {
    const { deadlineMs, signal } = look
    const asked = performance.now()
    this.#pulse.begin()
    try {
      const link = await this.#line.present(deadlineMs)
      const left = Math.max(0, Math.round(deadlineMs - (performance.now() - asked)))
      const answer = await link.call(method, query, { deadlineMs: left, ...(signal && { signal }) })
      return parseAnswer(shape, answer, `What ${this.#options.name} answered to ${method}`)
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

interface Parts {
  readonly options: FramedOptions
  readonly evaluations: Evaluations
  readonly suspensions: Suspensions
  readonly news: Listeners<NewsOf>
  readonly line: Line
}

interface LinkRequest<Answer> {
  readonly method: string
  readonly query: object
  readonly shape: z.ZodType<Answer>
}

/** One evaluation that has been asked for and has not settled. */
interface PendingEvaluation {
  readonly call: CallId
  readonly watcher: Watcher
  /** Takes an event as the peer sent it. One that is not an event is kept as the fault of the evaluation. */
  readonly hear: (event: unknown) => void
  /** Thrown in place of the answer. */
  fault: unknown
}

interface LinkCall {
  readonly method: string
  readonly params: object
}

/** Asks for what became of a call that the peer was given; nothing is begun. */
const recallOf = (call: CallId): LinkCall => ({ method: 'recall', params: { call } })

/** An abort that came while the link was broken is sent after the call; the link itself would send neither. */
function send(link: Link, { method, params, pending }: LinkCall & { readonly pending: PendingEvaluation }) {
  const { signal } = pending.watcher
  if (!signal?.aborted) return link.call(method, params, { on: pending.hear, signal })
  const late = new LightSignal()
  const asking = link.call(method, params, { on: pending.hear, signal: late })
  late.abort()
  return asking
}

/** The evaluations of one kernel, in the order in which they were asked for: the first is the one that runs. */
class Evaluations {
  readonly #pending = new Set<PendingEvaluation>()
  readonly #kernel: string

  constructor(kernel: string) {
    this.#kernel = kernel
  }

  get size(): number {
    return this.#pending.size
  }

  /** The first that was asked for and has not ended. */
  get running(): CallId | undefined {
    const [running] = this.#pending
    return running?.call
  }

  add(call: CallId, watcher: Watcher): PendingEvaluation {
    const pending: PendingEvaluation = {
      call,
      watcher,
      fault: undefined,
      hear: event => {
        try {
          watcher.on?.(parseAnswer(evalEvent, event, `An event of ${this.#kernel}`))
        } catch (error) {
          pending.fault ??= error
        }
      },
    }
    this.#pending.add(pending)
    return pending
  }

  remove(pending: PendingEvaluation): void {
    this.#pending.delete(pending)
  }

  /** Gives text of the process's own descriptors to the evaluation that runs; false if there is none. */
  hearOutput(stream: Stream, text: string): boolean {
    const [running] = this.#pending
    const event: EvalEvent = { type: 'output', stream, text }
    running?.watcher.on?.(event)
    return running !== undefined
  }

  /** Serves `ask`: puts a question of running code to whoever asked for the evaluation. */
  async ask(params: unknown): Promise<{ answer: string }> {
    const asked = askParams.safeParse(params)
    if (!asked.success) throw new Refusal('invalid_params', 'ask takes {call, question}')
    const { call, question } = asked.data
    for (const pending of this.#pending) {
      if (pending.call !== call) continue
      if (pending.watcher.ask === undefined) throw new Refusal('refused', 'Nobody can answer here.')
      return { answer: await answerOf(pending.watcher.ask(question)) }
    }
    throw new Refusal('unknown_call', `No evaluation ${call} is waiting for an answer.`)
  }
}

async function answerOf(answer: Promise<string>): Promise<string> {
  try {
    return await answer
  } catch (error) {
    throw new Refusal('refused', error instanceof Error ? error.message : String(error))
  }
}
