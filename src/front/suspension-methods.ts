import type { SuspensionDesk } from '../suspensions/desk.ts'
import type { SuspendedRow } from '../suspensions/rows.ts'
import type { Authority } from './authority.ts'
import type { Handlers, SeatContext } from './handlers.ts'

export type SuspensionMethods = Pick<Handlers, 'suspensions' | 'take' | 'hand' | 'theirs' | 'adopt'>

/**
 * The operations on suspended evaluations. Anybody may look, at those of other projects only
 * a person or by a rule; only those who sit take, hand, see theirs and adopt.
 */
export function openSuspensionMethods(desk: SuspensionDesk, authority: Authority): SuspensionMethods {
  const personAt = ({ caller, seat: { seat, who } }: SeatContext) => ({ caller, who: `${seat.id}, ${who}` })

  return {
    async suspensions(_, context) {
      const all = await desk.list(context.caller)
      const isOwn = (row: SuspendedRow) => authority.mayBeTold('suspensions', row, context)
      return { suspensions: all.filter(await authority.told(all, isOwn, context)) }
    },
    take: (named, context) => desk.take(personAt(context), named),
    hand: (named, context) => desk.hand(personAt(context), named),
    theirs: ({ kernel }) => desk.theirs(kernel),
    adopt: (error, context) => desk.adopt(personAt(context), error),
  }
}
