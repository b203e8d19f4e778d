import type { Envelope } from '../../tools/outcome.ts'
import { EXIT, type ExitCode } from '../failure.ts'
import type { Printer } from './terminal.ts'

type Failed = Extract<Envelope, { ok: false }>

/** Values of an evaluation as a prompt shows them, a line each. Python's `None` says nothing, and is left out. */
export function printValues(printer: Printer, result: unknown): void {
  const values = fieldOf(result, 'values')
  if (!Array.isArray(values)) return
  for (const value of values) {
    const text = fieldOf(fieldOf(value, 'repr'), 'text')
    if (typeof text === 'string' && !isBuiltin(value, 'NoneType')) printer.out(`${text}\n`)
  }
}

/** What the daemon has to say besides the answer: that this is another image than before. */
export function printNotice(printer: Printer, envelope: Envelope): void {
  const notice = fieldOf(envelope.ok ? envelope.result : envelope.error.details, 'notice')
  if (typeof notice === 'string') printer.err(`${notice}\n`)
}

/** The language's own report, where there is one; it says more than our sentence does. */
export function printFailure(printer: Printer, { error }: Failed): void {
  const report = fieldOf(error.details.exception, 'traceback')
  if (typeof report === 'string' && report !== '') {
    printer.err(report.endsWith('\n') ? report : `${report}\n`)
    if (error.code === 'exception') return
  }
  printer.err(`${error.code}: ${error.message}\n${error.next === null ? '' : `${error.next}\n`}`)
}

/**
 * How the code asked to leave, if it raised Python's `SystemExit`: what `exit()`, `quit()` and `sys.exit()` do. A
 * text that it was given is to be shown, and means failure, as in Python; so does any number but 0.
 */
export function exitAskedFor(
  envelope: Envelope,
): { readonly exit: ExitCode; readonly message?: string } | undefined {
  if (envelope.ok || envelope.error.code !== 'exception') return undefined
  const { exception } = envelope.error.details
  if (!isBuiltin(exception, 'SystemExit')) return undefined
  const given = String(fieldOf(exception, 'message') ?? '')
  if (['', 'None', '0', 'False'].includes(given)) return { exit: EXIT.done }
  return { exit: EXIT.failed, ...(!/^(-?\d+|True)$/.test(given) && { message: given }) }
}

function isBuiltin(typed: unknown, name: string): boolean {
  const type = fieldOf(typed, 'type')
  return fieldOf(type, 'name') === name && fieldOf(type, 'module') === 'builtins'
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
