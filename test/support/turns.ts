/** How long a file takes on a quiet machine, and how much processor time its processes take together, in seconds. */
export interface Taken {
  readonly seconds: number
  readonly processor: number
}

/** A file that was never measured may be the longest, and is taken to work all the time. */
const UNKNOWN: Taken = { seconds: Number.POSITIVE_INFINITY, processor: Number.POSITIVE_INFINITY }
/** Even a file that only waits starts a process, which works for a moment. */
const LEAST_SHARE = 0.15

/**
 * Whose turn it is. As many files run at once as have room on the processors by their measured shares, so that those
 * that wait fill the time of each other, and those that work do not keep each other waiting.
 */
export class Turns {
  readonly #waiting: string[]
  readonly #running = new Map<string, number>()
  readonly #times: Readonly<Record<string, Taken>>
  readonly #room: number
  readonly #most: number

  /** `room`: how many processors the files may fill together. `most`: how many files may run at once. */
  constructor(
    files: readonly string[],
    times: Readonly<Record<string, Taken>>,
    { room, most }: { readonly room: number; readonly most: number },
  ) {
    this.#times = times
    this.#room = room
    this.#most = most
    const seconds = (file: string) => (times[file] ?? UNKNOWN).seconds
    // The longest first, or one of them is still at work, alone, when all others are done.
    this.#waiting = [...files].sort((one, other) => seconds(other) - seconds(one) || one.localeCompare(other))
  }

  /** The longest file for which there is room, which runs from now on; the first of all where none runs. */
  take(): string | undefined {
    if (this.#running.size >= this.#most) return undefined
    const used = [...this.#running.values()].reduce((sum, share) => sum + share, 0)
    const at =
      this.#running.size === 0 ? 0 : this.#waiting.findIndex(file => used + this.#share(file) <= this.#room)
    const [file] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (file !== undefined) this.#running.set(file, this.#share(file))
    return file
  }

  /** The file has ended, and leaves its room to others. */
  end(file: string): void {
    this.#running.delete(file)
  }

  #share(file: string): number {
    const { seconds, processor } = this.#times[file] ?? UNKNOWN
    return Number.isFinite(seconds) && seconds > 0 ? Math.max(LEAST_SHARE, processor / seconds) : 1
  }
}
