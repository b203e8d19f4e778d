import type {
  Diagnostic,
  Evaluated,
  Refused,
  Severity,
  Suspending,
  Suspension,
  Work,
} from '../wire/kernel.ts'
import type { KernelContext, OutputLog, OutputSoFar } from './contract.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { suspendedDetails } from './suspension-text.ts'
import { heldByOther, unknownSuspension } from './suspensions.ts'
import {
  counted,
  dataSize,
  duration,
  exceptionLine,
  fitting,
  frameLine,
  indent,
  oneLine,
  placeOf,
  programFrame,
} from './text.ts'

/** What an error is to do: suspend the evaluation, suspend it with its stack held alive, or end it. */
export const ON_ERROR = ['suspend', 'hold', 'end'] as const

type OnError = (typeof ON_ERROR)[number]

/** Work in a suspended evaluation: code in one of its frames, or resuming it. */
type SuspendedWork = Extract<Work, { type: 'frame' | 'resume' }>

/** All other work. */
export type FreeWork = Exclude<Work, SuspendedWork>

/**
 * Has the image do a piece of work for this call; what it prints is kept, and what it asks goes to the caller. Where an
 * error suspends it, the caller owns that.
 */
export const runWork = (
  work: FreeWork,
  context: KernelContext,
  onError: OnError = 'suspend',
): Promise<Evaluated> => evaluated(work, context, onError)

/** The same in a suspended evaluation. Fails, and runs nothing, where somebody else owns that. */
export async function runSuspended(work: SuspendedWork, context: KernelContext): Promise<Evaluated | Failed> {
  const { leases, again } = context
  const { suspension } = work
  if (again) return evaluated(work, context)
  if (leases.ownershipOf(suspension) === undefined) return unknownSuspension(suspension)
  const refused = heldByOther(suspension, context)
  if (refused !== undefined) return refused
  const came = leases.acts(suspension)
  const end = await evaluated(work, context)
  if (work.type === 'resume') came(end)
  return end
}

async function evaluated(
  work: Work,
  context: KernelContext,
  onError: OnError = 'suspend',
): Promise<Evaluated> {
  const { kernel, call, who, signal, output, ask, leases, again } = context
  const suspend = suspendingFor(work, context, onError)
  const end = await kernel.evaluate(
    { call, who, work, ...(suspend !== undefined && { suspend }), ...(again && { again }) },
    { signal, on: event => output.add(event), ask: question => ask(question) },
  )
  if (end.type === 'suspended') leases.own(end.suspension)
  return end
}

/** Undefined where errors end it: on request, where nobody could go on, and for tests, whose failures are their result. */
function suspendingFor(
  work: Work,
  { kernel: { identity }, leases: { leaseMs } }: KernelContext,
  onError: OnError,
): Suspending | undefined {
  const { abilities } = identity
  if (onError === 'end' || work.type === 'tests' || leaseMs === null || !abilities.has('suspend'))
    return undefined
  return onError === 'hold' && abilities.has('hold') ? { leaseMs, hold: true } : { leaseMs }
}

/** The end of something that ran to its end. */
export type Done = Extract<Evaluated, { type: 'done' }>

/** What of an end is a tool's own. */
interface OutcomeParts<Result> {
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

/** What was printed, as every answer about an evaluation carries it. */
export interface Printed {
  readonly stdout: string
  readonly stderr: string
  /** Both streams, in the order in which they were written. */
  readonly output: string
  readonly truncated: boolean
  /** Characters that were not kept; present when there are any. */
  readonly dropped?: number
  /** For `read_more`, where `output` was cut. */
  readonly output_handle?: string
}

export function printed({ stdout, stderr, output, truncated, dropped, handle }: OutputSoFar): Printed {
  return {
    stdout,
    stderr,
    output,
    truncated,
    ...(dropped > 0 && { dropped }),
    ...(handle !== undefined && { output_handle: handle }),
  }
}

/** The printed text under a heading that says which stream it is; empty when nothing was printed. */
export function showPrinted(text: Printed): string[] {
  const { stdout, stderr, output } = text
  const lost = lossNote(text)
  const heading = lost === '' ? '' : ` (${lost})`
  if (stdout !== '' && stderr !== '') return [`stdout and stderr, in order${heading}:`, trimmed(output)]
  if (stdout !== '') return [`stdout${heading}:`, trimmed(stdout)]
  if (stderr !== '') return [`stderr${heading}:`, trimmed(stderr)]
  return lost === '' ? [] : [`output: ${lost}`]
}

function lossNote({ truncated, dropped = 0, output_handle }: Printed): string {
  const notes = []
  if (output_handle !== undefined) notes.push(`cut; all that was kept: read_more ${output_handle}`)
  else if (truncated) notes.push('cut')
  if (dropped > 0) notes.push(`${dropped} characters were dropped`)
  return notes.join('; ')
}

const trimmed = (text: string): string => text.replace(/\n$/, '')

/** What a compiler, or the running code by a warning, has said: as every answer about an evaluation carries it. */
export interface Diagnosed {
  /** In the order in which they were said; absent where the image does not tell such. */
  readonly diagnostics?: readonly Diagnostic[]
  /** How many of them are left out, to fit; present when there are any. */
  readonly diagnostics_omitted?: number
}

/** As many as fit on a page, the first first. */
export function diagnosed(diagnostics: readonly Diagnostic[] | undefined): Diagnosed {
  if (diagnostics === undefined) return {}
  const kept = fitting(diagnostics, dataSize)
  const left = diagnostics.length - kept.length
  return { diagnostics: kept, ...(left > 0 && { diagnostics_omitted: left }) }
}

/** One or two lines for each: what was said and where, and below it the form that it is about. */
export function showDiagnosed({ diagnostics = [], diagnostics_omitted: left = 0 }: Diagnosed): string[] {
  const lines = diagnostics.flatMap(diagnosticLines)
  return left === 0 ? lines : [...lines, `and ${counted(left, 'more diagnostic')}, not shown`]
}

/** `warning: undefined variable: TOTAL  /srv/shop/orders.lisp:12:4` */
function diagnosticLines(diagnostic: Diagnostic): string[] {
  const { severity, message, column, source } = diagnostic
  const [first = '', ...more] = message.trim().split('\n')
  const at = placeOf(diagnostic)
  const place = diagnostic.line === null || column === null ? at : `${at}:${column}`
  const line =
    diagnostic.file === null && diagnostic.line !== null ? lineWord(diagnostic.line, column) : place
  const lines = [`${WORDS[severity]}: ${oneLine(first)}${line === '' ? '' : `  ${line}`}`]
  lines.push(...more.map(one => indent(oneLine(one.trimEnd()))))
  if (source !== null && source !== '') lines.push(`  in: ${oneLine(source)}`)
  return lines
}

const lineWord = (line: number, column: number | null): string =>
  `line ${line}${column === null ? '' : `, column ${column}`}`

const WORDS = {
  error: 'error',
  read_error: 'read error',
  warning: 'warning',
  style_warning: 'style warning',
  redefinition: 'redefinition',
  note: 'note',
} as const satisfies Record<Severity, string>

/** `1 error, 2 warnings`, the gravest first; empty where nothing was said. */
export function tallied(diagnostics: readonly Diagnostic[]): string {
  const counts = (Object.keys(WORDS) as Severity[]).flatMap(severity => {
    const count = diagnostics.filter(one => one.severity === severity).length
    return count === 0 ? [] : [counted(count, WORDS[severity])]
  })
  return counts.join(', ')
}

/** Whether the compiler could not make code of all that it was given. */
export const holdsErrors = (diagnostics: readonly Diagnostic[]): boolean =>
  diagnostics.some(({ severity }) => severity === 'error' || severity === 'read_error')

/** What the next evaluation is read in, where the language has packages and read tables. */
export interface InForce {
  readonly package?: string
  readonly readtable?: string
  /** Which of them this call has changed. */
  readonly changed?: readonly ('package' | 'readtable')[]
}

export function inForce({ package: inside, readtable, changed }: Done): InForce {
  return {
    ...(inside !== undefined && { package: inside }),
    ...(readtable !== undefined && { readtable }),
    ...(changed !== undefined && { changed }),
  }
}

/** `package in force now: SHOP`, and the read table: each only where the call has changed it. */
export function showInForce(inForce: InForce): string[] {
  return (inForce.changed ?? []).flatMap(what => {
    const now = inForce[what]
    return now === undefined ? [] : [`${what} in force now: ${oneLine(now)}`]
  })
}
