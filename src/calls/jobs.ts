import type { Asking, Job, Jobs, OutputLog } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { CallId, Kernel } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { Clock } from '../clock.ts'
import type { Caller } from './contract.ts'

/**
 * How many finished jobs are remembered, and how many where their callers were told their names: a crowd may come back for
 * what it was promised. Those that nobody was told of go first, and then the least recently asked for.
 */
const FINISHED = 256
const PROMISED = 1_024

export interface JobBook extends Jobs {
  /** Those of callers in its project, and its own from before it moved there: no other one can be asked for, or is named. */
  of(caller: Pick<Caller, 'id' | 'root'>): Jobs
  /** Every call on a kernel that is more than a look becomes a job when it is dispatched, others when a person is asked. */
  begin(dispatched: JobCall): TrackedJob
  /** Oldest first. */
  running(): readonly TrackedJob[]
}

interface JobCall {
  readonly caller: Pick<Caller, 'id' | 'root'>
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

/** `changed`: one began, ended, or a person is asked about it. */
export function openJobs(clock: Clock, changed: () => void = () => {}): JobBook {
  const running = new Map<string, TrackedJob>()
  const finished = new Map<string, TrackedJob>()
  const told = new Set<string>()
  let made = 0

  function finish(job: TrackedJob): void {
    running.delete(job.name)
    finished.set(job.name, job)
    changed()
    if (finished.size <= FINISHED) return
    const untold = first(finished.keys(), name => !told.has(name))
    const oldest = untold ?? (finished.size > PROMISED ? first(finished.keys()) : undefined)
    if (oldest === undefined) return
    finished.delete(oldest)
    told.delete(oldest)
  }

  function find(name: string): TrackedJob | undefined {
    const job = finished.get(name)
    if (job === undefined) return running.get(name)
    finished.delete(name)
    finished.set(name, job)
    return job
  }

  // One that ended before its caller lost patience is found as well, but nobody was told its name.
  const names = () => [...running.keys(), ...[...finished.keys()].filter(name => told.has(name))]

  const book = { clock, finish, changed, told: (name: string) => void told.add(name) }
  return {
    find,
    names,
    of({ id, root }) {
      const isKnown = (name: string) => {
        const job = running.get(name) ?? finished.get(name)
        return job?.root === root || job?.caller === id
      }
      return { find: name => (isKnown(name) ? find(name) : undefined), names: () => names().filter(isKnown) }
    },
    begin(dispatched) {
      made++
      const job = new JobRecord(`job-${made}`, dispatched, book)
      running.set(job.name, job)
      changed()
      return job
    },
    running: () => [...running.values()],
  }
}

function first(names: Iterable<string>, wanted: (name: string) => boolean = () => true): string | undefined {
  for (const name of names) if (wanted(name)) return name
  return undefined
}

interface Book {
  readonly clock: Clock
  changed(): void
  finish(job: TrackedJob): void
  told(name: string): void
}

export type TrackedJob = Pick<JobRecord, keyof JobRecord>

/** Hundreds that have ended are kept, so each is made of little. */
class JobRecord implements Job {
  readonly name: string
  readonly root: string
  readonly caller: string
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

  constructor(name: string, { caller, call, tool, kernelName, kernel, output, notice }: JobCall, book: Book) {
    this.name = name
    this.root = caller.root
    this.caller = caller.id
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

  /** A person is asked from now on, or no longer. */
  asks(plan: AskedPlan | undefined): void {
    this.#asked = plan === undefined ? undefined : { ...plan, since: this.#book.clock.now() }
    this.#book.changed()
  }

  /** Its caller was told its name. */
  told(): void {
    this.#book.told(this.name)
  }

  /** To be called once, with how it ended. */
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
