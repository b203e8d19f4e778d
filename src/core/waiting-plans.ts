import type { Ages } from './ages.ts'
import type { Ended, SeatNews, ShownPlan, Taken } from './approvals.ts'
import type { Audience, Seated } from './audience.ts'
import type { Clock } from './clock.ts'
import { type Crowds, crowdInWords, openCrowds } from './crowds.ts'
import { openEnds } from './ends.ts'
import { escapePlanLine } from './escape.ts'
import type { Pattern } from './grant-patterns.ts'
import type { AnsweredAt } from './pauses.ts'
import type { Pausing } from './pausing.ts'
import { openPendingPlans, type Pending } from './pending-plans.ts'
import type { Answer, Plan } from './plan.ts'
import type { PlanCode } from './plan-codes.ts'
import type { Shown } from './shown-plan.ts'
import type { Turns } from './turns.ts'

/** One plan that waits. */
export interface Waiting extends Pending {
  readonly preview: Shown
  /** What may be granted with its approval. */
  readonly patterns: readonly Pattern[]
  readonly code: PlanCode
}

/** What those who sit hear of an answer. */
export interface Settling {
  /** A sentence. */
  readonly why: string
  /** Who knows already. */
  readonly except?: Seated
  /** Where it was given. Left out: on a seat. */
  readonly at?: AnsweredAt
}

export interface WaitingPlansOptions {
  readonly clock: Clock
  readonly ages: Ages
  /** How long a plan may wait, in milliseconds. */
  readonly expiryMs: number
  expired(plan: Plan): boolean
  readonly audience: Audience
  readonly turns: Turns
  readonly pausing: Pick<Pausing, 'answered'>
}

/** The plans that wait: who is shown them, and who hears that they wait no more. */
export interface WaitingPlans extends Pick<Crowds, 'before'> {
  add(one: Waiting): void
  all(): readonly Waiting[]
  get(id: string): Waiting | undefined
  /** What waits under that name and may still be answered, or what its answer has come to. */
  open(id: string): Waiting | Taken
  /** The answer, once; and why it needs none any more, for every seat but the one that knows. */
  settle(one: Waiting, answer: Answer, how: Settling): void
  /** As it is shown now. */
  shown(one: Waiting): ShownPlan
  /** For a seat; none of a plan that waits no more, because another seat answered while it was told. */
  newsOf(one: Waiting): SeatNews | undefined
  /** How the last of them ended. */
  ends(): readonly Ended[]
  /** Entries that are kept. */
  readonly size: number
}

export function openWaitingPlans(options: WaitingPlansOptions): WaitingPlans {
  const { clock, ages, expiryMs, expired, audience, turns, pausing } = options
  const ends = openEnds(clock)
  const pending = openPendingPlans<Waiting>({ clock, ages, expired, expiryMs, ended }, (one, answer, why) =>
    told(one, answer, { why }),
  )
  const crowds = openCrowds({
    waiting: () => pending.all().map(({ plan }) => plan),
    crowded: ({ who }, waiting) => audience.notice(crowdInWords(escapePlanLine(who), waiting)),
  })

  function ended({ plan }: Waiting): void {
    turns.left(plan)
    crowds.left(plan.origin)
  }

  function told({ plan, preview }: Waiting, answer: Answer, { why, except, at = 'seat' }: Settling): void {
    ends.add(preview, answer, why)
    audience.tellAll(() => ({ type: 'settled', id: plan.id, why }), except)
    pausing.answered(plan, answer, at)
  }

  const shown = ({ plan, preview, code }: Waiting): ShownPlan => ({
    ...preview,
    warnings: [...preview.warnings, ...code.warnings()],
    waited_ms: Math.round(ages.waitedMs(plan)),
    code: code.text,
  })

  return {
    add: one => pending.add(one),
    all: () => pending.all(),
    get: id => pending.get(id),
    open: id => pending.open(id),
    settle(one, answer, how) {
      if (pending.settle(one, answer, how.why)) told(one, answer, how)
    },
    shown,
    newsOf: one => (pending.get(one.plan.id) === undefined ? undefined : { type: 'plan', plan: shown(one) }),
    before: (asker, most) => crowds.before(asker, most),
    ends: () => ends.list(),
    get size() {
      return pending.size + crowds.size + ends.size
    },
  }
}
