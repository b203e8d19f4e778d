import { CURSOR, flowed, layOut, type Place, type Row } from '../console/layout.ts'
import type { Size } from '../console/screen.ts'
import { looking, type Palette, plain, prose } from '../console/style.ts'
import { fitted } from '../console/width.ts'
import type { LineInput } from './line-input.ts'
import type { Note, Notes } from './notes.ts'

export interface FootOptions {
  readonly notes: Notes
  readonly input: LineInput | undefined
  readonly size: Size
  readonly palette: Palette
  /** As many rows of notes; see `mostNotes`. */
  readonly most: number
  /** The row of keys. */
  keys(): Row
}

/** What stands below everything else. */
export interface Foot {
  readonly rows: readonly Row[]
  readonly cursor: Place | undefined
  /** How many of the notes stand there. */
  readonly shown: number
}

/** A screen with fewer rows has no row for notes while there is none, and none for notes while a line is written. */
const TALL = 16
/** Of a long line that is being written, so many rows. */
const WRITTEN_ROWS = 3

/** Notes, and what is being written or the keys. */
export function footRows(o: FootOptions): Foot {
  const { input, size } = o
  const { rows: notes, shown } =
    input !== undefined && size.rows < TALL ? { rows: [], shown: 0 } : noteRows(o)
  if (input === undefined) return { rows: [...notes, o.keys()], cursor: undefined, shown }
  const written = inputRows(input, o)
  const { row, column } = written.cursor
  return { rows: [...notes, ...written.rows], cursor: { row: notes.length + row, column }, shown }
}

function noteRows({ notes, size, palette, most }: FootOptions): { rows: Row[]; shown: number } {
  const { columns, rows: height } = size
  const rows: Row[] = []
  let shown = 0
  for (const note of notes.all) {
    const laid = laidOut(note, { columns, palette })
    if (shown > 0 && rows.length + laid.length > most) break
    rows.push(...laid)
    shown++
  }
  if (rows.length > most) {
    const [first] = notes.all
    const last =
      most === 1 ? `${fitted(` ${first?.text ?? ''}`, Math.max(0, columns - 5))} … h` : '   … all of it: h'
    rows.splice(
      most - 1,
      rows.length,
      ...layOut([looking('hint', last)], { columns, palette }).rows.slice(0, 1),
    )
    // It has its while once all of it stands there.
    shown = 0
  }
  if (rows.length === 0 && height >= TALL) rows.push({ text: '', columns: 0 })
  return { rows, shown }
}

/**
 * How many rows of notes there may be, beside a text that needs `needed` of the `room` that one of them leaves: what is
 * to be seen whole is seen whole.
 */
export function mostNotes(
  { columns, rows }: Size,
  { needed, room }: { needed: number; room: number },
): number {
  const most = rows >= 20 ? (columns < 60 ? 6 : 4) : rows >= 10 ? 3 : rows >= 8 ? 2 : 1
  return needed > room ? most : Math.min(most, 1 + room - needed)
}

/** Words of somebody else stand in it: where it goes on, no row of it begins as another does. */
function laidOut({ text, look }: Note, { columns, palette }: { columns: number; palette: Palette }): Row[] {
  const width = Math.max(1, columns - INDENT)
  return layOut(flowed([prose(look ?? 'hint', text)], width), { columns: width, palette }).rows.map(
    (row, index) => {
      const before = ' '.repeat(index === 0 ? 1 : Math.min(INDENT, Math.max(0, columns - row.columns)))
      return { text: `${before}${row.text}`, columns: before.length + row.columns }
    },
  )
}

const INDENT = 3

/** The prompt is in sight, however long the line is. */
function inputRows({ prompt, enters, edit: { text, cursor } }: LineInput, { size, palette }: FootOptions) {
  const { columns, rows: height } = size
  const asked = looking('prompt', ` ${prompt}`)
  const pieces = [asked, plain(text.slice(0, cursor)), CURSOR, plain(text.slice(cursor))]
  const laid = layOut(pieces as Parameters<typeof layOut>[0], { columns, palette })
  const at = laid.cursor ?? { row: 0, column: 0 }
  const from = Math.max(0, Math.min(at.row - 1, laid.rows.length - WRITTEN_ROWS))
  const hint = looking('hint', ` Enter ${enters} · Esc goes back`)
  const keys = height < TALL ? [] : layOut([hint], { columns, palette }).rows.slice(0, 1)
  // Rows that are gone on with stand below what they answer.
  const above = from === 0 ? [] : layOut([asked], { columns, palette }).rows.slice(0, 1)
  return {
    rows: [...above, ...laid.rows.slice(from, from + WRITTEN_ROWS), ...keys],
    cursor: { row: above.length + at.row - from, column: at.column },
  }
}
