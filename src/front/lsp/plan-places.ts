import type { DaemonClient } from '../client.ts'

/** A line, from 1, at which a plan that waits would change a file. */
interface Place {
  readonly path: string
  readonly line: number
}

interface PlacesOptions {
  /** The plans that wait now. */
  plans(): readonly string[]
  /** Undefined where the editor has no seat: seats alone see where a plan changes files. */
  client(): DaemonClient | undefined
  /** All of them, once they are others. */
  tell(places: readonly Place[]): void
}

/** Where the plans of a project would change files, for the signs of an editor. */
export class PlanPlaces {
  readonly #options: PlacesOptions
  #known = new Map<string, readonly Place[]>()
  #told = '[]'
  #turn: Promise<void> = Promise.resolve()

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  /** The plans that wait have changed, or the seat. */
  changed(): void {
    this.#turn = this.#turn.then(() => this.#look())
  }

  async #look(): Promise<void> {
    const client = this.#options.client()
    const found = new Map<string, readonly Place[]>()
    for (const plan of client === undefined ? [] : this.#options.plans()) {
      const places = this.#known.get(plan) ?? (await placesOf(client, plan))
      if (places !== undefined) found.set(plan, places)
    }
    this.#known = found
    const all = [...found.values()].flat()
    const text = JSON.stringify(all)
    if (text === this.#told) return
    this.#told = text
    this.#options.tell(all)
  }
}

/** Undefined where it waits no more, or the seat was lost meanwhile. */
async function placesOf(client: DaemonClient | undefined, plan: string): Promise<Place[] | undefined> {
  const found = await client?.request('plan', { plan }).catch(() => undefined)
  if (found === undefined || found.body === null) return undefined
  return found.files.flatMap(({ path, hunks }) => hunks.map(({ line }) => ({ path, line })))
}
