import type { Ages, Moment } from './ages.ts'
import type { Plan } from './plan.ts'

export interface UndoRoomOptions {
  readonly ages: Ages
  /** How long a plan may be carried out after it was let through, in milliseconds. */
  readonly expiryMs: number
  /** Whether as many bytes more can be kept for undoing, and nothing that was changed in the last day goes for them. */
  roomToUndo(bytes: number): boolean
}

/**
 * Whether what is let through without asking can be undone, and so can all that was changed in the last day: what is
 * kept for undoing is bounded, and the oldest of it goes first.
 */
export interface UndoRoom {
  /** Takes the room that the plan needs, if there is as much. */
  take(plan: Plan): boolean
  /** Entries that are kept: however much takes room, there is a bound. */
  readonly size: number
}

/** What the record of a change takes besides the bytes, at most, for each of its files: a path may be as long. */
const RECORD_BYTES = 8_192
/** What takes room within this time of each other is counted together, in milliseconds. */
const TOGETHER_MS = 60_000

interface Taken {
  readonly since: Moment
  bytes: number
}

export function openUndoRoom({ ages, expiryMs, roomToUndo }: UndoRoomOptions): UndoRoom {
  /** Not all of it is on the disk yet. Some is, and counts twice: asking too early costs less than asking too late. */
  let taken: Taken[] = []

  return {
    take(plan) {
      taken = taken.filter(({ since }) => !ages.passed(since, expiryMs + TOGETHER_MS))
      const needed = bytesOf(plan)
      if (!roomToUndo(taken.reduce((sum, { bytes }) => sum + bytes, needed))) return false
      const last = taken.at(-1)
      if (last !== undefined && !ages.passed(last.since, TOGETHER_MS)) last.bytes += needed
      else taken.push({ since: ages.now(), bytes: needed })
      return true
    },
    get size() {
      return taken.length
    },
  }
}

const bytesOf = ({ changes }: Plan) =>
  changes.reduce((sum, { before }) => sum + (before?.byteLength ?? 0) + RECORD_BYTES, 0)
