import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { WireError } from '../errors.ts'
import type { KernelEnd, Stream } from '../kernel.ts'
import { lastWords, REMEMBERED } from './last-words.ts'

/** How long the pipes of a process that has ended may still be read, in ms: a grandchild can hold them open. */
const LAST_READ_MS = 250

export interface ProcessOptions {
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

  /** The last of what it printed, as a clause for a message; empty if it printed nothing. */
  get lastWords(): string {
    const words = lastWords(this.#lastWords, this.#own)
    return words === '' ? '' : ` Its last words:\n${words}`
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
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise(resolve => {
      timer = setTimeout(resolve, LAST_READ_MS)
    })
    await Promise.race([closed, limit])
    clearTimeout(timer)
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
    const how = signal === null ? `ended by itself with exit code ${code}` : `was killed by ${signal}`
    const message = `${this.#name} ${how}.${this.lastWords}`
    return { reason: signal === null ? 'exited' : 'killed', message }
  }
}
