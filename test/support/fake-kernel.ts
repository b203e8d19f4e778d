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
  type MoreQuery,
  type Piece,
  type Shown,
  type Watcher,
} from '../../wire/kernel.ts'

/** What a fake kernel answers. Whatever is not in its table is answered as a real one would answer the unknown. */
export interface Script {
  readonly language?: string
  readonly epoch?: string
  readonly abilities?: readonly Ability[]
  /** By source text. A source that is not here is done at once, without a value. */
  readonly evaluate?: Readonly<Record<string, Scene>>
  /** By expression; a function is given the query. */
  readonly inspect?: Readonly<Record<string, Reply<Inspected, InspectQuery>>>
  readonly globals?: Reply<GlobalsPage, GlobalsQuery>
  /** By handle. */
  readonly more?: Readonly<Record<string, Reply<Piece, MoreQuery>>>
}

/** One evaluation: what happens in it, one after the other, and how it ends. */
export interface Scene {
  /** Events, and questions to be asked with `{ask: prompt}`, whose answer is printed. */
  readonly events?: readonly (EvalEvent | { readonly ask: string })[]
  /** Left out: done without a value. `never` goes on until it is interrupted, `deaf` whatever is asked of it. */
  readonly ends?: Evaluated | WireError | Promise<Evaluated> | 'never' | 'deaf'
}

type Reply<Found, Query> = Looked<Found> | WireError | 'never' | ((query: Query) => Looked<Found>)

/** One thing that was asked of the kernel, in order. */
export type AskedOfKernel =
  | { readonly method: 'evaluate'; readonly call: CallId; readonly source: string; readonly place?: unknown }
  | { readonly method: 'inspect'; readonly query: InspectQuery; readonly deadlineMs: number }
  | { readonly method: 'globals'; readonly query: GlobalsQuery; readonly deadlineMs: number }
  | { readonly method: 'more'; readonly query: MoreQuery; readonly deadlineMs: number }
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

  turn(health: Health): void {
    this.health = health
    for (const listener of this.#listeners) listener(health)
  }

  /** The image is lost, with whatever runs in it. */
  die(end: KernelEnd = { reason: 'killed', message: 'It was killed.' }): void {
    this.turn('ended')
    this.#lose(this.#closed(end.message))
    this.#settleEnd(end)
  }

  evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { call, source, place } = evaluation
    if (this.health === 'ended') return Promise.reject(this.#closed('It has ended.'))
    const known = this.#calls.get(call)
    if (known !== undefined) return known
    const begun = this.#turn.then(() => {
      if (watcher.signal?.aborted) return { type: 'withdrawn' } as const
      this.asked.push({ method: 'evaluate', call, source, ...(place !== undefined && { place }) })
      return this.#play(call, this.#script.evaluate?.[source] ?? {}, watcher)
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

  async inspect(query: InspectQuery, look: Look): Promise<Looked<Inspected>> {
    this.asked.push({ method: 'inspect', query, deadlineMs: look.deadlineMs })
    return this.#look({ reply: this.#script.inspect?.[query.expr], query, what: query.expr, look })
  }

  async globals(query: GlobalsQuery, look: Look): Promise<Looked<GlobalsPage>> {
    this.asked.push({ method: 'globals', query, deadlineMs: look.deadlineMs })
    const empty: Looked<GlobalsPage> = { type: 'found', value: { globals: [], total: 0 } }
    return this.#look({ reply: this.#script.globals ?? empty, query, what: '', look })
  }

  async more(query: MoreQuery, look: Look): Promise<Looked<Piece>> {
    this.asked.push({ method: 'more', query, deadlineMs: look.deadlineMs })
    const { handle } = query
    const stale: Looked<Piece> = { type: 'stale_handle', handle, because: 'this kernel knows no such handle' }
    return this.#look({ reply: this.#script.more?.[handle] ?? stale, query, what: handle, look })
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
