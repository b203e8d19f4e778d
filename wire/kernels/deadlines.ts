import type { Looked } from '../kernel.ts'

/** The deadline that the far end keeps: a little is left, so that it can still say that it ran out of time. */
export const shortened = (deadlineMs: number): number =>
  Math.round(deadlineMs - Math.min(100, deadlineMs / 5))

/** What the far end has found, under the deadline that was asked for. One that is its code's own is told as it is. */
export function underDeadline<Found>(found: Looked<Found>, deadlineMs: number): Looked<Found> {
  const ours = found.type === 'timed_out' && found.deadline_ms >= shortened(deadlineMs)
  return ours ? { type: 'timed_out', deadline_ms: deadlineMs } : found
}
