import type { ShownPlan } from '../../src/approvals/contract.ts'
import { Desk } from '../../src/terminal/desk.ts'
import type { Wish } from '../../src/terminal/desk-items.ts'
import { openPalette, type Row } from '../../src/terminal/layout.ts'
import type { Key } from '../../src/terminal/tty.ts'

/** A desk without a terminal, and somebody who waits until each question counts. */
export interface DeskOf {
  readonly desk: Desk
  tell(...plans: readonly ShownPlan[]): void
  /** Presses each key once what stands there counts, and returns the last wish. `\r`, `\t` and `\x1b` are keys. */
  keys(keys: string): Wish | undefined
  /** Presses keys that have a name. */
  key(...names: readonly string[]): Wish | undefined
  /** What is painted, without colours and blanks at the ends. */
  rows(): string[]
  text(): string
  /** The same as it is written. */
  written(): readonly Row[]
}

export interface DeskOptionsOf {
  readonly columns?: number
  readonly rows?: number
  readonly coloured?: boolean
  readonly unicode?: boolean
  readonly page?: boolean
}

export function openDesk(o: DeskOptionsOf = {}): DeskOf {
  const { columns = 80, rows = 24, coloured = true, unicode = true, page = false } = o
  const desk = new Desk({
    palette: openPalette({ coloured }),
    size: { columns, rows },
    now: 0,
    unicode,
    page,
  })
  desk.sits({ id: 'seat-1', who: 'terminal /dev/pts/3 (process 4711)', others: [], trouble: null })

  function press(key: Key): Wish | undefined {
    desk.paint()
    desk.rested()
    return desk.press(key)
  }
  const shown = () => desk.paint().map(({ text }) => withoutLooks(text).trimEnd())
  return {
    desk,
    tell: (...plans) => {
      for (const plan of plans) desk.tell({ type: 'plan', plan })
    },
    keys: keys =>
      [...keys]
        .map(key => press(NAMED[key] === undefined ? { type: 'text', text: key } : named(NAMED[key])))
        .at(-1),
    key: (...names) => names.map(name => press(named(name))).at(-1),
    rows: shown,
    text: () => shown().join('\n'),
    written: () => desk.paint(),
  }
}

const NAMED: Readonly<Record<string, string>> = { '\r': 'enter', '\t': 'tab', '\x1b': 'escape' }

const named = (name: string): Key => ({ type: 'key', name })

/** A row without what gives it its looks; any other control is left in it. */
export const withoutLooks = (text: string) => text.replace(LOOKS, '')

const LOOKS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')
