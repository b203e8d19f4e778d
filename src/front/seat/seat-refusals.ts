import { Refusal } from '../../../wire/link/link.ts'
import type { FailureData, SeatRow } from '../protocol.ts'

/** What a client can do that wants a seat, or what only a seat may do. */
export const AT_A_TERMINAL = 'A person takes a seat with: imago watch'

export function refusal(
  code: 'seat_refused' | 'seat_taken' | 'no_seat',
  message: string,
  next: string | null,
): Refusal {
  return new Refusal(code, message, { details: {}, next, retryable: false } satisfies FailureData)
}

export const taken = (seats: readonly SeatRow[]): Refusal =>
  refusal('seat_taken', `There is a seat already: ${whoSits(seats)}`, null)

/** Who would have to admit another one. */
export const whoSits = (seats: readonly SeatRow[]): string =>
  seats.length === 0
    ? 'Run imago watch again.'
    : `It has to be admitted by ${seats.map(({ seat, who }) => `${seat}, ${who}`).join(', or by ')}. If that is not you, end that process.`
