import type { ScriptNews } from '../../wire/kernel.ts'

/** What is known of the program that a kernel was started with, in one life of it. */
export class Program {
  /** The latest; undefined before there was any. */
  news: ScriptNews | undefined
  readonly #told: Promise<void>
  #tell: () => void = () => {}

  constructor() {
    this.#told = new Promise(resolve => {
      this.#tell = resolve
    })
  }

  hear(news: ScriptNews): void {
    this.news = news
    this.#tell()
  }

  /** Resolves at the first news, when `over` does, or after `limitMs`: whatever comes first. */
  async known({ over, limitMs }: { over: Promise<unknown>; limitMs: number }): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise(resolve => {
      timer = setTimeout(resolve, limitMs)
    })
    await Promise.race([this.#told, over, limit])
    clearTimeout(timer)
  }
}
