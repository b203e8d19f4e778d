import type { Evaluation } from '../../tools/evaluate.ts'
import { type Envelope, hasFailed, isRunning, type ToolError, toolError } from '../../tools/outcome.ts'
import { fieldOf } from '../../tools/record.ts'
import { oneSpaced } from '../../tools/text.ts'
import { EXIT, type ExitCode } from '../failure.ts'
import { escapeJson, escapeText } from '../text/escape.ts'

/** Where commands print. What cannot be seen is escaped, at a terminal and in a pipe. */
export interface Printer {
  /** Standard output. */
  out(text: string): void
  /** Standard error, alike. */
  err(text: string): void
}

interface PrinterOptions {
  readonly streams?: Pick<NodeJS.Process, 'stdout' | 'stderr'>
  /** A pipe is given text as it is, for what code has printed to be read by a program. */
  readonly exactInPipe?: true
}

/** Prints to the two streams of a process. A reader that went away (`| head`) ends printing, not the command. */
export function openPrinter({ streams = process, exactInPipe }: PrinterOptions = {}): Printer {
  const printTo = (stream: NodeJS.WriteStream & { fd: number }) => {
    let open = true
    stream.on('error', () => {
      open = false
    })
    return (text: string) => {
      if (open && text !== '') stream.write(exactInPipe && !stream.isTTY ? text : escapeText(text))
    }
  }
  return { out: printTo(streams.stdout), err: printTo(streams.stderr) }
}

/** Whether a terminal of this name can do more than print lines. */
export const isCapable = (env: Readonly<Record<string, string | undefined>>) =>
  env.TERM !== undefined && env.TERM !== '' && env.TERM !== 'dumb' && env.TERM !== 'unknown'

/** What an envelope means for the exit code of a command. */
export function exitOf(envelope: Envelope): ExitCode {
  if (envelope.ok) {
    if (isRunning(envelope.result)) return EXIT.stillRunning
    return hasFailed(envelope.result) ? EXIT.failed : EXIT.done
  }
  switch (envelope.error.code) {
    case 'denied':
    case 'approval_unavailable':
    case 'approval_dismissed':
    case 'approval_timed_out':
      return EXIT.denied
    case 'approval_held':
      return EXIT.stillRunning
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
export function printError(printer: Printer, error: ToolError): void {
  const { message } = error
  const next = commandFor(error)
  printer.err(`imago: ${message}\n${next === null ? '' : `${next}\n`}`)
}

/** What a command came to that failed: its words for a person, or with `--json` the one envelope. Returns its exit code. */
export function printFailed(
  { options, printer }: { readonly options: { readonly json?: boolean }; readonly printer: Printer },
  error: ToolError,
): ExitCode {
  const envelope = { ok: false, error } as const
  if (options.json) printEnvelope(printer, envelope)
  else printError(printer, error)
  return exitOf(envelope)
}

/** Aborted when nobody wants more: one of the signals has come, or the reader has gone. */
export function untilLeft(signals: readonly NodeJS.Signals[] = ['SIGINT']): AbortSignal {
  const left = new AbortController()
  const end = () => left.abort()
  for (const signal of signals) process.once(signal, end)
  process.stdout.on('error', end)
  return left.signal
}

/** The same answer without what was printed, for somebody who has seen it already. */
export function withoutOutput(envelope: Envelope): Envelope {
  if (!envelope.ok) {
    const { error } = envelope
    return { ok: false, error: { ...error, details: { ...error.details, ...SILENT } } }
  }
  const { result } = envelope
  if (typeof result !== 'object' || result === null || !('output' in result)) return envelope
  const { diagnostics, stdout, stderr, output } = result as Partial<PrintedDiagnostics>
  const printed = oneSpaced(`${stdout} ${stderr} ${output}`)
  // A message that has a name was printed as it came.
  const untold = diagnostics?.filter(
    ({ name, message }) => name === undefined || !printed.includes(oneSpaced(message)),
  )
  return { ok: true, result: { ...result, ...SILENT, ...(untold && { diagnostics: untold }) } }
}

type PrintedDiagnostics = Pick<Evaluation, 'stdout' | 'stderr' | 'output' | 'diagnostics'>

const SILENT = { stdout: '', stderr: '', output: '' }

/** For a call whose daemon was lost while it ran. */
export function lostDaemon(): ToolError {
  return toolError('outcome_unknown', {
    message: 'The daemon ended before it answered. What it was asked for may or may not have been done.',
  })
}

type FailedEnvelope = Extract<Envelope, { ok: false }>

/** The command that reads on in a text that was cut. */
export const readMore = (handle: string) => `imago call read_more '{"handle":"${handle}"}'`

/**
 * Values of an evaluation as a prompt shows them, a line each, and how to read on where one is cut; or the text for people
 * that stands for them. Python's `None` says nothing, and is left out.
 */
export function printValues(printer: Printer, result: unknown): void {
  const values = fieldOf(result, 'values')
  if (!Array.isArray(values)) return
  const displays = fieldOf(result, 'displays')
  const printed = Array.isArray(displays)
    ? displays.find(one => fieldOf(one, 'for_people') === true)
    : undefined
  if (printed !== undefined) {
    printer.out(`${String(fieldOf(printed, 'text')).trimEnd()}\n`)
    return
  }
  for (const display of Array.isArray(displays) ? displays : []) printDisplay(printer, display)
  for (const value of values) {
    const repr = fieldOf(value, 'repr')
    const [text, handle] = [fieldOf(repr, 'text'), fieldOf(repr, 'handle')]
    if (typeof text === 'string' && !isBuiltin(value, 'NoneType')) printer.out(`${text}\n`)
    if (fieldOf(repr, 'truncated') === true && typeof handle === 'string')
      printer.err(`imago: it is cut; the rest: ${readMore(handle)}\n`)
  }
  const diagnostics = fieldOf(result, 'diagnostics')
  // One that has a name was printed as it came.
  for (const one of Array.isArray(diagnostics) ? diagnostics : [])
    if (fieldOf(one, 'name') === undefined) printer.err(`imago: ${fieldOf(one, 'message')}\n`)
}

/** The files of what was drawn, or why there is none, beside what is printed. */
function printDisplay(printer: Printer, display: unknown): void {
  const [files, note = []] = [fieldOf(display, 'files'), fieldOf(display, 'note')]
  const paths = Array.isArray(files) ? files.map(file => fieldOf(file, 'path')) : []
  for (const line of [...paths, note].flat()) printer.err(`imago: ${fieldOf(display, 'what')}: ${line}\n`)
}

/** What code came to, as a prompt shows it. `left`: the code asked to leave, as `exit()` does; the image is still there. */
export function printEvaluated(
  printer: Printer,
  envelope: Envelope,
): { readonly exit: ExitCode; readonly left: boolean } {
  printNotice(printer, envelope)
  const asked = exitAskedFor(envelope)
  if (asked !== undefined) {
    if (asked.message !== undefined) printer.err(`${asked.message}\n`)
    return { exit: asked.exit, left: true }
  }
  if (envelope.ok) printValues(printer, envelope.result)
  else printFailure(printer, envelope)
  return { exit: exitOf(envelope), left: false }
}

/** What the daemon has to say besides the answer: that this is another image than before. */
export function printNotice(printer: Printer, envelope: Envelope): void {
  const notice = fieldOf(envelope.ok ? envelope.result : envelope.error.details, 'notice')
  if (typeof notice === 'string') printer.err(`${notice}\n`)
}

/** The language's own report, where there is one, and what mends it: they say more than our sentence does. */
export function printFailure(printer: Printer, { error }: FailedEnvelope): void {
  const report = fieldOf(error.details.exception, 'traceback')
  if (typeof report === 'string' && report !== '') {
    printer.err(report.endsWith('\n') ? report : `${report}\n`)
    const { mend } = error.details
    if (typeof mend === 'string') printer.err(`${mend}\n`)
    if (error.code === 'exception') return
  }
  const next = commandFor(error)
  printer.err(`${error.code}: ${error.message}\n${next === null ? '' : `${next}\n`}`)
}

/** What can be done about it, at a terminal: which kernel is meant is said there by an option of the command. */
export function commandFor({ details, next }: Pick<ToolError, 'details' | 'next'>): string | null {
  const name = [details.kernels, details.announced].flat().find(one => typeof one === 'string')
  const isChoice = details.reason === 'several' || (details.parameter === 'kernel' && name !== undefined)
  const all = typeof details.all === 'string' ? `   or ask all: --kernel '${details.all}'` : ''
  return isChoice ? `Choose one: --kernel ${name ?? 'NAME'}${all}` : next
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

/** A line of a table, and what is said of it underneath. */
export interface Line {
  readonly cells: readonly string[]
  readonly below: readonly string[]
}

/** Columns two blanks apart, as the first line has them; the last one is as wide as it is. */
export function table(lines: readonly Line[]): string {
  const columns = lines[0]?.cells.length ?? 0
  const widths = Array.from({ length: columns - 1 }, (_, column) =>
    Math.max(...lines.map(({ cells }) => cells[column]?.length ?? 0)),
  )
  return lines
    .flatMap(({ cells, below }) => [
      cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
      ...below.map(text => `    ${text}`),
    ])
    .map(line => line.trimEnd())
    .join('\n')
}

/** Prints for a person, and knows whether the line that the cursor stands in has begun. */
export interface Margin extends Printer {
  /** Ends a line that has begun, so that what follows neither joins nor erases it. */
  toMargin(): void
  /**
   * What to show for a question: the line that has begun, and the prompt unless it has been printed already. The
   * answer ends that line. Where it is so wide that it may fill rows, it is ended first.
   */
  asking(prompt: string): string
}

export function keepMargin(printer: Printer, terminal: Pick<NodeJS.WriteStream, 'columns'>): Margin {
  let begun = ''

  function heard(text: string) {
    const end = text.lastIndexOf('\n') + 1
    // More of it than any row holds is not needed to know that it is too wide.
    begun = `${end === 0 ? begun : ''}${text.slice(end)}`.slice(0, WIDE)
  }
  const toMargin = () => {
    if (begun !== '') printer.out('\n')
    begun = ''
  }
  return {
    out(text) {
      printer.out(text)
      heard(text)
    },
    err(text) {
      printer.err(text)
      heard(text)
    },
    toMargin,
    asking(prompt) {
      // A character may be two columns wide, and a control is shown as four.
      if (begun.length * 4 >= (terminal.columns || 80)) toMargin()
      const line = begun.endsWith(prompt) ? begun : begun + prompt
      begun = ''
      return line
    },
  }
}

const WIDE = 4_096

/** What a command came to: the text, or with `--json` the one envelope. Returns the exit code for done. */
export function print(
  { options, printer }: { readonly options: { readonly json?: boolean }; readonly printer: Printer },
  { result, text }: { result: unknown; text: string },
) {
  if (options.json) printEnvelope(printer, { ok: true, result })
  else printer.out(`${text}\n`)
  return EXIT.done
}
