/** Callers for whom notices are kept at once, and notices for each: the oldest make room, and are counted. */
const MOST = { keys: 64, each: 16 } as const

/** What somebody is to be told, a sentence or two. */
export interface Notice {
  /** What it is about, by its id: a later notice about the same takes its place. */
  readonly about: string
  readonly text: string
}

/** What callers are to be told with their next answer, by the key of what they hold. Each notice is told once. */
export class Notices {
  readonly #kept = new Map<string, { readonly notices: Map<string, string>; dropped: number }>()

  get empty(): boolean {
    return this.#kept.size === 0
  }

  add(key: string, { about, text }: Notice): void {
    const kept = this.#kept.get(key) ?? { notices: new Map<string, string>(), dropped: 0 }
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    kept.notices.delete(about)
    kept.notices.set(about, text)
    const [first] = kept.notices.keys()
    if (kept.notices.size > MOST.each && first !== undefined) {
      kept.notices.delete(first)
      kept.dropped++
    }
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST.keys && oldest !== undefined) this.#kept.delete(oldest)
  }

  /** What was to be told of that is so no more. */
  withdraw(key: string, about: string): void {
    const kept = this.#kept.get(key)
    kept?.notices.delete(about)
    if (kept?.notices.size === 0 && kept.dropped === 0) this.#kept.delete(key)
  }

  /** What is kept under any of these keys, which is kept no more. */
  take(keys: readonly string[]): readonly string[] {
    return keys.flatMap(key => {
      const kept = this.#kept.get(key)
      this.#kept.delete(key)
      if (kept === undefined) return []
      const more = kept.dropped === 0 ? [] : [`(${kept.dropped} earlier notices were dropped.)`]
      return [...more, ...kept.notices.values()]
    })
  }
}
