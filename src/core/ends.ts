import type { Ended, PlanOutcome, WaitingPlan } from './approvals.ts'
import { areAllRefused } from './choices.ts'
import type { Clock } from './clock.ts'
import type { Answer } from './plan.ts'

/** Settled plans whose outcome can be looked up. */
const MOST = 64

/** How the plans that waited last have ended, for whoever looks from time to time. */
export interface Ends {
  /** It waits no more; `why` is the sentence that seats are told. */
  add(plan: Pick<WaitingPlan, 'id' | 'tool' | 'title'>, answer: Answer, why: string): void
  /** The last of them, oldest first. */
  list(): readonly Ended[]
  /** Entries that are kept. */
  readonly size: number
}

export function openEnds(clock: Clock): Ends {
  const ends: (Omit<Ended, 'ago_ms'> & { readonly at: number })[] = []
  return {
    add({ id, tool, title }, answer, why) {
      ends.push({ id, tool, title, outcome: outcomeOf(answer), why, at: clock.now() })
      if (ends.length > MOST) ends.shift()
    },
    list: () => ends.map(({ at, ...end }) => ({ ...end, ago_ms: Math.round(clock.now() - at) })),
    get size() {
      return ends.length
    },
  }
}

function outcomeOf(answer: Answer): PlanOutcome {
  switch (answer.type) {
    case 'approved':
    case 'edited':
    case 'denied':
    case 'stale':
    case 'timed_out':
      return answer.type
    case 'chosen':
      return areAllRefused(answer.choices) ? 'denied' : 'approved_in_part'
    case 'cancelled':
    case 'unavailable':
      return 'withdrawn'
    default:
      return answer satisfies never
  }
}
