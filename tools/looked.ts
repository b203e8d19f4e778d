import type { CallId, Kernel, Looked, LookName, Looks } from '../wire/kernel.ts'
import type { Jobs, KernelContext } from './define.ts'
import { type Told, termsOf, told } from './languages.ts'
import { type Failed, failed, failedInside, type Ok, ok } from './outcome.ts'
import { packageRefused } from './source.ts'
import { duration, exceptionLine } from './wording.ts'

/** One question to an image, and how its tool speaks of what was asked for. */
export interface Asking<Name extends LookName> {
  readonly look: Name
  readonly query: Looks[Name]['query']
  readonly words?: Words
}

/** Asks it within the time that a look may take, and answers with what was found or with why there is nothing. */
export async function lookUp<Name extends LookName>(
  { look, query, words }: Asking<Name>,
  { kernel, lookMs, signal, jobs }: Looking,
): Promise<Ok<Looks[Name]['found'] & Told> | Failed> {
  const looked = await kernel.look(look, query, { deadlineMs: lookMs, signal })
  return looked.type === 'found'
    ? ok({ ...looked.value, ...told(kernel) })
    : unfound(looked, { jobs, words: words ?? anExpression(kernel) })
}

/** What it takes to look, and no more. */
export type Looking = Pick<KernelContext, 'lookMs' | 'signal' | 'jobs'> & {
  readonly kernel: Pick<Kernel, 'identity' | 'look'>
}

/** Asks about a name, which may be read in a package, where the language has such. */
export async function lookUpName<Name extends LookOfName>(
  asking: Asking<Name>,
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
export type Unfound = Exclude<Looked<never>, { type: 'found' }>

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
        next: 'Use eval_expr, which may run code, or ask for a name or a path of stored values.',
      })
    case 'not_found':
      return failed('not_found', {
        message: `${words.absent?.(looked.what) ?? `Nothing is called ${looked.what}.`}${nearest(looked.nearest)}`,
        details: { what: looked.what, nearest: looked.nearest },
        next: words.search,
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
    },
    next: words.reread,
  })
}

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
        : `Wait for it with job ${JSON.stringify({ job, action: 'wait' })}, or stop it with "interrupt".`,
  })
}

function jobNamed(call: CallId, jobs: Jobs): string | undefined {
  return jobs.names().find(name => jobs.find(name)?.call === call)
}

/** What an image tells may end as a sentence does. */
const clause = (because: string): string => because.replace(/\.$/, '')

function nearest(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Nearest: ${names.join(', ')}.`
}
