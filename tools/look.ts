import type { CallId, Kernel, Looked, LookName, Looks } from '../wire/kernel.ts'
import type { Jobs, KernelContext, LookContext, OtherKernel } from './contract.ts'
import { type Told, termsOf, told } from './languages.ts'
import { type Failed, failed, failedInside, type Ok, type Outcome, ok, packageRefused } from './outcome.ts'
import { duration, exceptionLine, oneLine } from './text.ts'

/** One question to an image, and how its tool speaks of what was asked for. */
interface LookRequest<Name extends LookName> {
  readonly look: Name
  readonly query: Looks[Name]['query']
  readonly words?: Words
}

/** Asks it within the time that a look may take, and answers with what was found or with why there is nothing. */
export async function lookUp<Name extends LookName>(
  { look, query, words }: LookRequest<Name>,
  context: LookContext,
): Promise<Ok<Looks[Name]['found'] & Told> | Failed> {
  const { kernel, jobs } = context
  const looked = await lookedUp({ look, query }, context)
  return looked.type === 'found'
    ? ok({ ...looked.value, ...told(kernel) })
    : unfound(looked, { jobs, words: words ?? anExpression(kernel) })
}

/** Between two looks at a session that is being loaded, in milliseconds. */
const AGAIN_MS = 50

/**
 * Asks it. While the session is being loaded, it is asked again, as long as that may take: but for completions, which
 * nobody waits for.
 */
export async function lookedUp<Name extends LookName>(
  { look, query }: Omit<LookRequest<Name>, 'words'>,
  { kernel, lookMs, signal }: LookContext,
): Promise<Looked<Looks[Name]['found']>> {
  for (;;) {
    const looked = await kernel.look(look, query, { deadlineMs: lookMs, signal })
    const isAgain = looked.type === 'loading' && looked.elapsed_ms < looked.takes_ms && look !== 'complete'
    if (!isAgain || signal.aborted) return looked
    await new Promise(again => setTimeout(again, AGAIN_MS))
  }
}

/** Asks about a name, which may be read in a package, where the language has such. */
export async function lookUpName<Name extends LookOfName>(
  asking: LookRequest<Name>,
  context: KernelContext,
): Promise<Ok<Looks[Name]['found'] & Told> | Failed> {
  const { package: inside } = asking.query
  const words = aName(context.kernel)
  return packageRefused(inside, context.kernel) ?? lookUp({ words, ...asking }, context)
}

/** The looks whose query is a `Naming`. */
type LookOfName = 'definition' | 'describe' | 'arglist' | 'slots' | 'hierarchy' | 'references' | 'trace'

/** How a tool speaks of what was asked for. */
export interface Words {
  /** The parameter that is at fault where it cannot be read, and what it has to be. */
  readonly parameter: string
  readonly wanted: string
  /** What to do where it cannot be read, where nothing has that name, and where looking took too long. */
  readonly reread: string
  readonly search: string
  readonly narrow: string
  /** What is said where there is no such thing. Left out: that nothing is called so. */
  absent?(what: string): string
  /** How to look in a frame that has a local of that name. */
  inFrame?(frame: string): string
  /** How to run what only running code could tell. Left out: with eval_expr. */
  readonly running?: string
  /** What code runs in that cannot be looked at until it has ended. Left out: the image. */
  readonly occupied?: string
}

const AN_EXPRESSION: Words = {
  parameter: 'expr',
  wanted: 'an expression',
  reread: 'Give one expression; to run statements use eval_expr.',
  search: 'Use list_globals to see the names that exist.',
  narrow: 'Look at a part of it, or try again when the image has less to do.',
}

const A_NAME: Words = {
  ...AN_EXPRESSION,
  parameter: 'name',
  wanted: 'a name',
  reread: 'Give a name such as `shop.Order.total`, or a handle.',
  narrow: 'Try again when the image has less to do.',
  search: 'Use apropos_search with a part of the name, or list_globals to see what is at the top level.',
}

/** The words for an expression, in those of the kernel's language. */
export const anExpression = ({ identity }: Pick<Kernel, 'identity'>): Words => ({
  ...AN_EXPRESSION,
  ...termsOf(identity).expression,
})

/** The words for a name, in those of the kernel's language. */
export const aName = ({ identity }: Pick<Kernel, 'identity'>): Words => ({
  ...A_NAME,
  ...termsOf(identity).name,
})

/** What came of a look that found nothing. */
type Unfound = Exclude<Looked<never>, { type: 'found' }>

/** A look that found nothing, as the failure a model is told; each says what can be done now. */
export function unfound(
  looked: Unfound,
  { jobs, words = AN_EXPRESSION }: { readonly jobs: Jobs; readonly words?: Words },
): Failed {
  switch (looked.type) {
    case 'needs_evaluation':
      return failed('needs_evaluation', {
        message: `Code would have to run to tell: ${clause(looked.because)}. Nothing was run.`,
        details: { because: looked.because },
        next: `${words.running ?? 'Use eval_expr, which may run code'}; or ask for a name or a path of stored values.`,
      })
    case 'not_found':
      return failed('not_found', {
        message: `${words.absent?.(looked.what) ?? `Nothing is called ${looked.what}.`}${localIn(looked.frames)}${nearest(looked.nearest)}`,
        details: { what: looked.what, nearest: looked.nearest, ...pageOf(looked) },
        next: looked.frames?.slice(0, 1).map(frame => words.inFrame?.(frame))[0] ?? words.search,
      })
    case 'malformed':
      return malformed(looked, words)
    case 'raised':
      return failed('exception', {
        message: `Looking at it raised ${exceptionLine(looked.exception)}`,
        details: { exception: looked.exception },
      })
    case 'stale_handle':
      return stale(looked.handle, looked.because)
    case 'busy':
      return busy(looked, { jobs, words })
    case 'loading':
      return loading(looked)
    case 'timed_out':
      return failedInside('inspect_timeout', {
        message: `Looking took longer than ${duration(looked.deadline_ms)} and was given up. Its code may still be running in the image; all else there goes on.`,
        details: { deadline_ms: looked.deadline_ms },
        next: words.narrow,
      })
    default:
      return looked satisfies never
  }
}

export function stale(handle: string, because: string): Failed {
  return failed('stale_handle', {
    message: `The handle ${handle} leads nowhere any more: ${clause(because)}.`,
    details: { handle, because },
    next: 'Ask again for what it came from, and use the new handle.',
  })
}

function malformed(looked: Extract<Unfound, { type: 'malformed' }>, words: Words): Failed {
  const { message, line, column } = looked
  const place = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`
  return failed('invalid_args', {
    message: `${words.parameter} is not ${words.wanted}: ${message}${place}`,
    details: {
      parameter: words.parameter,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      ...pageOf(looked),
    },
    next: words.reread,
  })
}

const pageOf = ({ page }: { readonly page?: string }) => (page === undefined ? {} : { page })

function busy(
  { call, elapsed_ms }: Extract<Unfound, { type: 'busy' }>,
  { jobs, words }: { readonly jobs: Jobs; readonly words: Words },
): Failed {
  const job = jobNamed(call, jobs)
  const what = job === undefined ? 'another evaluation' : `job ${job}`
  const since = `${what} since ${duration(elapsed_ms)}`
  return failed('busy', {
    message:
      words.occupied === undefined
        ? `The image is busy with ${since}, and this needs code to run there. Nothing was run.`
        : `${words.occupied} is busy with ${since}; until that has ended, nothing else can be asked of it.`,
    details: { call, elapsed_ms, ...(job !== undefined && { job }) },
    next:
      job === undefined
        ? `Try again later${words.occupied === undefined ? ', or look at names and paths, which needs no code to run' : ''}.`
        : `Wait for it with job ${JSON.stringify({ job, action: 'wait' })}, or stop it with interrupt_job ${JSON.stringify({ job })}.`,
  })
}

const loading = ({ what, elapsed_ms, takes_ms }: Extract<Unfound, { type: 'loading' }>): Failed =>
  failed('busy', {
    message: `${what} is being loaded, since ${duration(elapsed_ms)}; that takes up to ${duration(takes_ms)}. Nothing was looked at.`,
    details: { reason: 'loading', elapsed_ms, takes_ms },
    next: 'Ask again in a few seconds.',
  })

function jobNamed(call: CallId, jobs: Jobs): string | undefined {
  return jobs.names().find(name => jobs.find(name)?.call === call)
}

/** What an image tells may end as a sentence does. */
const clause = (because: string): string => because.replace(/\.$/, '')

const localIn = (frames: readonly string[] = []): string =>
  frames.length === 0 ? '' : ` It is a local of ${frames.map(oneLine).join(', ')}.`

function nearest(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Nearest: ${names.join(', ')}.`
}

/** `s3` or `t1`: the part of an id before its `@`, behind which stands the image that gave it. */
export const isShortId = (given: string): boolean => /^[a-z]\d+$/.test(given)

/** Those that are called so, in short or in full. */
export const idsOf = (given: string, ids: readonly string[]): readonly string[] =>
  ids.filter(id => id === given || id.startsWith(`${given}@`))

/** What can be looked for in other kernels. */
type Sought = 'suspensions' | 'traces'

/** What it takes to look there. */
type Elsewhere = Pick<LookContext, 'signal'> & { others(): readonly OtherKernel[] }

/** Asks for the tracepoints alone. */
export const ALL_TRACEPOINTS = { from: 1, count: 1 }

/** How long another kernel has to say what it has, in milliseconds. */
const OTHER_MS = 1_000

/**
 * The same outcome; where it says that there is nothing of that id, and other kernels that live have it, it names them.
 * `given` is the id as the caller gave it, `look` what lists those of its kind.
 */
export async function orElsewhere<Result>(
  outcome: Outcome<Result>,
  { given, look }: { readonly given: string | undefined; readonly look: Sought },
  context: Elsewhere,
): Promise<Outcome<Result>> {
  if (outcome.type !== 'failed' || outcome.error.code !== 'not_found' || given === undefined) return outcome
  if (!isAbout(outcome, given)) return outcome
  const found = await Promise.all(context.others().map(other => idsIn(other, look, context)))
  const there = found.flatMap(({ kernel, ids }) => idsOf(given, ids).map(id => ({ kernel, id })))
  return there[0] === undefined ? outcome : naming(outcome, there)
}

/** Not about a restart, say, that is missing in one that is there. */
const isAbout = ({ error }: Failed, given: string): boolean => {
  const { what } = error.details
  return typeof what === 'string' && (what === given || what.endsWith(` ${given}`))
}

async function idsIn(
  { name, kernel }: OtherKernel,
  look: Sought,
  { signal }: Elsewhere,
): Promise<{ readonly kernel: string; readonly ids: readonly string[] }> {
  const options = { deadlineMs: OTHER_MS, signal }
  try {
    if (look === 'suspensions') {
      const looked = await kernel.look('suspensions', {}, options)
      return { kernel: name, ids: looked.type === 'found' ? looked.value.suspensions.map(idOf) : [] }
    }
    const looked = await kernel.look('traces', ALL_TRACEPOINTS, options)
    return { kernel: name, ids: looked.type === 'found' ? looked.value.tracepoints.map(idOf) : [] }
  } catch {
    // It has ended, or cannot do that: it has none.
    return { kernel: name, ids: [] }
  }
}

const idOf = ({ id }: { readonly id: string }): string => id

function naming(
  { error }: Failed,
  there: readonly { readonly kernel: string; readonly id: string }[],
): Failed {
  const named = there.map(({ kernel, id }) => `${oneLine(id)} is in ${kernel}`).join(', ')
  const first = there[0]?.kernel ?? ''
  return {
    type: 'failed',
    error: {
      ...error,
      message: `${error.message} ${named}.`,
      details: { ...error.details, elsewhere: there },
      next: `Name that kernel as well: {"kernel": ${JSON.stringify(first)}}.`,
    },
  }
}
