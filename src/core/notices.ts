/** Callers for whom notices are kept at once, and notices for each: the oldest make room, and are counted. */
const MOST = { keys: 64, each: 16 } as const

/** What callers are to be told with their next answer, by the key of what they hold. Each notice is a sentence or two, and is told once. */
export class Notices {
  readonly #sentences = new Map<string, { readonly texts: string[]; dropped: number }>()

  get empty(): boolean {
    return this.#sentences.size === 0
  }

  add(key: string, text: string): void {
    const kept = this.#sentences.get(key) ?? { texts: [], dropped: 0 }
    this.#sentences.delete(key)
    this.#sentences.set(key, kept)
    kept.texts.push(text)
    if (kept.texts.length > MOST.each) {
      kept.texts.shift()
      kept.dropped++
    }
    const [oldest] = this.#sentences.keys()
    if (this.#sentences.size > MOST.keys && oldest !== undefined) this.#sentences.delete(oldest)
  }

  /** What is kept under any of these keys, which is kept no more. */
  take(keys: readonly string[]): readonly string[] {
    return keys.flatMap(key => {
      const kept = this.#sentences.get(key)
      this.#sentences.delete(key)
      if (kept === undefined) return []
      const more = kept.dropped === 0 ? [] : [`(${kept.dropped} earlier notices were dropped.)`]
      return [...more, ...kept.texts]
    })
  }
}
