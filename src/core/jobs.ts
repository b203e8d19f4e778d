import type { Asking, Job, Jobs, OutputLog, Tool } from '../../tools/define.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { CallId, Kernel } from '../../wire/kernel.ts'
import type { Clock } from './clock.ts'

/** How many finished jobs are remembered; the least recently asked for go first. */
const FINISHED = 256

export interface JobBook extends Jobs {
  /** Every call on a kernel that is more than a look becomes a job when it is dispatched, others when a person is asked. */
  begin(dispatched: Dispatched): TrackedJob
}

export interface Dispatched {
  readonly call: CallId
  readonly tool: Tool
  readonly kernelName: string | null
  readonly kernel: Kernel | null
  readonly output: OutputLog
  /** What every answer about it says besides. */
  readonly notice?: string | undefined
}

/** What a person is asked about, and how to give it up. */
export type AskedPlan = Pick<Asking, 'plan' | 'withdraw'>

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
    const [oldest] = finished.keys()
    if (finished.size <= FINISHED || oldest === undefined) return
    finished.delete(oldest)
    told.delete(oldest)
  }

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
      const name = `job-${made}`
      const job = track({ name, dispatched, clock, finish, told: () => told.add(name) })
      running.set(name, job)
      return job
    },
  }
}

function track(o: {
  readonly name: string
  readonly dispatched: Dispatched
  readonly clock: Clock
  finish(job: TrackedJob): void
  told(): void
}): TrackedJob {
  const { call, tool, kernelName, kernel, output } = o.dispatched
  const began = o.clock.now()
  let ended: { readonly outcome: Outcome; readonly elapsedMs: number } | undefined
  let asked: (AskedPlan & { readonly since: number }) | undefined
  const waiting = new Set<() => void>()

  const job: TrackedJob = {
    name: o.name,
    call,
    tool: tool.name,
    kernelName,
    kernel,
    output,
    notice: o.dispatched.notice,
    get elapsedMs() {
      return ended?.elapsedMs ?? o.clock.now() - began
    },
    get outcome() {
      return ended?.outcome
    },
    get asking() {
      if (asked === undefined || ended !== undefined) return undefined
      const { plan, withdraw, since } = asked
      return { plan, withdraw, waitedMs: o.clock.now() - since }
    },
    asks(plan) {
      asked = plan === undefined ? undefined : { ...plan, since: o.clock.now() }
    },
    told: o.told,
    end(outcome) {
      ended = { outcome, elapsedMs: o.clock.now() - began }
      o.finish(job)
      for (const wake of waiting) wake()
    },
    wait({ ms, signal }) {
      if (ended !== undefined || signal.aborted) return Promise.resolve()
      return new Promise(resolve => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          takeBack()
          resolve()
        }
        const takeBack = o.clock.after(ms, wake)
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
  }
  return job
}
