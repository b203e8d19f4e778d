/**
 * One way to the disk for many who wait: whoever comes while it is under way is served by the next one, together with
 * all others who came meanwhile. Where it fails, those who wait for the next one are failed too: what they wait for
 * was written before, and the system says only once that it gave something up.
 */
export class GroupSync {
  readonly #sync: () => Promise<void>
  #round: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(sync: () => Promise<void>) {
    this.#sync = sync
  }

  /** What was written before is on the disk when this resolves. */
  durable(): Promise<void> {
    if (this.#round === undefined) {
      this.#round = this.#sync().finally(() => {
        this.#round = undefined
      })
      return this.#round
    }
    this.#next ??= this.#after(this.#round)
    return this.#next
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    for (let wait = this.#next ?? this.#round; wait !== undefined; wait = this.#next ?? this.#round)
      await wait.catch(() => undefined)
  }

  async #after(round: Promise<void>): Promise<void> {
    try {
      await round
    } finally {
      this.#next = undefined
    }
    return this.durable()
  }
}
