import type { Life } from './leased.ts'
import { nearest } from './nearest.ts'

/** What a person named is not there. */
export class LeaseError extends Error {
  override readonly name = 'LeaseError'
  readonly code: 'no_such_suspension' | 'invalid_params'
  readonly details: Readonly<Record<string, unknown>>
  readonly next: string | null

  constructor(
    code: LeaseError['code'],
    why: {
      readonly message: string
      readonly details?: Readonly<Record<string, unknown>>
      readonly next: string | null
    },
  ) {
    super(why.message)
    this.code = code
    this.details = why.details ?? {}
    this.next = why.next
  }
}

export function unknownSuspension({ name, leased }: Life, id: string): LeaseError {
  const live = [...leased.keys()]
  const which = live.length === 0 ? 'None is.' : `There are: ${live.join(', ')}.`
  return new LeaseError('no_such_suspension', {
    message: `No evaluation is suspended as ${JSON.stringify(id)} in ${name}, or it has ended. ${which}`,
    details: { suspensions: live, nearest: nearest(id, live) },
    next: null,
  })
}

/** `nearest`: the ids of those errors that do wait there. */
export function unknownError(id: string, where: { kernel: string; nearest: readonly string[] }): LeaseError {
  const { kernel, nearest } = where
  return new LeaseError('no_such_suspension', {
    message: `No error ${JSON.stringify(id)} waits in a debugger of ${kernel} that is not Imago's.`,
    details: { nearest },
    next:
      nearest.length === 0
        ? 'None waits there: :theirs at the console lists those that do.'
        : `There are: ${nearest.join(', ')}. :theirs at the console says what they are.`,
  })
}
