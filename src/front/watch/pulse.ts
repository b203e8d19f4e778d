import type { Desk } from './desk.ts'

/** How long what is asked has to stand, with no key pressed, before keys answer it, in milliseconds. */
const REST_MS = 150
/** How often what is said of time changes, in milliseconds. */
const TICK_MS = 1_000

export interface PulseOptions {
  readonly desk: Desk
  repaint(): void
  /** The clock of the desk. */
  now(): number
}

/** Time at a desk. */
export interface Pulse {
  /** A key was pressed. */
  heard(): void
  /** The desk was painted, and what was painted is on the screen. */
  painted(): void
  close(): void
}

/**
 * Lets time go on at a desk, and tells it when what it asks has stood long enough. However late this process is run, the
 * keys that lie in the terminal by then are read first: each turn of the event loop reads what is there.
 */
export function openPulse({ desk, repaint, now }: PulseOptions): Pulse {
  let heard = 0
  let asked: string | undefined
  let resting: NodeJS.Timeout | undefined
  let open = true

  const beat = setInterval(() => {
    desk.tick(now())
    repaint()
  }, TICK_MS)

  function rest() {
    if (resting !== undefined || !open) return
    const before = heard
    resting = setTimeout(() => {
      setImmediate(() =>
        setImmediate(() => {
          resting = undefined
          if (!open || !desk.settling) return
          if (heard !== before) return rest()
          desk.rested()
          repaint()
        }),
      )
    }, REST_MS)
  }

  return {
    heard() {
      heard++
      desk.tick(now())
    },
    painted() {
      // What is asked now has to stand as long as what was asked before.
      if (desk.asked !== asked) heard++
      asked = desk.asked
      if (desk.settling) rest()
    },
    close() {
      open = false
      clearInterval(beat)
      clearTimeout(resting)
    },
  }
}
