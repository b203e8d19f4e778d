import type { Caller } from './call.ts'
import { originOf } from './call.ts'
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
  #latest: Known | undefined
  #named = 0

  constructor(isGone: (key: string) => boolean = () => false) {
    this.#isGone = isGone
  }

  note(noted: Pick<Caller, 'who' | 'kind' | 'root' | 'origin'>): void {
    const key = originOf(noted)
    const known = this.#known.get(key)
    const { who, root } = noted
    if (known !== undefined && known === this.#latest && known.who === who && known.root === root) return
    this.#known.delete(key)
    const caller = known?.caller ?? `caller-${++this.#named}`
    const names = new Set([...(known?.names ?? []), who].slice(-MOST_NAMES))
    this.#latest = { key, caller, who, root, names }
    this.#known.set(key, this.#latest)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Whoever called last stands first; without those whose connections have all ended. */
  rows(): readonly CallerRow[] {
    return this.#there.reverse().map(rowOf)
  }

  /** By name: `caller-3`, or what it calls itself, where only one does so; of several, those there are. */
  find(name: string): Found {
    const all = this.#there.reverse()
    const found = all.filter(({ caller }) => caller === name)
    const meant = found.length > 0 ? found : all.filter(({ names }) => names.has(name))
    const [one, ...others] = meant
    if (one === undefined) return { type: 'unknown' }
    return others.length === 0
      ? { type: 'one', key: one.key, who: one.who }
      : { type: 'several', rows: meant.map(rowOf) }
  }

  /** Whether all connections of whoever has that key have ended. */
  isGone(key: string): boolean {
    return this.#isGone(key)
  }

  get #there(): Known[] {
    return [...this.#known.values()].filter(({ key }) => !this.#isGone(key))
  }
}

type Found =
  | { readonly type: 'one'; readonly key: string; readonly who: string }
  | { readonly type: 'unknown' }
  | { readonly type: 'several'; readonly rows: readonly CallerRow[] }

const rowOf = ({ caller, who, root }: Known): CallerRow => ({ caller, who, root })
