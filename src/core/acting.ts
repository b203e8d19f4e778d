import { WireError } from '../../wire/errors.ts'
import type { Evaluated } from '../../wire/kernel.ts'

/** Does `work`, and says once it has ended, with whatever, whether anything may have been run. */
export async function acting(
  ended: (ran: boolean) => void,
  work: () => Promise<Evaluated>,
): Promise<Evaluated> {
  let ran = true
  try {
    const evaluated = await work()
    ran = hasBegun(evaluated)
    return evaluated
  } catch (error) {
    ran = !wasNotSent(error)
    throw error
  } finally {
    ended(ran)
  }
}

/** Whether anything of it may have been run. */
export const hasBegun = ({ type }: Evaluated): boolean => type !== 'refused' && type !== 'withdrawn'

/** Of other faults it is not certain that they come from before that. */
const wasNotSent = (error: unknown): boolean =>
  error instanceof WireError &&
  (error.code === 'BUSY' || error.code === 'UNRESPONSIVE' || UNBEGUN.has(error.remote?.code ?? ''))

/** With which the other end refuses a call that it does not begin. */
const UNBEGUN = new Set(['busy', 'cancelled', 'unknown_method'])
