import { WireError } from '../errors.ts'
import type { InterruptReport } from '../kernel.ts'

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
