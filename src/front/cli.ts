import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type FailureWords,
  type InternalReason,
  type ToolError,
  type ToolErrorCode,
  toolError,
} from '../../tools/outcome.ts'
import { messageOf, type RemoteFailure, WireError } from '../../wire/errors.ts'
import { languageNamed, namesOf, SERVERS } from '../../wire/languages.ts'
import { EXIT, type ExitCode, Failure } from '../failure.ts'
import {
  type Command,
  type CommandInput,
  OPTIONS,
  type OpenDaemon,
  type OptionName,
  type Options,
  type ToolCommand,
  typeOf,
} from './command.ts'
import { frontLanguage } from './languages.ts'
import { tooFewFiles } from './open-files.ts'
import { lostDaemon, openPrinter, type Printer, printFailed } from './print.ts'
import type { FailureData } from './protocol.ts'

/** What the entry of the program hands over. */
interface CommandLine {
  /** Without the interpreter and the program. */
  readonly argv: readonly string[]
  readonly openDaemon: OpenDaemon
}

/** Does one command. Never rejects: what goes wrong is said, and is in the exit code. */
export async function runCommandLine({ argv: words, openDaemon }: CommandLine): Promise<number> {
  const argv = askingForHelp(words)
  const printer = openPrinter()
  try {
    const { command, ...parsed } = parse(argv)
    if (parsed.options.version) return await printVersion(printer)
    if (parsed.options.help) {
      printer.out(help(named(argv) ? command : undefined))
      return EXIT.done
    }
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

interface Invocation {
  readonly command: Command
  readonly operands: readonly string[]
  readonly options: Options
  readonly rest: readonly string[]
}

function parse(argv: readonly string[]): Invocation {
  const [first] = argv
  const command = first === undefined || first.startsWith('-') ? find('') : find(first)
  const [words, rest] = divided(argv, command)
  const { values, positionals } = parseWords(command, named(argv) ? words.slice(1) : words)
  const [least, most] = command.operands
  if (!values.help && (positionals.length < least || positionals.length > most)) throw misused(command)
  return { command, operands: positionals, options: values, rest }
}

/** The words of Imago, and what is another command's: behind `--`, or from the first word that can be none of Imago's. */
function divided(argv: readonly string[], { rest, operands: [, most] }: Command) {
  const dashes = rest ? argv.indexOf('--') : -1
  const other = rest && most === 0 ? firstOperand(argv) : -1
  if (other >= 0 && (dashes < 0 || other < dashes)) return [argv.slice(0, other), argv.slice(other)] as const
  return dashes < 0 ? ([argv, []] as const) : ([argv.slice(0, dashes), argv.slice(dashes + 1)] as const)
}

/** The index of the first word behind the command that is neither an option nor the value of one; -1 without one. */
function firstOperand(argv: readonly string[]): number {
  for (let at = 1; at < argv.length; at++) {
    const [, option] = /^--([\w-]+)$/.exec(argv[at] ?? '') ?? []
    const isOption = argv[at]?.startsWith('-') === true
    if (!isOption) return at
    if (option !== undefined && isOptionName(option) && typeOf(option) === 'string') at++
  }
  return -1
}

const isOptionName = (word: string): word is OptionName => Object.hasOwn(OPTIONS, word)

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
      name => [name, { type: typeOf(name), ...(name === 'help' && { short: 'h' }) }],
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

async function printVersion(printer: Printer): Promise<ExitCode> {
  const { VERSION } = await import('../paths.ts')
  printer.out(`${VERSION}\n`)
  return EXIT.done
}

const wantsJson = (argv: readonly string[]) => argv.includes('--json')

/** A command that failed before a tool could answer: in words, or as the one envelope that was asked for. */
function report({ error, printer, json }: { error: unknown; printer: Printer; json: boolean }): ExitCode {
  const exit = printFailed({ options: { json }, printer }, explain(error))
  return error instanceof Failure ? error.exit : exit
}

function explain(error: unknown): ToolError {
  const message = messageOf(error)
  const few = error instanceof Failure || error instanceof WireError ? undefined : tooFewFiles(message)
  if (few !== undefined) return unavailable(few)
  if (error instanceof Failure && error.exit === EXIT.usage) return toolError('invalid_args', { message })
  if (error instanceof WireError) {
    const code = REFUSALS.get(error.remote?.code)
    if (error.remote !== undefined && code !== undefined) return toolError(code, failingOf(error.remote))
    if (error.code === 'LINK_CLOSED') return lostDaemon()
  }
  return ofOurs(error) ?? unavailable(message)
}

/** A mistake in the code of Imago, whose own words tell a person nothing. Undefined where the error is none. */
function ofOurs(error: unknown): ToolError | undefined {
  if (![TypeError, RangeError, ReferenceError, SyntaxError].some(kind => error instanceof kind))
    return undefined
  return toolError('internal', {
    message: 'Imago made a mistake of its own in this command. The program is untouched by that.',
    details: { reason: 'handler_fault' satisfies InternalReason, stack: (error as Error).stack },
    next: 'The same command with --json tells where; please report that.',
  })
}

const unavailable = (message: string) =>
  toolError('internal', { message, details: { reason: 'daemon_unavailable' satisfies InternalReason } })

/** The codes with which the daemon fails a method, as those of an envelope. */
const REFUSALS: ReadonlyMap<string | undefined, ToolErrorCode> = new Map([
  ['invalid_params', 'invalid_args'],
  ['no_such_kernel', 'no_such_kernel'],
  ['kernel_unavailable', 'kernel_unavailable'],
  ['denied', 'denied'],
  ['in_use', 'busy'],
  ['seat_refused', 'denied'],
  ['no_seat', 'denied'],
])

/** What the daemon said, with the `FailureData` it sent beside it. */
function failingOf({ message, data }: RemoteFailure): FailureWords {
  if (typeof data !== 'object' || data === null) return { message }
  const { details, next, retryable } = data as Partial<FailureData>
  return {
    message,
    ...(typeof details === 'object' && details !== null && { details }),
    ...(typeof next === 'string' && { next }),
    ...(typeof retryable === 'boolean' && { retryable }),
  }
}

/** The text of `imago --help`, or of one command's, written from the tables. */
export function help(command?: Command): string {
  return command === undefined ? overview() : details(command)
}

/** A line of each command: what it takes, and what else it does, its own help tells. */
function overview(): string {
  const forPeople = COMMANDS.filter(({ forPrograms }) => forPrograms !== true)
  const others = COMMANDS.filter(({ forPrograms }) => forPrograms).map(({ name }) => `imago ${name}`)
  const width = Math.max(...forPeople.map(({ name }) => name.length))
  // The one without a name has no help of its own.
  const inShort = ({ name, summary }: Command) => (name === '' ? summary : summary.split(/;| \(/)[0])
  const rows = forPeople.map(command => [command.name.padEnd(width), inShort(command)] as const)
  return `An agent that lives inside a running program.

Start your program with: imago run -- COMMAND. Then, in its folder:

  imago errors   what went wrong in it
  imago threads  where it stands now
  imago watch    what an agent wants to do, for you to allow or deny

All commands (imago COMMAND --help tells all about one):

${rows.map(([name, summary]) => `  imago ${name}  ${summary}`).join('\n')}
  for other programs: ${others.join(', ')}

Exit codes: 0 done, 1 failed (also tests, and source that does not compile), 2 usage, 3 denied,
4 no such kernel, 5 still running (the job is named).
`
}

function details(command: Command): string {
  const options = command.options.map(name => {
    const option = OPTIONS[name]
    return [
      `--${name}${'value' in option ? ` ${option.value}` : ''}`,
      command.means?.[name] ?? option.summary,
    ] as const
  })
  const width = Math.max(0, ...options.map(([line]) => line.length))
  const list = options.map(([line, summary]) => `  ${line.padEnd(width)}  ${summary}\n`).join('')
  return `${invocation(command)}\n${command.summary}\n${list && `\n${list}`}`
}

const invocation = ({ name, usage }: Command) => ['imago', name, usage].filter(word => word !== '').join(' ')

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** As many operands as there are. */
const MANY = Number.POSITIVE_INFINITY

/** The row of a command that is a call of one tool. */
function ofTool(command: ToolCommand, { operand, summary }: { operand: string; summary: string }): Command {
  return {
    name: command.name,
    usage: `${operand} [NAME=VALUE...]${command.all ? ' [--all]' : ''} [--kernel NAME] [--patience SECONDS] [--json]`,
    summary,
    operands: [command.optional ? 0 : 1, MANY],
    options: [...(command.all ? (['all'] as const) : []), 'kernel', 'patience', 'json'],
    ...(command.all && { means: { all: command.all } }),
    tool: command.tool,
    of: command.optional ? ['parameters'] : ['code', 'parameters'],
    load: async () => {
      const { callAs } = await import('./commands/call.ts')
      return input => callAs(command, input)
    },
  }
}

/** The commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: '',
    usage: '[--kernel NAME]',
    summary: 'a prompt on the Python image of this project; reads standard input without a terminal',
    operands: [0, 0],
    options: ['kernel'],
    load: async () => (await import('./commands/prompt.ts')).prompt,
  },
  {
    name: 'call',
    usage: 'TOOL [NAME=VALUE...|JSON|-] [--kernel NAME] [--patience SECONDS] [--json]',
    summary: 'call a tool, with arguments as name=value or JSON (- reads JSON from standard input)',
    operands: [1, MANY],
    options: ['kernel', 'patience', 'json'],
    of: ['tool', 'parameters'],
    load: async () => (await import('./commands/call.ts')).call,
  },
  ofTool(
    { name: 'eval', tool: 'eval_expr', first: 'expr', runs: true },
    {
      operand: 'CODE|-',
      summary: 'run code in the program, and print its value (- reads it from standard input)',
    },
  ),
  {
    name: 'ask',
    usage: "TEXT|- [--when 'PROGRAM raises [TYPE]'] [--profile PROFILE] [--wait] [--json]",
    summary: 'have a model work in the programs of this project until it can answer (- reads the question)',
    operands: [1, 1],
    options: ['when', 'profile', 'wait', 'json'],
    of: [[]],
    means: { json: 'each entry of the run as it comes, one object in a line' },
    load: async () => (await import('./commands/ask.ts')).ask,
  },
  {
    name: 'runs',
    usage: '[show RUN | resume RUN | cancel RUN | remove RUN] [--follow] [--wait] [--json]',
    summary: 'what the agent did; show, go on with, cancel or remove one of its runs',
    operands: [0, 2],
    options: ['follow', 'wait', 'json'],
    of: [['show', 'resume', 'cancel', 'remove']],
    means: { json: 'each run, or each entry of the run, one object in a line' },
    load: async () => (await import('./commands/runs.ts')).runs,
  },
  ofTool(
    { name: 'inspect', tool: 'inspect', first: 'expr' },
    { operand: 'EXPR', summary: 'look at a value: a name, a path, or a handle' },
  ),
  ofTool(
    {
      name: 'threads',
      tool: 'threads',
      first: 'filter',
      optional: true,
      all: 'open the frames of libraries, too',
    },
    { operand: '[TEXT]', summary: 'where every thread and task of the program stands now' },
  ),
  {
    name: 'trace',
    usage: 'FUNCTION [NAME=VALUE...] [--follow] [--kernel NAME] [--json]',
    summary: 'record the next calls of a function: arguments, result, time, and who called',
    operands: [1, MANY],
    options: ['follow', 'kernel', 'json'],
    tool: 'trace_function',
    of: ['code', 'parameters'],
    means: {
      follow: 'print each call as it ends, until Ctrl-C, which takes the tracepoint out',
      json: 'one envelope; with --follow, one object in a line',
    },
    load: async () => (await import('./commands/trace.ts')).trace,
  },
  {
    name: 'undo',
    usage: 'NAME [--json]',
    summary: 'take back a change to files, by the name that its answer gave',
    operands: [1, 1],
    options: ['json'],
    load: async () => (await import('./commands/call.ts')).undo,
  },
  {
    name: 'tools',
    usage: '[NAME] [--profile PROFILE] [--format FORMAT]',
    summary: 'what can be called, and how',
    operands: [0, 1],
    options: ['profile', 'format'],
    of: ['tool'],
    load: async () => (await import('./commands/call.ts')).tools,
  },
  {
    name: 'describe',
    usage: '[OPERATION] [--json]',
    summary: 'what a client of the daemon can ask for; one operation or tool with its schemas, as JSON',
    operands: [0, 1],
    options: ['json'],
    of: ['tool'],
    load: async () => (await import('./commands/call.ts')).describe,
  },
  {
    name: 'start',
    usage: `${namesOf().join('|')} [--name NAME] [--script FILE [-- ARGS]] [--json]`,
    summary: 'start a kernel',
    operands: [1, 1],
    options: ['name', 'script', 'json'],
    of: [namesOf()],
    rest: true,
    load: async () => (await import('./commands/kernels.ts')).start,
  },
  {
    name: 'run',
    usage: '[--name NAME] [--] COMMAND [ARGS]',
    summary: 'run a command, and have every Python that it starts listen, reloaders and workers included',
    operands: [0, 0],
    options: ['name'],
    means: { name: 'what the program is called, instead of what its folder is' },
    rest: true,
    load: async () => (await import('./commands/run.ts')).run,
  },
  {
    name: 'attach',
    usage:
      `NAME|PID|NAME-PID|unix:/PATH|tcp:127.0.0.1:PORT|${SERVERS.map(({ scheme }) => `${scheme}://PORT`).join('|')} ` +
      '[--name NAME] [--key-file FILE] [--anywhere] [--no-secret] [--errors] [--json]',
    summary: `join a program that listens (import imago; imago.listen(), or a ${SERVERS.map(({ title }) => title).join(' or ')}), and leave it running ever after`,
    operands: [1, 1],
    options: ['name', 'key-file', 'anywhere', 'no-secret', 'errors', 'json'],
    of: ['program'],
    load: async () => (await import('./commands/kernels.ts')).attach,
  },
  {
    name: 'detach',
    usage: 'NAME [--json]',
    summary: 'let go of a program that was attached; it runs on, as it was before',
    operands: [1, 1],
    options: ['json'],
    of: ['kernel'],
    load: async () => (await import('./commands/kernels.ts')).detach,
  },
  {
    name: 'kernels',
    usage: '[--all] [--json]',
    summary: 'the kernels and what they do, and the programs that can be attached to',
    operands: [0, 0],
    options: ['all', 'json'],
    means: { all: 'those that have ended, too' },
    load: async () => (await import('./commands/kernels.ts')).kernels,
  },
  {
    name: 'errors',
    usage: '[NUMBER] [--kernel NAME] [--follow] [--forget] [--json]',
    summary:
      'the errors of the program, without those of agents, also where it has gone: uncaught, logged, printed, or of a request; a line each, oldest first, or one by its number, with traceback and locals',
    operands: [0, 1],
    options: ['kernel', 'follow', 'forget', 'json'],
    means: { json: 'one envelope; with --follow, one object in a line' },
    load: async () => (await import('./commands/errors.ts')).errors,
  },
  {
    name: 'stop',
    usage: 'NAME [--json]',
    summary: 'end a kernel; its image is gone',
    operands: [1, 1],
    options: ['json'],
    of: ['kernel'],
    load: async () => (await import('./commands/kernels.ts')).stop,
  },
  {
    name: 'restart',
    usage: 'NAME [--json]',
    summary: 'end a kernel and start it anew, with an empty image',
    operands: [1, 1],
    options: ['json'],
    of: ['kernel'],
    load: async () => (await import('./commands/kernels.ts')).restart,
  },
  {
    name: 'interrupt',
    usage: 'NAME [--json]',
    summary: 'stop the call that runs in a kernel, and report what was seen',
    operands: [1, 1],
    options: ['json'],
    of: ['kernel'],
    load: async () => (await import('./commands/kernels.ts')).interrupt,
  },
  {
    name: 'watch',
    usage: '[--plain]',
    summary:
      'take a seat: what needs approval is shown at this terminal, and answered here; a list in a pipe',
    operands: [0, 0],
    options: ['plain'],
    load: async () => (await import('./commands/watch.ts')).watch,
  },
  {
    name: 'web',
    usage: '[--no-open]',
    summary: 'show what waits, what runs and what happened on a page, in your browser',
    operands: [0, 0],
    options: ['no-open'],
    load: async () => (await import('./commands/web.ts')).web,
  },
  {
    name: 'seat',
    usage: 'CODE',
    summary: 'let the editor or the page have a seat that shows this code; asked at this terminal',
    operands: [1, 1],
    options: [],
    load: async () => (await import('./commands/seat.ts')).seat,
  },
  {
    name: 'approvals',
    usage: '[--json]',
    summary: 'what waits for approval, who has a seat, and what is let through without asking',
    operands: [0, 0],
    options: ['json'],
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    name: 'approve',
    usage: 'PLAN --code CODE [--json]',
    summary: 'approve a plan from a script; its code is shown on every seat',
    operands: [1, 1],
    options: ['code', 'json'],
    load: async () => (await import('./commands/approvals.ts')).approve,
  },
  {
    name: 'deny',
    usage: 'PLAN --code CODE [--reason TEXT] [--json]',
    summary: 'deny a plan from a script',
    operands: [1, 1],
    options: ['code', 'reason', 'json'],
    load: async () => (await import('./commands/approvals.ts')).deny,
  },
  {
    name: 'revoke',
    usage: 'GRANT [--json]',
    summary: 'end what a person has let through without asking; imago approvals lists it',
    operands: [1, 1],
    options: ['json'],
    load: async () => (await import('./commands/approvals.ts')).revoke,
  },
  {
    name: 'mcp',
    forPrograms: true,
    usage: '[--root FOLDER] [--profile PROFILE] [--structured]',
    summary: 'serve an MCP client on standard input and output',
    operands: [0, 0],
    options: ['root', 'profile', 'structured'],
    // The entry of the program goes straight to the bridge; this row is for the help.
    load: () => Promise.reject(new Error('imago mcp is begun by the entry of the program')),
  },
  {
    name: 'acp',
    forPrograms: true,
    usage: '[--] AGENT [ARGS]',
    summary: 'run an agent for an editor that speaks ACP, and give each of its sessions the tools of Imago',
    operands: [0, 0],
    options: [],
    rest: true,
    load: async () => (await import('./commands/acp.ts')).acp,
  },
  {
    name: 'hook',
    forPrograms: true,
    usage: 'claude-code [--patience SECONDS]',
    summary:
      "ask a person about a host's own tools: a PreToolUse hook of Claude Code, on standard input and output",
    operands: [1, 1],
    options: ['patience'],
    of: [['claude-code']],
    means: { patience: 'how long to wait for a person before the host is told to put the call off; 50' },
    load: async () => (await import('./commands/hook.ts')).hook,
  },
  {
    name: 'policy',
    usage:
      '[check [TOOL [NAME=VALUE...|JSON|-]] | accept] [--kernel NAME] [--path FILE] [--level LEVEL] [--json]',
    summary: 'what may run, and from which file; check what a call would come to; accept what loosens',
    operands: [0, MANY],
    options: ['kernel', 'path', 'level', 'json'],
    of: [['check', 'accept'], 'tool', 'parameters'],
    load: async () => (await import('./commands/policy.ts')).policy,
  },
  {
    name: 'log',
    usage:
      '[verify | acknowledge] [--kernel NAME] [--tool TOOL] [--level LEVEL] [--outcome OUTCOME] [--since TIME] [--until TIME] [--count N] [--follow] [--long] [--json]',
    summary:
      'the calls and their outcomes; verify: check that the journal is unchanged; acknowledge: say that you have seen the damage',
    operands: [0, 1],
    options: ['kernel', 'tool', 'level', 'outcome', 'since', 'until', 'count', 'follow', 'long', 'json'],
    of: [['verify', 'acknowledge']],
    means: {
      kernel: 'calls on this kernel alone; a last * stands for any end, and commas divide several',
      json: 'the lines as they are, one object in a line; with verify, one envelope',
      count:
        'the last N calls, with --json the last N lines, or all; 50 calls unless --since or --json is given',
    },
    load: async () => (await import('./commands/log.ts')).log,
  },
  {
    name: 'doctor',
    usage: `[${namesOf().join('|')}] [--all] [--json]`,
    summary: 'what is there, what is missing or does not work, and the line that mends it',
    operands: [0, 1],
    options: ['all', 'json'],
    of: [namesOf()],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'install',
    usage: `[CLIENT|${namesOf(({ engine }) => engine !== undefined).join('|')}] [--profile PROFILE] [--dialog] [--allow] [--hook] [--undo] [--yes]`,
    summary:
      'write the MCP entry into the configuration of a client, which is shown first; or bring the engine of a language',
    operands: [0, 1],
    options: ['profile', 'dialog', 'allow', 'hook', 'undo', 'yes'],
    of: ['client'],
    means: {
      profile:
        'the tools that its model is shown: core, live, full (which can change files) or desk (Claude Code asks here)',
    },
    load: async () => (await import('./commands/install.ts')).install,
  },
  {
    name: 'runtime',
    usage: namesOf(({ installed }) => installed).join('|'),
    summary:
      'print the folder of the Python side, which pip installs (as imago-agent: the imago of PyPI is another program); a Lisp needs none',
    operands: [1, 1],
    options: [],
    of: [namesOf(({ installed }) => installed)],
    load: async () => runtime,
  },
  {
    name: 'lsp',
    forPrograms: true,
    usage: '[--stdio]',
    summary: 'be a language server for an editor: errors of the program in their lines, and what it knows',
    operands: [0, 0],
    options: ['stdio'],
    load: async () => (await import('./lsp/server.ts')).lsp,
  },
  {
    name: 'completion',
    forPrograms: true,
    usage: SHELLS.join('|'),
    summary:
      'print what has that shell complete commands, options, kernels and tools; its first lines say how to use it',
    operands: [1, 1],
    options: [],
    of: [SHELLS],
    // `imago completion words -- WORD…` is what these scripts ask.
    rest: true,
    load: async () => {
      const { completion } = await import('./commands/completion.ts')
      return input => completion(input, COMMANDS)
    },
  },
  {
    name: 'serve',
    usage: '[--web PORT]',
    summary: 'be the daemon, in the foreground; other commands start it by themselves',
    operands: [0, 0],
    options: ['web'],
    load: async () => (await import('./commands/kernels.ts')).serve,
  },
  {
    name: 'shutdown',
    usage: '[--force] [--json]',
    summary: 'end the daemon and the kernels it started; programs that are attached run on',
    operands: [0, 0],
    options: ['force', 'json'],
    load: async () => (await import('./commands/kernels.ts')).shutdown,
  },
]

/** `imago runtime LANG`: where the far end in that language is, as that language's own installer takes it. */
async function runtime({ operands: [language = ''], printer }: CommandInput): Promise<ExitCode> {
  if (languageNamed(language)?.installed !== true) {
    const names = namesOf(({ installed }) => installed).join(', ')
    const instead = frontLanguage(language)?.insteadOfRuntime
    throw new Failure(instead ?? `There is no runtime for ${language}. There is one for: ${names}.`, {
      exit: EXIT.usage,
    })
  }
  const { PACKAGE_ROOT } = await import('../paths.ts')
  printer.out(`${join(PACKAGE_ROOT, 'wire/peers', language)}\n`)
  return EXIT.done
}
