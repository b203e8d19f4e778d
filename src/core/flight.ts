import type { Envelope } from '../../tools/outcome.ts'
import type { CallId, Question } from '../../wire/kernel.ts'
import { LightSignal } from '../../wire/signal.ts'
import type { CallEvent, Caller, CallRequest } from './call.ts'
import type { TrackedJob } from './jobs.ts'

/**
 * One call under way. Whoever asks for it again, under the same name, joins it: everybody is told what happens, and
 * gets the one answer. It ends by itself and never because a caller went away.
 */
export class Flight {
  readonly call: CallId
  readonly caller: Caller
  readonly tool: string
  /** Its caller gave it its name, and may ask for it again under that. */
  readonly named: boolean
  readonly began: number
  /** The answer of the call itself, however long it takes. Never rejects. */
  readonly done: Promise<Envelope>
  /** How long a caller waits once it is a job, in milliseconds. */
  patienceMs: number
  /**
   * Whether it was dispatched or answered by a look, so that asking for it again must not run it. A refused call that
   * was neither may be tried again under its name.
   */
  ran = false
  /** Aborts when the call is cancelled. */
  readonly signal = new LightSignal()
  #joined: readonly CallRequest[] = []
  #job: TrackedJob | undefined
  readonly #tracked = new Watchers<TrackedJob>()

  /** `walk` begins after the code that makes the flight has come to its end, so that nothing is missed. */
  constructor(o: {
    readonly call: CallId
    readonly request: CallRequest
    readonly began: number
    readonly patienceMs: number
    walk(flight: Flight): Promise<Envelope>
  }) {
    this.call = o.call
    this.caller = o.request.caller
    this.tool = o.request.tool
    this.named = o.request.call !== undefined
    this.began = o.began
    this.patienceMs = o.patienceMs
    this.done = Promise.resolve(this).then(o.walk)
  }

  get cancelled(): boolean {
    return this.signal.aborted
  }

  get job(): TrackedJob | undefined {
    return this.#job
  }

  /** Has running code interrupted; what has not begun is withdrawn. */
  cancel(): void {
    this.signal.abort()
  }

  /** From now on the call goes on without its callers. */
  track(job: TrackedJob): void {
    this.#job = job
    this.#tracked.tell(job)
  }

  /** Tells of the job once there is one, or at once; the answer takes it back. */
  whenTracked(watcher: (job: TrackedJob) => void): () => void {
    return this.#tracked.watch(watcher)
  }

  /** Sends this caller the events, and the questions, until the answer is called. */
  join(request: CallRequest): () => void {
    this.#joined = [...this.#joined, request]
    return () => this.#leave(request)
  }

  #leave(request: CallRequest): void {
    this.#joined = this.#joined.filter(one => one !== request)
  }

  emit(event: CallEvent): void {
    for (const request of this.#joined) this.emitTo(request, event)
  }

  /** A listener that throws is one that has gone; the call must not notice. */
  emitTo(request: CallRequest, event: CallEvent): void {
    try {
      if (this.#joined.includes(request)) request.on?.(event)
    } catch {
      this.#leave(request)
    }
  }

  get canAsk(): boolean {
    return this.#joined.some(request => request.ask !== undefined)
  }

  /** Asks whoever joined last and can be asked; rejects where nobody is. */
  async ask(question: Question): Promise<string> {
    const asked = this.#joined.findLast(request => request.ask !== undefined)
    if (asked?.ask === undefined) throw new Error('Nobody who waits for this call can be asked.')
    return asked.ask(question)
  }
}

/** Those who want to know of one thing that happens at most once. */
class Watchers<News> {
  #waiting: readonly ((news: News) => void)[] = []
  #told: { readonly news: News } | undefined

  /** Calls at once if it has happened already. The answer takes it back. */
  watch(watcher: (news: News) => void): () => void {
    if (this.#told !== undefined) watcher(this.#told.news)
    else this.#waiting = [...this.#waiting, watcher]
    return () => {
      this.#waiting = this.#waiting.filter(one => one !== watcher)
    }
  }

  tell(news: News): void {
    if (this.#told !== undefined) return
    this.#told = { news }
    const waiting = this.#waiting
    this.#waiting = []
    for (const watcher of waiting) watcher(news)
  }
}
