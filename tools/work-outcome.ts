import type { Evaluated, Refused, Suspension } from '../wire/kernel.ts'
import type { OutputLog } from './define.ts'
import { diagnosed } from './diagnostics.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { type Printed, printed } from './output.ts'
import { suspendedDetails } from './suspension-text.ts'
import { duration, exceptionLine, frameLine, oneLine, programFrame } from './wording.ts'

/** The end of something that ran to its end. */
export type Done = Extract<Evaluated, { type: 'done' }>

/** What of an end is a tool's own. */
export interface OutcomeParts<Result> {
  readonly output: OutputLog
  done(evaluated: Done, text: Printed): Result
  /** What every failure has among its details. */
  readonly details?: Readonly<Record<string, unknown>>
  /** What to do now where the code raised, having run. */
  readonly raised?: string
  /** Its stack was to be held alive where an error is raised. */
  readonly held?: boolean
  /** What to do now where the image would not begin it, and does not say so itself. */
  readonly refused?: string
}

/** How something that was run ended, as its caller is told: whatever ends it, what was printed before is kept. */
export function workOutcome<Result>(evaluated: Evaluated, parts: OutcomeParts<Result>): Outcome<Result> {
  const { output, done, details } = parts
  const text = printed(output.soFar())
  if (evaluated.type === 'done') return ok(done(evaluated, text))
  const failure = unfinished(evaluated, { text, parts })
  if (details === undefined) return failure
  const { error } = failure
  return { type: 'failed', error: { ...error, details: { ...error.details, ...details } } }
}

/** How what did not come to its end is told. */
function unfinished(
  evaluated: Exclude<Evaluated, Done>,
  { text, parts }: { readonly text: Printed; readonly parts: Omit<OutcomeParts<unknown>, 'done'> },
): Failed {
  switch (evaluated.type) {
    case 'raised':
    case 'suspended':
      return thrown(evaluated, { text, next: parts.raised, held: parts.held ?? false })
    case 'interrupted': {
      const { exception, elapsed_ms } = evaluated
      return failed('interrupted', {
        message: `The code was stopped after ${duration(elapsed_ms)}, on request. What it did before is done.`,
        details: { ...(exception !== undefined && { exception }), ...text, elapsed_ms },
      })
    }
    case 'left': {
      const { message, elapsed_ms } = evaluated
      return failed('left', {
        message: `${message} It has no value, and what it did before is done.`,
        details: { ...text, elapsed_ms },
      })
    }
    case 'withdrawn':
      return failed('withdrawn', { message: 'The code was withdrawn before its turn came. Nothing ran.' })
    case 'refused':
      return refused({ ...(parts.refused !== undefined && { next: parts.refused }), ...evaluated })
    default:
      return evaluated satisfies never
  }
}

/** An error, which has ended what ran or keeps it suspended. `next`: what to do where it has ended code of the program. */
function thrown(
  evaluated: Extract<Evaluated, { type: 'raised' | 'suspended' }>,
  {
    text,
    next: ended,
    held,
  }: { readonly text: Printed; readonly next: string | undefined; readonly held: boolean },
): Failed {
  const { exception, elapsed_ms, diagnostics } = evaluated
  const suspension = evaluated.type === 'suspended' ? evaluated.suspension : undefined
  const at = programFrame(exception.frames)
  const next = suspension !== undefined ? goingOn(suspension) : at !== undefined ? ended : undefined
  return failed('exception', {
    message: `${exceptionLine(exception)}${at === undefined ? '' : ` (in ${frameLine(at)})`}`,
    details: {
      exception,
      ...(suspension !== undefined && {
        suspension: suspendedDetails(suspension, { restarts: exception.restarts, held }),
      }),
      ...diagnosed(diagnostics),
      ...text,
      elapsed_ms,
    },
    ...(next !== undefined && { next }),
  })
}

/** What can be done about an evaluation that is suspended. */
function goingOn({ id, how }: Suspension): string {
  const named = JSON.stringify({ suspension: id })
  const restart = how === 'held' ? 'has it go on' : 'runs it again or gives it up'
  return `It is suspended as ${id}. debug_frame ${named} shows its variables, debug_eval runs code there, and debug_restart ${restart}.`
}

/** What an image would not begin, as a failure of the call; what is like the thing that is missing is in `details`. */
function refused({ reason, message, what, nearest = [], next }: Refused): Failed {
  const like = nearest.length === 0 ? '' : ` Nearest: ${nearest.map(oneLine).join(', ')}.`
  return failed(reason === 'not_found' ? 'not_found' : 'invalid_args', {
    message: `${message}${like} Nothing was run.`,
    details: { ...(what !== undefined && { what }), ...(reason === 'not_found' && { nearest }) },
    ...(next !== undefined && { next }),
  })
}
