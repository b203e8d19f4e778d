import type { SuspensionDesk } from '../suspensions/desk.ts'
import type { SuspensionEvent } from '../suspensions/rows.ts'
import type { Authority } from './authority.ts'
import type { Handlers, SeatContext } from './handlers.ts'
import { untilCancelled } from './until-cancelled.ts'

export type SuspensionMethods = Pick<
  Handlers,
  'suspensions' | 'watch_suspensions' | 'take' | 'hand' | 'theirs' | 'adopt'
>

/**
 * The operations on suspended evaluations. Anybody may look, at those of other projects only
 * a person or by a rule; only those who sit take, hand, see theirs and adopt.
 */
export function openSuspensionMethods(desk: SuspensionDesk, authority: Authority): SuspensionMethods {
  const personAt = ({ caller, seat: { seat, who } }: SeatContext) => ({ caller, who: `${seat.id}, ${who}` })

  return {
    async suspensions(_, context) {
      const all = await desk.list(context.caller)
      const told = all.filter(row => authority.mayBeTold('suspensions', row, context))
      const isAll = told.length === all.length || (await authority.isPerson(context))
      return { suspensions: isAll ? all : told }
    },
    async watch_suspensions({ everywhere = false }, context) {
      const { served, caller } = context
      const isAll = everywhere && (await authority.isPerson(context))
      const heard = (event: SuspensionEvent) => {
        if (isAll || authority.mayBeTold('watch_suspensions', event.suspension, context)) served.event(event)
      }
      return untilCancelled(served, desk.watch({ caller, everywhere, heard }))
    },
    take: (named, context) => desk.take(personAt(context), named),
    hand: (named, context) => desk.hand(personAt(context), named),
    theirs: ({ kernel }) => desk.theirs(kernel),
    adopt: (error, context) => desk.adopt(personAt(context), error),
  }
}
