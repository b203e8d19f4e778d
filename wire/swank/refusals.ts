import { WireError } from '../errors.ts'
import type { Returned } from './connection.ts'
import { inShort } from './short.ts'

/*
 * Why a Swank server could not be joined: what was seen, what that most often comes from, and what to do next. What was
 * seen is certain, and decides the code.
 */

interface Place {
  readonly host: string
  readonly port: number
  readonly secret: string | null
}

export function unreachable(place: Place, why: string, cause?: Error): WireError {
  const next = `Start Swank in your Lisp, such as by (swank:create-server :port ${place.port} :dont-close t), or give its port.`
  const message = `Nothing can be connected to at ${nameOf(place)}: ${why}. ${next}`
  return new WireError('LINK_REFUSED', message, { cause })
}

/** It was given a secret, and answers whoever gives none. */
export function asksNone(place: Place): WireError {
  const message =
    `The Swank at ${nameOf(place)} asks for no secret: whoever reaches that port can run code there. Put a line that ` +
    'nobody can guess into .slime-secret in the home directory of that Lisp, with mode 600; Swank reads it anew for ' +
    'every connection. Or attach without a secret.'
  return new WireError('NOT_AUTHENTICATED', message)
}

export function silent(place: Place, ms: number): WireError {
  const within = `${nameOf(place)} said nothing within ${ms} ms`
  const stuck =
    'waits in its debugger now, in SLIME or at its terminal, and accepts nobody: leave the debugger there, and listen ' +
    `anew with (swank:stop-server ${place.port}) and (swank:create-server :port ${place.port} :dont-close t)`
  if (place.secret === null)
    return new WireError(
      'NOT_AUTHENTICATED',
      `${within}, and it was given no secret. A Swank that asks for one ${stuck}; then attach with the secret. ` +
        'A Lisp of one thread that is at work says nothing either: then try again when it is done.',
    )
  return new WireError(
    'HANDSHAKE_TIMEOUT',
    `${within} of the secret. If that Lisp is at work or was stopped, try again when it goes on. If the secret was ` +
      `wrong, that Swank ${stuck}.`,
  )
}

/** What the connection failed of, in words for whoever wanted to attach. */
export function explained(place: Place, fault: WireError): WireError {
  const at = nameOf(place)
  switch (fault.code) {
    case 'LINK_CLOSED':
    case 'FRAME_TRUNCATED':
      return new WireError('NOT_AUTHENTICATED', place.secret === null ? closedWithout(at) : closedOn(at), {
        cause: fault,
      })
    case 'FRAME_MALFORMED':
    case 'FRAME_TOO_LARGE':
    case 'LIMIT_EXCEEDED':
      return new WireError(fault.code, `${at} is no Swank server. ${fault.message}`, { cause: fault })
    case 'REMOTE_FAULT':
      return new WireError('REMOTE_FAULT', `${at} does not say what it is: ${fault.message} ${SLYNK}`, {
        cause: fault,
      })
    default:
      return fault
  }
}

/** It answered, and not with what every Swank says of itself. */
export function unknowing(place: Place, returned: Returned): WireError {
  const why = 'abort' in returned ? inShort(returned.abort) : 'no list of properties came'
  return new WireError('REMOTE_FAULT', `${nameOf(place)} does not say what it is: ${why}. ${SLYNK}`)
}

const SLYNK = 'Imago speaks to Swank, which SLIME brings: beside Slynk, load it and give the port of that.'

const closedOn = (at: string) =>
  `${at} ended the connection on the secret. A Swank that asks for none does so: then there is no .slime-secret in ` +
  'the home directory of that Lisp; put the secret there, or attach without one. If it does ask for one, the secret ' +
  'was wrong; see whether that Lisp still runs.'

const closedWithout = (at: string) =>
  `${at} ended the connection without a word. If it is a Swank that asks for a secret, attach with the first line of ` +
  '.slime-secret in the home directory of that Lisp.'

const nameOf = ({ host, port }: Place) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
