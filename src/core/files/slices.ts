import type { LookOrder } from '../../../tools/entries.ts'

/** How long a look may keep everybody else waiting, in milliseconds. */
const SLICE_MS = 8

/** The time that one look has: it is taken in slices, between which others have their turn, and ends. */
export interface Slices {
  /** Why it is over; null while it is not. */
  readonly cut: 'time' | 'cancelled' | null
  /** Asked between any two steps, each of them short: whether it is over. A promise where others go first. */
  isOver(): boolean | Promise<boolean>
}

export function openSlices({ signal, ms }: LookOrder, now: () => number = () => performance.now()): Slices {
  const end = now() + ms
  let began = now()
  let cut: Slices['cut'] = null

  function check(): boolean {
    if (cut === null && signal.aborted) cut = 'cancelled'
    else if (cut === null && now() >= end) cut = 'time'
    return cut !== null
  }

  async function rested(): Promise<boolean> {
    await new Promise<void>(resolve => setImmediate(resolve))
    began = now()
    return check()
  }

  return {
    get cut() {
      return cut
    },
    isOver() {
      if (check()) return true
      return now() - began < SLICE_MS ? false : rested()
    },
  }
}
