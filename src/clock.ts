/** Time as the call path knows it; a test passes one that it moves by hand. */
export interface Clock {
  /** Milliseconds since some moment, never going back. */
  now(): number
  /** Calls once after so many milliseconds; the answer takes it back. */
  after(ms: number, run: () => void): () => void
}

/** Timers cannot be set further ahead than this, in milliseconds. */
const FURTHEST = 2 ** 31 - 1

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, FURTHEST))
    return () => clearTimeout(timer)
  },
}

/** A moment by both clocks: one only goes forward, the other also counts while the machine sleeps. */
export interface Moment {
  readonly clock: number
  readonly wall: number
}

/** Tells how long something is ago by whichever clock says more, so that neither sleep nor a set clock makes it younger. */
export class BothClocks {
  readonly #clock: Clock
  readonly #wallClock: () => number

  /** `wallClock`: milliseconds since 1970, as the machine believes. */
  constructor(clock: Clock, wallClock: () => number) {
    this.#clock = clock
    this.#wallClock = wallClock
  }

  now(): Moment {
    return { clock: this.#clock.now(), wall: this.#wallClock() }
  }

  /** Whether as many milliseconds have passed since. */
  passed(since: Moment, ms: number): boolean {
    return this.leftMs(since, ms) === 0
  }

  /** Milliseconds until as many have passed since; 0 once they have. */
  leftMs(since: Moment, ms: number): number {
    return Math.max(0, ms - Math.max(this.#clock.now() - since.clock, this.#wallClock() - since.wall))
  }
}
