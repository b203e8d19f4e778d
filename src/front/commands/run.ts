import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { constants } from 'node:os'
import { messageOf } from '../../../wire/errors.ts'
import { startedFrom } from '../../../wire/process-start.ts'
import { EXIT, Failure } from '../../failure.ts'
import { kernelNameOf } from '../../files/roots.ts'
import { findPaths, prepareRuntimeDir } from '../../paths.ts'
import type { CommandInput } from '../command.ts'
import { deaf, listening } from '../languages.ts'
import { hasListener, heardIn, openRun, silentAmong } from '../runs.ts'

/** How long after its start it is said of a command that nothing of it listens, in ms. */
const SAID_AFTER_MS = 10_000

/** What is sent to this process and meant for the command. Ctrl-C at a terminal reaches both. */
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']

/** What a program may be called where it announces itself. */
const NAME = /^(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]{0,47}$/

/**
 * `imago run -- COMMAND`: has every process of the command listen, reloaders and workers included. Terminal, signals and
 * exit code are the command's own. Where nothing of it listens, that is said on the error stream.
 */
export async function run({ rest, options, printer }: CommandInput): Promise<number> {
  const [command, ...args] = rest
  if (command === undefined)
    throw new Failure('Say what is to run: imago run -- python manage.py runserver', { exit: EXIT.usage })
  const say = (sentence: string) => printer.err(`imago run: ${sentence}\n`)
  const name = options.name ?? ownName()
  if (!NAME.test(name))
    throw new Failure(
      `${JSON.stringify(name)} cannot be the name of a program: up to 48 letters, digits, dots, dashes and underscores, and no number.`,
      { exit: EXIT.usage },
    )
  const paths = findPaths()
  prepareRuntimeDir(paths)
  const heard = openRun(paths.runtimeDir, rest)
  let child: ChildProcess | undefined
  const timer = setTimeout(() => {
    const silent = silence(heard, child?.pid, rest)
    if (silent !== undefined) say(silent)
  }, SAID_AFTER_MS)
  try {
    const why = deaf(rest)
    if (why !== undefined) say(why)
    child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...listening({ name, heard }) } })
    const code = await ended(command, child)
    for (const sentence of failures(heard)) say(sentence)
    return code
  } catch (error) {
    if (!(error instanceof NotBegun)) throw error
    say(error.message)
    return error.exit
  } finally {
    clearTimeout(timer)
    rmSync(heard, { recursive: true, force: true })
  }
}

/** Said where nothing of the command listens. A launcher that did so may have become another program, which does not. */
function silence(heard: string, pid: number | undefined, command: readonly string[]): string | undefined {
  const silent = pid === undefined ? [] : silentAmong(startedFrom(pid), command)
  if (hasListener(heardIn(heard).keys(), silent)) return undefined
  const why = silent.map(({ pid, words, why, mend }) => `Process ${pid} (${words}) ${why}. ${mend}`)
  return `nothing that this command started listens so far. ${why.join(' ') || LIKELY}`
}

const LIKELY = 'A Python with -I, -S or -E does not, nor does one older than 3.9.'

/** That of the folder, in the letters that every program may have in its name. */
function ownName(): string {
  const name = kernelNameOf(process.cwd())
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 48)
  return NAME.test(name) ? name : `run-${name}`.slice(0, 48)
}

/** Why processes of the run could not listen; the same reason once. */
function failures(heard: string): readonly string[] {
  const reasons = new Set([...heardIn(heard).values()].filter(reason => reason !== ''))
  return [...reasons].map(reason => `a process could not listen: ${reason}`)
}

const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program',
  EACCES: 'it may not be run',
}

/** The command could not be begun; the exit code is that of a shell. */
export class NotBegun extends Error {
  readonly exit: number
  constructor(message: string, { exit, cause }: { readonly exit: number; readonly cause: unknown }) {
    super(message, { cause })
    this.exit = exit
  }
}

/** The exit code of a command once it has ended, as a shell tells it. Rejects with `NotBegun`. */
export async function exitOf(command: string, child: ChildProcess): Promise<number> {
  try {
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve([code, signal]))
    })
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw new NotBegun(`${command} cannot be run: ${WHY[String(code)] ?? messageOf(error)}.`, {
      exit: code === 'ENOENT' ? 127 : 126,
      cause: error,
    })
  }
}

/** Runs it to its end, and has it get the signals that this process gets. */
async function ended(command: string, child: ChildProcess): Promise<number> {
  const passOn = (signal: NodeJS.Signals) => void child.kill(signal)
  // A terminal sends it to both; from anywhere else it is meant for the command alone.
  const interrupt = () => void (process.stdin.isTTY || child.kill('SIGINT'))
  for (const signal of PASSED_ON) process.on(signal, passOn)
  process.on('SIGINT', interrupt)
  try {
    return await exitOf(command, child)
  } finally {
    for (const signal of PASSED_ON) process.off(signal, passOn)
    process.off('SIGINT', interrupt)
  }
}
