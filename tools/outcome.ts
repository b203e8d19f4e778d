import { type InternalReason, TOOL_ERRORS, type ToolErrorCode } from './errors.ts'

/** The two shapes of the one envelope in which every call of a tool ends, for every client. */
export type Envelope =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: ToolError }

export interface ToolError {
  readonly code: ToolErrorCode
  /** What, to whom, and the next step; for reading, never for matching. */
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
  readonly retryable: boolean
  /** What to do now, in one line, naming a tool or a command where there is one. */
  readonly next: string | null
}

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
export interface Failing {
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly next?: string
  /** Only where it is not what the table says of the code. */
  readonly retryable?: boolean
}

export function failed(code: ToolErrorCode, failing: Failing): Failed {
  return { type: 'failed', error: toolError(code, failing) }
}

/** An `internal` failure; its reason is one of a closed list too. */
export function failedInside(reason: InternalReason, failing: Failing): Failed {
  return failed('internal', { ...failing, details: { reason, ...failing.details } })
}

export function toolError(
  code: ToolErrorCode,
  { message, details = {}, next, retryable }: Failing,
): ToolError {
  return { code, message, details, retryable: retryable ?? TOOL_ERRORS[code].retryable, next: next ?? null }
}

export const rises = (level: 'cautious' | 'dangerous', because: string): Outcome<never> => ({
  type: 'rises',
  level,
  because,
})
