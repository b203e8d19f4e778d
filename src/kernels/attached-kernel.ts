import type { InterruptReport, Kernel, KernelEnd } from '../../wire/kernel.ts'
import type { Joining, Programs } from '../../wire/programs.ts'
import type { TextStore } from '../text/texts.ts'
import { Background } from './background.ts'
import { KernelError } from './kernel-error.ts'
import { KernelLife, notLiving } from './named-kernel.ts'
import { wayBack } from './refusals.ts'
import type { Attachment } from './remembered.ts'
import type { KernelNews, KernelRow, Named, NewLife } from './rows.ts'

/** How long a call waits for a link that is being made again, in ms. */
const AWAY_MS = 10_000

/** How long the row of a program that has ended stays beside another one of its project, in ms. */
const PAST_MS = 600_000

/** What is known before the program has been spoken to: all but what only it can say. */
export type Sought = Omit<Attachment, 'epoch' | 'implementation' | 'pid'> &
  Partial<Pick<Attachment, 'epoch' | 'implementation' | 'pid'>>

interface AttachedOptions {
  readonly programs: Programs
  readonly texts: TextStore | undefined
  /** Milliseconds on a clock that only goes forward. */
  now(): number
  /** What it prints by itself, as it comes. */
  heard(text: string): void
  /** It was joined, or is no kernel any more. */
  noted(news: KernelNews): void
  /** It was joined, until `ended` of its kernel. */
  lives(life: NewLife): void
  /** It has ended by itself, and is to be joined by nobody any more. */
  ended(): void
}

/**
 * A program of the user's under a name of ours. It is joined and let go of, and never ended, restarted or signalled.
 *
 * Its one life here is one image: when its link breaks, the same image is joined again, and calls wait for that a
 * little. A program that was started again is another image, which only a person joins.
 */
export class AttachedKernel implements Named {
  readonly #options: AttachedOptions
  readonly #background: Background | undefined
  readonly #over = new AbortController()
  /** Callers that wait until it can be spoken to, or never will. */
  readonly #waiting = new Set<() => void>()
  #sought: Sought
  #kernel: KernelLife | undefined
  /** Why it cannot be spoken to at this moment; null while it can. */
  #away: string | null = 'it is being joined'
  #end: string | undefined
  /** When it ended, on the clock that only goes forward. */
  #endedAt = 0

  constructor(sought: Sought, options: AttachedOptions) {
    this.#sought = sought
    this.#options = options
    this.#background = options.texts && new Background(options.texts)
  }

  get name(): string {
    return this.#sought.name
  }

  get root(): string {
    return this.#sought.root
  }

  get hasProgram(): true {
    return true
  }

  get alive(): boolean {
    return this.#end === undefined
  }

  get present(): Kernel | undefined {
    return this.alive && this.#away === null ? this.#kernel : undefined
  }

  get lost(): undefined {
    return undefined
  }

  /** What the next daemon needs to join it again; undefined before it has been joined, and once it has ended. */
  get attachment(): Attachment | undefined {
    const { epoch, implementation, pid } = this.#sought
    if (!this.alive || epoch === undefined || implementation === undefined || pid === undefined)
      return undefined
    return { ...this.#sought, epoch, implementation, pid }
  }

  /** Whether that is the same program. */
  is({ address, process }: Pick<Attachment, 'address' | 'process'>): boolean {
    const own = this.#sought.process
    if (own === null || process === null) return this.#sought.address === address
    return own.pid === process.pid && own.started === process.started
  }

  /** Whether it has nothing to say any more beside `other`, which is attached now: see `editor-protocol.md`. */
  isPastBeside(other: AttachedKernel): boolean {
    if (this === other || this.alive || this.root !== other.root) return false
    return this.#isSameProgram(other) || this.#options.now() - this.#endedAt > PAST_MS
  }

  /** Joins it for the first time. Throws what `Programs.attach` throws. */
  async join(key: string | undefined): Promise<void> {
    this.#joined(await this.#options.programs.attach(this.#joining(key)))
  }

  /** Joins the image that a daemon before this one was attached to, as soon as that can be. */
  async rejoin(key: string | undefined): Promise<void> {
    const { epoch } = this.#sought
    if (epoch === undefined) throw new Error(`${this.name} was never joined`)
    const joining = { ...this.#joining(key), epoch, signal: this.#over.signal }
    const found = await this.#options.programs.rejoin(joining)
    if (typeof found === 'string') this.giveUp(found)
    else this.#joined(found)
  }

  /** It cannot be joined, and why. */
  giveUp(why: string): void {
    if (!this.alive) return
    this.#end = why
    this.#endedAt = this.#options.now()
    this.#note(why)
    this.#wake()
    if (!this.#over.signal.aborted) this.#options.ended()
  }

  row(): KernelRow {
    const { name, root, language, implementation = null, pid = null, epoch = null } = this.#sought
    const { address, announced, program, cwd } = this.#sought
    return {
      name,
      language,
      implementation,
      state: this.#state(),
      pid: this.alive ? pid : null,
      epoch: this.alive ? epoch : null,
      owned: false,
      attached: { address, announced, program, cwd },
      root,
      script: null,
      script_state: null,
      running: this.alive ? (this.#kernel?.running ?? null) : null,
      suspended: this.alive ? (this.#kernel?.suspended ?? 0) : 0,
      message: this.#message(),
      background: this.#background?.row() ?? null,
    }
  }

  over(): KernelError {
    return new KernelError('kernel_unavailable', {
      message: sentence(this.#end ?? `${this.name} has ended.`),
      next: wayBack(this.#sought),
      details: { reason: 'ended', kernel: this.name },
    })
  }

  async living(): Promise<Kernel> {
    if (this.alive && this.#away !== null) await this.#settled()
    if (!this.alive) throw this.over()
    if (this.#kernel !== undefined && this.#away === null) return this.#kernel
    throw this.#isAway()
  }

  #isAway(): KernelError {
    return new KernelError('kernel_unavailable', {
      message: `The link to ${this.#who()} broke and is being made again: ${this.#away}.`,
      next: 'Try again later. The program itself was left alone.',
      details: { reason: 'away', kernel: this.name },
    })
  }

  stop(): Promise<never> {
    return Promise.reject(this.#notOurs())
  }

  restart(): Promise<never> {
    return Promise.reject(this.#notOurs())
  }

  async interrupt(): Promise<InterruptReport> {
    if (this.alive && this.#away !== null) throw this.#isAway()
    const { name } = this
    if (!this.alive || this.#kernel === undefined) return notLiving(name)
    return this.#kernel.interruptRunning({
      name,
      idle: `No call of Imago's runs in ${name}; what the program does by itself goes on.`,
      otherwise: 'Try again later. The program itself was left alone.',
    })
  }

  /** Lets go of it; what runs in it goes on. */
  async close(): Promise<void> {
    this.#over.abort()
    await this.#kernel?.close()
    this.giveUp(`${this.name} was let go of, and runs on.`)
  }

  /** It, or another life of it. */
  #isSameProgram(other: AttachedKernel): boolean {
    const [{ announced, program, cwd }, its] = [this.#sought, other.#sought]
    const isCalledSo = announced !== null && announced === its.announced
    return isCalledSo || (!!program && program === its.program && cwd === its.cwd)
  }

  #joining(key: string | undefined): Joining {
    const { name, address, process, secret } = this.#sought
    return {
      name,
      address,
      process,
      key,
      open: secret.from === 'none',
      found: seen => {
        this.#sought = { ...this.#sought, process: seen }
      },
      background: text => {
        this.#background?.add(text)
        this.#options.heard(text)
      },
      away: why => {
        this.#away = why === null ? null : why.replace(/[.\s]+$/, '')
        if (why === null) this.#wake()
      },
    }
  }

  #joined(joined: Kernel): void {
    const { epoch, implementation, language, pid } = joined.identity
    const kernel = new KernelLife(joined, () => this.#options.now())
    this.#sought = { ...this.#sought, epoch, implementation, language, pid }
    this.#kernel = kernel
    this.#away = null
    this.#note('attached')
    this.#options.lives({ name: this.name, root: this.root, kernel })
    this.#wake()
    void kernel.ended.then(end => this.#lost(end))
  }

  #note(what: string): void {
    this.#options.noted({ kernel: this.name, epoch: this.#sought.epoch ?? null, what })
  }

  #lost({ message }: KernelEnd): void {
    this.giveUp(message)
  }

  /** Resolves when it can be spoken to, or never will, or after a while. */
  #settled(): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(limit)
        this.#waiting.delete(done)
        resolve()
      }
      const limit = setTimeout(done, AWAY_MS)
      this.#waiting.add(done)
    })
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  #state(): KernelRow['state'] {
    if (!this.alive) return 'ended'
    if (this.#kernel === undefined || this.#away !== null) return 'away'
    const { health, running } = this.#kernel
    if (health !== 'responsive') return health
    return running === null ? 'ready' : 'busy'
  }

  #message(): string | null {
    if (this.#end !== undefined) return `${sentence(this.#end)} ${wayBack(this.#sought)}`
    return this.#away === null ? null : `Its link is being made again: ${sentence(this.#away)}`
  }

  #who(): string {
    const { pid } = this.#sought
    return pid === undefined ? this.name : `${this.name} (process ${pid})`
  }

  #notOurs(): KernelError {
    return new KernelError('kernel_unavailable', {
      message: `${this.#who()} is a program of yours that Imago is attached to, and Imago never ends such a program.`,
      next: `imago detach ${this.name} lets go of it, and it runs on`,
      details: { reason: 'not_owned', kernel: this.name },
    })
  }
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)
