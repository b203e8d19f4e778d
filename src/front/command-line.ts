import { parseArgs } from 'node:util'
import type { InternalReason, ToolErrorCode } from '../../tools/errors.ts'
import { type Failing, type ToolError, toolError } from '../../tools/outcome.ts'
import { type RemoteFailure, WireError } from '../../wire/errors.ts'
import { EXIT, type ExitCode, Failure, messageOf } from '../failure.ts'
import { COMMANDS, type Command, OPTIONS, type OpenDaemon, type Options } from './commands.ts'
import { exitOf, lostDaemon, printEnvelope, printError } from './envelopes.ts'
import type { FailureData } from './protocol.ts'
import { openPrinter, type Printer } from './terminal.ts'

/** What the entry of the program hands over. */
export interface CommandLine {
  /** Without the interpreter and the program. */
  readonly argv: readonly string[]
  readonly openDaemon: OpenDaemon
}

/** Does one command. Never rejects: what goes wrong is said, and is in the exit code. */
export async function runCommandLine({ argv: words, openDaemon }: CommandLine): Promise<ExitCode> {
  const argv = askingForHelp(words)
  const printer = openPrinter()
  try {
    const { command, ...parsed } = parse(argv)
    if (parsed.options.version) return await printVersion(printer)
    if (parsed.options.help) return await printHelp({ printer, command: named(argv) ? command : undefined })
    const run = await command.load()
    return await run({ ...parsed, printer, openDaemon })
  } catch (error) {
    return report({ error, printer, json: wantsJson(argv) })
  }
}

/** `help` and `help COMMAND` are how people ask for `--help`, too. */
function askingForHelp(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv
  return first === 'help' ? [...rest.slice(0, 1), '--help'] : argv
}

interface Parsed {
  readonly command: Command
  readonly operands: readonly string[]
  readonly options: Options
  readonly rest: readonly string[]
}

function parse(argv: readonly string[]): Parsed {
  const [first] = argv
  const command = first === undefined || first.startsWith('-') ? find('') : find(first)
  const dashes = command.rest ? argv.indexOf('--') : -1
  const [words, rest] = dashes < 0 ? [argv, []] : [argv.slice(0, dashes), argv.slice(dashes + 1)]
  const { values, positionals } = parseWords(command, named(argv) ? words.slice(1) : words)
  const [least, most] = command.operands
  if (!values.help && (positionals.length < least || positionals.length > most)) throw misused(command)
  return { command, operands: positionals, options: values, rest }
}

const named = ([first]: readonly string[]) => first !== undefined && !first.startsWith('-')

function find(name: string): Command {
  const found = COMMANDS.find(command => command.name === name)
  if (found !== undefined) return found
  const names = COMMANDS.map(command => command.name).filter(known => known !== '')
  throw new Failure(`There is no command ${name}. Commands: ${names.join(', ')}.`, { exit: EXIT.usage })
}

function parseWords(command: Command, words: readonly string[]): { values: Options; positionals: string[] } {
  const options = Object.fromEntries(
    ([...command.options, 'help', ...(command.name === '' ? (['version'] as const) : [])] as const).map(
      name => [name, { type: OPTIONS[name].type, ...(name === 'help' && { short: 'h' }) }],
    ),
  )
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true })
  } catch (error) {
    throw misused(command, messageOf(error))
  }
}

function misused({ name, usage }: Command, because?: string): Failure {
  const line = `Usage: ${['imago', name, usage].filter(word => word !== '').join(' ')}`
  return new Failure(because === undefined ? line : `${because}\n${line}`, { exit: EXIT.usage })
}

async function printHelp({
  printer,
  command,
}: {
  printer: Printer
  command: Command | undefined
}): Promise<ExitCode> {
  const { help } = await import('./help.ts')
  printer.out(help(command))
  return EXIT.done
}

async function printVersion(printer: Printer): Promise<ExitCode> {
  const { VERSION } = await import('../paths.ts')
  printer.out(`${VERSION}\n`)
  return EXIT.done
}

const wantsJson = (argv: readonly string[]) => argv.includes('--json')

/** A command that failed before a tool could answer: in words, or as the one envelope that was asked for. */
function report({ error, printer, json }: { error: unknown; printer: Printer; json: boolean }): ExitCode {
  const envelope = { ok: false, error: explain(error) } as const
  if (json) printEnvelope(printer, envelope)
  else printError(printer, envelope.error)
  return error instanceof Failure ? error.exit : exitOf(envelope)
}

function explain(error: unknown): ToolError {
  const message = messageOf(error)
  if (error instanceof Failure && error.exit === EXIT.usage) return toolError('invalid_args', { message })
  if (error instanceof WireError) {
    const code = REFUSALS.get(error.remote?.code)
    if (error.remote !== undefined && code !== undefined) return toolError(code, failingOf(error.remote))
    if (error.code === 'LINK_CLOSED') return lostDaemon()
  }
  return toolError('internal', {
    message,
    details: { reason: 'daemon_unavailable' satisfies InternalReason },
  })
}

/** The codes with which the daemon fails a method, as those of an envelope. */
const REFUSALS: ReadonlyMap<string | undefined, ToolErrorCode> = new Map([
  ['invalid_params', 'invalid_args'],
  ['no_such_kernel', 'no_such_kernel'],
  ['kernel_unavailable', 'kernel_unavailable'],
  ['in_use', 'busy'],
  ['seat_refused', 'denied'],
  ['no_seat', 'denied'],
])

/** What the daemon said, with the `FailureData` it sent beside it. */
function failingOf({ message, data }: RemoteFailure): Failing {
  if (typeof data !== 'object' || data === null) return { message }
  const { details, next, retryable } = data as Partial<FailureData>
  return {
    message,
    ...(typeof details === 'object' && details !== null && { details }),
    ...(typeof next === 'string' && { next }),
    ...(typeof retryable === 'boolean' && { retryable }),
  }
}
