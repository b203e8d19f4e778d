import type { CallId, Evaluated, Evaluation, Kernel, Watcher } from '../../wire/kernel.ts'
import { KernelAround } from './kernel-around.ts'

/** A kernel of which it is known, without asking it, what occupies it. */
export class Occupied extends KernelAround {
  readonly #now: () => number
  /** In the order in which they were asked for, which is the order in which they run. */
  readonly #evaluations = new Set<CallId>()
  readonly #suspended = new Set<string>()
  #since = 0

  constructor(kernel: Kernel, now: () => number) {
    super(kernel)
    this.#now = now
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

  override async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { call } = evaluation
    if (this.#evaluations.size === 0) this.#since = this.#now()
    this.#evaluations.add(call)
    try {
      return await super.evaluate(evaluation, watcher)
    } finally {
      this.#leave(call)
    }
  }

  #leave(call: CallId): void {
    if (this.#evaluations.size > 1) {
      const [first] = this.#evaluations
      if (first === call) this.#since = this.#now()
    }
    this.#evaluations.delete(call)
  }
}
