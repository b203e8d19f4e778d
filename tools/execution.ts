import { z } from 'zod'
import {
  type Diagnostic,
  diagnostic,
  type Evaluated,
  type Of,
  type Raised,
  type Severity,
  type Shown,
  type SourcePlace,
  type SuspendOptions,
  type Suspension,
  type Work,
  type WorkRefusal,
} from '../wire/kernel.ts'
import type { Displayed, Expiring, KernelContext, OutputLog, OutputSoFar } from './contract.ts'
import { termsOf } from './languages.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { parameterFor } from './parameters.ts'
import { displayed } from './shapes.ts'
import { suspendedDetails } from './suspension-text.ts'
import { heldByOther, unknownSuspension } from './suspensions.ts'
import {
  counted,
  cutNote,
  dataTokens,
  duration,
  exceptionLine,
  fitting,
  frameLine,
  indent,
  oneLine,
  oneSpaced,
  placeOf,
  programFrame,
  typeWord,
} from './text.ts'

/** The parameters that say where in the user's files the source text stands. */
export const PLACED = {
  file: z.string().min(1).max(4_096).optional().describe('Its file: for names and tracebacks.'),
  line: z.int().min(1).max(10_000_000).optional().describe('The line where it begins; 1 if left out.'),
}

/** The parameter that names the package in which source text is read, for languages that have such. */
export const IN_PACKAGE = parameterFor(
  'packages',
  z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe(
      'In Lisp, the package the code is read and run in; without it the one that `(in-package …)` chose.',
    ),
)

/** What the parameters of `PLACED` say, as `Work` has it; a line without a file is a failure. */
export function placeGiven(given: {
  readonly file: string | undefined
  readonly line: number | undefined
}): { readonly place?: SourcePlace } | Failed {
  const { file, line = 1 } = given
  if (file !== undefined) return { place: { file, line } }
  return given.line === undefined ? {} : lineWithoutFile()
}

function lineWithoutFile(): Failed {
  return failed('invalid_args', {
    message: 'line says where in a file the code begins, and no file was given.',
    details: { parameter: 'line' },
    next: 'Give file as well, or leave line out.',
  })
}

/** ` in the package SHOP`, for the title of what a person approves. */
export const insideWord = (inside: string | undefined): string =>
  inside === undefined ? '' : ` in the package ${inside}`

/** What an error is to do: suspend the evaluation, suspend it with its stack held alive, or end it. */
export const ON_ERROR = ['suspend', 'hold', 'end'] as const

export type OnError = (typeof ON_ERROR)[number]

/** Work in a suspended evaluation: code in one of its frames, or resuming it. */
type SuspendedWork = Extract<Work, { type: 'frame' | 'resume' }>

/** All other work. */
export type FreeWork = Exclude<Work, SuspendedWork>

/** What a piece of work came to, and how long a suspension waits. */
export type Ended =
  | Exclude<Evaluated, { type: 'suspended' }>
  | (Extract<Evaluated, { type: 'suspended' }> & { readonly suspension: Expiring })

/**
 * Has the image do a piece of work for this call; what it prints is kept, and what it asks goes to the caller. Where an
 * error suspends it, the caller owns that. Left out, `onError` is as the language of the image has it.
 */
export const runWork = (
  work: FreeWork,
  context: KernelContext,
  onError: OnError = context.kernel.identity.errorsSuspend ? 'suspend' : 'end',
): Promise<Ended> => evaluated(work, context, onError)

/** The same in a suspended evaluation. Fails, and runs nothing, where somebody else owns that. */
export async function runSuspended(
  work: SuspendedWork,
  context: KernelContext,
  onError: OnError,
): Promise<Ended | Failed> {
  const { leases, again } = context
  const { suspension } = work
  if (again) return evaluated(work, context, onError)
  if (leases.ownershipOf(suspension) === undefined) return unknownSuspension(suspension, leases)
  const refused = heldByOther(suspension, context)
  if (refused !== undefined) return refused
  const came = leases.acts(suspension)
  const end = await evaluated(work, context, onError)
  came(end)
  return end
}

async function evaluated(work: Work, context: KernelContext, onError: OnError): Promise<Ended> {
  const { kernel, call, who, caller, signal, output, ask, leases, again } = context
  const suspend = suspendingFor(work, context, onError)
  const end = await kernel.evaluate(
    { call, who, caller, work, ...(suspend !== undefined && { suspend }), ...(again && { again }) },
    { signal, on: event => output.add(event), ask: question => ask(question) },
  )
  if ('displays' in end) output.display(end.displays ?? [], end.displays_omitted ?? 0)
  const ended = end.type === 'suspended' ? { ...end, suspension: leases.own(end.suspension) } : end
  if (!('exception' in ended) || ended.exception === undefined || !isInDoubt(ended.exception)) return ended
  // Loaded here: what has not failed has nothing to prove.
  const { raisedProved } = await import('./proof.ts')
  return { ...ended, exception: await raisedProved(ended.exception, context) }
}

/** Why no stack can be held alive here; undefined where that is not wanted, where it can be, or where it is anyhow. */
export function holdRefused(
  onError: OnError | undefined,
  { kernel: { identity }, kernelName, leases }: KernelContext,
): Failed | undefined {
  if (onError !== 'hold') return undefined
  const { abilities, language } = identity
  const { suspendsAlive, errorsHaveFrames } = termsOf(identity)
  const holds = abilities.has('hold') || (abilities.has('suspend') && suspendsAlive)
  if (holds && leases.maySuspend) return undefined
  const why = holds
    ? 'this client is shown no tool to go on from an error with'
    : `${kernelName} (${identity.implementation}) cannot hold an evaluation alive where an error is raised`
  return failed('invalid_args', {
    message: `on_error is hold, and ${why}. Nothing was run.`,
    details: { parameter: 'on_error', language },
    next: errorsHaveFrames
      ? 'Leave on_error out: an error is told with its frames all the same; "suspend" keeps them where it can.'
      : 'Leave on_error out: an error is told all the same.',
  })
}

/** Undefined where errors end it: on request, where nobody could go on, and for tests, whose failures are their result. */
function suspendingFor(
  work: Work,
  { kernel: { identity }, leases }: KernelContext,
  onError: OnError,
): SuspendOptions | undefined {
  const { abilities } = identity
  if (onError === 'end' || work.type === 'tests' || !leases.maySuspend || !abilities.has('suspend'))
    return undefined
  return onError === 'hold' && abilities.has('hold') ? { hold: true } : {}
}

/** Whether a line that is shown of it may be another by now than the one that runs. */
const isInDoubt = ({ frames, cause }: Raised): boolean =>
  frames.some(({ running }) => running !== undefined) || (cause !== undefined && isInDoubt(cause.exception))

/** The end of something that ran to its end. */
export type Done = Extract<Evaluated, { type: 'done' }>

/** What of an end is a tool's own. */
interface OutcomeParts<Result> {
  readonly output: OutputLog
  done(evaluated: Done, text: PrintedOutput): Result
  /** What every failure has among its details. */
  readonly details?: Readonly<Record<string, unknown>>
  /** What to do now where the code raised, having run. */
  readonly raised?: string | undefined
  /** Its stack was to be held alive where an error is raised. */
  readonly held?: boolean
  /** What to do now where the image would not begin it, and does not say so itself. */
  readonly refused?: string
}

/** How something that was run ended, as its caller is told: whatever ends it, what was printed before is kept. */
export function workOutcome<Result>(evaluated: Ended, parts: OutcomeParts<Result>): Outcome<Result> {
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
  evaluated: Exclude<Ended, Done>,
  { text, parts }: { readonly text: PrintedOutput; readonly parts: Omit<OutcomeParts<unknown>, 'done'> },
): Failed {
  switch (evaluated.type) {
    case 'raised':
    case 'suspended':
      return thrown(evaluated, { text, next: parts.raised, held: parts.held ?? false })
    case 'interrupted': {
      const { exception, elapsed_ms, input_line } = evaluated
      return failed('interrupted', {
        message: `The code was stopped after ${duration(elapsed_ms)}, on request. What it did before is done.`,
        details: {
          ...(exception !== undefined && { exception }),
          ...text,
          elapsed_ms,
          ...(input_line !== undefined && { input_line }),
        },
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
  evaluated: Extract<Ended, { type: 'raised' | 'suspended' }>,
  {
    text,
    next: ended,
    held,
  }: { readonly text: PrintedOutput; readonly next: string | undefined; readonly held: boolean },
): Failed {
  const { exception, elapsed_ms, diagnostics } = evaluated
  const suspension = evaluated.type === 'suspended' ? evaluated.suspension : undefined
  const line = evaluated.type === 'raised' ? evaluated.input_line : undefined
  const at = programFrame(exception.frames)
  const mended = evaluated.type === 'raised' ? evaluated.next : undefined
  const back = at === undefined ? undefined : ended
  const next = suspension !== undefined ? goingOn(suspension) : sentences(mended, back)
  return failed('exception', {
    message: `${exceptionLine(exception)}${at === undefined ? '' : ` (in ${frameLine(at)})`}`,
    details: {
      exception,
      ...(suspension !== undefined && {
        suspension: suspendedDetails(suspension, { restarts: exception.restarts, held }),
      }),
      ...(mended !== undefined && { mend: mended }),
      ...diagnosed(diagnostics),
      ...text,
      elapsed_ms,
      ...(line !== undefined && { input_line: line }),
    },
    ...(next !== undefined && { next }),
  })
}

const sentences = (...said: readonly (string | undefined)[]): string | undefined =>
  said.filter(one => one !== undefined).join('. ') || undefined

/**
 * What to do about an error that has ended what ran: a sentence, of which `besides` is the second half. Undefined where
 * nobody would be shown the tool.
 */
export function lookingBack(
  { kernel: { identity }, leases }: KernelContext,
  besides = '',
): string | undefined {
  const { abilities } = identity
  if (!leases.maySuspend || !abilities.has('last_error') || !termsOf(identity).errorsHaveFrames)
    return undefined
  // Those of the program itself come first, where they are told apart.
  const whose = abilities.has('errors') ? ' {"whose":"callers"}' : ''
  return `get_last_error${whose} shows its frames and locals${besides === '' ? '' : `; ${besides}`}.`
}

/** What can be done about an evaluation that is suspended. */
function goingOn({ id, how }: Suspension): string {
  const named = JSON.stringify({ suspension: id })
  const restart = how === 'held' ? 'has it go on' : 'runs it again or gives it up'
  return `It is suspended as ${id}. debug_frame ${named} shows its variables, debug_eval runs code there, and debug_restart ${restart}.`
}

/** What an image would not begin, as a failure of the call; what is like the thing that is missing is in `details`. */
function refused({ reason, message, what, nearest = [], next }: WorkRefusal): Failed {
  const like = nearest.length === 0 ? '' : ` Nearest: ${nearest.map(oneLine).join(', ')}.`
  return failed(reason === 'not_found' ? 'not_found' : 'invalid_args', {
    message: `${message}${like} Nothing was run.`,
    details: { ...(what !== undefined && { what }), ...(reason === 'not_found' && { nearest }) },
    ...(next !== undefined && { next }),
  })
}

/** What was printed, as every answer about an evaluation carries it. */
export const printedOutput = z.object({
  stdout: z.string(),
  stderr: z.string(),
  /** Both streams, in the order in which they were written. */
  output: z.string(),
  truncated: z.boolean(),
  /** Characters that were not kept; present when there are any. */
  dropped: z.number().exactOptional(),
  /** For `read_more`, where `output` was cut. */
  output_handle: z.string().exactOptional(),
  /** What was drawn or displayed; present when there is any. */
  displays: z.array(displayed).exactOptional(),
  displays_omitted: z.number().exactOptional(),
})
export type PrintedOutput = Of<typeof printedOutput>

export function printed(soFar: OutputSoFar): PrintedOutput {
  const { stdout, stderr, output, truncated, dropped, handle, displays, displaysOmitted } = soFar
  return {
    stdout,
    stderr,
    output,
    truncated,
    ...(dropped > 0 && { dropped }),
    ...(handle !== undefined && { output_handle: handle }),
    ...(displays !== undefined && { displays }),
    ...(displaysOmitted !== undefined && { displays_omitted: displaysOmitted }),
  }
}

/** What was displayed, and the printed text under a heading that says which stream it is; empty when there is none. */
export function showPrinted(text: PrintedOutput): string[] {
  return [...showDisplays(text), ...showStreams(text)]
}

/** `figure 1: PNG, 640 × 480, /home/…/displays/….png` */
function showDisplays({ displays = [], displays_omitted: left = 0 }: PrintedOutput): string[] {
  const lines = displays.flatMap(displayLines)
  return left === 0 ? lines : [...lines, `and ${counted(left, 'more display')}, not shown`]
}

function displayLines({ what, shown, text, files = [], note }: Displayed): string[] {
  const name = oneLine(what)
  const kinds = { 'image/png': 'PNG', 'text/html': 'HTML' } as const
  const lines = shown === undefined ? [] : showValue(shown)
  if (text !== undefined) lines.push(text)
  for (const { media_type: type, size, path } of files)
    lines.push(`${name}: ${[kinds[type], size, path].filter(part => part !== undefined).join(', ')}`)
  if (note !== undefined) lines.push(`${name}: ${oneLine(note)}`)
  return lines
}

/** A value, and below it in brackets what there is to know besides. */
export function showValue({ repr, type, preview, handle }: Shown): string[] {
  const notes = []
  const said = preview?.startsWith(typeWord(type)) ?? handle === undefined
  if (!said) notes.push(typeWord(type))
  if (preview !== undefined) notes.push(preview)
  if (repr.truncated) notes.push(cutNote(repr))
  if (repr.handle !== undefined && repr.truncated) notes.push(`all of it: read_more ${repr.handle}`)
  if (repr.error !== undefined) notes.push(`its own printer was not used: ${repr.error}`)
  if (handle !== undefined) notes.push(`inspect ${handle}`)
  return notes.length === 0 ? [repr.text] : [repr.text, `(${notes.join(' · ')})`]
}

function showStreams(text: PrintedOutput): string[] {
  const { stdout, stderr, output } = text
  const lost = lossNote(text)
  const heading = lost === '' ? '' : ` (${lost})`
  if (stdout !== '' && stderr !== '') return [`stdout and stderr, in order${heading}:`, trimmed(output)]
  if (stdout !== '') return [`stdout${heading}:`, trimmed(stdout)]
  if (stderr !== '') return [`stderr${heading}:`, trimmed(stderr)]
  return lost === '' ? [] : [`output: ${lost}`]
}

function lossNote({ truncated, dropped = 0, output_handle }: PrintedOutput): string {
  const notes = []
  if (output_handle !== undefined) notes.push(`cut; all that was kept: read_more ${output_handle}`)
  else if (truncated) notes.push('cut')
  if (dropped > 0) notes.push(`${dropped} characters were dropped`)
  return notes.join('; ')
}

const trimmed = (text: string): string => text.replace(/\n$/, '')

/** What a compiler, or the running code by a warning, has said: as every answer about an evaluation carries it. */
export const diagnostics = z.object({
  /** In the order in which they were said; absent where the image does not tell such. */
  diagnostics: z.array(diagnostic).exactOptional(),
  /** How many of them are left out, to fit; present when there are any. */
  diagnostics_omitted: z.number().exactOptional(),
})
export type Diagnostics = Of<typeof diagnostics>

/** What every answer about code that ran to its end has. */
export const ranAnswer = z.object({ ...printedOutput.shape, ...diagnostics.shape, elapsed_ms: z.number() })

/** As many as fit on a page, the first first. */
export function diagnosed(diagnostics: readonly Diagnostic[] | undefined): Diagnostics {
  if (diagnostics === undefined) return {}
  const kept = fitting(diagnostics, dataTokens)
  const left = diagnostics.length - kept.length
  return { diagnostics: kept, ...(left > 0 && { diagnostics_omitted: left }) }
}

/**
 * One or two lines for each: what was said and where, and below it the form that it is about. Of one whose words are
 * `said` already, as those of a reader are that ended a load, the place is told. A message that has a name and is
 * among what was printed is told there alone.
 */
export function showDiagnosed(
  {
    diagnostics = [],
    diagnostics_omitted: left = 0,
    stdout = '',
    stderr = '',
    output = '',
  }: Diagnostics & Partial<Pick<PrintedOutput, 'stdout' | 'stderr' | 'output'>>,
  said = '',
): string[] {
  const before = oneSpaced(said)
  const printed = oneSpaced([stdout, stderr, output].join(' '))
  const untold = diagnostics.filter(
    one => one.name === undefined || !printed.includes(oneSpaced(one.message)),
  )
  const lines = untold.flatMap(one =>
    diagnosticLines(
      one.severity === 'read_error' && before.includes(oneSpaced(one.message))
        ? { ...one, message: 'as said above' }
        : one,
    ),
  )
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
export const packageInForce = z.object({
  package: z.string().exactOptional(),
  readtable: z.string().exactOptional(),
  /** Which of them this call has changed. */
  changed: z.array(z.enum(['package', 'readtable'])).exactOptional(),
})
export type InForce = Of<typeof packageInForce>

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
