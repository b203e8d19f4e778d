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
  SuspensionNews,
  Watcher,
} from '../../wire/kernel.ts'
import { KernelError } from './kernel-error.ts'

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
