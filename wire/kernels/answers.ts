/** What comes back from a peer: parsed once, under the deadline that was asked for, or the fault that it is. */
import type { z } from 'zod'
import { WireError } from '../errors.ts'
import type { InterruptReport, Looked } from '../kernel.ts'

/**
 * `answer` as `shape` describes it, or `MESSAGE_INVALID`, which names the first place where it differs.
 *
 * An answer is parsed here and trusted from then on. Keys that the contract asks for are strict; what it does not know
 * is left out, so that a newer peer can say more than this daemon reads.
 */
export function parseAnswer<Answer>(shape: z.ZodType<Answer>, answer: unknown, whose: string): Answer {
  const parsed = shape.safeParse(answer)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const place = issue === undefined || issue.path.length === 0 ? 'the whole answer' : issue.path.join('.')
  throw new WireError(
    'MESSAGE_INVALID',
    `${whose} is not of the agreed form: ${place}: ${issue?.message ?? 'unknown'}. ` +
      'The peer and this daemon disagree; check that both are of one version.',
    { cause: parsed.error },
  )
}

/** The deadline that the far end keeps: a little is left, so that it can still say that it ran out of time. */
export const shortened = (deadlineMs: number): number =>
  Math.round(deadlineMs - Math.min(100, deadlineMs / 5))

/** What the far end has found, under the deadline that was asked for. One that is its code's own is told as it is. */
export function underDeadline<Found>(found: Looked<Found>, deadlineMs: number): Looked<Found> {
  const ours = found.type === 'timed_out' && found.deadline_ms >= shortened(deadlineMs)
  return ours ? { type: 'timed_out', deadline_ms: deadlineMs } : found
}

/** Evaluations that may wait in one kernel, the running one included. One more is `BUSY`. */
export const QUEUE = 64

/** What the peer did against the protocol, if that is why the link ended. Such a peer is not asked again. */
export function offenceOf(fault: WireError | undefined): WireError | undefined {
  return fault === undefined || fault.code === 'LINK_CLOSED' || fault.code === 'FRAME_TRUNCATED'
    ? undefined
    : fault
}

export function busy(name: string): WireError {
  return new WireError(
    'BUSY',
    `${QUEUE} evaluations wait for ${name} already. Nothing was run; try again later.`,
  )
}

export function outcomeUnknown(name: string, cause: WireError): WireError {
  return new WireError(
    'LINK_CLOSED',
    `The link to ${name} broke, and whether the call ran cannot be known: ${cause.message}`,
    { cause },
  )
}

/** The evaluation was turned away before anything was sent. */
export function unresponsive(name: string): WireError {
  return new WireError(
    'UNRESPONSIVE',
    `${name} does not answer: its interpreter is held by code in C, or the process is frozen. Nothing was sent; ` +
      'try again later.',
  )
}

/**
 * What is known of an interrupt that the peer has not answered. It reads the request as soon as it reads again; only
 * a process that is `owned` was signalled besides, and may be ended.
 */
export function unheard({ name, owned }: { name: string; owned: boolean }): InterruptReport {
  const asked = `${name} does not answer now: its interpreter is held by code in C, or the process is frozen. `
  if (owned) {
    const message =
      `${asked}It was asked to stop, and was sent a signal, on which it has not acted. ` +
      'It stops once that code returns, if it ever does.'
    return { outcome: 'still_running', message, offer: 'restart' }
  }
  const message =
    `${asked}It was asked to stop, which takes effect once it answers again. ` +
    'No signal was sent: Imago never signals a program that is not its own.'
  return { outcome: 'still_running', message }
}
