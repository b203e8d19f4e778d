import { eastAsianWidth } from 'get-east-asian-width'
import { escapeText } from '../text/escape.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/**
 * What is shown how: with colours, and without. Where a look carries meaning, it has one without colours too. Colours are
 * those that the terminal's own theme gives to the sixteen names, so that they are readable on any background.
 */
const LOOKS = {
  prompt: ['32', ''],
  more: ['2', '2'],
  keyword: ['35', ''],
  text: ['32', ''],
  number: ['36', ''],
  comment: ['2;3', '2'],
  definition: ['1;34', '1'],
  builtin: ['36', ''],
  decorator: ['33', ''],
  bracket: ['1;33', '1;4'],
  error: ['31', ''],
  failure: ['1;31', '1'],
  place: ['36', ''],
  title: ['1', '1'],
  hint: ['2', '2'],
  strong: ['1;4', '1;4'],
  chosen: ['7', '7'],
  match: ['30;43', '7'],
  mark: ['7', '7'],
  added: ['32', ''],
  addedWord: ['1;7;32', '1;4'],
  removed: ['31', ''],
  removedWord: ['1;7;31', '1;4'],
  section: ['36', '2'],
  alarm: ['1;30;43', '1;7'],
  good: ['1;32', '1'],
  bar: ['7', '7'],
} as const

export type Look = keyof typeof LOOKS

/** A piece of text, and how it looks. The text may hold line ends. */
export interface Span {
  readonly text: string
  readonly look?: Look | undefined
  /** Sentences of ours, whose lines are broken between words. */
  readonly prose?: true
}

/** What stands before text of a look, and what after it. */
export interface Palette {
  readonly coloured: boolean
  begin(look: Look): string
  end(look: Look): string
}

export function openPalette({ coloured }: { readonly coloured: boolean }): Palette {
  const code = (look: Look) => LOOKS[look][coloured ? 0 : 1]
  return {
    coloured,
    begin: look => (code(look) === '' ? '' : `\x1b[${code(look)}m`),
    end: look => (code(look) === '' ? '' : '\x1b[0m'),
  }
}

/** Whether this person wants colours: `NO_COLOR`, with anything in it, says no. */
export const wantsColour = (env: Readonly<Record<string, string | undefined>>) => !env.NO_COLOR

export const plain = (text: string): Span => ({ text })

export const looking = (look: Look, text: string): Span => ({ text, look })

export const prose = (look: Look | undefined, text: string): Span => ({ text, look, prose: true })

/** The piece of a text between two places, with another look. */
export function restyled(
  spans: readonly Span[],
  { from, to, look }: { from: number; to: number; look: Look },
): Span[] {
  let at = 0
  return spans.flatMap(span => {
    const begin = at
    at += span.text.length
    if (at <= from || begin >= to) return [span]
    const cut = (start: number, end: number) => span.text.slice(Math.max(0, start), Math.max(0, end))
    return [
      { ...span, text: cut(0, from - begin) },
      { text: cut(from - begin, to - begin), look },
      { ...span, text: cut(to - begin, span.text.length) },
    ].filter(({ text }) => text !== '')
  })
}

export const beforeOf = (spans: readonly Span[], at: number): Span[] => pieceOf(spans, { from: 0, to: at })

export const afterOf = (spans: readonly Span[], at: number): Span[] =>
  pieceOf(spans, { from: at, to: Number.POSITIVE_INFINITY })

/** What stands between two places of a text. */
export function pieceOf(spans: readonly Span[], { from, to }: { from: number; to: number }): Span[] {
  let at = 0
  return spans.flatMap(span => {
    const text = span.text.slice(Math.max(0, from - at), Math.max(0, to - at))
    at += span.text.length
    return text === '' ? [] : [{ ...span, text }]
  })
}

export const textOf = (spans: readonly Span[]): string => spans.map(({ text }) => text).join('')

/** What a person sees as one character. */
interface Grapheme {
  /** As it is in the text. */
  readonly text: string
  /** As it is shown: controls as marks. */
  readonly shown: string
  readonly columns: number
}

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

const PLAIN = /^[\x20-\x7e]*$/

/** Characters of one line, in order. */
export function* graphemesOf(line: string): Generator<Grapheme> {
  if (PLAIN.test(line)) for (const text of line) yield { text, shown: text, columns: 1 }
  else for (const { segment } of SEGMENTER.segment(line)) yield graphemeOf(segment)
}

/** The columns that a line takes, its controls shown as marks. */
export function widthOf(line: string): number {
  if (PLAIN.test(line)) return line.length
  let columns = 0
  for (const grapheme of graphemesOf(line)) columns += grapheme.columns
  return columns
}

/** The beginning of a line that fits, with a sign where it was cut. */
export function fitted(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line
  let text = ''
  let taken = 0
  for (const grapheme of graphemesOf(line)) {
    if (taken + grapheme.columns > columns - 1) break
    text += grapheme.text
    taken += grapheme.columns
  }
  return columns < 1 ? '' : `${text}…`
}

/** Where the character that stands at `at` ends. */
export function nextBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code < 0x80 && !(text.charCodeAt(at + 1) >= 0x80)) return Math.min(text.length, at + 1)
  const line = text.slice(at, lineEnd(text, at))
  for (const { segment } of SEGMENTER.segment(line.slice(0, LONGEST))) return at + segment.length
  return Math.min(text.length, at + 1)
}

/** Where the character before `at` begins. */
export function previousBoundary(text: string, at: number): number {
  if (at <= 1) return 0
  if (text.charCodeAt(at - 1) < 0x80) return at - 1
  const from = Math.max(text.lastIndexOf('\n', at - 1) + 1, at - LONGEST)
  let before = at - 1
  for (const { index } of SEGMENTER.segment(text.slice(from, at))) before = from + index
  return before
}

/** A family of four with skin tones is shorter. */
const LONGEST = 64

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

function graphemeOf(text: string): Grapheme {
  const shown = text === '\t' ? '    ' : escapeText(text)
  if (shown !== text) return { text, shown, columns: PLAIN.test(shown) ? shown.length : widthOf(shown) }
  return { text, shown, columns: columnsOf(text) }
}

const WIDE_SIGNS = /\u{fe0f}|\u{200d}|\p{Regional_Indicator}{2}/u

const COMBINING = /^\p{Mark}/u

function columnsOf(grapheme: string): number {
  if (WIDE_SIGNS.test(grapheme)) return 2
  if (COMBINING.test(grapheme)) return 0
  return eastAsianWidth(grapheme.codePointAt(0) ?? 0x20)
}

/** One row of the screen: what is written to show it, and how many columns that takes. */
export interface Row {
  readonly text: string
  readonly columns: number
}

export interface Place {
  readonly row: number
  readonly column: number
}

export interface Layout {
  readonly rows: readonly Row[]
  /** Where the mark stands. */
  readonly cursor: Place | undefined
}

/** Where the cursor is to stand, between two spans. */
export const CURSOR = Symbol('cursor')

export type Piece = Span | typeof CURSOR

/** Breaks pieces into rows that fit. Nothing that is written moves the cursor: controls are shown as marks. */
export function layOut(pieces: readonly Piece[], options: { columns: number; palette: Palette }): Layout {
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
