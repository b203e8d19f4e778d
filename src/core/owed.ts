/** Callers for whom something is kept at once, and sentences for each: the oldest make room, and are counted. */
const MOST = { keys: 64, each: 16 } as const

/** What callers are to be told with their next answer, by the key of what they hold. Each sentence is told once. */
export class Owed {
  readonly #sentences = new Map<string, { readonly texts: string[]; dropped: number }>()

  get empty(): boolean {
    return this.#sentences.size === 0
  }

  add(key: string, text: string): void {
    const owed = this.#sentences.get(key) ?? { texts: [], dropped: 0 }
    this.#sentences.delete(key)
    this.#sentences.set(key, owed)
    owed.texts.push(text)
    if (owed.texts.length > MOST.each) {
      owed.texts.shift()
      owed.dropped++
    }
    const [oldest] = this.#sentences.keys()
    if (this.#sentences.size > MOST.keys && oldest !== undefined) this.#sentences.delete(oldest)
  }

  /** What is owed under any of these keys, which is owed no more. */
  take(keys: readonly string[]): readonly string[] {
    return keys.flatMap(key => {
      const owed = this.#sentences.get(key)
      this.#sentences.delete(key)
      if (owed === undefined) return []
      const more = owed.dropped === 0 ? [] : [`(${owed.dropped} earlier notices were dropped.)`]
      return [...more, ...owed.texts]
    })
  }
}
