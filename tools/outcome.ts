import type { Kernel } from '../wire/kernel.ts'
import { type InternalReason, TOOL_ERRORS, type ToolErrorCode } from './errors.ts'
import { termsOf } from './languages.ts'
import type { JobStatus, ToolError } from './shapes.ts'

export { INTERNAL_REASONS, type InternalReason, TOOL_ERRORS, type ToolErrorCode } from './errors.ts'
export type { JobStatus, ToolError } from './shapes.ts'

/** The two shapes of the one envelope in which every call of a tool ends, for every client. */
export type Envelope =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: ToolError }

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
