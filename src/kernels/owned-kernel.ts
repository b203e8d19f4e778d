import pTimeout from 'p-timeout'
import { sentence } from '../../tools/text.ts'
import { WireError } from '../../wire/errors.ts'
import type {
  CallId,
  Evaluated,
  Evaluation,
  Health,
  InterruptReport,
  Kernel,
  KernelEnd,
  KernelIdentity,
  KernelStatus,
  Look,
  ScriptNews,
  Watcher,
} from '../../wire/kernel.ts'
import type { InstalledEngine } from '../../wire/languages.ts'
import { Background } from './background.ts'
import { FairQueue, type Waiter } from './fair-queue.ts'
import { KernelError } from './kernel-error.ts'
import { programEnded, stoppedText } from './refusals.ts'
import { endInShort, type KernelOptions, type KernelRow, LOADING_MS, type NamedKernel } from './rows.ts'

/** What a kernel is started with, each time it is. */
export interface KernelRequest {
  readonly language: string
  readonly name: string
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly script?: string
  readonly args?: readonly string[]
}

/** A kernel that was started, with the process that is ours. */
export interface StartedKernel {
  readonly kernel: Kernel
  readonly pid: number
  /** Where that only speaks to an engine. */
  readonly engine?: InstalledEngine
  /** Resolves once it has ended, in order if it can be. */
  stop(): Promise<void>
  kill(): void
}

/** What a kernel that is started tells besides its answers, from then on. */
export interface KernelListener {
  /** Output that belongs to no evaluation. */
  background(text: string): void
  /** What its start does now, as `loading Swank`. */
  doing(what: string): void
  scripted(news: ScriptNews): void
}

interface OwnedKernelOptions extends KernelOptions {
  launch(request: KernelRequest, listener: KernelListener): Promise<StartedKernel>
  readonly limits: CrashLimits
  /** Throws `KernelError` where the project lets no call begin it. */
  permits(request: KernelRequest): void
}

/** So many deaths within so many milliseconds are a crash loop. */
export interface CrashLimits {
  readonly deaths: number
  readonly withinMs: number
}

/** How long a start waits for the first news of its script, in ms. */
const SCRIPT_MS = 2_000

interface Life {
  readonly started: StartedKernel
  readonly kernel: KernelLife
}

/**
 * One name, and the lives of the kernel that bears it: at most one at a time, each with an epoch of its own.
 *
 * A kernel that died is started again by the next call that wants it, unless it dies too often, or runs a program of
 * the user's: that one is run again only when a person says so.
 */
export class OwnedKernel implements NamedKernel {
  readonly name: string
  readonly group: string
  readonly root: string
  readonly folder: string
  readonly hasProgram: boolean
  readonly program: string
  readonly announced = undefined
  readonly isFollowed = false
  readonly isExpected = false
  readonly mayListenAgain = false
  #request: KernelRequest
  readonly #options: OwnedKernelOptions
  #life: Life | undefined
  #birth: Promise<Kernel> | undefined
  #ending: Promise<void> | undefined
  #deaths: number[] = []
  #looping = false
  #hasLived = false
  /** When its last life began. */
  #since = 0
  #message: string | null = null
  /** What the start that is under way does; undefined where it has not said, and while there is none. */
  #doing: string | undefined
  #lost: string | undefined
  #program = new Program()
  background: Background | undefined

  /** `lost`: how the one before it ended, as a sentence. */
  constructor(request: KernelRequest, options: OwnedKernelOptions, lost?: string) {
    this.name = this.group = request.name
    this.root = this.folder = request.root
    this.hasProgram = request.script !== undefined
    this.program = [request.root, request.language, request.script].join('\0')
    this.#request = request
    this.#options = options
    this.#lost = lost
  }

  get mayBeLoading(): boolean {
    return this.#scriptState() === 'running' && this.#options.now() - this.#since < LOADING_MS
  }

  get alive(): boolean {
    return this.#life !== undefined || this.#birth !== undefined
  }

  get present(): Kernel | undefined {
    return this.#ending === undefined ? this.#life?.kernel : undefined
  }

  get lost(): string | undefined {
    return this.alive ? undefined : this.#lost && endInShort(this.#lost)
  }

  get wasStopped(): boolean {
    return !this.alive && this.#lost === undefined && (this.#hasLived || !this.hasProgram)
  }

  /** How it ended, why it did not start or how its script failed, as far as callers may be told. */
  get #how(): string | null {
    const how = this.#message ?? this.#program.news?.message ?? null
    if (how === null || !this.#options.withholds(this)) return how
    return this.#message === null ? 'its script failed' : endInShort(how)
  }

  row(): KernelRow {
    const { name, language, root, script } = this.#request
    const identity = this.#life?.kernel.identity
    const stopped = identity === undefined ? null : stoppedText(identity.pid)
    return {
      name,
      language,
      implementation: identity?.implementation ?? null,
      state: stopped === null ? this.#state() : 'unresponsive',
      pid: identity?.pid ?? null,
      epoch: identity?.epoch ?? null,
      owned: true,
      attached: null,
      root,
      script: script ?? null,
      script_state: this.#scriptState(),
      running: this.#life?.kernel.running ?? null,
      suspended: this.#life?.kernel.suspended ?? 0,
      message: this.#doing ?? this.#how ?? stopped,
      background: this.background?.row() ?? null,
    }
  }

  over(later = ''): KernelError {
    const { name, root, language, script } = this.#request
    const message = this.row().message ?? 'it was stopped.'
    const how = later === '' ? message : `${sentence(message)}${later}`
    return programEnded({ name, root, language, script, how, again: `imago restart ${name}` })
  }

  /** Its row once it lives, and, if it runs a script, it has said how that goes, or 2 s have passed. */
  async begun(env?: KernelRequest['env']): Promise<KernelRow> {
    await this.#ending
    const { ended: over } = await this.#orBegin(env)
    if (this.#request.script !== undefined) await this.#program.known({ over, limitMs: SCRIPT_MS })
    return this.row()
  }

  /** The kernel as it lives, started if it does not. Callers that come at the same time share one start. */
  async living(_patienceMs?: number, env = this.#request.env): Promise<Kernel> {
    await this.#ending
    if (!this.alive) this.#options.permits(this.#request)
    return this.#orBegin(env)
  }

  async #orBegin(env = this.#request.env): Promise<Kernel> {
    if (this.#life) return this.#life.kernel
    if (this.#birth === undefined) this.#request = { ...this.#request, env }
    this.#birth ??= this.#begin().finally(() => {
      this.#birth = undefined
      this.#doing = undefined
    })
    return this.#birth
  }

  /** Ends it in order. Nothing happens if it has ended already. */
  async stop(): Promise<void> {
    this.#ending ??= this.#end()
    await this.#ending
  }

  /** A new life with the same options; what it died of before is forgiven. */
  async restart(env?: KernelRequest['env']): Promise<KernelRow> {
    await this.stop()
    this.#deaths = []
    this.#looping = false
    this.#hasLived = false
    this.#lost = undefined
    return this.begun(env)
  }

  async interrupt(): Promise<InterruptReport> {
    const { name } = this
    const otherwise = `Try again later, or: imago restart ${name}`
    return this.#life?.kernel.interruptRunning({ name, idle: this.#idle(), otherwise }) ?? notLiving(name)
  }

  async close(): Promise<void> {
    await this.stop()
  }

  #idle(): string {
    const { name } = this.#request
    return this.#scriptState() === 'running'
      ? `No call runs in ${name}. Its script does, and ends only with the image: imago stop ${name}`
      : `Nothing runs in ${name}.`
  }

  #state(): KernelRow['state'] {
    if (this.#birth) return 'starting'
    return this.#life?.kernel.state ?? (this.#looping ? 'crash_loop' : 'ended')
  }

  async #begin(): Promise<Kernel> {
    try {
      this.#permit()
      const started = await this.#options.launch(this.#request, this.#listen())
      const kernel = new KernelLife(started.kernel, this.#options)
      const life = { started, kernel }
      this.#life = life
      this.#hasLived = true
      this.#since = this.#options.now()
      this.#message = null
      this.#lost = undefined
      this.#note(life, 'started')
      this.#options.lives({ name: this.name, root: this.root, kernel })
      void kernel.ended.then(end => this.#ended(life, end))
      return kernel
    } catch (error) {
      throw this.#stillborn(error)
    }
  }

  /** What was heard of an earlier life is forgotten. */
  #listen(): KernelListener {
    const { texts } = this.#options
    const background = texts && new Background(texts.of(this.root))
    const program = new Program()
    this.background = background
    this.#program = program
    return {
      background: text => {
        background?.add(text)
        this.#options.changed()
      },
      doing: what => {
        if (this.#birth !== undefined) this.#doing = what
      },
      scripted: news => program.hear(news),
    }
  }

  #scriptState(): KernelRow['script_state'] {
    const state = this.#program.news?.state ?? null
    return state === 'running' && !this.alive ? null : state
  }

  /** Throws where starting it again is for a person to decide. */
  #permit(): void {
    const { name, script } = this.#request
    if (!this.#looping && (!this.#hasLived || script === undefined)) return
    const { deaths, withinMs } = this.#options.limits
    const why = this.#looping
      ? `ended ${deaths} times within ${withinMs / 1000} s and is not started again by itself`
      : `has ended, and starting it would run ${script} again`
    throw new KernelError('kernel_unavailable', {
      message: `${name} ${why}. ${this.#how ?? ''}`,
      next: `A person can start it again with: imago restart ${name}`,
      details: { reason: this.#looping ? 'crash_loop' : 'ended', kernel: name },
    })
  }

  #stillborn(error: unknown): unknown {
    if (!(error instanceof WireError)) return error
    this.#message = error.message
    if (error.code !== 'KERNEL_NOT_FOUND') this.#countDeath()
    const { name } = this.#request
    return new KernelError('kernel_unavailable', {
      message: `${name} could not be started: ${this.#how}`,
      next: this.#looping ? `imago restart ${name}, once what it says is mended` : null,
      details: { reason: error.code, kernel: name },
      cause: error,
    })
  }

  #ended(life: Life, end: KernelEnd): void {
    if (this.#life !== life) return
    this.#life = undefined
    const { hasQuit } = life.kernel
    const how = hasQuit ? `${this.name} ended as its code asked.` : end.message
    this.#message = how
    this.#note(life, how)
    if (end.reason === 'closed') return
    this.#lost = how
    if (!hasQuit) this.#countDeath()
  }

  #note({ kernel }: Life, what: string): void {
    this.#options.noted({ kernel: this.name, epoch: kernel.identity.epoch, what })
  }

  #countDeath(): void {
    const { deaths, withinMs } = this.#options.limits
    const now = this.#options.now()
    this.#deaths = [...this.#deaths.filter(death => now - death < withinMs), now]
    this.#looping = this.#deaths.length >= deaths
  }

  async #end(): Promise<void> {
    try {
      await this.#birth?.catch(() => {})
      const life = this.#life
      if (!life) return
      await life.started.stop()
      this.#ended(life, { reason: 'closed', message: await life.kernel.ended.then(end => end.message) })
    } finally {
      this.#ending = undefined
    }
  }
}

/** What is known of the program that a kernel was started with, in one life of it. */
class Program {
  /** The latest; undefined before there was any. */
  news: ScriptNews | undefined
  readonly #told: Promise<void>
  #tell: () => void = () => {}

  constructor() {
    this.#told = new Promise(resolve => {
      this.#tell = resolve
    })
  }

  hear(news: ScriptNews): void {
    this.news = news
    this.#tell()
  }

  /** Resolves at the first news, when `over` does, or after `limitMs`: whatever comes first. */
  async known({ over, limitMs }: { over: Promise<unknown>; limitMs: number }): Promise<void> {
    await pTimeout(Promise.race([this.#told, over]), { milliseconds: limitMs, fallback: () => {} })
  }
}

/** How long an image may take to say what it runs, in ms. */
const STATUS_MS = 2_000

/**
 * Evaluations that an image may have been given and not ended, so that it does not wait for the next one: few at first, and
 * twice as many with each that ends, up to what takes it so many milliseconds. All others wait here, where callers take
 * turns.
 */
const AHEAD = { ms: 20, least: 2, most: 64 } as const

/** How long the answer to what ends a kernel waits for its end, in milliseconds. */
const ENDING_MS = 5_000

/**
 * One life of a named kernel, of which it is known, without asking the image, what occupies it. Its evaluations run one at
 * a time: those of one caller in the order in which they were asked for, those of several callers in turn.
 */
export class KernelLife implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #kernel: Kernel
  readonly #options: Pick<KernelOptions, 'now' | 'changed'>
  /** Those that the image was given, in the order in which they run. */
  readonly #evaluations = new Set<CallId>()
  readonly #queue = new FairQueue()
  #ahead: number = AHEAD.least
  readonly #suspended = new Set<string>()
  /** Whether code has asked for the end of the kernel, as `Quit[]` does. */
  hasQuit = false
  /** When the first of them began. */
  #since = 0

  constructor(kernel: Kernel, options: Pick<KernelOptions, 'now' | 'changed'>) {
    this.identity = kernel.identity
    this.ended = kernel.ended
    this.#kernel = kernel
    this.#options = options
    kernel.watchSuspensions(news => {
      if (news.type === 'suspended') this.#suspended.add(news.suspension.id)
      else this.#suspended.delete(news.id)
    })
    void kernel.ended.then(end => this.#turnAway(end))
  }

  get health(): Health {
    return this.#kernel.health
  }

  /** How many evaluations are suspended. */
  get suspended(): number {
    return this.#suspended.size
  }

  /** The evaluation that runs, and for how long it has. */
  get running(): { readonly call: CallId; readonly elapsed_ms: number } | null {
    const [call] = this.#evaluations
    return call === undefined ? null : { call, elapsed_ms: Math.round(this.#options.now() - this.#since) }
  }

  /** As rows tell it while there is a link. */
  get state(): 'ready' | 'busy' | Exclude<Health, 'responsive'> {
    if (this.health !== 'responsive') return this.health
    return this.running === null ? 'ready' : 'busy'
  }

  /** The evaluation that runs while this one waits its turn; null where it does not wait. */
  before(waiting: CallId): { readonly call: CallId; readonly elapsed_ms: number } | null {
    const waits = this.#evaluations.has(waiting) || this.#queue.of(waiting).length > 0
    const { running } = this
    return waits && running !== null && running.call !== waiting ? running : null
  }

  readonly watchHealth: Kernel['watchHealth'] = listener => this.#kernel.watchHealth(listener)

  readonly watchSuspensions: Kernel['watchSuspensions'] = listener => this.#kernel.watchSuspensions(listener)

  readonly watchNews: NonNullable<Kernel['watchNews']> = (...watched) => this.#kernel.watchNews?.(...watched)

  async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { call } = evaluation
    if (this.#evaluations.size >= this.#ahead || this.#queue.size > 0) {
      const begins = await this.#turnOf(evaluation, watcher)
      if (!begins) return { type: 'withdrawn' }
    }
    if (this.#evaluations.size === 0) {
      this.#since = this.#options.now()
      this.#ahead = AHEAD.least
    }
    this.#evaluations.add(call)
    this.#options.changed()
    try {
      const end = await this.#kernel.evaluate(evaluation, watcher)
      if ('elapsed_ms' in end) {
        const most = Math.min(2 * this.#ahead, AHEAD.ms / end.elapsed_ms, AHEAD.most)
        this.#ahead = Math.max(most, AHEAD.least)
      }
      // Whoever reads that it has ended goes on at once, and would still be given to it.
      if (end.type === 'left' && end.ends) {
        this.hasQuit = true
        await pTimeout<unknown, void>(this.ended, { milliseconds: ENDING_MS, fallback() {} })
      }
      return end
    } finally {
      const [first] = this.#evaluations
      if (first === call) this.#since = this.#options.now()
      this.#evaluations.delete(call)
      this.#options.changed()
      if (this.#queue.size > 0) this.#fill()
    }
  }

  readonly look: Kernel['look'] = (...asked) => this.#kernel.look(...asked)

  async interrupt(call: CallId): Promise<InterruptReport> {
    const waiting = this.#evaluations.has(call) ? [] : this.#queue.of(call)
    if (waiting.length === 0) return this.#kernel.interrupt(call)
    for (const waiter of waiting) waiter.withdraw()
    return { outcome: 'withdrawn', message: 'it still waited its turn, and will not run' }
  }

  async status(look: Look): Promise<KernelStatus> {
    const { running, queued } = await this.#kernel.status(look)
    return { running, queued: queued + this.#queue.size }
  }

  async detach(): Promise<void> {
    await this.#kernel.detach?.()
  }

  close(): Promise<void> {
    return this.#kernel.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Stops what runs now, and nothing that comes after it. Throws `KernelError` if the image says nothing. */
  async interruptRunning({ name, idle, otherwise }: InterruptOptions): Promise<InterruptReport> {
    const running = this.running ?? (await this.#statusOf({ name, otherwise })).running
    return running === null ? { outcome: 'not_running', message: idle } : this.interrupt(running.call)
  }

  /** Resolves when its turn has come, with false where it was withdrawn before. Throws `BUSY` where too much waits. */
  async #turnOf(evaluation: Evaluation, { signal }: Watcher): Promise<boolean> {
    // What was begun by an earlier daemon takes nobody's turn; an image that does not answer says so by itself.
    if (evaluation.again || this.health !== 'responsive') return true
    if (signal?.aborted) return false
    let withdraw = () => {}
    try {
      return await new Promise<boolean>((resolve, reject) => {
        const waiter: Waiter = {
          evaluation,
          begin: () => {
            // Nobody else may be given the place before this goes on.
            this.#evaluations.add(evaluation.call)
            resolve(true)
          },
          withdraw: () => withdraw(),
          fail: reject,
        }
        withdraw = () => {
          this.#queue.remove(waiter)
          resolve(false)
        }
        this.#queue.add(waiter)
        signal?.addEventListener('abort', withdraw, { once: true })
      })
    } finally {
      signal?.removeEventListener('abort', withdraw)
    }
  }

  /** Gives the image what it may have besides. */
  #fill(): void {
    while (this.#evaluations.size < this.#ahead && this.#queue.size > 0 && this.health !== 'ended')
      this.#queue.next()?.begin()
  }

  /** The image has ended: what waited was not given to it. */
  #turnAway({ message }: KernelEnd): void {
    const why = new KernelError('kernel_unavailable', {
      message: `${message} The call still waited its turn there: nothing of it ran.`,
      next: 'Call again: it begins where a kernel lives then.',
    })
    for (let waiter = this.#queue.next(); waiter !== undefined; waiter = this.#queue.next()) waiter.fail(why)
  }

  /** What runs, as the image itself says. */
  async #statusOf({ name, otherwise }: Omit<InterruptOptions, 'idle'>): Promise<KernelStatus> {
    try {
      return await this.status({ deadlineMs: STATUS_MS })
    } catch (cause) {
      if (!(cause instanceof WireError)) throw cause
      throw new KernelError('kernel_unavailable', {
        message: `${name} does not say what runs in it, so nothing was asked to stop: ${cause.message}`,
        next: otherwise,
        details: { reason: cause.code, kernel: name },
        cause,
      })
    }
  }
}

interface InterruptOptions {
  readonly name: string
  /** What to say where nothing runs. */
  readonly idle: string
  /** What a person can do where the image says nothing. */
  readonly otherwise: string
}

/** What there is to say of an interrupt where no image lives. */
export const notLiving = (name: string): InterruptReport => ({
  outcome: 'not_running',
  message: `${name} does not live.`,
})
