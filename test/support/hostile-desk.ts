import { Desk } from '../../src/terminal/desk.ts'
import { openPalette } from '../../src/terminal/layout.ts'
import type { HostileAsker } from './hostile-plan.ts'

/** Colours of the sixteen names, and no blinking, hiding or striking out. */
export const LOOKS_OF_OURS = new RegExp(`${'\x1b'}\\[(?:(?:[0-47]|3[0-6]|43);?)+m`, 'g')
const DESK_SIZE = { columns: 80, rows: 200 }

/** What a desk paints, row below row, as often as it is looked at. */
class Frames {
  readonly #desk: Desk
  readonly #rows: string[] = []

  constructor(desk: Desk) {
    this.#desk = desk
  }

  take(): void {
    const rows = this.#desk.paint().map(({ text }) => text)
    // A page begins with the row with which the one before it ended.
    const first = rows.find(row => MARGIN.test(row))
    const again = first !== undefined && first === this.#rows.findLast(row => MARGIN.test(row))
    this.#rows.push(...(again ? rows.toSpliced(rows.indexOf(first), 1) : rows))
  }

  /** Page by page, until that comes true; false where so many were looked at before. */
  goThrough(ends: () => boolean, most = 1_000): boolean {
    for (let page = 0; page < most; page++) {
      this.take()
      this.#desk.rested()
      if (ends()) return true
      this.#desk.press({ type: 'text', text: ' ' })
    }
    return false
  }

  text(): string {
    return this.#rows.map(row => `${row}\n`).join('')
  }
}

const MARGIN = new RegExp(`^(?:${'\x1b'}\\[[0-9;]+m)?[|+] `)

/** The screen of `imago watch`, gone through page by page; `y` is tried on each. */
export const DESK: HostileAsker = {
  what: 'imago watch',
  takesHunks: true,
  by: ['desk', 'desk-items', 'desk-keys', 'desk-sheets', 'desk-view'].map(name => `src/terminal/${name}.ts`),
  own: LOOKS_OF_OURS,
  margin: /^[|+] /,
  named: /^(?: |▸ |──)/,
  async writes(plan) {
    const desk = new Desk({ palette: openPalette({ coloured: true }), size: DESK_SIZE, now: 0 })
    const frames = new Frames(desk)
    desk.sits({
      id: 'seat-1',
      who: plan.who,
      others: [{ seat: 'seat-2', who: plan.who, command: plan.title, root: plan.title }],
      trouble: null,
    })
    desk.tell({ type: 'plan', plan })
    const approvable = frames.goThrough(() => desk.press({ type: 'text', text: 'y' })?.type === 'answer')
    const text = frames.text()
    const { who, title } = plan
    desk.tell({ type: 'settled', id: plan.id, why: who })
    frames.take()
    desk.press({ type: 'key', name: 'enter' })
    desk.tell({ type: 'notice', text: title })
    frames.take()
    desk.press({ type: 'text', text: 'h' })
    frames.goThrough(() => false, 3)
    desk.press({ type: 'text', text: 'q' })
    const wanted = { why: null, id: 'wanted-1', terminal: '/dev/pts/1', pid: 7, who, command: title }
    desk.tell({ type: 'wanted', wanted })
    frames.goThrough(() => false, 3)
    desk.press({ type: 'text', text: 'y' })
    return { text, approvable, besides: frames.text().slice(text.length) }
  },
}
