import { WireError } from '../../wire/errors.ts'
import { assert } from './harness.ts'

/** The code of what a function throws; anything but a `WireError` is a failure of the test. */
export function codeOf(body: () => unknown): string {
  try {
    body()
  } catch (error) {
    return wireError(error).code
  }
  return assert.unreachable('nothing was thrown') as never
}

/** The `WireError` that a promise rejects with. */
export async function faultOf(promise: Promise<unknown>): Promise<WireError> {
  try {
    await promise
  } catch (error) {
    return wireError(error)
  }
  return assert.unreachable('nothing was thrown') as never
}

function wireError(error: unknown): WireError {
  if (error instanceof WireError) return error
  throw error
}
