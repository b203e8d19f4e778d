import { Refusal, type ServedCall } from '../../wire/link/calls.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import { SuspensionError } from '../suspensions/desk.ts'
import type { FailureData } from './protocol.ts'

/** Errors of kernels are answers of these methods, and keep their code; what cannot be meant is `invalid_params`. */
export async function onKernels<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SuspensionError) {
      const { code, message, details, next } = error
      throw new Refusal(code, message, { details, next, retryable: false } satisfies FailureData)
    }
    if (!(error instanceof KernelError)) throw error
    const { message, details, next, retryable } = error
    const code = MISTAKES.includes(details.reason) ? 'invalid_params' : error.code
    throw new Refusal(code, message, { details, next, retryable } satisfies FailureData)
  }
}

/** Reasons of a `KernelError` that are mistakes in what was asked for. */
const MISTAKES: readonly unknown[] = ['bad_name', 'unknown_language', 'bad_address']

/** Settles once the client cancels it or goes away; `end` is called then. */
export function untilCancelled(served: ServedCall, end: () => void): Promise<Record<string, never>> {
  return new Promise(resolve => {
    const over = () => {
      end()
      resolve({})
    }
    if (served.signal.aborted) over()
    else served.signal.addEventListener('abort', over)
  })
}
