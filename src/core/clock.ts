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
