import { AppendError } from './append-error.ts'
import type { Line } from './place.ts'

/** How long a line may wait, in milliseconds, and how many characters may, while the disk takes none. */
const FLUSH_MS = 20
const WAITING_CHARS = 1024 * 1024

export interface QueueOptions {
  /** Throws `AppendError` where not all are in the file. */
  readonly append: (lines: readonly Line[]) => void
  /** A line that stands for so many that were lost. */
  readonly lost: (lines: number) => Line
}

/** Lines on their way into the file, in their order: those that may wait a moment, and those that may not. */
export class LineQueue {
  readonly #options: QueueOptions
  #waiting: Line[] = []
  #chars = 0
  #lost = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** All that waits and then `more`. What could not be written goes on waiting, except `more` itself. */
  now(more: readonly Line[]): void {
    const { append, lost } = this.#options
    const waiting = this.#waiting
    const gap = this.#lost > 0 ? [lost(this.#lost)] : []
    try {
      append(waiting.length + gap.length === 0 ? more : [...waiting, ...gap, ...more])
      this.#waiting = []
      this.#lost = 0
    } catch (error) {
      const written = error instanceof AppendError ? error.written : 0
      if (written > waiting.length) this.#lost = 0
      this.#waiting = waiting.slice(written)
      this.#schedule()
      throw error
    } finally {
      this.#chars = this.#waiting.reduce((sum, { body }) => sum + body.length, 0)
    }
  }

  /** The line is in the file soon, and before any later one; where too much waits, it is counted as lost. */
  later(line: Line): void {
    this.#schedule()
    if (this.#chars + line.body.length > WAITING_CHARS) {
      this.#lost++
      return
    }
    this.#waiting.push(line)
    this.#chars += line.body.length
  }

  /** Writes what waits; throws `AppendError` where that fails. */
  flush(): void {
    this.#unschedule()
    if (this.#waiting.length + this.#lost > 0) this.now([])
  }

  /** The same for the last time: nothing is tried again by itself. */
  close(): void {
    try {
      this.flush()
    } finally {
      this.#unschedule()
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#flushed(), FLUSH_MS).unref()
  }

  #unschedule(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #flushed(): void {
    try {
      this.flush()
    } catch {
      // What waits is tried again, with the next line or by the timer that has been set.
    }
  }
}
