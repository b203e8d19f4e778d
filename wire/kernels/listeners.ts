/** Who wants to know of something that happens now and then, such as a change of a kernel's health. */
export class Listeners<News> {
  readonly #listeners = new Set<(news: News) => unknown>()

  /** Returns what ends the listening. */
  add(listener: (news: News) => unknown): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(news: News): void {
    for (const listener of this.#listeners) listener(news)
  }
}
