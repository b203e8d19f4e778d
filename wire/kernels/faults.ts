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
      'try again later, or restart it.',
  )
}

/** What is known of an interrupt that the peer has not answered. It reads the request as soon as it reads again. */
export function unheard(name: string): InterruptReport {
  return {
    outcome: 'still_running',
    message:
      `${name} does not answer now: its interpreter is held by code in C, or the process is frozen. ` +
      'It has been asked to stop, which takes effect once it answers again.',
  }
}
