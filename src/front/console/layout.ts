import { escapeText } from '../../core/escape.ts'
import type { Look, Palette, Span } from './style.ts'
import { graphemesOf, widthOf } from './width.ts'

/** One row of the screen: what is written to show it, and how many columns that takes. */
export interface Row {
  readonly text: string
  readonly columns: number
}

export interface Place {
  readonly row: number
  readonly column: number
}

export interface LaidOut {
  readonly rows: readonly Row[]
  /** Where the mark stands. */
  readonly cursor: Place | undefined
}

/** Where the cursor is to stand, between two spans. */
export const CURSOR = Symbol('cursor')
export type Piece = Span | typeof CURSOR

/** Breaks pieces into rows that fit. Nothing that is written moves the cursor: controls are shown as marks. */
export function layOut(pieces: readonly Piece[], options: { columns: number; palette: Palette }): LaidOut {
  const rows = new Rows(options)
  let cursor: Place | undefined
  for (const piece of pieces) {
    if (piece === CURSOR) cursor = rows.here()
    else rows.add(piece)
  }
  const laid = rows.end()
  // The cursor cannot stand beyond the last column.
  if (cursor !== undefined && cursor.column >= options.columns) {
    cursor = { row: cursor.row + 1, column: 0 }
    if (laid.length <= cursor.row) laid.push({ text: '', columns: 0 })
  }
  return { rows: laid, cursor }
}

/** The pieces as one text to be printed and left to the terminal to wrap, so that it can be copied whole. */
export function printed(spans: readonly Span[], palette: Palette): string {
  return spans
    .map(({ text, look }) => {
      const shown = escapeText(text)
      return look === undefined || shown === '' ? shown : `${palette.begin(look)}${shown}${palette.end(look)}`
    })
    .join('')
}

/** The same spans, with lines of prose broken between words. */
export function flowed(spans: readonly Span[], columns: number): Span[] {
  let taken = 0
  return spans.map(span => {
    const text = span.prose ? broken(span.text, { taken, columns }) : span.text
    const last = text.lastIndexOf('\n')
    taken = (last < 0 ? taken : 0) + widthOf(text.slice(last + 1))
    return { ...span, text }
  })
}

function broken(text: string, { taken, columns }: { taken: number; columns: number }): string {
  let column = taken
  return text
    .split(/( |\n)/)
    .map((word, index, words) => {
      if (word === '\n') column = 0
      else if (word === ' ' && column + 1 + widthOf(words[index + 1] ?? '') > columns) {
        column = 0
        return '\n'
      } else column += widthOf(word)
      return word
    })
    .join('')
}

/** Where in the text each of its rows begins. */
export function* rowStarts(text: string, columns: number): Generator<number> {
  let at = 0
  for (const line of text.split('\n')) {
    yield at
    let taken = 0
    for (const grapheme of graphemesOf(line)) {
      if (taken > 0 && taken + grapheme.columns > columns) {
        yield at
        taken = 0
      }
      taken += grapheme.columns
      at += grapheme.text.length
    }
    at++
  }
}

/** Where in the text so many rows are full; undefined where all of it fits into them. */
export function endOfRows(
  text: string,
  { columns, rows }: { columns: number; rows: number },
): number | undefined {
  let row = 0
  for (const start of rowStarts(text, columns)) if (row++ === rows) return start
  return undefined
}

class Rows {
  readonly #columns: number
  readonly #palette: Palette
  readonly #rows: Row[] = []
  #text = ''
  #taken = 0
  #look: Look | undefined

  constructor({ columns, palette }: { columns: number; palette: Palette }) {
    this.#columns = Math.max(1, columns)
    this.#palette = palette
  }

  add({ text, look }: Span): void {
    const [first = '', ...others] = text.split('\n')
    this.#write(first, look)
    for (const line of others) {
      this.#break()
      this.#write(line, look)
    }
  }

  here(): Place {
    return { row: this.#rows.length, column: this.#taken }
  }

  end(): Row[] {
    this.#break()
    return this.#rows
  }

  #write(line: string, look: Look | undefined): void {
    for (const { shown, columns } of graphemesOf(line)) {
      if (columns > this.#columns) continue
      if (this.#taken + columns > this.#columns) this.#break()
      if (look !== this.#look) this.#turn(look)
      this.#text += shown
      this.#taken += columns
    }
  }

  #turn(look: Look | undefined): void {
    if (this.#look !== undefined) this.#text += this.#palette.end(this.#look)
    if (look !== undefined) this.#text += this.#palette.begin(look)
    this.#look = look
  }

  #break(): void {
    this.#turn(undefined)
    this.#rows.push({ text: this.#text, columns: this.#taken })
    this.#text = ''
    this.#taken = 0
  }
}
