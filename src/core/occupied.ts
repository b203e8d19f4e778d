import type {
  CallId,
  Evaluated,
  Evaluation,
  Health,
  Kernel,
  KernelEnd,
  KernelIdentity,
  Look,
  LookName,
  Looks,
  SuspensionNews,
  Watcher,
} from '../../wire/kernel.ts'

/** A kernel of which it is known, without asking it, what occupies it. */
export class Occupied implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #kernel: Kernel
  readonly #now: () => number
  /** In the order in which they were asked for, which is the order in which they run. */
  readonly #evaluations = new Set<CallId>()
  readonly #suspended = new Set<string>()
  #since = 0

  constructor(kernel: Kernel, now: () => number) {
    this.#kernel = kernel
    this.#now = now
    this.identity = kernel.identity
    this.ended = kernel.ended
    kernel.watchSuspensions(news => {
      if (news.type === 'suspended') this.#suspended.add(news.suspension.id)
      else this.#suspended.delete(news.id)
    })
  }

  /** How many evaluations wait where an error happened. */
  get suspended(): number {
    return this.#suspended.size
  }

  /** The evaluation that runs, and for how long it has. */
  get running(): { readonly call: CallId; readonly elapsed_ms: number } | null {
    const [call] = this.#evaluations
    return call === undefined ? null : { call, elapsed_ms: Math.round(this.#now() - this.#since) }
  }

  get health(): Health {
    return this.#kernel.health
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
      this.#evaluations.delete(call)
      if (first === call) this.#since = this.#now()
    }
  }

  look<Name extends LookName>(name: Name, query: Looks[Name]['query'], look: Look) {
    return this.#kernel.look(name, query, look)
  }

  interrupt(call: CallId) {
    return this.#kernel.interrupt(call)
  }

  status(look: Look) {
    return this.#kernel.status(look)
  }

  close(): Promise<void> {
    return this.#kernel.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
