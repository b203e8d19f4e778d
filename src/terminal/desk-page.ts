import { openNotifier } from '../front/notify.ts'
import { redraft } from '../front/person-editor.ts'
import type { SeatWanted } from '../front/protocol.ts'
import type { OpenSeat, SeatTold } from '../front/seat/open-seat.ts'
import { Desk, type DeskSeat, openDeskSeat } from './desk.ts'
import { type Past, showsUnicode, type Wish } from './desk-items.ts'
import { openPalette, type Palette, wantsColour } from './layout.ts'
import { Frames, type Page, type Stage } from './screen.ts'
import { type Key, openTty, type Tty } from './tty.ts'

interface DeskPageOptions {
  readonly desk: Desk
  readonly atDesk: DeskSeat
  readonly stage: Stage
  /** The key that shows it also ends it. */
  readonly key: string
}

/** A desk on a screen of its own, over whatever the console shows. */
export interface DeskPage {
  readonly open: boolean
  /** Settles when the person has seen enough. */
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
    press(key) {
      if (isKey(key, shortcut)) return false
      pulse?.heard()
      clearTimeout(ending)
      const wish = desk.press(key)
      answered = wish !== undefined && ANSWERS.has(wish.type)
      const went = wish === undefined ? undefined : atDesk.grant(wish)
      if (went === 'suspend') stage.suspend()
      return went !== 'leave'
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
      const now = () => performance.now()
      desk.tick(now())
      page.resize(stage.size)
      answered = false
      pulse = openPulse({ desk, repaint: () => stage.repaint(), now })
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
      if (answered && desk.waits === 0) ending = setTimeout(() => stage.endPage(page), ALL_ANSWERED_MS)
    },
    end: () => stage.endPage(page),
  }
}

const isKey = (key: Key, name: string) => key.type === 'key' && key.name === name

interface SessionOptions {
  readonly tty: Tty
  /** What `tty` writes to. */
  readonly output: Pick<NodeJS.WriteStream, 'write' | 'writableLength'>
  readonly palette: Palette
  readonly unicode: boolean
  /** Takes the seat, which may last until somebody lets it in; rejects where it is not granted. */
  sit(o: {
    tell(told: SeatTold): void
    admit(wanted: SeatWanted): Promise<boolean>
    signal: AbortSignal
  }): Promise<OpenSeat>
  /** Tells news that need no answer, a line each, until `signal` aborts. */
  follow?(o: { tell(text: string): void; readonly signal: AbortSignal }): void
  /** Whether a notification is shown on the desktop where something waits. */
  readonly desktop: boolean
  /** Milliseconds; left out: since this process began. */
  now?(): number
}

/** How a seat on a whole screen ended. */
interface Watched {
  /** Undefined where the person left it. */
  readonly lost: string | undefined
  /** What planEnd of plans there. */
  readonly past: readonly Past[]
}

/** An own screen, cleared, without a cursor; and back to what was there before. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J'
const LEAVE = '\x1b[r\x1b[?7h\x1b[?1049l\x1b[?25h'

/** Has a seat on the whole screen of a terminal, until it is left or lost. The terminal is put back in any case. */
export async function watchAtTerminal(o: SessionOptions): Promise<Watched> {
  const { tty, output, now = () => performance.now() } = o
  const desk = new Desk({ palette: o.palette, size: tty.size(), now: now(), unicode: o.unicode })
  const frames = new Frames({
    write: text => tty.write(text),
    flushed: done => (output.writableLength === 0 ? done() : void output.write('', () => done())),
  })
  const leaving = new AbortController()
  const notifier = openNotifier({
    desktop: o.desktop,
    bell: () => tty.write('\x07'),
    failed: why => desk.say(why),
  })
  const pulse = openPulse({ desk, repaint, now })
  const atDesk = openDeskSeat({
    desk,
    repaint,
    ring: text => notifier.notify(text),
    edit: draft => away(() => tty.lend(() => redraft(draft))),
  })
  let here = false
  let due = false

  function repaint() {
    if (due) return
    due = true
    setImmediate(() => {
      due = false
      if (here && !frames.stuck) paint()
    })
  }

  function paint() {
    const rows = desk.paint()
    frames.show(rows, { columns: tty.size().columns, cursor: desk.cursor })
    pulse.painted()
  }

  function come() {
    here = true
    tty.write(ENTER)
    frames.forget()
    desk.resize(tty.size())
    desk.shownAgain()
    repaint()
  }

  function go() {
    if (here) tty.write(LEAVE)
    here = false
  }

  /** Leaves the screen to something else until that is over. */
  async function away<Result>(work: () => Promise<Result>): Promise<Result> {
    go()
    try {
      return await work()
    } finally {
      come()
    }
  }

  function press(key: Key) {
    pulse.heard()
    if (key.type === 'key' && key.name === 'ctrl-l') frames.forget()
    const wish = desk.press(key)
    const left = wish === undefined ? undefined : atDesk.grant(wish)
    if (left === 'leave') leaving.abort()
    if (left === 'suspend') {
      go()
      tty.suspend()
    }
    repaint()
  }

  // However this process ends, the screen is that of before.
  process.on('exit', go).on('uncaughtExceptionMonitor', go)
  tty.onKey(press)
  tty.onResize(() => {
    frames.forget()
    if (here) tty.write('\x1b[2J')
    desk.resize(tty.size())
    repaint()
  })
  tty.onResume(come)
  frames.onFreed(repaint)
  come()
  try {
    const { tell, admit } = atDesk
    await using seat = await o.sit({ tell, admit, signal: leaving.signal })
    atDesk.take(seat)
    o.follow?.({
      signal: leaving.signal,
      tell(text) {
        desk.say(text)
        repaint()
      },
    })
    const left = new Promise<undefined>(resolve =>
      leaving.signal.addEventListener('abort', () => resolve(undefined)),
    )
    const lost = leaving.signal.aborted ? undefined : await Promise.race([seat.ended, left])
    return { lost: leaving.signal.aborted ? undefined : lost, past: desk.past }
  } finally {
    pulse.close()
    go()
    process.off('exit', go).off('uncaughtExceptionMonitor', go)
    tty.close()
  }
}

/** How long what is asked has to stand, with no key pressed, before keys answer it, in milliseconds. */
const REST_MS = 150
/** How often what is said of time changes, in milliseconds. */
const TICK_MS = 1_000

interface PulseOptions {
  readonly desk: Desk
  repaint(): void
  /** The clock of the desk. */
  now(): number
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
function openPulse({ desk, repaint, now }: PulseOptions): Pulse {
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

/** A seat on the whole screen of the terminal of this process. */
export function watchHere(o: Pick<SessionOptions, 'sit' | 'follow' | 'desktop'>): Promise<Watched> {
  return watchAtTerminal({
    ...o,
    tty: openTty(process.stdin, process.stdout),
    output: process.stdout,
    palette: openPalette({ coloured: wantsColour(process.env) }),
    unicode: showsUnicode(process.env),
  })
}
