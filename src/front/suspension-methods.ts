import type { Link } from '../../wire/link/link.ts'
import type { Person, SuspensionDesk } from '../suspensions/desk.ts'
import type { CallerIdentity } from '../suspensions/owners.ts'
import type { SuspendedRow, SuspensionEvent } from '../suspensions/rows.ts'
import { onKernels, untilCancelled } from './on-kernels.ts'
import type { Methods } from './protocol.ts'
import type { HeldSeat } from './seat/seats.ts'
import type { ServeContext } from './server.ts'

type SuspensionMethod = 'suspensions' | 'watch_suspensions' | 'take' | 'hand' | 'theirs' | 'adopt'

export type SuspensionMethods = {
  readonly [M in SuspensionMethod]: (
    params: Methods[M]['params'],
    context: ServeContext,
  ) => Methods[M]['result'] | Promise<Methods[M]['result']>
}

interface SuspensionMethodsOptions {
  readonly desk: SuspensionDesk
  /** The seat of that connection; throws the refusal `no_seat`, which everybody who sits hears of. */
  seatOf(what: string, context: ServeContext): HeldSeat
  whoSits(link: Link): string | undefined
  /** Whether a kernel of another project may be told to that client without a person: by a rule. */
  letsIn(asked: { readonly root: string; readonly kernel: string; readonly method: string }): boolean
  isPerson(context: ServeContext): Promise<boolean>
}

/**
 * The methods about suspended evaluations. Anybody may look, at those of other projects only
 * a person or by a rule; only those who sit take, hand, see theirs and adopt.
 */
export function openSuspensionMethods({
  desk,
  seatOf,
  whoSits,
  letsIn,
  isPerson,
}: SuspensionMethodsOptions): SuspensionMethods {
  const callerOf = ({ session: { id, name, root }, link }: ServeContext): CallerIdentity => ({
    id,
    who: name,
    kind: 'cli',
    root,
    profile: 'full',
    seat: () => whoSits(link),
  })
  function personAt(what: string, context: ServeContext): Person {
    const { seat, who } = seatOf(what, context)
    return { caller: callerOf(context), who: `${seat.id}, ${who}` }
  }

  const mayBeTold = (
    method: string,
    { root, kernel }: SuspendedRow,
    { session }: Pick<ServeContext, 'session'>,
  ): boolean => root === session.root || letsIn({ root: session.root, kernel, method })

  return {
    async suspensions(_, context) {
      const all = await desk.list(callerOf(context))
      const told = all.filter(row => mayBeTold('suspensions', row, context))
      return { suspensions: told.length === all.length || (await isPerson(context)) ? all : told }
    },
    async watch_suspensions({ everywhere = false }, context) {
      const { served } = context
      const isAll = everywhere && (await isPerson(context))
      const heard = (event: SuspensionEvent) => {
        if (isAll || mayBeTold('watch_suspensions', event.suspension, context)) served.event(event)
      }
      return untilCancelled(served, desk.watch({ caller: callerOf(context), everywhere, heard }))
    },
    take(named, context) {
      const person = personAt(`take over ${named.suspension}`, context)
      return onKernels(async () => desk.take(person, named))
    },
    hand(named, context) {
      const person = personAt(`hand over ${named.suspension}`, context)
      return onKernels(async () => desk.hand(person, named))
    },
    theirs({ kernel }, context) {
      personAt(`see the errors in your own debuggers of ${kernel}`, context)
      return onKernels(() => desk.theirs(kernel))
    },
    adopt(error, context) {
      const person = personAt(`put an error of your own in ${error.kernel} before others`, context)
      return onKernels(() => desk.adopt(person, error))
    },
  }
}
