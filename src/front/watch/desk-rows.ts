import { oneLine } from '../../../tools/wording.ts'
import { layOut, type Place, type Row } from '../console/layout.ts'
import type { Size } from '../console/screen.ts'
import { looking, type Palette, plain, type Span, textOf } from '../console/style.ts'
import { fitted, widthOf } from '../console/width.ts'
import { footRows, mostNotes } from './foot-rows.ts'
import { footerSpans } from './footer.ts'
import type { Items } from './items.ts'
import type { LineInput } from './line-input.ts'
import { listRows, stateSpans } from './list-rows.ts'
import type { Notes } from './notes.ts'
import type { Position } from './sheet.ts'
import type { Signs } from './signs.ts'
import type { View } from './view.ts'

export interface Painting {
  readonly items: Items
  readonly view: View
  readonly input: LineInput | undefined
  readonly notes: Notes
  /** Which seat this is. */
  readonly heading: string
  /** Whether keys answer what stands there. */
  readonly counts: boolean
  readonly now: number
  readonly size: Size
  readonly palette: Palette
  readonly signs: Signs
}

export interface Painted {
  readonly rows: readonly Row[]
  readonly cursor: Place | undefined
  /** The name of what was painted. */
  readonly question: string
}

/** From the top: a bar, the list, a rule that says how far the text was read, the text, a note, and the keys. */
export function paintDesk(o: Painting): Painted {
  const { items, view, notes, size, palette, signs, now } = o
  const { columns, rows } = size
  const question = view.name
  const keys = () => one(footerSpans(o), columns, palette)
  const bar = rows < 8 ? [] : [barRow(o)]
  const inList =
    items.all.length === 0
      ? 0
      : Math.min(items.all.length, Math.max(1, rows <= 12 ? 1 : Math.floor(rows / 4)))
  const list =
    rows < 6
      ? []
      : listRows(items.all, view.shown.type === 'withdrawn' ? undefined : items.here, {
          columns,
          rows: inList,
          now,
          palette,
          signs,
        })
  const above = bar.length + list.length + 1
  const withOne = rows - above - footRows({ ...o, keys, most: 1 }).rows.length
  const most = mostNotes(size, { needed: view.sheet().rowsWithin(withOne), room: withOne })
  const room = Math.max(1, rows - above - footRows({ ...o, keys, most }).rows.length)
  const sheet = view.sheet({ columns, rows: room })
  const text = sheet.rows()
  if (sheet.seen) view.see()
  // With the end of the text on the screen, other keys work.
  const foot = footRows({ ...o, keys, most })
  notes.shown(foot.shown, now)
  const blank = Array.from({ length: room - text.length }, () => EMPTY)
  const painted = [...bar, ...list, ruleRow(o, sheet.position), ...text, ...blank, ...foot.rows].slice(
    0,
    rows,
  )
  const cursor = foot.cursor && {
    row: painted.length - foot.rows.length + foot.cursor.row,
    column: foot.cursor.column,
  }
  return { rows: painted, cursor, question }
}

const EMPTY: Row = { text: '', columns: 0 }

function barRow({ items, heading, size: { columns }, palette, signs }: Painting): Row {
  const count = items.all.length
  const waits = count === 0 ? 'nothing waits' : `${count} ${count === 1 ? 'waits' : 'wait'}`
  const text = [' Imago', heading, waits].filter(part => part !== '').join(` ${signs.dot} `)
  const right = ' ? help '
  const shown = fitted(text, Math.max(0, columns - right.length))
  const filled = `${shown}${' '.repeat(Math.max(0, columns - widthOf(shown) - right.length))}${right}`
  return one([looking('bar', fitted(filled, columns))], columns, palette)
}

/** What stands below, what of it is to be looked at twice, and how far it was read. */
function ruleRow({ view, palette, signs, size: { columns } }: Painting, position: Position): Row {
  const { shown } = view
  const item = 'item' in shown ? shown.item : undefined
  const hunks =
    item?.deciding === undefined ? [] : [plain(' '), ...stateSpans(item.deciding, signs), plain(' ')]
  const warnings = item?.plan.warnings.length ?? 0
  const look = warnings === 0 ? [] : [plain(' '), looking('alarm', ` LOOK ${warnings} `), plain(' ')]
  const name = item === undefined ? [] : [looking('title', ` ${oneLine(item.id)} `)]
  const where = position.lines === 0 ? '' : ` ${placeOf(position, signs)} `
  const rule = (count: number) => looking('hint', signs.rule.repeat(Math.max(0, count)))
  const left = [rule(2), ...name, ...hunks, ...look]
  const between = columns - widthOf(textOf(left)) - widthOf(where) - 2
  if (between < 1) return one([...left, plain(where)], columns, palette)
  return one([...left, rule(between), plain(where), rule(2)], columns, palette)
}

function placeOf({ line, lines, percent, whole }: Position, { dot }: Signs): string {
  const all = lines.toLocaleString('en-US')
  if (whole) return lines === 1 ? 'the whole line' : `all ${all} lines`
  return `${percent}% ${dot} line ${line.toLocaleString('en-US')} of ${all}`
}

/** One row of the screen, whatever it holds. */
function one(spans: readonly Span[], columns: number, palette: Palette): Row {
  return layOut(spans, { columns, palette }).rows[0] ?? EMPTY
}
