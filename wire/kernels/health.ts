import type { Health } from '../kernel.ts'

/** Who wants to know when the health of a kernel changes. */
export class HealthWatch {
  readonly #listeners = new Set<(health: Health) => void>()

  /** Returns what ends the watching. */
  add(listener: (health: Health) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(health: Health): void {
    for (const listener of this.#listeners) listener(health)
  }
}
