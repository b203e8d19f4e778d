import type { Evaluated, Suspending, Work } from '../wire/kernel.ts'
import type { KernelContext } from './define.ts'
import { heldByOther, NotOwner, unknownSuspension } from './suspensions.ts'

/** What an error is to do: suspend the evaluation, suspend it with its stack held alive, or end it. */
export const ON_ERROR = ['suspend', 'hold', 'end'] as const
export type OnError = (typeof ON_ERROR)[number]

/**
 * Has the image do a piece of work for this call; what it prints is kept, and what it asks goes to the caller. Where an
 * error suspends it, the caller owns that. Throws `NotOwner` for work in what somebody else owns.
 */
export async function runWork(
  work: Work,
  context: KernelContext,
  onError: OnError = 'suspend',
): Promise<Evaluated> {
  const { kernel, call, who, signal, output, ask, leases, again } = context
  const suspend = suspendingFor(work, context, onError)
  const acted = again ? undefined : actedOn(work)
  if (acted !== undefined) {
    if (leases.ownershipOf(acted) === undefined) return unknownSuspension(acted)
    const refused = heldByOther(acted, context)
    if (refused !== undefined) throw new NotOwner(refused)
  }
  const came = acted === undefined ? undefined : leases.acts(acted)
  const evaluated = await kernel.evaluate(
    { call, who, work, ...(suspend !== undefined && { suspend }), ...(again && { again }) },
    { signal, on: event => output.add(event), ask: question => ask(question) },
  )
  if (work.type === 'resume') came?.(evaluated)
  if (evaluated.type === 'suspended') leases.own(evaluated.suspension)
  return evaluated
}

/** The suspended evaluation that it is done in. */
const actedOn = (work: Work): string | undefined =>
  work.type === 'frame' || work.type === 'resume' ? work.suspension : undefined

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
