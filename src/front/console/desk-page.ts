import type { Desk } from '../watch/desk.ts'
import type { DeskSeat } from '../watch/desk-seat.ts'
import { openPulse, type Pulse } from '../watch/pulse.ts'
import type { Wish } from '../watch/wishes.ts'
import type { Key } from './keys.ts'
import type { Page, Stage } from './stage.ts'

export interface DeskPageOptions {
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
