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
  Looked,
  LookName,
  Looks,
  ScriptNews,
  SuspensionNews,
  Watcher,
} from '../../wire/kernel.ts'
import type { TextStore } from '../text/texts.ts'
import { Background } from './background.ts'
import { KernelError } from './kernel-error.ts'
import { programEnded } from './refusals.ts'
import type { KernelNews, KernelRow, Named, NewLife } from './rows.ts'

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
  /** Resolves once it has ended, in order if it can be. */
  stop(): Promise<void>
  kill(): void
}

/** What a kernel that is started tells besides its answers, from then on. */
export interface Ears {
  /** Output that belongs to no evaluation. */
  background(text: string): void
  scripted(news: ScriptNews): void
}

interface Starting {
  launch(request: KernelRequest, ears: Ears): Promise<StartedKernel>
  /** Where background output is kept; without, it is not. */
  readonly texts: TextStore | undefined
  /** It lives, or has ended. */
  noted(news: KernelNews): void
  /** It lives, from now until `ended` of its kernel. */
  lives(life: NewLife): void
  /** Milliseconds on a clock that only goes forward. */
  now(): number
  readonly limits: CrashLimits
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
export class NamedKernel implements Named {
  readonly request: KernelRequest
  readonly #starting: Starting
  #life: Life | undefined
  #birth: Promise<Kernel> | undefined
  #ending: Promise<void> | undefined
  #deaths: number[] = []
  #looping = false
  #hasLived = false
  #message: string | null = null
  #lost: string | undefined
  #program = new Program()
  #background: Background | undefined

  constructor(request: KernelRequest, starting: Starting) {
    this.request = request
    this.#starting = starting
  }

  get name(): string {
    return this.request.name
  }

  get root(): string {
    return this.request.root
  }

  get hasProgram(): boolean {
    return this.request.script !== undefined
  }

  /** Whether it lives, or is about to. */
  get alive(): boolean {
    return this.#life !== undefined || this.#birth !== undefined
  }

  /** The kernel while it lives, and is not about to end. */
  get present(): Kernel | undefined {
    return this.#ending === undefined ? this.#life?.kernel : undefined
  }

  /** How its last image was lost, if it ended by itself and no new one has begun. */
  get lost(): string | undefined {
    return this.alive ? undefined : this.#lost
  }

  row(): KernelRow {
    const { name, language, root, script } = this.request
    const identity = this.#life?.kernel.identity
    return {
      name,
      language,
      implementation: identity?.implementation ?? null,
      state: this.#state(),
      pid: identity?.pid ?? null,
      epoch: identity?.epoch ?? null,
      owned: true,
      attached: null,
      root,
      script: script ?? null,
      script_state: this.#scriptState(),
      running: this.#life?.kernel.running ?? null,
      suspended: this.#life?.kernel.suspended ?? 0,
      message: this.#message ?? this.#program.news?.message ?? null,
      background: this.#background?.row() ?? null,
    }
  }

  over(): KernelError {
    const { name, root, language, script = '' } = this.request
    return programEnded({ name, root, language, script, how: this.row().message ?? 'it was stopped.' })
  }

  /** Its row once it lives, and, if it runs a script, it has said how that goes, or 2 s have passed. */
  async begun(): Promise<KernelRow> {
    const { ended: over } = await this.living()
    if (this.request.script !== undefined) await this.#program.known({ over, limitMs: SCRIPT_MS })
    return this.row()
  }

  /** The kernel as it lives, started if it does not. Callers that come at the same time share one start. */
  async living(): Promise<Kernel> {
    await this.#ending
    if (this.#life) return this.#life.kernel
    this.#birth ??= this.#begin().finally(() => {
      this.#birth = undefined
    })
    return this.#birth
  }

  /** Ends it in order. Nothing happens if it has ended already. */
  async stop(): Promise<void> {
    this.#ending ??= this.#end()
    await this.#ending
  }

  /** A new life with the same options; what it died of before is forgiven. */
  async restart(): Promise<KernelRow> {
    await this.stop()
    this.#deaths = []
    this.#looping = false
    this.#hasLived = false
    this.#lost = undefined
    return this.begun()
  }

  /** Stops what runs now, and nothing that comes after it. */
  async interrupt(): Promise<InterruptReport> {
    const { name } = this
    const otherwise = `Try again later, or: imago restart ${name}`
    return this.#life?.kernel.interruptRunning({ name, idle: this.#idle(), otherwise }) ?? notLiving(name)
  }

  async close(): Promise<void> {
    await this.stop()
  }

  #idle(): string {
    const { name } = this.request
    return this.#scriptState() === 'running'
      ? `No call runs in ${name}. Its script does, and ends only with the image: imago stop ${name}`
      : `Nothing runs in ${name}.`
  }

  #state(): KernelRow['state'] {
    if (this.#birth) return 'starting'
    if (this.#life) {
      const { health, running } = this.#life.kernel
      if (health !== 'responsive') return health
      return running === null ? 'ready' : 'busy'
    }
    return this.#looping ? 'crash_loop' : 'ended'
  }

  async #begin(): Promise<Kernel> {
    try {
      this.#permit()
      const started = await this.#starting.launch(this.request, this.#listen())
      const kernel = new KernelLife(started.kernel, () => this.#starting.now())
      const life = { started, kernel }
      this.#life = life
      this.#hasLived = true
      this.#message = null
      this.#lost = undefined
      this.#note(life, 'started')
      this.#starting.lives({ name: this.name, root: this.root, kernel })
      void kernel.ended.then(end => this.#ended(life, end))
      return kernel
    } catch (error) {
      throw this.#stillborn(error)
    }
  }

  /** What was heard of an earlier life is forgotten. */
  #listen(): Ears {
    const { texts } = this.#starting
    const background = texts && new Background(texts)
    const program = new Program()
    this.#background = background
    this.#program = program
    return { background: text => background?.add(text), scripted: news => program.hear(news) }
  }

  #scriptState(): KernelRow['script_state'] {
    const state = this.#program.news?.state ?? null
    return state === 'running' && !this.alive ? null : state
  }

  /** Throws where starting it again is for a person to decide. */
  #permit(): void {
    const { name, script } = this.request
    const next = `A person can start it again with: imago restart ${name}`
    if (this.#looping) {
      const { deaths, withinMs } = this.#starting.limits
      const message = `${name} ended ${deaths} times within ${withinMs / 1000} s and is not started again by itself. ${this.#message}`
      throw new KernelError('kernel_unavailable', {
        message,
        next,
        details: { reason: 'crash_loop', kernel: name },
      })
    }
    if (this.#hasLived && script !== undefined) {
      const message = `${name} has ended, and starting it would run ${script} again. ${this.#message ?? ''}`
      throw new KernelError('kernel_unavailable', {
        message,
        next,
        details: { reason: 'ended', kernel: name },
      })
    }
  }

  #stillborn(error: unknown): unknown {
    if (!(error instanceof WireError)) return error
    this.#message = error.message
    if (error.code !== 'KERNEL_NOT_FOUND') this.#countDeath()
    const { name } = this.request
    return new KernelError('kernel_unavailable', {
      message: `${name} could not be started: ${error.message}`,
      next: this.#looping ? `imago restart ${name}, once what it says is mended` : null,
      details: { reason: error.code, kernel: name },
      cause: error,
    })
  }

  #ended(life: Life, end: KernelEnd): void {
    if (this.#life !== life) return
    this.#life = undefined
    this.#message = end.message
    this.#note(life, end.message)
    if (end.reason === 'closed') return
    this.#lost = end.message
    this.#countDeath()
  }

  #note({ kernel }: Life, what: string): void {
    this.#starting.noted({ kernel: this.name, epoch: kernel.identity.epoch, what })
  }

  #countDeath(): void {
    const { deaths, withinMs } = this.#starting.limits
    const now = this.#starting.now()
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
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise(resolve => {
      timer = setTimeout(resolve, limitMs)
    })
    await Promise.race([this.#told, over, limit])
    clearTimeout(timer)
  }
}

/** How long an image may take to say what it runs, in ms. */
const STATUS_MS = 2_000

/** One life of a named kernel, of which it is known, without asking the image, what occupies it. */
export class KernelLife implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #kernel: Kernel
  readonly #now: () => number
  /** In the order in which they were asked for, which is the order in which they run. */
  readonly #evaluations = new Set<CallId>()
  readonly #suspended = new Set<string>()
  /** When the first of them began. */
  #since = 0

  /** `now`: milliseconds on a clock that only goes forward. */
  constructor(kernel: Kernel, now: () => number) {
    this.identity = kernel.identity
    this.ended = kernel.ended
    this.#kernel = kernel
    this.#now = now
    kernel.watchSuspensions(news => {
      if (news.type === 'suspended') this.#suspended.add(news.suspension.id)
      else this.#suspended.delete(news.id)
    })
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
    return call === undefined ? null : { call, elapsed_ms: Math.round(this.#now() - this.#since) }
  }

  watchHealth(listener: (health: Health) => void): () => void {
    return this.#kernel.watchHealth(listener)
  }

  watchSuspensions(listener: (news: SuspensionNews) => void): () => void {
    return this.#kernel.watchSuspensions(listener)
  }

  async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { call } = evaluation
    if (this.#evaluations.size === 0) this.#since = this.#now()
    this.#evaluations.add(call)
    try {
      return await this.#kernel.evaluate(evaluation, watcher)
    } finally {
      const [first] = this.#evaluations
      if (first === call) this.#since = this.#now()
      this.#evaluations.delete(call)
    }
  }

  look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>> {
    return this.#kernel.look(name, query, look)
  }

  interrupt(call: CallId): Promise<InterruptReport> {
    return this.#kernel.interrupt(call)
  }

  status(look: Look): Promise<KernelStatus> {
    return this.#kernel.status(look)
  }

  close(): Promise<void> {
    return this.#kernel.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Stops what runs now, and nothing that comes after it. Throws `KernelError` if the image says nothing. */
  async interruptRunning({ name, idle, otherwise }: Interrupting): Promise<InterruptReport> {
    const running = this.running ?? (await this.#statusOf({ name, otherwise })).running
    return running === null ? { outcome: 'not_running', message: idle } : this.interrupt(running.call)
  }

  /** What runs, as the image itself says. */
  async #statusOf({ name, otherwise }: Omit<Interrupting, 'idle'>): Promise<KernelStatus> {
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

interface Interrupting {
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
