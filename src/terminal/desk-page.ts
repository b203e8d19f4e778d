import { openNotifier } from '../front/notify.ts'
import { redraft } from '../front/person-editor.ts'
import type { OpenSeat, SeatOptions } from '../front/seat/open-seat.ts'
import { Desk, type DeskSeat, openDeskSeat } from './desk.ts'
import { type Past, showsUnicode, type Wish } from './desk-items.ts'
import { openPalette, wantsColour } from './layout.ts'
import { type Page, Stage } from './screen.ts'
import { openTty } from './tty.ts'

interface DeskPageOptions {
  readonly desk: Desk
  readonly atDesk: DeskSeat
  readonly stage: Stage
  /** At the console: the key that shows the page also ends it, and it ends by itself once all was answered. */
  readonly key?: string
}

/** A desk on a screen of its own, over whatever else the terminal shows. */
export interface DeskPage {
  readonly open: boolean
  /** Settles when the person has seen enough, or at `end`. */
  show(): Promise<void>
  /** Something at the desk has changed. */
  changed(): void
  end(): void
}

/** Once all was answered, it ends by itself after so long without a key, in milliseconds: none is to go astray. */
const ALL_ANSWERED_MS = 800

const ANSWERS: ReadonlySet<Wish['type']> = new Set(['answer', 'admit', 'acknowledge'])

export function openDeskPage({ desk, atDesk, stage, key: shortcut }: DeskPageOptions): DeskPage {
  let pulse: Pulse | undefined
  let ending: NodeJS.Timeout | undefined
  let answered = false

  const page: Page = {
    takesWhole: true,
    press(key) {
      if (key.type === 'key' && key.name === shortcut) return false
      pulse?.heard()
      clearTimeout(ending)
      const wish = desk.press(key)
      answered = wish !== undefined && ANSWERS.has(wish.type)
      return wish === undefined || atDesk.grant(wish) !== 'leave'
    },
    paint() {
      const rows = desk.paint()
      pulse?.painted()
      return rows
    },
    resize(size) {
      desk.resize(size)
      desk.shownAgain()
    },
    get cursor() {
      return desk.cursor
    },
  }

  return {
    get open() {
      return pulse !== undefined
    },
    async show() {
      desk.tick(performance.now())
      page.resize(stage.size)
      answered = false
      pulse = openPulse({ desk, repaint: () => stage.repaint() })
      try {
        await stage.page(page)
      } finally {
        clearTimeout(ending)
        pulse.close()
        pulse = undefined
      }
    },
    changed() {
      if (pulse === undefined) return
      stage.repaint()
      clearTimeout(ending)
      if (shortcut !== undefined && answered && desk.waits === 0)
        ending = setTimeout(() => stage.endPage(page), ALL_ANSWERED_MS)
    },
    end: () => stage.endPage(page),
  }
}

interface WatchOptions {
  /** Takes the seat, which may last until somebody lets it in; rejects where it is not granted. */
  sit(options: SeatOptions): Promise<OpenSeat>
  /** Tells news that need no answer, a line each, until `signal` aborts. */
  follow?(o: { tell(text: string): void; readonly signal: AbortSignal }): void
  /** Whether a notification is shown on the desktop where something waits. */
  readonly desktop: boolean
}

/** How a seat on a whole screen ended. */
interface WatchEnd {
  /** Undefined where the person left it. */
  readonly lost: string | undefined
  /** What became of plans there. */
  readonly past: readonly Past[]
}

/**
 * Has a seat on the whole screen of the terminal of this process, until it is left or lost. The terminal is put back in
 * any case.
 */
export async function watchHere(o: WatchOptions): Promise<WatchEnd> {
  const palette = openPalette({ coloured: wantsColour(process.env) })
  const stage = new Stage({ tty: openTty(process.stdin, process.stdout), palette })
  const unicode = showsUnicode(process.env)
  const desk = new Desk({ palette, size: stage.size, now: performance.now(), unicode })
  const notifier = openNotifier({
    desktop: o.desktop,
    bell: () => stage.bell(),
    failed: why => desk.say(why),
  })
  const atDesk = openDeskSeat({
    desk,
    repaint: () => stage.repaint(),
    ring: text => notifier.notify(text),
    edit: draft => stage.lend(() => redraft(draft)),
  })
  const page = openDeskPage({ desk, atDesk, stage })
  const leaving = new AbortController()
  const left = page.show().then(() => {
    leaving.abort()
    return undefined
  })
  try {
    await using seat = await o.sit({ tell: atDesk.tell, signal: leaving.signal })
    atDesk.take(seat)
    o.follow?.({
      signal: leaving.signal,
      tell(text) {
        desk.say(text)
        stage.repaint()
      },
    })
    const lost = leaving.signal.aborted ? undefined : await Promise.race([seat.ended, left])
    return { lost: leaving.signal.aborted ? undefined : lost, past: desk.past }
  } finally {
    page.end()
    stage.close()
  }
}

/** How long what is asked has to stand, with no key pressed, before keys answer it, in milliseconds. */
const REST_MS = 150
/** How often what is said of time changes, in milliseconds. */
const TICK_MS = 1_000

interface PulseOptions {
  readonly desk: Desk
  repaint(): void
}

/** Time at a desk. */
interface Pulse {
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
function openPulse({ desk, repaint }: PulseOptions): Pulse {
  let heard = 0
  let asked: string | undefined
  let resting: NodeJS.Timeout | undefined
  let open = true

  const beat = setInterval(() => {
    desk.tick(performance.now())
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
      desk.tick(performance.now())
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
