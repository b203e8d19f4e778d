import type { Ages } from './ages.ts'
import type { Grant } from './approvals.ts'
import type { Audience, Seated } from './audience.ts'
import type { Pattern } from './grant-patterns.ts'
import { type Grants, openGrants } from './grants.ts'
import type { Journal } from './journal.ts'
import type { Answer, Plan } from './plan.ts'
import type { Shown } from './shown-plan.ts'

export interface GrantingOptions {
  readonly ages: Ages
  readonly journal: Pick<Journal, 'later'>
  readonly audience: Audience
}

/** Grants, each given, used and ended before the eyes of whoever sits. */
export interface Granting extends Pick<Grants, 'list' | 'hasEndedFor' | 'size'> {
  give(seat: Seated, plan: Plan, pattern: Pattern): void
  /** The approval that a grant stands for, if there is one. From now on the plan is so old. */
  letThrough(plan: Plan, shown: Shown): Extract<Answer, { type: 'approved' }> | undefined
  /** Whoever it is that `by` names. */
  revoke(id: string, by: string): boolean
  /** Ends what was given on that seat. */
  left(seat: Seated): void
}

export function openGranting({ ages, journal, audience }: GrantingOptions): Granting {
  const grants = openGrants(ages)

  return {
    list: () => grants.list(),
    hasEndedFor: plan => grants.hasEndedFor(plan),
    get size() {
      return grants.size
    },
    give({ id: seat, listener: { who } }, plan, pattern) {
      const grant = grants.give({ plan, pattern, seat })
      journal.later({ type: 'seat', what: 'granted', seat, who, why: inWords(grant) })
      audience.notice(
        `${inWords(grant)}: let through without asking from now on, says ${who}. To end that: imago revoke ${grant.id}`,
      )
    },
    letThrough(plan, { title }) {
      const grant = grants.use(plan)
      if (grant === undefined) return undefined
      ages.begin(plan)
      audience.notice(
        `${inWords(grant)}: let through without asking: ${title}. To take it back: imago undo ${plan.id}. To be asked again: imago revoke ${grant.id}`,
      )
      return { type: 'approved', by: `${grant.id} of ${grant.seat}`, granted: true }
    },
    revoke(id, by) {
      const grant = grants.revoke(id)
      if (grant === undefined) return false
      journal.later({ type: 'seat', what: 'revoked', seat: grant.seat, who: by, why: inWords(grant) })
      audience.notice(`${inWords(grant)}: revoked by ${by}. It is asked about again.`)
      return true
    },
    left({ id: seat, listener: { who } }) {
      for (const grant of grants.leave(seat)) {
        journal.later({ type: 'seat', what: 'ended', seat, who, why: inWords(grant) })
        audience.notice(`${inWords(grant)}: over, because its seat was left. It is asked about again.`)
      }
    },
  }
}

/** `grant-1, write_file on src/*.py for claude` */
const inWords = ({ id, tool, pattern, who }: Grant): string => `${id}, ${tool} on ${pattern} for ${who}`
