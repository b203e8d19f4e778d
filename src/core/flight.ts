import type { Envelope } from '../../tools/outcome.ts'
import type { CallId, Question } from '../../wire/kernel.ts'
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
  readonly began: number
  /** The answer of the call itself, however long it takes. Never rejects. */
  readonly done: Promise<Envelope>
  /** How long a caller waits once it is a job, in milliseconds. */
  patienceMs: number
  /** Whether anything of it may have run, so that asking for it again must not run it. */
  ran = false
  readonly #abort = new AbortController()
  readonly #joined = new Set<CallRequest>()
  readonly #watchers = new Set<(job: TrackedJob) => void>()
  #job: TrackedJob | undefined

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
    this.began = o.began
    this.patienceMs = o.patienceMs
    this.done = Promise.resolve(this).then(o.walk)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get job(): TrackedJob | undefined {
    return this.#job
  }

  /** Has running code interrupted; what has not begun is withdrawn. */
  cancel(): void {
    this.#abort.abort()
  }

  /** From now on the call goes on without its callers. */
  track(job: TrackedJob): void {
    this.#job = job
    for (const watcher of [...this.#watchers]) watcher(job)
    this.#watchers.clear()
  }

  /** Tells of the job once there is one, or at once; the answer takes it back. */
  whenTracked(watcher: (job: TrackedJob) => void): () => void {
    if (this.#job !== undefined) watcher(this.#job)
    else this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Sends this caller the events, and the questions, until the answer is called. */
  join(request: CallRequest): () => void {
    this.#joined.add(request)
    return () => this.#joined.delete(request)
  }

  emit(event: CallEvent): void {
    for (const request of this.#joined) this.emitTo(request, event)
  }

  /** A listener that throws is one that has gone; the call must not notice. */
  emitTo(request: CallRequest, event: CallEvent): void {
    try {
      if (this.#joined.has(request)) request.on?.(event)
    } catch {
      this.#joined.delete(request)
    }
  }

  /** Asks whoever joined last and can be asked; rejects where nobody is. */
  async ask(question: Question): Promise<string> {
    const asked = [...this.#joined].reverse().find(request => request.ask !== undefined)
    if (asked?.ask === undefined) throw new Error('Nobody who waits for this call can be asked.')
    return asked.ask(question)
  }
}
