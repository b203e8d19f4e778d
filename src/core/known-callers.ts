import type { Caller } from './call.ts'
import { originOf } from './pauses.ts'
import type { CallerRow } from './suspended-row.ts'

/** Callers that are remembered; those that have called least recently go first. */
const MOST = 64
const MOST_NAMES = 16

interface Known extends CallerRow {
  readonly key: string
  /** All that its connections have called themselves. */
  readonly names: ReadonlySet<string>
}

/** Who has called lately, so that a person can name whom to put something before. */
export class KnownCallers {
  readonly #known = new Map<string, Known>()
  readonly #isGone: (key: string) => boolean
  #named = 0

  constructor(isGone: (key: string) => boolean = () => false) {
    this.#isGone = isGone
  }

  note(noted: Pick<Caller, 'who' | 'kind' | 'root' | 'origin'>): void {
    const key = originOf(noted)
    const known = this.#known.get(key)
    const { who, root } = noted
    this.#known.delete(key)
    const caller = known?.caller ?? `caller-${++this.#named}`
    const names = new Set([...(known?.names ?? []), who].slice(-MOST_NAMES))
    this.#known.set(key, { key, caller, who, root, names })
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Whoever called last stands first; without those whose connections have all ended. */
  rows(): readonly CallerRow[] {
    return this.#there.reverse().map(({ caller, who, root }) => ({ caller, who, root }))
  }

  /** By name: `caller-3`, or what it calls itself, where only one does so. */
  find(name: string): { readonly key: string; readonly who: string } | 'unknown' | 'several' {
    const all = this.#there
    const found = all.filter(({ caller }) => caller === name)
    const [one, ...others] = found.length > 0 ? found : all.filter(({ names }) => names.has(name))
    if (one === undefined) return 'unknown'
    return others.length > 0 ? 'several' : { key: one.key, who: one.who }
  }

  get #there(): Known[] {
    return [...this.#known.values()].filter(({ key }) => !this.#isGone(key))
  }
}
