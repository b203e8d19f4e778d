import type { CallId, Looked } from '../wire/kernel.ts'
import type { Jobs } from './define.ts'
import { failed, failedInside, type Outcome } from './outcome.ts'
import { duration, exceptionLine } from './wording.ts'

/** What came of a look that found nothing. */
export type Unfound = Exclude<Looked<never>, { type: 'found' }>

/** A look that found nothing, as the failure a model is told; each says what can be done now. */
export function unfound(looked: Unfound, jobs: Jobs): Outcome<never> {
  switch (looked.type) {
    case 'needs_evaluation':
      return failed('needs_evaluation', {
        message: `Code would have to run to tell: ${looked.because}. Nothing was run.`,
        details: { because: looked.because },
        next: 'Use eval_expr, which may run code, or ask for a name or a path of stored values.',
      })
    case 'not_found':
      return failed('not_found', {
        message: `Nothing is called ${looked.what}.${nearest(looked.nearest)}`,
        details: { what: looked.what, nearest: looked.nearest },
        next: 'Use list_globals to see the names that exist.',
      })
    case 'malformed':
      return malformed(looked)
    case 'raised':
      return failed('exception', {
        message: `Looking at it raised ${exceptionLine(looked.exception)}`,
        details: { exception: looked.exception },
      })
    case 'stale_handle':
      return stale(looked.handle, looked.because)
    case 'busy':
      return busy(looked, jobs)
    case 'timed_out':
      return failedInside('inspect_timeout', {
        message: `Looking took longer than ${duration(looked.deadline_ms)} and was given up. The image goes on as before.`,
        details: { deadline_ms: looked.deadline_ms },
        next: 'Look at a part of it, or try again when the image has less to do.',
      })
    default:
      return looked satisfies never
  }
}

export function stale(handle: string, because: string): Outcome<never> {
  return failed('stale_handle', {
    message: `The handle ${handle} leads nowhere any more: ${because}.`,
    details: { handle, because },
    next: 'Ask again for what it came from, and use the new handle.',
  })
}

function malformed(looked: Extract<Unfound, { type: 'malformed' }>): Outcome<never> {
  const { message, line, column } = looked
  const place = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`
  return failed('invalid_args', {
    message: `expr is not an expression: ${message}${place}`,
    details: {
      parameter: 'expr',
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
    },
    next: 'Give one expression; to run statements use eval_expr.',
  })
}

function busy({ call, elapsed_ms }: Extract<Unfound, { type: 'busy' }>, jobs: Jobs): Outcome<never> {
  const job = jobNamed(call, jobs)
  const what = job === undefined ? 'another evaluation' : `job ${job}`
  return failed('busy', {
    message: `The image is busy with ${what} since ${duration(elapsed_ms)}, and this needs code to run there. Nothing was run.`,
    details: { call, elapsed_ms, ...(job !== undefined && { job }) },
    next:
      job === undefined
        ? 'Try again later, or look at names and paths, which needs no code to run.'
        : `Wait for it with job ${JSON.stringify({ job, action: 'wait' })}, or stop it with "interrupt".`,
  })
}

function jobNamed(call: CallId, jobs: Jobs): string | undefined {
  return jobs.names().find(name => jobs.find(name)?.call === call)
}

function nearest(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Nearest: ${names.join(', ')}.`
}
