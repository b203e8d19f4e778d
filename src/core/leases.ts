import type { Leases, Level, Tool } from '../../tools/define.ts'
import { heldByOther } from '../../tools/suspended.ts'
import type { Ability, CallId, Kernel } from '../../wire/kernel.ts'
import type { Caller } from './call.ts'
import { type Claim, claimOf, seenBy } from './claims.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import type { Journal } from './journal.ts'
import { KnownCallers } from './known-callers.ts'
import type { Leased, Life } from './leased.ts'
import { LeasedKernel } from './leased-kernel.ts'
import { GONE_MS, Presence } from './presence.ts'
import { SuspendedBook } from './suspended-book.ts'

/** Where nobody is shown a debugger: errors end evaluations. */
export const NO_LEASES: Leases = { leaseMs: null, hold: () => {}, holderOf: () => ({ type: 'anyone' }) }

/** How long a suspended evaluation waits for whoever asked for it, and a person's for them, in milliseconds. */
export const LEASE_MS = 600_000
export const PERSON_LEASE_MS = 1_800_000

/** Who holds which suspended evaluation, over all kernels and callers of a daemon. */
export interface LeaseBook {
  readonly book: SuspendedBook
  readonly callers: KnownCallers
  /** A connection begins; what is answered is called when it has ended. */
  came: Presence['came']
  /** A kernel began to live, or was joined. Its life is listened to until it ends, and forgotten then. */
  lives(life: Pick<Life, 'name' | 'root' | 'kernel'>): void
  /** The leases of one call on one kernel, until the call has ended. */
  of(place: Placed, call: LeasedCall): Leases
  /** The same kernel, in which that caller's tool can have no code run in what another one holds, nor keep it waiting. */
  kernelFor(place: Placed, calls: Calling): Kernel
  /** A caller calls: what it is to be told with this answer, which it is told no more. Often nothing. */
  noticesFor(caller: Caller): readonly string[]
}

interface Placed {
  readonly name: string
  readonly kernel: Kernel
}

interface Calling {
  readonly caller: Caller
  readonly tool: Pick<Tool, 'needs'>
  /** `safe` where it only looks, or a person is to be asked; what it runs otherwise renews what it is run in. */
  readonly level: Level
}

interface LeasedCall {
  readonly call: CallId
  readonly caller: Caller
  /** Settles when it has ended. */
  readonly done: Promise<unknown>
}

export interface LeasesOptions {
  readonly clock?: Clock | undefined
  /** How long a program whose connections have all ended still holds what is its own. Left out: `GONE_MS`. */
  readonly goneMs?: number | undefined
}

export function openLeases(
  journal: Pick<Journal, 'later'>,
  { clock = SYSTEM_CLOCK, goneMs = GONE_MS }: LeasesOptions = {},
): LeaseBook {
  const book: SuspendedBook = new SuspendedBook(journal, leased => presence.suspended(leased))
  const presence = new Presence(book, { clock, goneMs })
  const callers = new KnownCallers(presence.isGone)
  const lifeOf = ({ name, kernel }: Placed, { root }: Caller) => book.lifeOf({ name, root, kernel })

  return {
    book,
    callers,
    came: caller => presence.came(caller),
    lives: life => void book.lifeOf(life),
    of(place, { call, caller, done }) {
      const life = lifeOf(place, caller)
      const leaseMs = leaseOf(caller)
      if (leaseMs !== null) expected(life, { call, claim: claimOf(caller), done })
      return {
        leaseMs,
        hold: suspension => book.hold(life, suspension, claimOf(caller)),
        holderOf(id) {
          const leased = life.leased.get(id)
          return leased === undefined ? { type: 'anyone' } : seenBy(leased.claim, caller)
        },
      }
    },
    kernelFor(place, { caller, tool, level }) {
      if (!tool.needs.some(need => ON_SUSPENDED.has(need))) return place.kernel
      const life = lifeOf(place, caller)
      return new LeasedKernel(place.kernel, {
        find: id => life.leased.get(id),
        looks: () => book.looks(),
        learn: (seen, asOf) => book.learn(life, seen, asOf),
        renews: leased => level === 'safe' && mayRenew(leased, caller),
        refusal: ({ suspension, claim }) =>
          heldByOther(suspension.id, {
            kernelName: place.name,
            leases: { holderOf: () => seenBy(claim, caller) },
          }),
        acts: leased => book.acts(leased, claimOf(caller)),
        cameTo: (leased, evaluated) => book.cameTo(leased, evaluated),
      })
    },
    noticesFor(caller) {
      if (leaseOf(caller) !== null && caller.seat?.() === undefined) callers.note(caller)
      return book.noticesFor(caller)
    },
  }
}

/** A tool that needs one of these may have code run in what is suspended. */
const ON_SUSPENDED: ReadonlySet<Ability> = new Set(['suspend', 'suspensions', 'suspension', 'frame', 'lease'])

/** Whoever holds it, and a person, keeps it by looking; whoever else looks leaves it the time that it has. */
const mayRenew = (leased: Leased | undefined, caller: Caller): boolean =>
  caller.seat?.() !== undefined || (leased !== undefined && seenBy(leased.claim, caller).type === 'you')

/** Null for those who are shown no tool to go on with. */
const leaseOf = ({ profile }: Caller): number | null => (profile === 'core' ? null : LEASE_MS)

/** News of a suspension may come before the answer that tells its caller of it. */
function expected(
  life: Life,
  { call, claim, done }: { readonly call: CallId; readonly claim: Claim; readonly done: Promise<unknown> },
): void {
  life.calls.set(call, claim)
  void done.then(() => life.calls.delete(call))
}
