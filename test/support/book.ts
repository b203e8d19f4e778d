import type { AskOptions } from '../../src/approvals/contract.ts'
import type { Plan } from '../../src/approvals/plan.ts'
import { type ApprovalsOptions, type OpenApprovals, openApprovals } from '../../src/approvals/queue.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { LightSignal } from '../../wire/signal.ts'
import { HandClock } from './calls-rig.ts'
import { somePlan } from './plans.ts'
import { openFollowed, takeSeat } from './seat.ts'

/** Approvals by themselves, with time that is moved by hand. */
export interface Book {
  readonly approvals: OpenApprovals
  readonly clock: HandClock
  /** How far the wall clock is ahead of the other, in milliseconds. */
  readonly wall: { ahead: number }
  readonly journal: JournalEntry[]
}

export const MINUTE = 60_000

/** Plans of it expire after 30 minutes. */
export function book(options: Partial<ApprovalsOptions> = {}): Book {
  const clock = new HandClock()
  const wall = { ahead: 0 }
  const journal: JournalEntry[] = []
  const approvals = openFollowed(openApprovals, {
    clock,
    wallClock: () => 1.7e12 + clock.now() + wall.ahead,
    expiryMs: 30 * MINUTE,
    journal: { later: entry => journal.push(entry) },
    ...options,
  })
  return { approvals, clock, wall, journal }
}

/** A signal that never aborts. */
export const still = new LightSignal()

/** Approvals with a person on a seat. */
export function sitting(options: Partial<ApprovalsOptions> = {}) {
  const made = book(options)
  const person = takeSeat(made.approvals)
  const ask = (plan: Plan = somePlan(), how: Partial<AskOptions> = {}) =>
    made.approvals.ask(plan, { signal: still, ...how })
  return { ...made, person, ask }
}
