import { namesOf } from '../../wire/languages.ts'
import type { ExitCode } from '../failure.ts'
import type { Paths } from '../paths.ts'
import type { Printer } from './terminal.ts'

/** One command: what it is called with, and where it is done. Nothing of it is loaded before it is used. */
export interface Command {
  readonly name: string
  /** What stands after the name. */
  readonly usage: string
  readonly summary: string
  /** How many operands it takes, at least and at most. */
  readonly operands: readonly [number, number]
  readonly options: readonly OptionName[]
  /** What an option means here, where that is not what it means elsewhere. */
  readonly means?: Readonly<Partial<Record<OptionName, string>>>
  /** Whether `--` and what follows are handed on. */
  readonly rest?: true
  load(): Promise<Run>
}

export type Run = (input: CommandInput) => Promise<ExitCode>

export interface CommandInput {
  readonly operands: readonly string[]
  readonly options: Options
  /** What stood after `--`. */
  readonly rest: readonly string[]
  readonly printer: Printer
  openDaemon: OpenDaemon
}

/** Makes this process the daemon; known only to the entry of the program. Throws a `Failure` that says why not. */
export type OpenDaemon = (paths: Paths) => Promise<RunningDaemon>

export interface RunningDaemon {
  readonly address: string
  /** Settles once it has ended in order, whoever asked for it. */
  readonly ended: Promise<void>
  /** Begins the end: calls are settled, kernels ended, the journal closed. */
  close(): Promise<void>
}

/** All options of all commands; each has one meaning. */
export const OPTIONS = {
  name: { type: 'string', value: 'NAME', summary: 'what to call the kernel' },
  script: { type: 'string', value: 'FILE', summary: 'a program to run first; the kernel stays live in it' },
  kernel: {
    type: 'string',
    value: 'NAME',
    summary: 'the kernel to use, instead of the one that lives in the project',
  },
  patience: {
    type: 'string',
    value: 'SECONDS',
    summary: 'how long to wait before the call goes on as a job',
  },
  'key-file': {
    type: 'string',
    value: 'FILE',
    summary:
      'a file with the key of the program; else it is $IMAGO_KEY, what the program has announced, or ~/.slime-secret',
  },
  anywhere: {
    type: 'boolean',
    summary: 'a Swank server of another machine too, though nothing is encrypted',
  },
  'no-secret': {
    type: 'boolean',
    summary: 'a Swank server that asks for no secret, which anybody here can use',
  },
  path: { type: 'string', value: 'FILE', summary: 'a file that the call would be about' },
  level: { type: 'string', value: 'LEVEL', summary: 'safe, cautious or dangerous' },
  profile: { type: 'string', value: 'PROFILE', summary: 'core, live or full' },
  format: { type: 'string', value: 'FORMAT', summary: 'text, json, openai, anthropic, gemini or mcp' },
  root: {
    type: 'string',
    value: 'FOLDER',
    summary: 'the project, instead of the one of the working directory',
  },
  code: { type: 'string', value: 'CODE', summary: 'the code of the plan, which is shown on every seat' },
  reason: { type: 'string', value: 'TEXT', summary: 'why, which the model is told' },
  tool: { type: 'string', value: 'TOOL', summary: 'calls of this tool alone; a last * stands for any end' },
  outcome: {
    type: 'string',
    value: 'OUTCOME',
    summary: 'calls that ended so: ok, a code of an error, failed (any code), or open (no end yet)',
  },
  since: {
    type: 'string',
    value: 'TIME',
    summary: 'from then on: 10m, 2h, 3d (ago), today, yesterday, 14:30, or a date, with a time or without',
  },
  until: { type: 'string', value: 'TIME', summary: 'up to then' },
  count: { type: 'string', value: 'N', summary: 'the last N, or all' },
  follow: { type: 'boolean', summary: 'go on with what comes, until Ctrl-C' },
  long: { type: 'boolean', summary: 'with all that was kept of each call' },
  structured: { type: 'boolean', summary: 'send results as data too, with output schemas' },
  json: { type: 'boolean', summary: 'print exactly one envelope, as JSON' },
  plain: { type: 'boolean', summary: 'line by line, as at a terminal that can do no more' },
  force: { type: 'boolean', summary: 'even if something runs' },
  yes: { type: 'boolean', summary: 'do it without asking' },
  undo: { type: 'boolean', summary: 'take it back' },
  help: { type: 'boolean', summary: 'this text' },
  version: { type: 'boolean', summary: 'the version' },
} as const

export type OptionName = keyof typeof OPTIONS
export type Options = {
  readonly [Name in OptionName]?: (typeof OPTIONS)[Name]['type'] extends 'string' ? string : boolean
}

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
    usage: 'TOOL [JSON|-] [--kernel NAME] [--patience SECONDS] [--json]',
    summary: 'call a tool, with arguments as JSON (- reads them from standard input)',
    operands: [1, 2],
    options: ['kernel', 'patience', 'json'],
    load: async () => (await import('./commands/call.ts')).call,
  },
  {
    name: 'undo',
    usage: 'NAME [--json]',
    summary: 'take back a change to files, by the name that its answer gave',
    operands: [1, 1],
    options: ['json'],
    load: async () => (await import('./commands/undo.ts')).undo,
  },
  {
    name: 'tools',
    usage: '[NAME] [--profile PROFILE] [--format FORMAT]',
    summary: 'what can be called, and how',
    operands: [0, 1],
    options: ['profile', 'format'],
    load: async () => (await import('./commands/tools.ts')).tools,
  },
  {
    name: 'start',
    usage: `${namesOf().join('|')} [--name NAME] [--script FILE [-- ARGS]] [--json]`,
    summary: 'start a kernel',
    operands: [1, 1],
    options: ['name', 'script', 'json'],
    rest: true,
    load: async () => (await import('./commands/kernels.ts')).start,
  },
  {
    name: 'attach',
    usage:
      'NAME|PID|NAME-PID|unix:/PATH|tcp:127.0.0.1:PORT|swank://PORT [--name NAME] [--key-file FILE] [--anywhere] [--no-secret] [--json]',
    summary:
      'join a program that listens (import imago; imago.listen(), or Swank), and leave it running ever after',
    operands: [1, 1],
    options: ['name', 'key-file', 'anywhere', 'no-secret', 'json'],
    load: async () => (await import('./commands/attach.ts')).attach,
  },
  {
    name: 'detach',
    usage: 'NAME [--json]',
    summary: 'let go of a program that was attached; it does not notice',
    operands: [1, 1],
    options: ['json'],
    load: async () => (await import('./commands/attach.ts')).detach,
  },
  {
    name: 'kernels',
    usage: '[--json]',
    summary: 'the kernels and what they do, and the programs that can be attached to',
    operands: [0, 0],
    options: ['json'],
    load: async () => (await import('./commands/kernels.ts')).kernels,
  },
  {
    name: 'stop',
    usage: 'NAME [--json]',
    summary: 'end a kernel; its image is gone',
    operands: [1, 1],
    options: ['json'],
    load: async () => (await import('./commands/kernels.ts')).stop,
  },
  {
    name: 'restart',
    usage: 'NAME [--json]',
    summary: 'end a kernel and start it anew, with an empty image',
    operands: [1, 1],
    options: ['json'],
    load: async () => (await import('./commands/kernels.ts')).restart,
  },
  {
    name: 'interrupt',
    usage: 'NAME [--json]',
    summary: 'stop the call that runs in a kernel, and report what was seen',
    operands: [1, 1],
    options: ['json'],
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
    usage: '[--root FOLDER] [--profile PROFILE] [--structured]',
    summary: 'serve an MCP client on standard input and output',
    operands: [0, 0],
    options: ['root', 'profile', 'structured'],
    // The entry of the program goes straight to the bridge; this row is for the help.
    load: () => Promise.reject(new Error('imago mcp is begun by the entry of the program')),
  },
  {
    name: 'policy',
    usage: '[check [TOOL [JSON|-]] | accept] [--kernel NAME] [--path FILE] [--level LEVEL] [--json]',
    summary: 'what may run, and from which file; check what a call would come to; accept what loosens',
    operands: [0, 3],
    options: ['kernel', 'path', 'level', 'json'],
    load: async () => (await import('./commands/policy.ts')).policy,
  },
  {
    name: 'log',
    usage:
      '[verify | acknowledge] [--kernel NAME] [--tool TOOL] [--level LEVEL] [--outcome OUTCOME] [--since TIME] [--until TIME] [--count N] [--follow] [--long] [--json]',
    summary:
      'what was called and what came of it; check that the journal is what was written; take note that it is not',
    operands: [0, 1],
    options: ['kernel', 'tool', 'level', 'outcome', 'since', 'until', 'count', 'follow', 'long', 'json'],
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
    usage: '[--json]',
    summary: 'what is there, what is missing or does not work, and the line that mends it',
    operands: [0, 0],
    options: ['json'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'install',
    usage: '[CLIENT] [--undo] [--yes]',
    summary: 'write the MCP entry into the configuration of a client, which is shown first',
    operands: [0, 1],
    options: ['undo', 'yes'],
    load: async () => (await import('./commands/install.ts')).install,
  },
  {
    name: 'runtime',
    usage: namesOf(({ installed }) => installed).join('|'),
    summary: 'print the folder of the Python side, which pip installs; a Lisp needs none',
    operands: [1, 1],
    options: [],
    load: async () => (await import('./commands/runtime.ts')).runtime,
  },
  {
    name: 'serve',
    usage: '',
    summary: 'be the daemon, in the foreground; other commands start it by themselves',
    operands: [0, 0],
    options: [],
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  {
    name: 'shutdown',
    usage: '[--force] [--json]',
    summary: 'end the daemon and the kernels it started; programs that are attached run on',
    operands: [0, 0],
    options: ['force', 'json'],
    load: async () => (await import('./commands/shutdown.ts')).shutdown,
  },
]
