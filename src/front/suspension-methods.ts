import type { Link } from '../../wire/link/link.ts'
import type { Person, SuspensionDesk } from '../suspensions/desk.ts'
import type { CallerIdentity } from '../suspensions/owners.ts'
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
}

/** The methods about suspended evaluations. Anybody may look; only those who sit take, hand, see theirs and adopt. */
export function openSuspensionMethods({
  desk,
  seatOf,
  whoSits,
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

  return {
    suspensions: async (_, context) => ({ suspensions: await desk.list(callerOf(context)) }),
    watch_suspensions({ everywhere }, context) {
      const { served } = context
      const heard = (event: unknown) => void served.event(event)
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
