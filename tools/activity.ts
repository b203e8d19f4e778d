import { z } from 'zod'
import {
  type Frame,
  LOOKS,
  type Local,
  type Of,
  type ProgramError,
  type ProgramErrors,
  type Raised,
  type RunHistory,
  type RunHistoryEntry,
  type RunHistoryQuery,
  type Stack,
  type Threads,
  type ThreadsQuery,
} from '../wire/kernel.ts'
import type { KernelContext, PastErrors, PastProcess, ToolContext } from './contract.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf } from './languages.ts'
import { anExpression, lookUp } from './look.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { raisedProved, stacksProved } from './proof.ts'
import {
  beginning,
  counted,
  dataSize,
  dataTokens,
  duration,
  exceptionLine,
  type FoldedFrames,
  fitting,
  foldedRun,
  foldedStack,
  foldedWords,
  given,
  indent,
  isOwn,
  oneLine,
  placeOf,
  programFrame,
  reportOf,
  reportSetIn,
  restartLines,
  runsOf,
  setIn,
  sinceWord,
  stackLine,
} from './text.ts'
import { tokensAtMost } from './tokens.ts'

/** A process that has gone; `ended_at` is null where it had no time to say when. */
const goneProcess = z.object({
  /** What it ran, or else what it was called. */
  name: z.string(),
  pid: z.number(),
  ended_at: z.string().nullable(),
  /** Whether the error has ended it. */
  by_it: z.boolean(),
})
export type GoneProcess = Of<typeof goneProcess>

/** An error of the program in a line. */
const errorSummary = z.object({
  number: z.number(),
  at: z.string(),
  where: z.string().nullable(),
  times: z.number(),
  /** `ZeroDivisionError: division by zero` */
  what: z.string(),
  /** The line that does not compile, or else the innermost of the program's own; null where there is none. */
  file: z.string().nullable(),
  line: z.number().nullable(),
  /** Where it is of a process that has gone. */
  of: goneProcess.exactOptional(),
})
export type ErrorSummary = Of<typeof errorSummary>

/** Files in which processes that have gone have left their errors, and those that could not be read. */
const left = z.object({
  /** Exceptions that finished futures and tasks hold, and nobody has asked for. */
  in_futures: LOOKS.errors.found.shape.unread,
  records: z.array(z.string()).exactOptional(),
  unread: z.array(z.object({ file: z.string(), reason: z.string() })).exactOptional(),
})
type Left = Of<typeof left>

/** What `get_last_error` answers with. */
const errorShown = z.object({
  ...LOOKS.last_error.found.shape,
  ...left.shape,
  /** Where it is one of the program's own. */
  program: LOOKS.errors.found.shape.errors.element.omit({ error: true, last: true }).exactOptional(),
  /** Where that is of a process that has gone. */
  of: goneProcess.exactOptional(),
  /** Nothing lives that could be asked instead. */
  living: z.literal(false).exactOptional(),
  /** The other errors of the program, newest first. */
  others: z.array(errorSummary),
  /** Beside an error of the program: what was evaluated since, and failed. */
  newer: z.object({ who: z.string().nullable(), at: z.string(), what: z.string() }).exactOptional(),
})
export type ErrorShown = Of<typeof errorShown>

export const getLastError = defineTool({
  name: 'get_last_error',
  description:
    'Show the newest error of the program, also one that was caught and logged or that a request failed with: ' +
    'its traceback, with the locals of every frame as they were. Older ones are listed, those of processes that ' +
    'have gone too. Runs no code. Use it first when something failed; do not run the code again.',
  parameters: {
    number: z.int().min(1).optional().describe('An older error of the program, by its number in the list.'),
    process: z.int().min(1).optional().describe('The process that had it, where the list names one.'),
    whose: z
      .enum(['program', 'callers', 'gone'])
      .optional()
      .describe('Of the program, of what callers evaluated last, or of processes that have gone.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['introspection', 'debugging'],
  needs: ['last_error'],
  result: errorShown,
  examples: [
    { args: {}, shows: 'the last failure, frame by frame' },
    { args: { number: 3 }, shows: 'an earlier error of the program' },
    { args: { number: 1, process: 4242 }, shows: 'an error of a process that has gone' },
    { args: { whose: 'callers' }, shows: 'what an evaluation failed with' },
  ],

  withoutKernel(args, context) {
    const { process, whose } = args
    const past = pastOf(context)
    const isGone = process !== undefined && past.errors.some(one => one.of.pid === process)
    if (whose !== 'gone' && !isGone) return undefined
    // Whether something lives was not looked at.
    return pastError(past, args, leftBy(past)) ?? noneLeft(past)
  },

  withNoneLiving(args, context, kernel) {
    if (args.whose === 'callers') return undefined
    const past = pastOf(context, kernel)
    // A record that nobody can read may be the one that is meant.
    const isUnread = kernel === undefined && past.skipped.length > 0
    return pastError(past, args) ?? (isUnread ? noneLeft(past) : undefined)
  },

  async handler({ number, process, whose }, context) {
    const past = pastOf(context)
    if (process !== undefined && process !== context.kernel.identity.pid) return noSuchPast(past)
    const ofProgram = whose === 'callers' ? NONE_OF_PROGRAM : await programErrorsOf(context)
    if (ofProgram.type !== 'ok') return ofProgram
    const { errors, watched, seen: looked = SEEN_OF_PROGRAM, unread } = ofProgram.result
    if (whose === 'program' && !watched) return notWatched(context)
    const shown = number === undefined ? errors[0] : errors.find(one => one.number === number)
    if (number !== undefined && shown === undefined) return noSuchError(number, errors)
    const others = [
      ...errors.filter(one => one !== shown).map(one => summaryOf(one)),
      ...(whose === 'callers' ? [] : past.errors.map(({ error, of }) => summaryOf(error, of))),
    ].slice(0, PROGRAM_ERRORS)
    const left = { ...leftBy(past), ...(unread && { in_futures: unread }) }
    if (shown !== undefined) {
      const { error: found, last: at, ...program } = shown
      const error = await raisedProved(found, context)
      const newer = number === undefined && whose === undefined ? await callersError(context, at) : undefined
      const known = { error, who: null, call: null, at, seen: [], program, others }
      return ok<ErrorShown>({ ...known, ...left, ...(newer && { newer }) })
    }
    if (whose === 'program')
      return pastError(past, {}, left) ?? ok<ErrorShown>({ ...NO_ERROR, seen: looked, others, ...left })
    const last = await lookUp({ look: 'last_error', query: {} }, context)
    if (last.type !== 'ok') return last
    const { error, seen: places, ...rest } = last.result
    const before = error === null && whose === undefined ? pastError(past, {}, left) : undefined
    if (before !== undefined) return before
    const seen = watched ? [...looked, ...places] : places
    return ok<ErrorShown>({
      ...rest,
      error: error === null ? null : await raisedProved(error, context),
      seen,
      others,
      ...left,
    })
  },

  show: showLastError,
})

/** As many as an image keeps. */
const PROGRAM_ERRORS = 20

const NONE_OF_PROGRAM = ok<ProgramErrors>({ errors: [], total: 0, watched: false })
const NO_ERROR = { error: null, who: null, call: null, at: null } as const
const SEEN_OF_PROGRAM = [
  'what nothing catches',
  'what is logged or printed with its traceback',
  'requests and tests that fail',
]

/** None where the image does not tell its errors apart. */
export async function programErrorsOf(context: KernelContext): Promise<Outcome<ProgramErrors>> {
  if (!context.kernel.identity.abilities.has('errors')) return NONE_OF_PROGRAM
  const unread = termsOf(context.kernel.identity).tasks
  return lookUp({ look: 'errors', query: { count: PROGRAM_ERRORS, ...(unread && { unread }) } }, context)
}

/** The last error of what callers evaluated, where it is newer than that. */
async function callersError(context: KernelContext, than: string): Promise<ErrorShown['newer']> {
  const last = await lookUp({ look: 'last_error', query: {} }, context)
  if (last.type !== 'ok') return undefined
  const { error, who, at } = last.result
  return error !== null && at !== null && at > than ? { who, at, what: whatOf(error) } : undefined
}

/** An error of the program, or of a process that has gone. */
interface NotedError {
  readonly error: ProgramError
  readonly of?: GoneProcess
}

interface Past extends PastErrors {
  /** Newest first. */
  readonly errors: readonly Required<NotedError>[]
}

/** `kernel`: only of processes that are called so, by name, number or both. */
export function pastOf(context: ToolContext, kernel?: string): Past {
  const past = context.past()
  const isMeant = ({ name, pid }: PastProcess) =>
    kernel === undefined || [name, String(pid), `${name}-${pid}`, `${name}/*`].includes(kernel)
  const errors = past.gone.filter(isMeant).flatMap(({ pid, ended_at = null, ended_with, ...one }) => {
    const name = scriptOf(one)
    return one.errors.map(error => ({
      error,
      of: { name, pid, ended_at, by_it: error.number === ended_with },
    }))
  })
  errors.sort(({ error: one }, { error: other }) => (one.last > other.last ? -1 : 1))
  return { ...past, errors: errors.slice(0, PROGRAM_ERRORS) }
}

/** `crash`, of `/srv/crash.py`; of a helper its own name. */
function scriptOf({
  name,
  program,
  works_for: served,
}: Pick<PastProcess, 'name' | 'program' | 'works_for'>): string {
  if (served !== undefined) return name
  const stem = /([^/]+?)(?:\.py)?$/.exec(program)?.[1] ?? ''
  return ['', '__main__'].includes(stem) ? name : stem
}

function leftBy({ gone, words = [], skipped }: Past): Left {
  return {
    ...(gone.length > 0 && { records: [...gone.map(({ file }) => file), ...words] }),
    ...(skipped.length > 0 && { unread: skipped }),
  }
}

/**
 * The one that is meant, or the newest, with the others beside it. Undefined where there is none at all. `living`: what is
 * to be told besides where something lives.
 */
function pastError(
  past: Past,
  { number, process }: { readonly number?: number | undefined; readonly process?: number | undefined },
  living?: Left,
): Outcome<ErrorShown> | undefined {
  const { errors } = past
  const isMeant = ({ error, of }: Required<NotedError>) =>
    (process === undefined || of.pid === process) && (number === undefined || error.number === number)
  const shown = errors.find(isMeant)
  if (errors.length === 0) return undefined
  if (shown === undefined) return noSuchPast(past)
  const { error, last: at, ...program } = shown.error
  return ok<ErrorShown>({
    ...{ error, who: null, call: null, at, seen: [], program, of: shown.of },
    others: errors.filter(one => one !== shown).map(({ error, of }) => summaryOf(error, of)),
    ...(living ?? { living: false, ...leftBy(past) }),
  })
}

const noneLeft = (past: Past): Outcome<ErrorShown> =>
  ok<ErrorShown>({ ...NO_ERROR, living: false, seen: [], others: [], ...leftBy(past) })

/** No record is kept of the error that was named. */
export function noSuchPast({ errors }: Past): Failed {
  const known = errors.map(({ error, of }) => `${error.number} of process ${of.pid}`)
  return failed('not_found', {
    message: `No process that has gone has left that error. Known: ${known.length === 0 ? 'none' : known.join(', ')}.`,
    details: { nearest: known },
    next: 'get_last_error {"whose": "gone"} lists them; at a terminal: imago errors',
  })
}

function notWatched({ kernel: { identity }, kernelName }: KernelContext): Failed {
  const how = termsOf(identity).errorsHaveFrames ? ', or listens with errors=False' : ''
  return failed('not_available', {
    message: `Errors of the program itself are not looked for in ${kernelName}: it does not tell them apart${how}.`,
    next: 'get_last_error without whose has the last error of what callers evaluated.',
  })
}

function noSuchError(number: number, errors: readonly ProgramError[]): Failed {
  const known = errors.map(one => one.number)
  return failed('not_found', {
    message: `The program has no error number ${number}. Known: ${known.length === 0 ? 'none' : known.join(', ')}.`,
    details: { what: String(number), nearest: known.map(String) },
    next: 'get_last_error without arguments lists them; at a terminal: imago errors',
  })
}

/** A line of the list of errors. */
export function summaryOf(
  { number, last, where, times, error }: Omit<ProgramError, 'kind' | 'first' | 'said'>,
  of?: GoneProcess,
): ErrorSummary {
  const { file = null, line = null } = error.misread ?? programFrame(error.frames) ?? {}
  return { number, at: last, where, times, what: whatOf(error), file, line, ...(of && { of }) }
}

/** A variable as its text was taken down when an error came, and where. */
export interface KeptLocal {
  readonly local: Local
  /** `price in error 1 of process 4242`: the frame as `inspect` takes it. */
  readonly frame: string
  /** The same with the whole name of its function: `Order.price in error 1 of process 4242`. */
  readonly qualified: string
  /** `crash.py:3` */
  readonly place: string
  /** `KeyError: 'late'` */
  readonly what: string
  /** Whose error that is, where the process has gone. */
  readonly of?: GoneProcess
}

/** All variables that were taken down with errors: of each error the innermost frames first. */
export function keptLocals(errors: readonly NotedError[]): readonly KeptLocal[] {
  return errors.flatMap(({ error: { number, error }, of }) =>
    error.frames.toReversed().flatMap(frame => {
      const process = of === undefined ? '' : ` of process ${of.pid}`
      const where = `in error ${number}${process}`
      const label = `${frame.function.split('.').at(-1)} ${where}`
      const qualified = `${frame.function} ${where}`
      return frame.locals.map(local => ({
        ...{ local, frame: label, qualified, place: placeOf(frame), what: whatOf(error) },
        ...(of && { of }),
      }))
    }),
  )
}

const whatOf = (error: Raised): string =>
  oneLine(beginning(exceptionLine(error).split('\n', 1).join(), SUMMARY_LENGTH))

/** All errors of the program that an answer of `get_last_error` tells of, a line of each, newest first. */
export function errorSummaries(result: unknown): readonly ErrorSummary[] {
  const { error, at, program, of, others } = result as ErrorShown
  if (error === null || at === null || program === undefined) return others
  return [summaryOf({ ...program, error, last: at }, of), ...others]
}

/** What finished futures and tasks hold, and how to inspect each, in lines; none where there are no such. */
export function futuresLines(result: unknown): readonly string[] {
  const { in_futures: found } = result as ErrorShown
  if (found === undefined) return []
  const one = found.count === 1
  const head = `${counted(found.count, 'finished future')} or ${one ? 'task holds' : 'tasks hold'} an exception that no result() has raised:`
  const lines = found.named.map(({ what, expr }) =>
    indent(`${oneLine(what)}  inspect ${oneLine(JSON.stringify({ expr }))}`),
  )
  const left = found.count - found.named.length
  const cut = 'Not all objects were searched for exceptions in futures and tasks: the time was over.'
  return [
    ...(found.count === 0 ? [] : [head, ...lines]),
    ...(left === 0 ? [] : [indent(`and ${left} more`)]),
    ...(found.cut === true ? [cut] : []),
  ]
}

/** Files of errors that could not be read, and why, in lines. */
export const unreadLines = (result: unknown): readonly string[] =>
  ((result as ErrorShown).unread ?? []).map(
    ({ file, reason }) => `not read: ${oneLine(file)} ${oneLine(reason)}`,
  )

/** The files of which an answer of `get_last_error` tells, that processes have left which have gone. */
export function errorRecords(result: unknown): readonly string[] {
  const { records = [], unread = [] } = result as ErrorShown
  return [...records, ...unread.map(({ file }) => file)]
}

const SUMMARY_LENGTH = 160

function showLastError(shown: ErrorShown): string {
  const { error, who, call, at, seen, program, of, living, others, newer } = shown
  const notRead = unreadLines(shown)
  if (error === null)
    return [
      living === false
        ? `no process of the project that has gone has left an error${notRead.length === 0 ? '' : ' that can be read'}`
        : 'no error of this image has reached Imago',
      ...(seen.length === 0 ? [] : [`where it looks: ${seen.map(oneLine).join('; ')}`]),
      ...futuresLines(shown),
      ...otherLines(others),
      ...notRead,
    ].join('\n')
  const by = who === null ? '' : ` by ${oneLine(who)}`
  const raisedBy =
    by === '' && at === null
      ? []
      : [`raised${by}${at === null ? '' : ` at ${at}`}${call === null ? '' : ` (call ${oneLine(call)})`}`]
  const told = program === undefined ? raisedBy : [ofProgramLine(program, at, of)]
  const gone = of === undefined ? [] : [goneLine(of, living === false)]
  const since =
    newer === undefined
      ? []
      : [
          `evaluated since, and failed: ${newer.what}${newer.who === null ? '' : ` (${oneLine(newer.who)})`}; get_last_error {"whose": "callers"} shows it`,
        ]
  return [
    setIn(exceptionLine(error)),
    ...told,
    ...gone,
    ...raisedLines(error),
    ...futuresLines(shown),
    ...otherLines(others),
    ...since,
    ...notRead,
  ].join('\n')
}

/** `crash (process 4242) ended with it at 01:21, and has gone`: what is shown was kept when the error came. */
function goneLine({ name, pid, ended_at: at, by_it }: GoneProcess, alone: boolean): string {
  const when = at === null ? '' : ` at ${at}`
  const how = by_it ? `ended with it${when}` : at === null ? 'has gone and did not say when' : `ended${when}`
  const rest = alone ? ', and nothing of the project listens now' : ''
  return `${oneLine(name)} (process ${pid}) ${how}${rest}; the values are as they were kept then`
}

/** What became of an error, where its kind does not say it. */
const WORDS: Partial<Record<ProgramError['kind'], string>> = {
  request: 'failed',
  test: 'failed',
  retried: 'tried again',
  unraisable: 'ignored by Python',
  waiting: 'waits there for a person, seen first',
}

/** `request GET /orders/: logged at 12:32:50, 3 times since 12:30:01, with "Internal Server Error: %s"` */
function ofProgramLine(
  { number, kind, where, times, first, shown_at, said }: Omit<ProgramError, 'error' | 'last'>,
  at: string | null,
  of?: GoneProcess,
) {
  const which = shown_at === undefined ? 'the newest' : `the one of ${shown_at}`
  const often = times === 1 ? '' : `, ${times} times since ${first} (shown is ${which})`
  const beside = said === null ? '' : `, with "${oneLine(said.trim().replace(/\s*\n\s*/g, ' '))}"`
  const word = WORDS[kind] ?? kind
  const whose = of === undefined ? 'the program' : `process ${of.pid}`
  return `error ${number} of ${whose}, ${where === null ? '' : `${oneLine(where)}: `}${word} at ${at}${often}${beside}`
}

function otherLines(others: readonly ErrorSummary[]): string[] {
  if (others.length === 0) return []
  const lines = others.map(({ number, at, where, times, what, file, line, of }) => {
    const often = times === 1 ? '' : `, ${times} times`
    const place = placeOf({ file, line })
    const inside = [
      ...(where === null ? [] : [oneLine(where)]),
      ...(place === '' ? [] : [place]),
      `${at}${often}`,
    ]
    const whose = of === undefined ? '' : ` of process ${of.pid} (${oneLine(of.name)}, gone)`
    return indent(`${number}${whose}  ${what}  (${inside.join(', ')})`)
  })
  const some = others.some(({ of }) => of !== undefined)
  const how = some ? '{"number": N, "process": P}' : '{"number": N}'
  return [`other errors of the program, newest first; get_last_error ${how} shows one:`, ...lines]
}

/** The frames with what their variables held; what it was raised from stands before it, as in a traceback. */
function raisedLines(raised: Raised): string[] {
  const { cause, beside_frames: beside, notes = [] } = raised
  if (beside === undefined) return reportLines(raised)
  const before =
    cause === undefined
      ? []
      : [
          ...raisedLines(cause.exception),
          indent(setIn(exceptionLine(cause.exception))),
          `${CAUSED[cause.how]}:`,
        ]
  const besides = beside.trimEnd() === '' ? [] : [reportSetIn(beside.trimEnd())]
  return [...before, ...stackLinesOf(raised), ...besides, ...notes.map(reportSetIn)]
}

/** How a traceback leads from an exception to the one that came of it. */
const CAUSED = {
  cause: 'this was the direct cause of the next one',
  context: 'while this was handled, the next one was raised',
} as const

function stackLinesOf({ frames, frames_omitted }: Raised): string[] {
  if (frames.length === 0) return []
  const cut = frames_omitted === 0 ? '' : ` (${frames_omitted} in the middle left out)`
  const innermost = frames.at(-1)
  const fold = (run: readonly Frame[]) => {
    const last = run.at(-1)
    const raisedAt =
      last === undefined || last !== innermost
        ? ''
        : `, raised at ${placeOf(last)} in ${oneLine(last.function)}`
    return `… ${foldedWords(foldedRun(run))}${raisedAt}`
  }
  return [
    `frames, innermost last${cut}:`,
    ...runsOf(frames)
      .flatMap(run => (isOwn(run[0]) ? frameLines(run[0]) : [fold(run)]))
      .map(indent),
  ]
}

/** The report as the language prints it, and the frames with what their variables held. */
function reportLines(raised: Raised): string[] {
  const { frames } = raised
  const report = reportOf(raised)
  const said = report === '' ? [] : [reportSetIn(report)]
  const lines = [...said, ...restartLines(raised)]
  return frames.some(frame => frame.locals.length > 0) ? [...lines, ...stackLinesOf(raised)] : lines
}

export const getReplHistory = defineTool({
  name: 'get_repl_history',
  description:
    'List what was evaluated in the live image, newest first: the code, who ran it (a person or a client), when, ' +
    'and what came of it. Runs no code. Use it to learn what others, or you before, have changed in the program.',
  parameters: {
    limit: z.int().min(1).max(50).default(10).describe('How many entries are shown at most.'),
    before: z
      .int()
      .min(1)
      .optional()
      .describe('Only entries before this number, for the page after the newest.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'history'],
  needs: ['history'],
  result: LOOKS.history.found,
  examples: [
    { args: {}, shows: 'the last ten evaluations' },
    { args: { limit: 50, before: 120 }, shows: 'fifty that came before number 120' },
  ],

  async handler({ limit, before }, context) {
    const words = { ...anExpression(context.kernel), parameter: 'before' }
    const query = given<RunHistoryQuery>({ limit, before })
    const outcome = await lookUp({ look: 'history', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { entries, total } = outcome.result
    return ok<RunHistory>({ entries: fitting(entries, dataTokens), total })
  },

  show: showHistory,
})

function showHistory({ entries, total }: RunHistory): string {
  const last = entries.at(-1)
  if (last === undefined)
    return total === 0 ? 'nothing was evaluated' : `nothing is remembered before that; ${total} in all`
  const more = last.number > 1 ? `; for more: before ${last.number}` : ''
  return [`${entries.length} of ${total}, newest first${more}`, ...entries.flatMap(entryLines)].join('\n')
}

/** `running for 3 s`, `suspended after 4 ms`; all others have ended `in` it. */
const BEFORE_TIME: Partial<Record<RunHistoryEntry['outcome'], string>> = {
  running: 'for',
  suspended: 'after',
}

/** `#12 claude-code 2.1, 2026-10-02T09:00:00Z, done in 4 ms`, the code, and what it came to. */
function entryLines(entry: RunHistoryEntry): string[] {
  const { number, who, at, outcome, elapsed_ms, source, truncated, place, result } = entry
  const took =
    elapsed_ms === null ? outcome : `${outcome} ${BEFORE_TIME[outcome] ?? 'in'} ${duration(elapsed_ms)}`
  const where = place === null ? '' : placeOf(place)
  const words = [`#${number} ${oneLine(who)}`, at, took, ...(where === '' ? [] : [where])]
  const lines = [words.join(', '), indent(`${source.trimEnd()}${truncated ? ' … (cut)' : ''}`)]
  return result === null ? lines : [...lines, indent(`→ ${oneLine(result)}`)]
}

/** Frames of one stack. */
const FRAMES = 40

/** Characters as data of all stacks together, above which outer frames lose their locals. */
const ROOMY = 30_000

const stack = LOOKS.threads.found.shape.threads.element
const foldedFrames = z.object({ folded: z.number(), libraries: z.array(z.string()) })
const stacks = z.array(stack.extend({ frames: z.array(z.union([foldedFrames, stack.shape.frames.element])) }))

/** What `threads` answers with. */
const threadsAnswer = z.object({
  ...LOOKS.threads.found.shape,
  threads: stacks,
  tasks: stacks,
  /** How to see the frames of libraries, where some are folded. */
  open: z.string().exactOptional(),
})
export type ThreadsShown = Of<typeof threadsAnswer> & Told
type StackShown = ThreadsShown['threads'][number]
export type FrameShown = StackShown['frames'][number]

export const threads = defineTool({
  name: 'threads',
  description:
    'Show what the program is doing at this moment: the stack of every thread and asyncio task, with source and ' +
    'locals of the program’s own frames, and what each waits for. Runs no code, stops nothing. Use it first when ' +
    'a program hangs, is slow or deadlocked.',
  parameters: {
    filter: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only threads and tasks with this text in their name or stack.'),
    locals: z.boolean().default(true).describe('Also show the local variables of each frame.'),
    all: z.boolean().default(false).describe('Also open the frames of libraries.'),
    limit: z.int().min(1).max(200).default(20).describe('How many different stacks are shown at most.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['introspection', 'debugging'],
  needs: ['threads'],
  result: threadsAnswer,
  examples: [
    { args: {}, shows: 'where every thread and task stands' },
    { args: { filter: 'checkout', limit: 3 }, shows: 'only the stacks with something called “checkout”' },
    { args: { locals: false, limit: 100 }, shows: 'many stacks, without their variables' },
  ],

  async handler({ filter, locals, limit, all }, context) {
    const words = {
      ...anExpression(context.kernel),
      narrow: 'Ask again with locals false, or with a filter.',
    }
    const query = given<ThreadsQuery>({ filter, locals, limit, frames: FRAMES, all: all || undefined })
    const outcome = await lookUp({ look: 'threads', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { threads, tasks } = await stacksProved(outcome.result, context)
    // Imago's own threads are nobody's business but ours.
    const programs = threads.filter(({ role }) => role !== 'imago')
    const proved = { ...outcome.result, threads: programs, tasks }
    return ok(fitted(all ? proved : folded(proved)))
  },

  show: showThreads,
})

const isFolded = (frame: FrameShown): frame is FoldedFrames => 'folded' in frame

const OPEN_ALL = 'threads {"all": true}'

/** With one entry for each run of library frames, for the data as for the text. */
function folded(found: Threads & Told): ThreadsShown {
  const foldedOf = (stacks: readonly Stack[]) =>
    stacks.map(stack => ({ ...stack, frames: foldedStack(stack.frames) }))
  const [threads, tasks] = [foldedOf(found.threads), foldedOf(found.tasks)]
  const some = [...threads, ...tasks].some(({ frames }) => frames.some(isFolded))
  return { ...found, threads, tasks, ...(some && { open: OPEN_ALL }) }
}

/** What fits into an answer: first without the locals of outer frames, then with fewer stacks. */
function fitted(found: ThreadsShown): ThreadsShown {
  if (dataSize(found) <= ROOMY) return found
  const all = [...found.threads, ...found.tasks].map(stack => ({ stack, shown: bare(stack) }))
  // The names of its keys, which the text of a stack has not, are half of the data.
  const kept = fitting(all, ({ shown }) => tokensAtMost(JSON.stringify(shown)) / 2)
  const keptOf = (stacks: readonly StackShown[]) =>
    kept.flatMap(({ stack, shown }) => (stacks.includes(stack) ? [shown] : []))
  return {
    ...found,
    threads: keptOf(found.threads),
    tasks: keptOf(found.tasks),
    omitted: found.omitted + all.length - kept.length,
    notes: [
      ...found.notes,
      'Only the innermost frames are shown with locals, to fit; a filter shows more of fewer.',
    ],
  }
}

function bare(stack: StackShown): StackShown {
  const innermost = stack.frames.findLastIndex(frame => !isFolded(frame))
  const frames = stack.frames.map((frame, index) =>
    isFolded(frame) || index === innermost
      ? frame
      : { ...frame, locals: [], locals_omitted: frame.locals.length + frame.locals_omitted },
  )
  return { ...stack, frames }
}

/** Those in which the program stands first; what only waits in a library, as an idle worker does, is one line. */
function showThreads(found: ThreadsShown): string {
  const { threads, tasks, threads_total, tasks_total, omitted, notes, open = '' } = found
  const { tasks: hasTasks } = termsOf(found)
  const left =
    omitted === 0 ? '' : `; ${counted(omitted, 'other stack')} left out: give a filter, or a higher limit`
  const counts = [counted(threads_total, 'thread'), ...(hasTasks ? [counted(tasks_total, 'task')] : [])]
  const fold = folder(open)
  const told = (kind: 'Thread' | 'Task', stack: StackShown) => {
    const bare = (!hasTasks && stack.frames.length === 0) || isIdle(stack)
    return stackLines(kind, stack, fold)
      .slice(0, bare ? 1 : undefined)
      .join('\n')
  }
  const stacks = [
    ...threads.map(stack => ({ kind: 'Thread', stack }) as const),
    ...tasks.map(stack => ({ kind: 'Task', stack }) as const),
  ]
  const idle = stacks.filter(({ stack }) => isIdle(stack))
  const busy = stacks.filter(one => !idle.includes(one))
  const circle = ([first = '', ...more]: readonly string[]) => {
    const others = [...more, first].map(one => `"${oneLine(one)}"`)
    return `deadlock: "${oneLine(first)}" waits for ${others.join(', which waits for ')}`
  }
  const { deadlocks = [], likely_deadlocks = [] } = found
  const circles = [...deadlocks.map(circle), ...likely_deadlocks.map(one => `likely ${circle(one)}`)]
  const heading = [`${counts.join(', ')}${left}`, ...circles, ...notes.map(note => `note: ${oneLine(note)}`)]
  return [
    heading.join('\n'),
    ...busy.map(({ kind, stack }) => told(kind, stack)),
    ...(idle.length === 0 ? [] : [idle.map(({ kind, stack }) => told(kind, stack)).join('\n')]),
  ].join('\n\n')
}

/** Whether it only waits, in code that is none of the program's. */
const isIdle = ({ state, frames }: StackShown): boolean =>
  state === 'waiting' && frames.length > 0 && frames.every(isFolded)

/** `Thread "MainThread" (main), waiting for a lock`, and its frames, innermost last. */
function stackLines(kind: 'Thread' | 'Task', stack: StackShown, fold: Folder): string[] {
  const { frames, frames_omitted } = stack
  const gap = frames_omitted === 0 ? [] : [`(${counted(frames_omitted, 'frame')} in the middle left out)`]
  const told = frames.flatMap(frame => (isFolded(frame) ? [fold(frame)] : frameLines(frame)))
  const lines = frames.length === 0 ? ['(no frames to be seen)'] : told
  return [stackLine(kind, stack), ...[...gap, ...lines].map(indent)]
}

/** What stands for a run of library frames. */
type Folder = (run: FoldedFrames) => string

/** `… 6 frames of starlette (open: threads {"all": true})`; how to open them is said the first time. */
function folder(open: string): Folder {
  let said = false
  return run => {
    const how = said ? '' : ` (open: ${open})`
    said = true
    return `… ${foldedWords(run)}${how}`
  }
}

/** `shop/orders.py:12 in total`, below it the line of source, and below that the locals. */
function frameLines(frame: Frame): string[] {
  const { function: name, source, locals, locals_omitted, repeated = 1 } = frame
  const place = placeOf(frame)
  const times =
    repeated === 1 ? '' : ` × ${repeated}${locals.length === 0 ? '' : ', the innermost with its locals'}`
  const lines = [`${place === '' ? '' : `${place} `}in ${oneLine(name)}${sinceWord(frame)}${times}`]
  if (source !== null && source.trim() !== '') lines.push(`  ${oneLine(source.trim())}`)
  lines.push(...locals.map(local => `    ${oneLine(local.name)} = ${oneLine(local.repr)}`))
  const left = counted(locals_omitted, 'local')
  if (locals_omitted > 0) lines.push(`    ${locals.length === 0 ? `${left} not shown` : `and ${left} more`}`)
  return lines
}
