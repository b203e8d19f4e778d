import { z } from 'zod'
import type { Kernel, Of } from '../wire/kernel.ts'
import { termsOf } from './languages.ts'

/** The two shapes of the one envelope in which every call of a tool ends, for every client. */
export type Envelope =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: ToolError }

/** What the result of any call may say beside the fields of its tool. */
export const besides = z.object({
  /** How its kernel was found, or which other programs run another text: what is to be known first. */
  notice: z.string().exactOptional(),
  /** What a person decided of it, and the arguments that they changed, as they approved them. */
  approval: z.string().exactOptional(),
  edited: z.record(z.string(), z.unknown()).exactOptional(),
  /** It was cut to fit; where the rest is stands there. */
  truncated: z.boolean().exactOptional(),
  /** What it is about, where that has words of its own. */
  language: z.string().exactOptional(),
  /** Whose names were meant, where a file was named. */
  names_of: z.string().exactOptional(),
})

/** What a handler returns. */
export type Outcome<Result = unknown> =
  | Ok<Result>
  | Failed
  /** The arguments turned out to need a higher level. Nothing has run; the call path begins again at `level`. */
  | { readonly type: 'rises'; readonly level: 'cautious' | 'dangerous'; readonly because: string }

export interface Ok<Result> {
  readonly type: 'ok'
  readonly result: Result
}

export interface Failed {
  readonly type: 'failed'
  readonly error: ToolError
}

export const ok = <Result>(result: Result): Ok<Result> => ({ type: 'ok', result })

/** What a failure says besides its code. */
export interface FailureWords {
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly next?: string
  /** Only where it is not what the table says of the code. */
  readonly retryable?: boolean
}

export function failed(code: ToolErrorCode, failing: FailureWords): Failed {
  return { type: 'failed', error: toolError(code, failing) }
}

/** An `internal` failure; its reason is one of a closed list too. */
export function failedInside(reason: InternalReason, failing: FailureWords): Failed {
  return failed('internal', { ...failing, details: { reason, ...failing.details } })
}

export function toolError(
  code: ToolErrorCode,
  { message, details = {}, next, retryable }: FailureWords,
): ToolError {
  return { code, message, details, retryable: retryable ?? TOOL_ERRORS[code].retryable, next: next ?? null }
}

/** What a call is answered with that goes on, as a job, after the patience of its caller. */
export const jobStatus = z.object({
  /** `waiting`: nothing of it has run, and a person is asked whether it may. */
  status: z.enum(['running', 'waiting']),
  job: z.string(),
  tool: z.string(),
  /** Null for a tool that works without one. */
  kernel: z.string().nullable(),
})
export type JobStatus = Of<typeof jobStatus>

export function isRunning(result: unknown): result is JobStatus {
  if (typeof result !== 'object' || result === null || !('status' in result) || !('job' in result))
    return false
  return result.status === 'running' || result.status === 'waiting'
}

/**
 * Whether a result, which is no error, says that what was asked for did not come out: tests that fail, source that the
 * compiler refused, a definition that a file could not replace.
 */
export function hasFailed(result: unknown): boolean {
  const { compiled, tests, loaded } = (result ?? {}) as {
    readonly compiled?: boolean
    readonly tests?: { readonly ok?: boolean | null } | null
    readonly loaded?: { readonly not_replaced?: readonly string[] } | null
  }
  return compiled === false || tests?.ok === false || (loaded?.not_replaced?.length ?? 0) > 0
}

export const rises = (level: 'cautious' | 'dangerous', because: string): Outcome<never> => ({
  type: 'rises',
  level,
  because,
})

/**
 * The closed table of error codes that a caller of a tool can meet. `docs/errors.md` is written from it.
 * `retryable` says whether the same call can succeed later without anything being changed in it.
 */
export const TOOL_ERRORS = {
  unknown_function: { retryable: false, meaning: 'There is no tool of that name.' },
  invalid_args: { retryable: false, meaning: 'The arguments do not fit the schema of the tool.' },
  exception: { retryable: false, meaning: 'The code ran and raised; its output up to then is kept.' },
  not_found: { retryable: false, meaning: 'Nothing has that name; `details.nearest` may help.' },
  needs_evaluation: {
    retryable: false,
    meaning: 'Only running code could tell, and this call may not run any.',
  },
  stale_handle: {
    retryable: false,
    meaning: 'The handle is of another epoch or project, or has made room for newer ones.',
  },
  unknown_job: { retryable: false, meaning: 'No job of that name is known to this project.' },
  interrupted: { retryable: false, meaning: 'The code was stopped on request; what it did before is done.' },
  left: {
    retryable: false,
    meaning:
      'The code ended without a value and without an error, for example by (abort). What it did before is done.',
  },
  withdrawn: { retryable: true, meaning: 'The call was cancelled before it started. Nothing ran.' },
  busy: {
    retryable: true,
    meaning: 'The kernel is occupied; nothing ran. `details` names what occupies it.',
  },
  unresponsive: {
    retryable: true,
    meaning: 'The kernel does not answer: its interpreter is held, or it is frozen.',
  },
  no_such_kernel: {
    retryable: false,
    meaning: 'No kernel of that name is known; `details.kernels` lists those of the project.',
  },
  kernel_unavailable: {
    retryable: true,
    meaning: 'The kernel could not be started, or has ended. Nothing ran.',
  },
  outcome_unknown: {
    retryable: false,
    meaning:
      'The kernel was lost while the call ran. It may or may not have had its effect. Imago never runs it again.',
  },
  not_available: { retryable: false, meaning: 'This kernel cannot do that; the tool is not listed for it.' },
  held_by_other: {
    retryable: false,
    meaning:
      'Somebody else owns the suspended evaluation and alone resumes it; `details.holder` says who. Nothing ran.',
  },
  denied: { retryable: false, meaning: 'The policy or a person refused the call. Nothing ran.' },
  approval_unavailable: {
    retryable: false,
    meaning: 'The call needs approval, and nobody can be asked. Nothing ran.',
  },
  approval_held: {
    retryable: true,
    meaning:
      'The call waits for a person, without end. The same call under the same name is answered once they have answered. Nothing ran.',
  },
  approval_dismissed: {
    retryable: false,
    meaning: 'The dialog of the client was closed without a choice. Nothing ran.',
  },
  approval_timed_out: {
    retryable: false,
    meaning:
      'Nobody answered before the plan expired, or the approval expired before it was used; `details.reason` says which. Nothing ran.',
  },
  stale_plan: {
    retryable: true,
    meaning:
      'What the approval was about has changed since. Nothing was changed; `details.causes` says what moved, and calling again makes a new plan.',
  },
  path_refused: {
    retryable: false,
    meaning: 'The path is not one that a tool may touch; `details.reason` says why.',
  },
  already_exists: {
    retryable: false,
    meaning: 'The path should be new, but something is there already. Nothing was changed.',
  },
  not_text: {
    retryable: false,
    meaning: 'The file is not text, or its encoding lacks characters of the text.',
  },
  no_unique_match: {
    retryable: false,
    meaning: 'The text to replace occurs more or less often than the call says. Nothing was changed.',
  },
  file_failed: {
    retryable: true,
    meaning: 'The file system refused; `details.errno` says how, and the message what the file holds now.',
  },
  too_large: { retryable: false, meaning: 'The value is larger than can be carried.' },
  internal: { retryable: false, meaning: 'Imago itself failed; `details.reason` says how.' },
} as const

export type ToolErrorCode = keyof typeof TOOL_ERRORS

export const toolErrorShape = z.object({
  code: z.enum(Object.keys(TOOL_ERRORS) as ToolErrorCode[]),
  /** What, to whom, and the next step; for reading, never for matching. */
  message: z.string(),
  details: z.record(z.string(), z.unknown()),
  retryable: z.boolean(),
  /** What to do now, in one line, naming a tool or a command where there is one. */
  next: z.string().nullable(),
})
export type ToolError = Of<typeof toolErrorShape>

/** What `details.reason` of an `internal` error can be. */
export const INTERNAL_REASONS = {
  inspect_timeout:
    'Looking took longer than its deadline. Its code may still be running; the session goes on.',
  invalid_result_shape: 'The kernel answered with something that is not of the agreed form.',
  handler_fault: 'The tool itself failed; the daemon’s log has the stack.',
  daemon_unavailable: 'The daemon could not be started or reached; the message says why.',
  journal_unavailable: 'The journal could not be written, so nothing that needs it was run.',
} as const

export type InternalReason = keyof typeof INTERNAL_REASONS

/** The failure of a call that names a package where the language reads in none; undefined where all is well. */
export function packageRefused(
  given: string | undefined,
  { identity }: Pick<Kernel, 'identity'>,
  what = 'package says in what code is read',
): Failed | undefined {
  if (given === undefined || identity.abilities.has('packages') || identity.abilities.has('scope'))
    return undefined
  return failed('invalid_args', {
    message: `${what}, and ${identity.language} has no such packages. Nothing was run.`,
    details: { parameter: 'package', language: identity.language },
    next: ['Leave package out.', termsOf(identity).name.reread ?? ''].join(' ').trimEnd(),
  })
}
