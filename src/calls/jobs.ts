import type { Asking, Job, Jobs, OutputLog } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { CallId, Kernel } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { Clock } from '../clock.ts'

/** How many finished jobs are remembered; the least recently asked for go first. */
const FINISHED = 256

export interface JobBook extends Jobs {
  /** Every call on a kernel that is more than a look becomes a job when it is dispatched, others when a person is asked. */
  begin(dispatched: Dispatched): TrackedJob
}

interface Dispatched {
  readonly call: CallId
  readonly tool: Tool
  readonly kernelName: string | null
  readonly kernel: Kernel | null
  readonly output: OutputLog
  /** What every answer about it says besides. */
  readonly notice?: string | undefined
}

/** What a person is asked about, and how to give it up. */
type AskedPlan = Pick<Asking, 'plan' | 'withdraw'>

export interface TrackedJob extends Job {
  readonly notice: string | undefined
  /** A person is asked from now on, or no longer. */
  asks(plan: AskedPlan | undefined): void
  /** Its caller was told its name. */
  told(): void
  /** To be called once, with how it ended. */
  end(outcome: Outcome): void
}

export function openJobs(clock: Clock): JobBook {
  const running = new Map<string, TrackedJob>()
  const finished = new Map<string, TrackedJob>()
  const told = new Set<string>()
  let made = 0

  function finish(job: TrackedJob): void {
    running.delete(job.name)
    finished.set(job.name, job)
    if (finished.size <= FINISHED) return
    const [oldest] = finished.keys()
    if (oldest === undefined) return
    finished.delete(oldest)
    told.delete(oldest)
  }

  const book = { clock, finish, told: (name: string) => void told.add(name) }
  return {
    find(name) {
      const job = finished.get(name)
      if (job === undefined) return running.get(name)
      finished.delete(name)
      finished.set(name, job)
      return job
    },
    // One that ended before its caller lost patience is found as well, but nobody was told its name.
    names: () => [...running.keys(), ...[...finished.keys()].filter(name => told.has(name))],
    begin(dispatched) {
      made++
      const job = new Tracked(`job-${made}`, dispatched, book)
      running.set(job.name, job)
      return job
    },
  }
}

interface Book {
  readonly clock: Clock
  finish(job: TrackedJob): void
  told(name: string): void
}

/** Hundreds that have ended are kept, so each is made of little. */
class Tracked implements TrackedJob {
  readonly name: string
  readonly call: CallId
  readonly tool: string
  readonly kernelName: string | null
  readonly kernel: Kernel | null
  readonly output: OutputLog
  readonly notice: string | undefined
  outcome: Outcome | undefined
  readonly #book: Book
  readonly #began: number
  #elapsedMs = 0
  #asked: (AskedPlan & { readonly since: number }) | undefined
  #waiting: Set<() => void> | undefined

  constructor(name: string, { call, tool, kernelName, kernel, output, notice }: Dispatched, book: Book) {
    this.name = name
    this.call = call
    this.tool = tool.name
    this.kernelName = kernelName
    this.kernel = kernel
    this.output = output
    this.notice = notice
    this.#book = book
    this.#began = book.clock.now()
  }

  get elapsedMs(): number {
    return this.outcome === undefined ? this.#book.clock.now() - this.#began : this.#elapsedMs
  }

  get asking(): Asking | undefined {
    if (this.#asked === undefined || this.outcome !== undefined) return undefined
    const { plan, withdraw, since } = this.#asked
    return { plan, withdraw, waitedMs: this.#book.clock.now() - since }
  }

  asks(plan: AskedPlan | undefined): void {
    this.#asked = plan === undefined ? undefined : { ...plan, since: this.#book.clock.now() }
  }

  told(): void {
    this.#book.told(this.name)
  }

  end(outcome: Outcome): void {
    this.#elapsedMs = this.elapsedMs
    this.outcome = outcome
    this.#book.finish(this)
    for (const wake of this.#waiting ?? []) wake()
  }

  wait({ ms, signal }: { readonly ms: number; readonly signal: Signal }): Promise<void> {
    if (this.outcome !== undefined || signal.aborted) return Promise.resolve()
    this.#waiting ??= new Set()
    const waiting = this.#waiting
    return new Promise(resolve => {
      const wake = () => {
        waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        takeBack()
        resolve()
      }
      const takeBack = this.#book.clock.after(ms, wake)
      waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }
}
