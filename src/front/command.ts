import { PROFILES, type Profile } from '../../tools/contract.ts'
import { EXIT, Failure } from '../failure.ts'
import type { Paths } from '../paths.ts'
import type { Printer } from './print.ts'

/** One command: what it is called with, and where it is done. Nothing of it is loaded before it is used. */
export interface Command {
  readonly name: string
  /** What stands after the name. */
  readonly usage: string
  readonly summary: string
  /** The tool that it is a call of. */
  readonly tool?: string
  /** How many operands it takes, at least and at most. */
  readonly operands: readonly [number, number]
  readonly options: readonly OptionName[]
  /** What an option means here, where that is not what it means elsewhere. */
  readonly means?: Readonly<Partial<Record<OptionName, string>>>
  /** What its operands are, in order, for the completion of a shell; those behind the last one are as that. */
  readonly of?: readonly OperandKind[]
  /** A program calls it, and no person: the overview has its name alone. */
  readonly forPrograms?: true
  /** Whether `--` and what follows are handed on. */
  readonly rest?: true
  load(): Promise<Run>
}

/**
 * What a shell completes with: these words, or names that are looked up. `parameters`: those of the tool that was named
 * before, or that the command is a call of.
 */
export type OperandKind =
  | readonly string[]
  | 'tool'
  | 'parameters'
  | 'kernel'
  | 'program'
  | 'client'
  | 'file'
  | 'code'

/** A command that is a call of one tool. */
export interface ToolCommand {
  readonly name: string
  readonly tool: string
  /** The parameter that is typed without its name. */
  readonly first: string
  /** Whether it may be left out. */
  readonly optional?: boolean
  /** Whether it runs code: it is waited for, an error ends it, and its answer is shown as a prompt shows it. */
  readonly runs?: boolean
  /** What `--all` means, where it gives the argument `all`. */
  readonly all?: string
}

/** Its exit code: an `ExitCode`, or that of the command that it has run. */
type Run = (input: CommandInput) => Promise<number>

export interface CommandInput {
  readonly operands: readonly string[]
  readonly options: Options
  /** What stood after `--`. */
  readonly rest: readonly string[]
  readonly printer: Printer
  openDaemon: OpenDaemon
}

/** Makes this process the daemon; known only to the entry of the program. Throws a `Failure` that says why not. */
export type OpenDaemon = (paths: Paths, webPort: number | undefined) => Promise<RunningDaemon>

interface RunningDaemon {
  readonly address: string
  readonly web: string | undefined
  /** Settles once it has ended in order, whoever asked for it. */
  readonly ended: Promise<void>
  /** Begins the end: calls are settled, kernels ended, the journal closed. */
  close(): Promise<void>
}

/** All options of all commands; each has one meaning. One without a `value` is there or not. */
export const OPTIONS = {
  name: { value: 'NAME', summary: 'what to call the kernel' },
  script: { value: 'FILE', summary: 'a program to run first; the kernel stays live in it' },
  kernel: {
    value: 'NAME',
    summary: 'the kernel to use, instead of the one that lives in the project',
  },
  patience: {
    value: 'SECONDS',
    summary: 'how long to wait before the call goes on as a job',
  },
  'key-file': {
    value: 'FILE',
    summary:
      'a file with the key of the program; else it is $IMAGO_KEY, what the program has announced, or ~/.slime-secret',
  },
  anywhere: {
    summary: 'a server on another machine too, though nothing is encrypted',
  },
  'no-secret': {
    summary: 'a server that asks for no secret, which anybody here can use',
  },
  errors: {
    summary: 'note the errors that Hunchentoot, Clack or lparallel catches, by a hook in each (SBCL)',
  },
  forget: {
    summary: 'remove what processes of the project have left that have gone',
  },
  path: { value: 'FILE', summary: 'a file that the call would be about' },
  level: { value: 'LEVEL', summary: 'safe, cautious or dangerous' },
  profile: { value: 'PROFILE', summary: 'core, live, full or desk' },
  format: {
    value: 'FORMAT',
    summary: 'text, json, openai, anthropic, gemini, mcp, or syntax:NAME',
  },
  root: {
    value: 'FOLDER',
    summary: 'the project, instead of the one of the working directory',
  },
  code: { value: 'CODE', summary: 'the code of the plan, which is shown on every seat' },
  reason: { value: 'TEXT', summary: 'why, which the model is told' },
  tool: { value: 'TOOL', summary: 'calls of this tool alone; a last * stands for any end' },
  outcome: {
    value: 'OUTCOME',
    summary: 'calls that ended so: ok, a code of an error, failed (any code), or open (no end yet)',
  },
  since: {
    value: 'TIME',
    summary: 'from then on: 10m, 2h, 3d (ago), today, yesterday, 14:30, or a date, with a time or without',
  },
  until: { value: 'TIME', summary: 'up to then' },
  count: { value: 'N', summary: 'the last N, or all' },
  web: {
    value: 'PORT',
    summary: 'let programs of yours connect by WebSocket, at this port of 127.0.0.1',
  },
  'no-open': { summary: 'print the address alone' },
  follow: { summary: 'go on with what comes, until Ctrl-C' },
  when: {
    value: 'EVENT',
    summary: 'at each new error of a program, until Ctrl-C: web raises KeyError, or web raises',
  },
  wait: { summary: 'wait for who works at it, and for a person who is asked' },
  long: { summary: 'with all that was kept of each call' },
  stdio: { summary: 'nothing else: editors say so' },
  structured: { summary: 'send results as data too, with output schemas' },
  json: { summary: 'print exactly one envelope, as JSON' },
  plain: { summary: 'line by line, as at a terminal that can do no more' },
  all: { summary: 'every language, however long that takes' },
  force: { summary: 'even if something runs' },
  yes: { summary: 'do it without asking' },
  dialog: {
    summary: "let a yes at the client's own dialog count, by a line in your policy",
  },
  allow: { summary: 'have the client not ask about tools that only look' },
  hook: { summary: 'have Claude Code ask at imago watch before its own commands and edits' },
  undo: { summary: 'take it back' },
  help: { summary: 'this text' },
  version: { summary: 'the version' },
} as const

/** The profile that an option names; undefined without the option. Throws a `Failure` that names those that there are. */
export function profileOf(name: string | undefined): Profile | undefined {
  const profile = PROFILES.find(known => known === name)
  if (name !== undefined && profile === undefined)
    throw new Failure(`There is no profile ${name}. Profiles: ${PROFILES.join(', ')}.`, { exit: EXIT.usage })
  return profile
}

/** What has a value is a string. */
export const typeOf = (name: OptionName): 'string' | 'boolean' =>
  'value' in OPTIONS[name] ? 'string' : 'boolean'

export type OptionName = keyof typeof OPTIONS
export type Options = {
  readonly [Name in OptionName]?: (typeof OPTIONS)[Name] extends { value: string } ? string : boolean
}
