import type { Kernel, Looked, LookName, Looks } from '../../wire/kernel.ts'
import { KernelError } from './kernel-error.ts'
import { LeaseError } from './lease-error.ts'
import type { Life } from './leased.ts'

/** What people at the desk of suspended evaluations ask an image for. */

/** How long an image may take to say what is suspended in it, in milliseconds. */
const LOOK_MS = 2_000

type Asked<Name extends LookName> = readonly [name: Name, query: Looks[Name]['query']]

/** Throws `KernelError` where that image cannot do that. */
export async function lookFor<Name extends LookName>(
  { name: kernelName, kernel }: { readonly name: string; readonly kernel: Kernel },
  [name, query]: Asked<Name>,
  deadlineMs = LOOK_MS,
): Promise<Looked<Looks[Name]['found']>> {
  if (!kernel.identity.abilities.has(name))
    throw unavailable(
      kernelName,
      `${kernelName} (${kernel.identity.implementation}) cannot do that.`,
      'no_ability',
    )
  return kernel.look(name, query, { deadlineMs })
}

/** Throws `KernelError` where it was not found, and `LeaseError` for what makes no sense. `what`: the look, for people. */
export function foundIn<Found>({ name }: Life, what: string, looked: Looked<Found>): Found {
  switch (looked.type) {
    case 'found':
      return looked.value
    case 'timed_out':
      throw unavailable(name, `${name} did not answer within ${looked.deadline_ms} ms.`, 'timed_out')
    case 'busy':
      throw unavailable(name, `Code runs in ${name} where this would have to be done.`, 'busy')
    case 'malformed':
      throw new LeaseError('invalid_params', { message: looked.message, next: null })
    default:
      throw unavailable(name, `${name} cannot say that: ${what} came to ${looked.type}.`, looked.type)
  }
}

const unavailable = (kernel: string, message: string, reason: string): KernelError =>
  new KernelError('kernel_unavailable', { message, next: null, details: { reason, kernel } })
