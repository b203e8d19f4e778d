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

/** A kernel that passes all it is asked on to another; what is different about it is overridden. */
export class KernelAround implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.identity = kernel.identity
    this.ended = kernel.ended
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

  evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    return this.#kernel.evaluate(evaluation, watcher)
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
