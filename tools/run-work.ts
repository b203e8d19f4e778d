import type { Evaluated, Suspending, Work } from '../wire/kernel.ts'
import type { KernelContext } from './define.ts'
import type { Failed } from './outcome.ts'
import { heldByOther, unknownSuspension } from './suspensions.ts'

/** What an error is to do: suspend the evaluation, suspend it with its stack held alive, or end it. */
export const ON_ERROR = ['suspend', 'hold', 'end'] as const
export type OnError = (typeof ON_ERROR)[number]

/** Work in a suspended evaluation: code in one of its frames, or resuming it. */
type SuspendedWork = Extract<Work, { type: 'frame' | 'resume' }>

/** All other work. */
export type FreeWork = Exclude<Work, SuspendedWork>

/**
 * Has the image do a piece of work for this call; what it prints is kept, and what it asks goes to the caller. Where an
 * error suspends it, the caller owns that.
 */
export const runWork = (
  work: FreeWork,
  context: KernelContext,
  onError: OnError = 'suspend',
): Promise<Evaluated> => evaluated(work, context, onError)

/** The same in a suspended evaluation. Fails, and runs nothing, where somebody else owns that. */
export async function runSuspended(work: SuspendedWork, context: KernelContext): Promise<Evaluated | Failed> {
  const { leases, again } = context
  const { suspension } = work
  if (again) return evaluated(work, context)
  if (leases.ownershipOf(suspension) === undefined) return unknownSuspension(suspension)
  const refused = heldByOther(suspension, context)
  if (refused !== undefined) return refused
  const came = leases.acts(suspension)
  const end = await evaluated(work, context)
  if (work.type === 'resume') came(end)
  return end
}

async function evaluated(
  work: Work,
  context: KernelContext,
  onError: OnError = 'suspend',
): Promise<Evaluated> {
  const { kernel, call, who, signal, output, ask, leases, again } = context
  const suspend = suspendingFor(work, context, onError)
  const end = await kernel.evaluate(
    { call, who, work, ...(suspend !== undefined && { suspend }), ...(again && { again }) },
    { signal, on: event => output.add(event), ask: question => ask(question) },
  )
  if (end.type === 'suspended') leases.own(end.suspension)
  return end
}

/** Undefined where errors end it: on request, where nobody could go on, and for tests, whose failures are their result. */
function suspendingFor(
  work: Work,
  { kernel: { identity }, leases: { leaseMs } }: KernelContext,
  onError: OnError,
): Suspending | undefined {
  const { abilities } = identity
  if (onError === 'end' || work.type === 'tests' || leaseMs === null || !abilities.has('suspend'))
    return undefined
  return onError === 'hold' && abilities.has('hold') ? { leaseMs, hold: true } : { leaseMs }
}
