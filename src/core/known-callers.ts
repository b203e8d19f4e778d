import type { Caller } from './call.ts'
import { originOf } from './pauses.ts'
import type { CallerRow } from './suspended-row.ts'

/** Callers that are remembered; those that have called least recently go first. */
const MOST = 64

interface Known extends CallerRow {
  readonly key: string
}

/** Who has called lately, so that a person can name whom to put something before. */
export class KnownCallers {
  readonly #known = new Map<string, Known>()
  #named = 0

  note(caller: Pick<Caller, 'who' | 'kind' | 'root' | 'origin'>): void {
    const key = originOf(caller)
    const known = this.#known.get(key)
    const { who, root } = caller
    this.#known.delete(key)
    this.#known.set(key, { key, caller: known?.caller ?? `caller-${++this.#named}`, who, root })
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Whoever called last stands first. */
  rows(): readonly CallerRow[] {
    return [...this.#known.values()].reverse().map(({ caller, who, root }) => ({ caller, who, root }))
  }

  /** By name: `caller-3`, or what it calls itself, where only one does so. */
  find(name: string): { readonly key: string; readonly who: string } | 'unknown' | 'several' {
    const all = [...this.#known.values()]
    const found = all.filter(({ caller }) => caller === name)
    const [one, ...others] = found.length > 0 ? found : all.filter(({ who }) => who === name)
    if (one === undefined) return 'unknown'
    return others.length > 0 ? 'several' : { key: one.key, who: one.who }
  }
}
