/** What a compiler says of code, and what a run of tests comes to. */
import type { Place } from './names.ts'

export const SEVERITIES = ['error', 'read_error', 'warning', 'style_warning', 'redefinition', 'note'] as const
export type Severity = (typeof SEVERITIES)[number]

/** One thing that a compiler, or the running code by `warn`, has said. */
export interface Diagnostic extends Place {
  readonly severity: Severity
  readonly message: string
  /** Counts from 1, where known. */
  readonly column: number | null
  /** The form it is about, in a line, where known. */
  readonly source: string | null
}

export const TEST_FRAMEWORKS = ['fiveam', 'parachute', 'asdf'] as const
export type TestFramework = (typeof TEST_FRAMEWORKS)[number]

/**
 * What a run of tests came to. `asdf` runs a system's own operation: its checks are known as far as a framework that
 * we know ran them in it; otherwise there is only what it printed, and whether it raised.
 */
export interface TestReport {
  readonly framework: TestFramework
  readonly target: string
  /** Null where that cannot be told: nobody counted checks, or there was none that passed or failed. */
  readonly ok: boolean | null
  /** Checks; null where nobody counted them. */
  readonly passed: number | null
  readonly failed: number | null
  readonly skipped: number | null
  readonly failures: readonly TestFailure[]
  /** Failures beyond those that are told. */
  readonly omitted: number
}

export interface TestFailure extends Place {
  /** The test, as the language names it. */
  readonly test: string
  /** What was expected, or what was raised. */
  readonly reason: string
  /** The check, as text, where known. */
  readonly expression: string | null
}
