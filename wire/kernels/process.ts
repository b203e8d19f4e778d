import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { WireError } from '../errors.ts'
import type { Kernel, KernelEnd, Stream } from '../kernel.ts'
import { within } from '../signal.ts'

/** How long the pipes of a process that has ended may still be read, in ms: a grandchild can hold them open. */
const LAST_READ_MS = 250

interface ProcessOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  readonly command: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** The one line that it is told on standard input, which then stays open: its lifeline. */
  readonly line: string
  /** The folder of our own code in it, which is not what its last words are about. */
  readonly own: string
}

/**
 * A process of ours in a session and a process group of its own: no terminal to write to or to type into, and its
 * children can be ended with it. It learns that we are gone by the end of its standard input.
 */
export class OwnedProcess {
  readonly pid: number
  /** Settles once it has ended and its last output was read. */
  readonly ended: Promise<KernelEnd>
  /** Takes what comes from its own descriptors, decoded. At first it is only remembered. */
  hear: (stream: Stream, text: string) => void = (_stream, text) => this.remember(text)
  readonly #child: ChildProcessWithoutNullStreams
  readonly #name: string
  readonly #own: string
  #lastWords = ''
  #exited = false

  /** Throws `KERNEL_START_FAILED` if the system cannot start it. */
  static async start(options: ProcessOptions): Promise<OwnedProcess> {
    const [program, ...args] = options.command
    try {
      const { cwd, env } = options
      const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
      await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
      return new OwnedProcess(options, child)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new WireError(
        'KERNEL_START_FAILED',
        `${program} could not be started in ${options.cwd}: ${why}`,
        {
          cause: error,
        },
      )
    }
  }

  private constructor(options: ProcessOptions, child: ChildProcessWithoutNullStreams) {
    this.#child = child
    this.#name = options.name
    this.#own = options.own
    this.pid = child.pid ?? 0
    // A pipe whose other end dies reports an error, which unheard would end this process too. `ended` has the story.
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part.on('error', () => {})
    this.#read('stdout', child.stdout)
    this.#read('stderr', child.stderr)
    this.ended = this.#follow()
    child.stdin.write(`${options.line}\n`)
  }

  /** Takes down what might explain an end: the last of it is kept. */
  remember(text: string): void {
    this.#lastWords = (this.#lastWords + text.slice(-REMEMBERED)).slice(-REMEMBERED)
  }

  /** What it has printed so far explains no end that comes later. */
  forget(): void {
    this.#lastWords = ''
  }

  /** The last of what it printed, as a clause for a message; empty if it printed nothing. */
  get lastWords(): string {
    return clauseOf(lastWords(this.#lastWords, this.#own))
  }

  /** One line more on its standard input. */
  say(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  /** Ends its standard input, as our own end would. */
  hangUp(): void {
    this.#child.stdin.end()
  }

  /** Sends it SIGINT, and none to its children. */
  nudge(): void {
    this.#child.kill('SIGINT')
  }

  /** Ends it now, and with it the children that share its group. */
  kill(): void {
    if (!this.#exited) this.#signalGroup('SIGKILL')
  }

  /** Waits until it has ended, as it was asked to, or has it end by force after so long. Resolves once it is all over. */
  async endInOrder(
    asked: Promise<void>,
    { kernel, stopMs }: { readonly kernel: Pick<Kernel, 'ended'>; readonly stopMs: number },
  ): Promise<void> {
    const ended = asked.then(() => this.ended)
    await within(stopMs, ended, () => {})
    this.kill()
    await Promise.all([this.ended, kernel.ended])
  }

  #signalGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal)
    } catch {
      // The group has gone in the meantime, which is what was wanted.
    }
  }

  #read(stream: Stream, pipe: Readable): void {
    const decoder = new StringDecoder('utf8')
    pipe.on('data', (bytes: Buffer) => {
      const text = decoder.write(bytes)
      if (text !== '') this.hear(stream, text)
    })
  }

  async #follow(): Promise<KernelEnd> {
    const child = this.#child
    const closed = new Promise(resolve => child.once('close', resolve))
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(resolve =>
      child.once('exit', (...how) => resolve(how)),
    )
    this.#exited = true
    // Its children do not outlive it, unless they made a session of their own.
    this.#signalGroup('SIGTERM')
    await within(LAST_READ_MS, closed, () => {})
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
    const how = signal === null ? `ended by itself with exit code ${code}` : `was killed by ${signal}`
    const reason = signal === null ? 'exited' : 'killed'
    const words = lastWords(this.#lastWords, this.#own)
    const message = `${this.#name} ${how}.${clauseOf(words)}`
    return { reason, message, ...(words !== '' && { lastWords: words }) }
  }
}

const clauseOf = (words: string) => (words === '' ? '' : ` Its last words:\n${words}`)

/** Characters of a process's last output that may explain its end. A report of every thread fits. */
export const REMEMBERED = 16_384

/** Lines and characters of them that a message shows. */
const LINES = 24
const CHARACTERS = 4_096

/**
 * The last words of a process as a message shows them: of the report of a crash, its first lines with the user's
 * frames; of anything else, the last lines. Frames of files below `own`, our peer's folder, and threads that hold no
 * others are left out: they say nothing about the end.
 */
export function lastWords(text: string, own: string): string {
  const crash = text.lastIndexOf('Fatal Python error:')
  if (crash === -1) return lastOf(text.trim().split('\n'))
  const report = text.slice(crash).trim().split('\n')
  const before = lastOf(text.slice(0, crash).trim().split('\n')).slice(-CHARACTERS / 4)
  return [before, firstOf(withoutOurs(report, own))].filter(part => part !== '').join('\n')
}

/**
 * `faulthandler` writes a paragraph for each thread: `Thread 0x… (most recent call first):`, then its frames. The one
 * that crashed, `Current thread`, may be the last of them and comes first here.
 */
function withoutOurs(report: readonly string[], own: string): string[] {
  const paragraphs: string[][] = [[]]
  for (const line of report) {
    if (line === '') paragraphs.push([])
    else paragraphs.at(-1)?.push(line)
  }
  const isOurs = (line: string) => line.startsWith(`  File "${own}`)
  const begins = (word: string) => (lines: readonly string[]) => lines[0]?.startsWith(word) ?? false
  const isOther = begins('Thread ')
  const [crash = [], ...rest] = paragraphs.filter(lines => !(isOther(lines) && lines.some(isOurs)))
  const current = rest.filter(begins('Current thread '))
  const others = rest.filter(lines => !current.includes(lines))
  return [crash, ...current, ...others].flatMap(lines => lines.filter(line => !isOurs(line)))
}

function firstOf(lines: readonly string[]): string {
  const more = lines.length > LINES ? [`… and ${lines.length - LINES} more lines`] : []
  return [...lines.slice(0, LINES), ...more].join('\n').slice(0, CHARACTERS)
}

const lastOf = (lines: readonly string[]) => lines.slice(-LINES).join('\n').slice(-CHARACTERS)

/**
 * Words that mark a variable as a secret, when they stand between underscores (or dots, or dashes) of its name.
 * `SSH_AUTH_SOCK`, `KEYBOARD_LAYOUT` and `PWD` are none.
 */
const SECRET_WORDS = new Set([
  'APIKEY',
  'COOKIE',
  'CREDENTIAL',
  'CREDENTIALS',
  'CREDS',
  'KEY',
  'KEYS',
  'PASS',
  'PASSPHRASE',
  'PASSWD',
  'PASSWORD',
  'PASSWORDS',
  'PAT',
  'PGPASSWORD',
  'SECRET',
  'SECRETS',
  'TOKEN',
  'TOKENS',
])

/**
 * What of a caller's environment an owned kernel is given: everything except what is named like a secret, and except
 * Imago's own variables. `pass` lists names that a person wants to get through all the same; Imago's own never do.
 */
export function kernelEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  pass: readonly string[] = [],
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || /^IMAGO_/i.test(name)) continue
    if (pass.includes(name) || !looksSecret(name)) kept[name] = value
  }
  return kept
}

function looksSecret(name: string): boolean {
  return name
    .toUpperCase()
    .split(/[_.-]/)
    .some(word => SECRET_WORDS.has(word))
}

/** Where a program of that name would be, in the order of the caller's `PATH`. */
export function inPath(name: string, env: Readonly<Record<string, string>>): string[] {
  const folders = (env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  return folders.map(folder => join(folder, name))
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
