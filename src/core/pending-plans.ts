import type { Ages } from './ages.ts'
import type { Taken } from './approvals.ts'
import type { Clock } from './clock.ts'
import { type Answer, causesOf, type Plan } from './plan.ts'

/** One plan that waits for an answer. */
export interface Pending {
  readonly plan: Plan
  /** Its evidence is being looked at. */
  looking: boolean
  end(answer: Answer): void
}

export interface PendingOptions<One extends Pending> {
  readonly clock: Clock
  readonly ages: Ages
  expired(plan: Plan): boolean
  readonly expiryMs: number
  /** Called once for each, when it waits no more and before anybody hears of it. */
  ended(one: One): void
}

/** The plans that wait, each until it is settled, which is once. Looks after those that go stale, or become too old. */
export interface PendingPlans<One extends Pending> {
  add(one: One): void
  all(): readonly One[]
  get(id: string): One | undefined
  /** False where it was settled before. */
  settle(one: One, answer: Answer, why: string): boolean
  /** What waits under that name and may still be answered, or what its answer has come to. */
  open(id: string): One | Taken
  /** Entries that are kept, those of settled plans included, whose end is known to whoever answers late. */
  readonly size: number
}

/** How often plans that wait are looked at, in milliseconds. */
const POLL_MS = 1_000
/** Settled plans whose end is still known. */
const SETTLED = 256

/** `told` hears of each that was settled by itself: it went stale, or nobody answered in time. */
export function openPendingPlans<One extends Pending>(
  options: PendingOptions<One>,
  told: (one: One, answer: Answer, why: string) => void,
): PendingPlans<One> {
  const { clock, ages, expired, expiryMs, ended } = options
  const waiting = new Map<string, One>()
  const settled = new Map<string, string>()
  let stopPolling: (() => void) | undefined

  function settle(one: One, answer: Answer, why: string): boolean {
    const { id } = one.plan
    if (!waiting.delete(id)) return false
    settled.set(id, why)
    const [oldest] = settled.keys()
    if (settled.size > SETTLED && oldest !== undefined) settled.delete(oldest)
    if (waiting.size === 0) {
      stopPolling?.()
      stopPolling = undefined
    }
    ended(one)
    one.end(answer)
    return true
  }

  function over(one: One, answer: Answer, why: string): void {
    if (settle(one, answer, why)) told(one, answer, why)
  }

  function expire(one: One): void {
    const afterMs = Math.round(ages.waitedMs(one.plan))
    over(one, { type: 'timed_out', afterMs }, 'Nobody answered in time; it counts as denied.')
  }

  /** Looks at all that waits about once a second, and when the next one expires. */
  function poll(): void {
    for (const one of [...waiting.values()])
      if (expired(one.plan)) expire(one)
      else void look(one)
    stopPolling = undefined
    schedule()
  }

  function schedule(): void {
    if (stopPolling !== undefined || waiting.size === 0) return
    const left = [...waiting.values()].map(({ plan }) => expiryMs - ages.waitedMs(plan))
    stopPolling = clock.after(Math.max(0, Math.min(POLL_MS, ...left)), poll)
  }

  async function look(one: One): Promise<void> {
    if (one.looking) return
    one.looking = true
    const causes = await causesOf(one.plan)
    one.looking = false
    if (causes.length > 0) over(one, { type: 'stale', causes }, `It is out of date: ${causes.join('; ')}.`)
  }

  return {
    add(one) {
      waiting.set(one.plan.id, one)
      schedule()
    },
    all: () => [...waiting.values()],
    get: id => waiting.get(id),
    settle,
    open(id) {
      const one = waiting.get(id)
      if (one !== undefined && expired(one.plan)) expire(one)
      const why = settled.get(id)
      if (why !== undefined) return { type: 'late', why }
      return waiting.get(id) ?? { type: 'unknown' }
    },
    get size() {
      return waiting.size + settled.size
    },
  }
}
