import type { Level } from '../../tools/contract.ts'
import { type Failed, failed, failedInside, type Outcome } from '../../tools/outcome.ts'
import { WireError } from '../../wire/errors.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import { WAITED_FOR } from './refusals.ts'

/** What was thrown in the course of a call, and how far the call had come. */
export interface Thrown {
  readonly error: unknown
  readonly tool: string
  readonly kernel: string | null
  /** That kernel is a program of the user's. */
  readonly attached?: boolean
  /** That its process is stopped, and what lets it go on; null where it is not. */
  readonly stopped?: string | null
  readonly level: Level
  /** The caller had asked for an end before this was thrown. */
  readonly cancelled: boolean
  readonly log: (message: string, error: unknown) => void
}

/**
 * A thrown fault as the failure a model is told. What may have changed something and cannot be proved either way
 * is `outcome_unknown`; a stack goes to the log and never into an answer.
 */
export function faultOf(thrown: Thrown): Outcome<never> {
  const { error, level, cancelled } = thrown
  if (error instanceof WireError) return wireFault(error, thrown)
  if (error instanceof KernelError) return kernelFault(error, thrown.kernel ?? undefined)
  if (cancelled && level === 'safe' && isAbort(error)) return withdrawn()
  return handlerFault(thrown)
}

/** A call that was cancelled before anything ran. */
export const withdrawn = () =>
  failed('withdrawn', { message: 'The call was cancelled before it started. Nothing ran.' })

/** Whether a kernel could not be had because none lives, and not because one of several has to be named. */
export function saysNoneLives(outcome: Outcome<never>): boolean {
  if (outcome.type !== 'failed') return false
  const { code, details } = outcome.error
  if (code === 'no_such_kernel') return details?.reason !== 'several'
  return (
    code === 'kernel_unavailable' && (details?.reason === 'ended' || details?.reason === 'did_not_come_back')
  )
}

/** A kernel that could not be had, and why. */
export function kernelFault(error: unknown, wanted: string | undefined): Failed {
  const named = wanted === undefined ? {} : { kernel: wanted }
  if (error instanceof KernelError) {
    const { code, message, details, next, retryable } = error
    return failed(code, {
      message,
      details: { ...named, ...details },
      retryable,
      ...(next !== null && { next }),
    })
  }
  const fault = error instanceof WireError ? { fault: error.code } : {}
  const message = error instanceof Error ? error.message : String(error)
  return failed('kernel_unavailable', { message: `${message} Nothing ran.`, details: { ...named, ...fault } })
}

/**
 * What a kernel throws. A look changes nothing, so that losing it is only the loss of an answer. Otherwise code may have
 * run, and only what is known to come from before that says that nothing did.
 */
function wireFault(error: WireError, thrown: Thrown): Outcome<never> {
  const isLook = thrown.level === 'safe'
  switch (error.code) {
    case 'UNRESPONSIVE':
      return unresponsive(error, thrown)
    case 'BUSY':
      return busy(error, thrown)
    case 'MESSAGE_TOO_LARGE':
    case 'FRAME_TOO_LARGE':
      return tooLarge(error, thrown)
    case 'MESSAGE_INVALID':
      return invalidShape(error, thrown)
    case 'REMOTE_FAULT':
      return remoteFault(error, thrown) ?? (isLook ? invalidShape : outcomeUnknown)(error, thrown)
    case 'FRAME_MALFORMED':
    case 'LIMIT_EXCEEDED':
    case 'PROTOCOL_BROKEN':
      return (isLook ? invalidShape : outcomeUnknown)(error, thrown)
    default:
      return (isLook ? answerLost : outcomeUnknown)(error, thrown)
  }
}

function answerLost(error: WireError, { kernel, attached }: Thrown): Outcome<never> {
  return failed('kernel_unavailable', {
    message: `${kernel ?? 'The kernel'} was lost before it answered: ${followed(error.message)}Nothing was changed by this call.`,
    details: { kernel, fault: error.code },
    next: attached ? `Ask again. ${WAITED_FOR}` : 'Call again; a kernel that Imago owns is started anew.',
  })
}

/** A message with room for our own sentence behind it, which must not read as part of a program's last words. */
const followed = (message: string) => `${message}${message.includes('\n') ? '\n' : ' '}`

function outcomeUnknown(error: WireError, { kernel, attached, tool }: Thrown): Outcome<never> {
  return failed('outcome_unknown', {
    message: `${kernel ?? 'The kernel'} was lost while ${tool} ran: ${followed(error.message)}The code may or may not have had its effect.`,
    details: { kernel, fault: error.code },
    next: attached
      ? `Look at what is there before deciding to run anything again. ${WAITED_FOR}`
      : 'Look at what is there, with list_globals and inspect, before deciding to run anything again.',
  })
}

function unresponsive(error: WireError, { kernel, attached, stopped }: Thrown): Outcome<never> {
  const said = `${kernel ?? 'The kernel'} does not answer: `
  const why = stopped ?? error.message
  return failed('unresponsive', {
    message: why.startsWith(said) ? why : `${said}${why}`,
    details: { kernel },
    next: stopped
      ? 'Call again once it goes on.'
      : attached
        ? 'Wait and call again; a person can see it with imago kernels. The program itself is left alone.'
        : `Wait and call again; a person can see it with imago kernels, and end it with imago stop ${kernel ?? ''}`.trim(),
  })
}

function busy(error: WireError, { kernel }: Thrown): Outcome<never> {
  return failed('busy', {
    message: `${error.message} Nothing ran.`,
    details: { kernel },
    next: 'Wait for a job to end, with job, and call again.',
  })
}

function tooLarge(error: WireError, { kernel }: Thrown): Outcome<never> {
  return failed('too_large', {
    message: error.message,
    details: { kernel },
    next: 'Ask for a part of it, or for its length first.',
  })
}

function invalidShape(error: WireError, { kernel, tool, level }: Thrown): Outcome<never> {
  const ran = level === 'safe' ? 'Nothing was changed.' : 'The code has run; only its answer is lost.'
  return failedInside('invalid_result_shape', {
    message: `${kernel ?? 'The kernel'} answered ${tool} with something that is not of the agreed form: ${error.message} ${ran}`,
    details: { kernel, fault: error.code },
    next: 'Look with list_globals or inspect; if this repeats, a person should restart the kernel.',
  })
}

/** What another end refused by a word of the protocol; `undefined` where it says nothing about what ran. */
function remoteFault(error: WireError, thrown: Thrown): Outcome<never> | undefined {
  switch (error.remote?.code) {
    case 'busy':
      return busy(error, thrown)
    case 'cancelled':
      return withdrawn()
    case 'unknown_method':
      return failed('not_available', {
        message: `${thrown.kernel ?? 'The kernel'} cannot do what ${thrown.tool} needs.`,
        details: { kernel: thrown.kernel },
      })
    default:
      return undefined
  }
}

function handlerFault({ error, tool, kernel, level, log }: Thrown): Outcome<never> {
  log(`the handler of ${tool} failed`, error)
  const message = error instanceof Error ? error.message : String(error)
  const ran = level === 'safe' ? 'Nothing was changed.' : 'What it had done by then is not known.'
  return failedInside('handler_fault', {
    message: `${tool} itself failed: ${message.slice(0, 500)}. ${ran}`,
    details: { tool, kernel },
    next: 'This is a fault of Imago; its log has the details.',
  })
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'
