import type { Link } from '../link/link.ts'

export interface HeartOptions {
  /** The present link. */
  link(): Link
  /** After so much silence the other end is asked for a sign of life, and has as long for it. In milliseconds. */
  readonly ms: number
  /** Nothing came; `why` is a sentence without its end. */
  still(why: string): void
}

/**
 * Finds out that nothing comes through a link any more, though nobody has closed it: something in between swallows
 * all of it. Only a link that is silent by itself is asked. A socket within one machine needs none of this.
 */
export class Heart {
  readonly #options: HeartOptions
  #timer: NodeJS.Timeout | undefined

  constructor(options: HeartOptions) {
    this.#options = options
  }

  begin(): void {
    this.stop()
    this.#later(this.#options.ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => void this.#beat(), ms).unref()
  }

  async #beat(): Promise<void> {
    const { ms, link, still } = this.#options
    const timer = this.#timer
    const asked = link()
    const silentMs = performance.now() - asked.lastHeard
    if (silentMs < ms) return this.#later(ms - silentMs)
    const heard = await asked.ping(ms).then(
      () => true,
      () => false,
    )
    // In the meantime it may have been stopped, or have a new link to listen to.
    if (this.#timer !== timer) return
    if (heard || performance.now() - asked.lastHeard < ms) this.#later(ms)
    else still(`nothing came for ${Math.round(2 * ms)} ms`)
  }
}
