import type { Key } from '../console/keys.ts'
import type { Palette } from '../console/style.ts'
import type { Tty } from '../console/tty.ts'
import { openNotifier } from '../notify.ts'
import { redraft } from '../person-editor.ts'
import type { SeatWanted } from '../protocol.ts'
import type { OpenSeat, SeatTold } from '../seat/open-seat.ts'
import { Desk, type Past } from './desk.ts'
import { openDeskSeat } from './desk-seat.ts'
import { Frames } from './frames.ts'
import { openPulse } from './pulse.ts'

export interface SessionOptions {
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
export interface Watched {
  /** Undefined where the person left it. */
  readonly lost: string | undefined
  /** What became of plans there. */
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
