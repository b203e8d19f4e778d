import type { Ages } from './ages.ts'
import type { Grant } from './approvals.ts'
import type { Audience, Seated } from './audience.ts'
import type { Clock } from './clock.ts'
import type { Pattern } from './grant-patterns.ts'
import { type GrantOver, type Grants, openGrants } from './grants.ts'
import type { Journal } from './journal.ts'
import type { Answer, Plan } from './plan.ts'
import type { Shown } from './shown-plan.ts'
import { openUndoRoom, type UndoRoomOptions } from './undo-room.ts'

export interface GrantingOptions extends UndoRoomOptions {
  readonly ages: Ages
  readonly clock: Clock
  readonly journal: Pick<Journal, 'later'>
  readonly audience: Audience
}

/** Grants, each given, used and ended before the eyes of whoever sits. */
export interface Granting extends Pick<Grants, 'list' | 'hasEndedFor' | 'close' | 'size'> {
  give(seat: Seated, plan: Plan, pattern: Pattern): void
  /** What a grant comes to for this plan; undefined where there is none. Once approved, the plan is so old from now on. */
  letThrough(plan: Plan, shown: Shown): LetThrough | undefined
  /** Whoever it is that `by` names. */
  revoke(id: string, by: string): boolean
  /** Ends what was given on that seat. */
  left(seat: Seated): void
}

export type LetThrough =
  | Extract<Answer, { type: 'approved' }>
  /** A person is asked all the same; `why` is a sentence for them. */
  | { readonly type: 'no room'; readonly why: string }

export function openGranting({ ages, clock, journal, audience, ...undoing }: GrantingOptions): Granting {
  const grants = openGrants({ ages, clock, over })
  const room = openUndoRoom({ ages, ...undoing })

  function over({ grant, seat: { id: seat, listener }, why }: GrantOver): void {
    const { who } = listener
    journal.later({ type: 'seat', what: 'ended', seat, who, why: `${inWords(grant)}, ${why}` })
    audience.notice(`${inWords(grant)}: over, ${why}. It is asked about again.`)
  }

  return {
    list: () => grants.list(),
    hasEndedFor: plan => grants.hasEndedFor(plan),
    close: () => grants.close(),
    get size() {
      return grants.size + room.size
    },
    give(seat, plan, pattern) {
      const { who } = seat.listener
      const grant = grants.give({ plan, pattern, seat })
      journal.later({ type: 'seat', what: 'granted', seat: seat.id, who, why: inWords(grant) })
      audience.notice(
        `${inWords(grant)}: let through without asking from now on, says ${who}. To end that: imago revoke ${grant.id}`,
      )
    },
    letThrough(plan, { title }) {
      const grant = grants.covering(plan)
      if (grant === undefined) return undefined
      if (!room.take(plan)) return { type: 'no room', why: noRoom(grant) }
      grants.use(grant.id, plan)
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
    left(seat) {
      for (const grant of grants.leave(seat.id)) over({ grant, seat, why: 'because its seat was left' })
    },
  }
}

const noRoom = ({ id }: Grant) =>
  `${id} would let it through, and you are asked all the same: to keep what it replaces, something that was changed in the last day could not be undone any more.`

/** `grant-1, write_file on src/*.py for claude` */
const inWords = ({ id, tool, pattern, who }: Grant): string => `${id}, ${tool} on ${pattern} for ${who}`
