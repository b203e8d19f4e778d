import { WireError } from '../../wire/errors.ts'
import {
  ABILITIES,
  type Ability,
  type CallId,
  type Epoch,
  type EvalEvent,
  type Evaluated,
  type Evaluation,
  type GlobalsPage,
  type GlobalsQuery,
  type Health,
  type Inspected,
  type InspectQuery,
  type InterruptReport,
  type Kernel,
  type KernelEnd,
  type KernelIdentity,
  type KernelStatus,
  type Look,
  type Looked,
  type LookName,
  type Looks,
  type MoreQuery,
  type Piece,
  type Shown,
  type SuspensionNews,
  type Watcher,
  type Work,
} from '../../wire/kernel.ts'
import { FakeSuspensions } from './fake-suspensions.ts'

/** What a fake kernel answers. Whatever is not in its table is answered as a real one would answer the unknown. */
export interface Script {
  readonly language?: string
  readonly epoch?: string
  readonly abilities?: readonly Ability[]
  /** By source text, or as `sourceOf` names it. What is not here is done at once, without a value. */
  readonly evaluate?: Readonly<Record<string, Scene>>
  /** By expression; a function is given the query. */
  readonly inspect?: Readonly<Record<string, Reply<Inspected, InspectQuery>>>
  readonly globals?: Reply<GlobalsPage, GlobalsQuery>
  /** By handle. */
  readonly more?: Readonly<Record<string, Reply<Piece, MoreQuery>>>
  /** Every other look, by its name. */
  readonly looks?: { readonly [Name in LookName]?: Reply<Looks[Name]['found'], Looks[Name]['query']> }
}

/** One evaluation: what happens in it, one after the other, and how it ends. */
export interface Scene {
  /** Events, and questions to be asked with `{ask: prompt}`, whose answer is printed. */
  readonly events?: readonly (EvalEvent | { readonly ask: string })[]
  /** Left out: done without a value. `never` goes on until it is interrupted, `deaf` whatever is asked of it. */
  readonly ends?: Evaluated | WireError | Promise<Evaluated> | 'never' | 'deaf'
}

const NO_GLOBALS: Looked<GlobalsPage> = { type: 'found', value: { globals: [], total: 0 } }
const isText = (value: unknown): value is string => typeof value === 'string'

function sourceOf(work: Work): string {
  switch (work.type) {
    case 'source':
    case 'compile':
    case 'expand':
      return work.source
    case 'load':
      return `load ${work.file}`
    case 'reload':
      return `reload ${work.module}`
    case 'system':
      return `system ${work.system}`
    case 'tests':
      return `tests ${work.target}`
    case 'frame':
      return `${work.suspension} frame ${work.frame}: ${work.source}`
    case 'resume':
      return `${work.suspension} ${JSON.stringify(work.way)}`
    default:
      return work satisfies never
  }
}

type Reply<Found, Query> = Looked<Found> | WireError | 'never' | ((query: Query) => Looked<Found>)

/** One thing that was asked of the kernel, in order. */
export type AskedOfKernel =
  | { readonly method: 'evaluate'; readonly call: CallId; readonly source: string; readonly place?: unknown }
  | { readonly method: LookName; readonly query: object; readonly deadlineMs: number }
  | { readonly method: 'interrupt'; readonly call: CallId }

/** A value as a kernel shows it. */
export function shownAs(text: string, extra: Partial<Shown> = {}): Shown {
  return {
    repr: { text, truncated: false, original_len: text.length },
    type: { name: 'object', module: 'builtins', qualified: 'builtins.object' },
    ...extra,
  }
}

/** The end of an evaluation with these values. */
export function doneWith(...values: readonly (string | Shown)[]): Evaluated {
  const shown = values.map(value => (typeof value === 'string' ? shownAs(value) : value))
  return { type: 'done', values: shown, elapsed_ms: 1 }
}

/** A `Kernel` scripted by a table. It keeps the contract: one evaluation at a time, each call at most once. */
export class FakeKernel implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  /** Everything that was asked, in order; nothing here means that nothing reached the kernel. */
  readonly asked: AskedOfKernel[] = []
  health: Health = 'responsive'
  readonly #script: Script
  readonly #listeners = new Set<(health: Health) => void>()
  readonly #watchers = new Set<(news: SuspensionNews) => void>()
  /** Evaluations whose scene has ended with `suspendedAs`. */
  readonly suspended = new FakeSuspensions(news => this.tell(news))
  readonly #calls = new Map<CallId, Promise<Evaluated>>()
  readonly #running = new Map<CallId, { deaf: boolean; stop(evaluated: Evaluated): void }>()
  /** Rejects when the image is lost. */
  readonly #lost: Promise<never>
  #lose: (error: WireError) => void = () => undefined
  #settleEnd: (end: KernelEnd) => void = () => undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(script: Script = {}) {
    this.#script = script
    this.identity = {
      language: script.language ?? 'fake',
      implementation: 'Fake 1.0',
      pid: 1,
      epoch: (script.epoch ?? 'feedbeef') as Epoch,
      abilities: new Set(script.abilities ?? ABILITIES),
    }
    this.ended = new Promise(resolve => {
      this.#settleEnd = resolve
    })
    this.#lost = new Promise((_, reject) => {
      this.#lose = reject
    })
    this.#lost.catch(() => undefined)
  }

  watchHealth(listener: (health: Health) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  watchSuspensions(listener: (news: SuspensionNews) => void): () => void {
    this.#watchers.add(listener)
    return () => this.#watchers.delete(listener)
  }

  /** Tells whoever watches of a suspension. */
  tell(news: SuspensionNews): void {
    for (const listener of this.#watchers) listener(news)
  }

  turn(health: Health): void {
    this.health = health
    for (const listener of this.#listeners) listener(health)
  }

  /** The image is lost, with whatever runs in it. */
  die(end: KernelEnd = { reason: 'killed', message: 'It was killed.' }): void {
    this.turn('ended')
    this.#lose(this.#closed(end.message))
    this.suspended.lose(end.message)
    this.#settleEnd(end)
  }

  evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { call, work } = evaluation
    if (this.health === 'ended') return Promise.reject(this.#closed('It has ended.'))
    const known = this.#calls.get(call)
    if (known !== undefined) return known
    const begun = this.#turn.then(async () => {
      if (watcher.signal?.aborted) return { type: 'withdrawn' } as const
      const source = sourceOf(work)
      const place = work.type === 'source' ? work.place : undefined
      this.asked.push({ method: 'evaluate', call, source, ...(place !== undefined && { place }) })
      const refused = this.suspended.refusal(work)
      const scene = this.#script.evaluate?.[source] ?? { ...(refused && { ends: refused }) }
      const { ends } = scene
      if (!(typeof ends === 'object' && 'type' in ends && ends.type === 'refused'))
        this.suspended.resume(work)
      return this.suspended.came(await this.#play(call, scene, watcher), call)
    })
    const result = Promise.race([begun, this.#lost])
    this.#turn = begun.catch(() => undefined)
    this.#calls.set(call, result)
    return result
  }

  async #play(call: CallId, scene: Scene, watcher: Watcher): Promise<Evaluated> {
    for (const event of scene.events ?? []) {
      if ('ask' in event) {
        const answer = await this.#ask(event.ask, watcher)
        watcher.on?.({ type: 'output', stream: 'stdout', text: answer })
      } else watcher.on?.(event)
    }
    const { ends = doneWith() } = scene
    if (ends instanceof WireError) throw ends
    if (ends !== 'never' && ends !== 'deaf') return ends
    return new Promise(resolve => {
      const stop = (evaluated: Evaluated) => {
        this.#running.delete(call)
        resolve(evaluated)
      }
      this.#running.set(call, { deaf: ends === 'deaf', stop })
      const interrupt = () => void this.interrupt(call)
      if (watcher.signal?.aborted) interrupt()
      else watcher.signal?.addEventListener('abort', interrupt, { once: true })
    })
  }

  async #ask(prompt: string, watcher: Watcher): Promise<string> {
    try {
      return (await watcher.ask?.({ type: 'stdin', prompt, secret: false })) ?? 'refused'
    } catch {
      return 'refused'
    }
  }

  /** Lets an evaluation that goes on for ever come to its end. */
  finish(call: CallId, evaluated: Evaluated = doneWith()): void {
    this.#running.get(call)?.stop(evaluated)
  }

  async interrupt(call: CallId): Promise<InterruptReport> {
    this.asked.push({ method: 'interrupt', call })
    const running = this.#running.get(call)
    if (running === undefined) return { outcome: 'not_running', message: 'It had ended by itself.' }
    if (running.deaf) return { outcome: 'still_running', message: 'It was asked and goes on.' }
    running.stop({ type: 'interrupted', elapsed_ms: 1 })
    return { outcome: 'stopped', message: 'It was seen to stop.' }
  }

  look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>> {
    this.asked.push({ method: name, query, deadlineMs: look.deadlineMs })
    const { reply, what } = this.#replyTo(name, query)
    return this.#look({
      reply: reply as Reply<Looks[Name]['found'], Looks[Name]['query']>,
      query,
      what,
      look,
    })
  }

  #replyTo(name: LookName, query: object): { reply: unknown; what: string } {
    const { expr = '', handle = '' } = query as Partial<InspectQuery & MoreQuery>
    const stale = { type: 'stale_handle', handle, because: 'this kernel knows no such handle' }
    if (name === 'inspect') return { reply: this.#script.inspect?.[expr], what: expr }
    if (name === 'more') return { reply: this.#script.more?.[handle] ?? stale, what: handle }
    if (name === 'globals') return { reply: this.#script.globals ?? NO_GLOBALS, what: '' }
    const listed = { type: 'found', value: { suspensions: this.suspended.live } }
    if (name === 'suspensions') return { reply: this.#script.looks?.suspensions ?? listed, what: '' }
    return { reply: this.#script.looks?.[name], what: Object.values(query).find(isText) ?? '' }
  }

  #look<Found, Query>(o: {
    reply: Reply<Found, Query> | undefined
    query: Query
    what: string
    look: Look
  }): Promise<Looked<Found>> {
    const { reply, query, what, look } = o
    if (this.health === 'ended') return Promise.reject(this.#closed('It has ended.'))
    if (reply === undefined) return Promise.resolve({ type: 'not_found', what, nearest: [] })
    if (reply instanceof WireError) return Promise.reject(reply)
    if (typeof reply === 'function') return Promise.resolve(reply(query))
    if (reply !== 'never') return Promise.resolve(reply)
    const deadline = new Promise<Looked<Found>>((resolve, reject) => {
      setTimeout(() => resolve({ type: 'timed_out', deadline_ms: look.deadlineMs }), look.deadlineMs).unref()
      look.signal?.addEventListener('abort', () => reject(new DOMException('withdrawn', 'AbortError')))
    })
    return Promise.race([deadline, this.#lost])
  }

  async status(): Promise<KernelStatus> {
    const [call] = this.#running.keys()
    return { running: call === undefined ? null : { call, elapsed_ms: 1 }, queued: 0 }
  }

  async close(): Promise<void> {
    this.die({ reason: 'closed', message: 'It was closed.' })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #closed(message: string): WireError {
    return new WireError('LINK_CLOSED', message)
  }
}
