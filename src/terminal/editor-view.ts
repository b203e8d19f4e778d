import { type Callee, type Editor, gridOf, type Menu } from './editor.ts'
import {
  afterOf,
  beforeOf,
  CURSOR,
  fitted,
  type Layout,
  layOut,
  looking,
  type Palette,
  type Piece,
  plain,
  type Row,
  restyled,
  type Size,
  type Span,
  textOf,
  widthOf,
} from './layout.ts'
import type { Edit } from './line.ts'
import type { Region } from './screen.ts'
import { piecesAt } from './syntax.ts'

interface EditorFrame {
  readonly size: Size
  readonly palette: Palette
  readonly prompt: string
  /** Colours the text. */
  highlight(text: string, cursor: number): Span[]
  /** What is known of a command that begins with a colon. */
  hint(text: string): string
}

/** Of an entry that nothing waits behind, and of its other lines. */
export const PROMPT = '>>> '
const MORE = '... '
/** The most rows that a menu takes. */
const MENU_ROWS = 8

/** What an editor looks like: the text behind its prompts, and below it whatever helps in writing it. */
export function paintEditor(editor: Editor, painting: EditorFrame): Region {
  const { columns, rows } = painting.size
  const { rows: text, cursor = { row: 0, column: 0 } } = layOut(textPieces(editor, painting), {
    columns,
    palette: painting.palette,
  })
  const below = belowRows(editor, painting).slice(0, Math.max(0, rows - 1))
  const room = Math.max(1, rows - below.length)
  const from = firstShown(cursor.row, { rows: text.length, room })
  const shown = text.slice(from, from + room)
  return { rows: [...shown, ...below], cursor: { row: cursor.row - from, column: cursor.column } }
}

/** Of a text that is too long, the end is shown while the cursor is there, and else what is around the cursor. */
function firstShown(row: number, { rows, room }: { rows: number; room: number }): number {
  if (row >= rows - room) return Math.max(0, rows - room)
  return Math.max(0, row - Math.floor(room / 2))
}

/** As it stays on the screen once it was entered. */
export function enteredSpans(
  text: string,
  { highlight, prompt }: { highlight(text: string): Span[]; readonly prompt: string },
): Span[] {
  return [looking('prompt', prompt), ...highlight(text).flatMap(continuedBehind(prompt))]
}

function textPieces(editor: Editor, { highlight, prompt }: EditorFrame): Piece[] {
  const { text, cursor } = editor.edit
  const { search } = editor
  const coloured = highlight(text, cursor)
  const found = { from: cursor, to: cursor + (search?.query.length ?? 0), look: 'match' } as const
  const spans = search === undefined || search.query === '' ? coloured : restyled(coloured, found)
  const [ghost = '', ...hidden] = editor.suggestion.split('\n')
  const tail = editor.suggestion === '' ? [] : [looking('hint', hidden.length > 0 ? `${ghost} …` : ghost)]
  const continued = continuedBehind(prompt)
  return [
    looking('prompt', prompt),
    ...beforeOf(spans, cursor).flatMap(continued),
    CURSOR,
    ...afterOf(spans, cursor).flatMap(continued),
    ...tail,
  ]
}

/** With a prompt in front of each line but the first, as wide as that of the first. */
function continuedBehind(prompt: string): (span: Span) => Span[] {
  const more = MORE.padStart(prompt.length)
  return ({ text, look }) => {
    const [first = '', ...others] = text.split('\n')
    return [
      { text: first, look },
      ...others.flatMap(line => [plain('\n'), looking('more', more), { text: line, look }]),
    ]
  }
}

function belowRows(editor: Editor, painting: EditorFrame): readonly Row[] {
  const { search, menu, callee } = editor
  const { palette } = painting
  const { columns } = painting.size
  const one = (spans: readonly Span[]) => layOut(spans, { columns, palette }).rows.slice(0, 1)
  if (search !== undefined) {
    const asked = `${search.failed ? 'nothing else has' : 'search'}: ${search.query}`
    return one([looking(search.failed ? 'error' : 'hint', fitted(`${asked}▏`, columns))])
  }
  const hint = painting.hint(editor.edit.text)
  return [
    ...(callee === undefined ? [] : one(cropped(calleeSpans(callee, columns), columns))),
    ...(menu === undefined ? [] : menuRows(menu, painting)),
    ...(hint === '' ? [] : one([looking('hint', fitted(hint, columns))])),
  ]
}

function menuRows(menu: Menu, { size, palette }: EditorFrame): readonly Row[] {
  const { columns } = size
  const { perRow, cell } = gridOf(menu.offers, columns)
  const rows = Math.ceil(menu.offers.length / perRow)
  const most = Math.max(1, Math.min(MENU_ROWS, size.rows - 4))
  const current = Math.floor((menu.chosen ?? 0) / perRow)
  const from = Math.max(0, Math.min(current - most + 1, rows - most))
  const lines = Array.from({ length: Math.min(rows, most) }, (_, line) => {
    const offers = menu.offers.slice((from + line) * perRow, (from + line + 1) * perRow)
    return offers.flatMap(({ text }, column) => {
      const index = (from + line) * perRow + column
      const shown = fitted(text, cell - 1)
      const rest = plain(' '.repeat(Math.max(0, cell - widthOf(shown))))
      return [index === menu.chosen ? looking('chosen', shown) : plain(shown), rest]
    })
  })
  const shown = lines.flatMap(spans => layOut(spans, { columns, palette }).rows.slice(0, 1))
  const note = noteOf(menu, { hidden: rows > most })
  return note === ''
    ? shown
    : [...shown, ...layOut([looking('hint', fitted(note, columns))], { columns, palette }).rows]
}

/** What is chosen, and how many there are where not all are shown. */
function noteOf(menu: Menu, { hidden }: { hidden: boolean }): string {
  const all = menu.offers.length + menu.more
  const which = menu.chosen === undefined ? `${all} in all` : `${menu.chosen + 1} of ${all}`
  return [hidden || menu.more > 0 ? which : '', menu.detail].filter(text => text !== '').join('  ')
}

/** The signature in one row, with the parameter that is being written; of a long one, the part around that. */
function calleeSpans({ name, signature, parameter }: Callee, columns: number): Span[] {
  // `(`, each parameter with the comma in front of it, and `) -> …`.
  const parts = [name, ...piecesAt(1, signature)]
  const places: number[] = []
  parts.forEach((part, index) => {
    if (index > 0 && !/^[\s,(]*(?:[/*]|\)[\s\S]*)?$/.test(part)) places.push(index)
  })
  const current = parameter === null ? undefined : places[parameter]
  const begun = current === undefined ? 0 : widthOf(parts.slice(0, current).join(''))
  const room = columns - 1
  const skip =
    begun + widthOf(parts[current ?? 0] ?? '') > room ? Math.max(0, begun - Math.floor(room / 3)) : 0
  const spans = parts.flatMap((part, index) => {
    const [, lead = '', body = ''] = /^([\s,(]*)([\s\S]*)$/.exec(part) ?? []
    return [looking('hint', lead), looking(index === current ? 'strong' : 'hint', body)]
  })
  return skip === 0 ? spans : [looking('hint', '…'), ...afterOf(spans, skip + 1)]
}

/** As much of it as one row takes. */
function cropped(spans: readonly Span[], columns: number): readonly Span[] {
  const text = textOf(spans)
  const shown = fitted(text, columns)
  return shown === text ? spans : [...beforeOf(spans, shown.length - 1), looking('hint', '…')]
}

/** Code that runs: the line that it has begun to print, and how long it has been running. */
export function paintRunning(o: { begun: string; status: string; size: Size; palette: Palette }): Region {
  const { begun, status, size, palette } = o
  const { columns } = size
  const line: Layout = layOut([plain(begun), CURSOR], { columns, palette })
  const shown = begun === '' ? [] : line.rows.slice(-Math.max(1, size.rows - 2))
  const notes =
    status === '' ? [] : layOut([looking('hint', fitted(status, columns))], { columns, palette }).rows
  const rows = [...shown, ...notes]
  if (rows.length === 0)
    return { rows: [{ text: '', columns: 0 }], cursor: { row: 0, column: 0 }, hidden: true }
  const row = Math.max(0, shown.length - 1)
  return { rows, cursor: { row, column: begun === '' ? 0 : (line.cursor?.column ?? 0) }, hidden: true }
}

/** An answer that is being written to a question of the code. A secret is not shown, nor how long it is. */
export function paintAnswering(o: {
  prompt: string
  edit: Edit
  secret: boolean
  size: Size
  palette: Palette
}): Region {
  const { prompt, edit, secret, size, palette } = o
  const { text, cursor } = edit
  const written: Piece[] = secret
    ? [CURSOR]
    : [plain(text.slice(0, cursor)), CURSOR, plain(text.slice(cursor))]
  const laid = layOut([plain(prompt), ...written], { columns: size.columns, palette })
  const at = laid.cursor ?? { row: 0, column: 0 }
  const from = firstShown(at.row, { rows: laid.rows.length, room: size.rows })
  return { rows: laid.rows.slice(from, from + size.rows), cursor: { row: at.row - from, column: at.column } }
}
