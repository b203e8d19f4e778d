import type { Evaluated, Suspending, Work } from '../wire/kernel.ts'
import type { KernelContext } from './define.ts'

/** What an error is to do: suspend the evaluation, suspend it with its stack held alive, or end it. */
export const ON_ERROR = ['suspend', 'hold', 'end'] as const
export type OnError = (typeof ON_ERROR)[number]

/**
 * Has the image do a piece of work for this call; what it prints is kept, and what it asks goes to the caller. Where an
 * error suspends it, it is the caller's to go on with.
 */
export async function runWork(
  work: Work,
  context: KernelContext,
  onError: OnError = 'suspend',
): Promise<Evaluated> {
  const { kernel, call, who, signal, output, ask, leases } = context
  const suspend = suspendingFor(work, context, onError)
  const evaluated = await kernel.evaluate(
    { call, who, work, ...(suspend !== undefined && { suspend }) },
    { signal, on: event => output.add(event), ask: question => ask(question) },
  )
  if (evaluated.type === 'suspended') leases.hold(evaluated.suspension)
  return evaluated
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
