import type { Clock } from './clock.ts'
import type { Plan } from './plan.ts'

export interface AgesOptions {
  readonly clock: Clock
  /** Milliseconds since 1970, as the machine believes. */
  wallClock(): number
}

/** A moment by both clocks: one only goes forward, the other also counts while the machine sleeps. */
export interface Moment {
  readonly clock: number
  readonly wall: number
}

/** How long plans have waited. Nothing is kept of a plan that nobody holds any more. */
export interface Ages {
  now(): Moment
  /** Whether as many milliseconds have passed since, by either clock. */
  passed(since: Moment, ms: number): boolean
  /** Milliseconds until as many have passed since, by the clock that is ahead; 0 once they have. */
  leftMs(since: Moment, ms: number): number
  /** From now on the plan is so old. */
  begin(plan: Plan): void
  /** When that was; undefined for a plan that never began to wait. */
  began(plan: Plan): Moment | undefined
  /** Milliseconds that the plan has waited, by the clock that only goes forward; 0 for one that never did. */
  waitedMs(plan: Plan): number
}

export function openAges({ clock, wallClock }: AgesOptions): Ages {
  const began = new WeakMap<Plan, Moment>()
  const now = () => ({ clock: clock.now(), wall: wallClock() })
  return {
    now,
    passed: (since, ms) => clock.now() - since.clock >= ms || wallClock() - since.wall >= ms,
    leftMs: (since, ms) => Math.max(0, ms - Math.max(clock.now() - since.clock, wallClock() - since.wall)),
    begin: plan => void began.set(plan, now()),
    began: plan => began.get(plan),
    waitedMs(plan) {
      const since = began.get(plan)
      return since === undefined ? 0 : clock.now() - since.clock
    },
  }
}
