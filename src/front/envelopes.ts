import { type Envelope, type ToolError, toolError } from '../../tools/outcome.ts'
import { escapeJson } from '../core/escape.ts'
import { EXIT, type ExitCode } from '../failure.ts'
import type { Printer } from './terminal.ts'

/** What an envelope means for the exit code of a command. */
export function exitOf(envelope: Envelope): ExitCode {
  if (envelope.ok) return goesOn(envelope.result) ? EXIT.stillRunning : EXIT.done
  switch (envelope.error.code) {
    case 'denied':
    case 'approval_unavailable':
    case 'approval_timed_out':
      return EXIT.denied
    case 'no_such_kernel':
      return EXIT.noSuchKernel
    case 'unknown_function':
    case 'invalid_args':
      return EXIT.usage
    default:
      return EXIT.failed
  }
}

/** The one thing that `--json` prints on standard output. */
export function printEnvelope(printer: Printer, envelope: Envelope): void {
  printer.out(`${escapeJson(JSON.stringify(envelope))}\n`)
}

/** What went wrong, for a person: the sentence, and what to do now where that is known. */
export function printError(printer: Printer, { message, next }: ToolError): void {
  printer.err(`imago: ${message}\n${next === null ? '' : `${next}\n`}`)
}

/** Whether an answer says that the call goes on as a job. */
export function goesOn(result: unknown): boolean {
  if (typeof result !== 'object' || result === null || !('status' in result) || !('job' in result))
    return false
  return result.status === 'running' || result.status === 'waiting'
}

/** The same answer without what was printed, for somebody who has seen it already. */
export function withoutOutput(envelope: Envelope): Envelope {
  if (!envelope.ok) {
    const { error } = envelope
    return { ok: false, error: { ...error, details: { ...error.details, ...SILENT } } }
  }
  const { result } = envelope
  if (typeof result !== 'object' || result === null || !('output' in result)) return envelope
  return { ok: true, result: { ...result, ...SILENT } }
}

const SILENT = { stdout: '', stderr: '', output: '' }

/** For a call whose daemon was lost while it ran. */
export function lostDaemon(): ToolError {
  return toolError('outcome_unknown', {
    message: 'The daemon ended before it answered. What it was asked for may or may not have been done.',
  })
}
