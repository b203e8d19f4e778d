import { flowed, layOut, type Palette, plain, type Row, type Size, type Span } from './layout.ts'

/** A line of a sheet at a given width, which may have no row. `place`: a character of the text that it is a line of. */
export interface Line {
  readonly rows: number
  row(index: number): Row
  place(row: number): number
  rowOf(place: number): number
}

/** Lines that are made when they are looked at. */
export interface Part {
  readonly count: number
  line(index: number, columns: number): Line
  /** What is searched, and what a position is told of; absent in lines of ours. */
  readonly text?: string
  lineAt?(place: number): number
  /** Stands at the end, and need not have been seen. */
  readonly aside?: boolean
  /** What stands out wherever it occurs, in small letters. */
  seek?(sought: string): void
}

/** How far a text has been read. */
export interface Position {
  /** The last line that is on the screen, from 1. */
  readonly line: number
  readonly lines: number
  readonly percent: number
  /** All of it is on the screen at once. */
  readonly whole: boolean
}

/** The same in words. */
export function positionText({ line, lines, percent, whole }: Position, dot: string): string {
  const all = lines.toLocaleString('en-US')
  if (whole) return lines === 1 ? 'the whole line' : `all ${all} lines`
  return `${percent}% ${dot} line ${line.toLocaleString('en-US')} of ${all}`
}

/** A row of a sheet: which one of which line. */
interface Spot {
  readonly line: number
  readonly row: number
}

/** Parts one below the other, of which a screen shows some rows. Costs what is shown, however much there is. */
export class Sheet {
  readonly #parts: readonly Part[]
  readonly #lines: number
  /** The line behind all that is to be seen. */
  readonly #end: number
  #size: Size
  #top: Spot = { line: 0, row: 0 }
  #seen = false

  constructor(parts: readonly Part[], size: Size) {
    this.#parts = parts
    this.#lines = parts.reduce((sum, { count }) => sum + count, 0)
    this.#end = parts.reduce((sum, { count, aside }) => sum + (aside === true ? 0 : count), 0)
    this.#size = size
  }

  /** Whether the last row of all that is to be seen was on the screen. */
  get seen(): boolean {
    return this.#seen
  }

  /** How many rows all that is to be seen takes; one more than `most` where that is not enough. */
  rowsWithin(most: number): number {
    let rows = 0
    for (let line = 0; line < this.#end && rows <= most; line++) rows += this.#line(line).rows
    return Math.min(rows, most + 1)
  }

  resize(size: Size): void {
    if (size.columns === this.#size.columns && size.rows === this.#size.rows) return
    const place = this.#line(this.#top.line).place(this.#top.row)
    this.#size = size
    this.#top = { line: this.#top.line, row: this.#line(this.#top.line).rowOf(place) }
    this.move(0)
  }

  /** Down, or up where it is negative; never beyond its ends. */
  move(rows: number): void {
    this.#top = rows < 0 ? this.#back(this.#top, -rows) : this.#on(this.#top, rows)
    const last = this.#lastTop()
    if (isBehind(this.#top, last)) this.#top = last
  }

  #page(by: -1 | 1): void {
    this.move(by * Math.max(1, this.#size.rows - 1))
  }

  toEnd(): void {
    this.#top = this.#lastTop()
  }

  /** The rows that are on the screen now, at most as many as there is room for. */
  rows(): Row[] {
    const rows: Row[] = []
    let { line, row } = this.#top
    for (; line < this.#lines && rows.length < this.#size.rows; line++, row = 0) {
      const shown = this.#line(line)
      for (; row < shown.rows && rows.length < this.#size.rows; row++) rows.push(shown.row(row))
      if (line === this.#end - 1 && row >= shown.rows) this.#seen = true
    }
    return rows
  }

  /** Of the texts in it alone. */
  get position(): Position {
    const bottom = this.#on(this.#top, this.#size.rows - 1)
    let [lines, before, above, chars] = [0, 0, 0, 0]
    let begin = 0
    for (const part of this.#parts) {
      const end = begin + part.count
      if (part.text !== undefined) {
        lines += part.count
        chars += part.text.length
        if (bottom.line >= end) {
          before += part.count
          above += part.text.length
        } else if (bottom.line >= begin) {
          before += bottom.line - begin + 1
          const line = part.line(bottom.line - begin, this.#size.columns)
          above += Math.min(part.text.length, line.place(bottom.row + 1))
        }
      }
      begin = end
    }
    const atEnd = !isBehind({ line: this.#end, row: 0 }, this.#on(bottom, 1))
    const percent = chars === 0 || atEnd ? 100 : Math.min(99, Math.floor((above * 100) / chars))
    const whole = atEnd && this.#top.line === 0 && this.#top.row === 0
    return { line: before, lines, percent, whole }
  }

  /** To the next place below the first row where it stands, or above it; false where there is none. */
  find(sought: string, by: -1 | 1 = 1): boolean {
    const small = sought.toLowerCase()
    for (const part of this.#parts) part.seek?.(small)
    const found = this.#beside(small, by)
    if (found === undefined) return false
    this.#top = found
    this.move(0)
    return true
  }

  /** Moves with the keys of less; false for any other key. */
  scroll(key: string): boolean {
    const half = Math.max(1, Math.floor(this.#size.rows / 2))
    switch (key) {
      case ' ':
      case 'f':
      case 'page-down':
      case 'ctrl-f':
      case 'ctrl-v':
        this.#page(1)
        return true
      case 'b':
      case 'page-up':
      case 'ctrl-b':
      case 'alt-v':
        this.#page(-1)
        return true
      case 'ctrl-u':
        this.move(-half)
        return true
      case 'down':
      case 'enter':
      case 'ctrl-n':
        this.move(1)
        return true
      case 'up':
      case 'ctrl-p':
        this.move(-1)
        return true
      case 'home':
      case '<':
        this.#top = { line: 0, row: 0 }
        return true
      case 'end':
      case '>':
      case 'G':
        this.toEnd()
        return true
      default:
        return false
    }
  }

  #beside(sought: string, by: -1 | 1): Spot | undefined {
    const { line, row } = this.#top
    let begin = 0
    let found: Spot | undefined
    for (const part of this.#parts) {
      const { text, count } = part
      const inside = line - begin
      const placeOf = (from: number) => part.line(inside, this.#size.columns).place(from)
      if (text !== undefined && by === 1 && inside < count) {
        const at = smallOf(text).indexOf(sought, inside < 0 ? 0 : placeOf(row + 1))
        if (at >= 0) return this.#spotOf(part, begin, at)
      } else if (text !== undefined && by === -1 && inside >= 0) {
        const before = smallOf(text).slice(0, inside < count ? placeOf(row) : text.length)
        const at = before.lastIndexOf(sought)
        if (at >= 0) found = this.#spotOf(part, begin, at)
      }
      begin += count
    }
    return found
  }

  #spotOf(part: Part, begin: number, place: number): Spot {
    const line = part.lineAt?.(place) ?? 0
    return { line: begin + line, row: part.line(line, this.#size.columns).rowOf(place) }
  }

  #line(index: number): Line {
    let begin = 0
    for (const part of this.#parts) {
      if (index < begin + part.count) return part.line(index - begin, this.#size.columns)
      begin += part.count
    }
    return NO_LINE
  }

  /** So many rows further; the row behind the last one where there are not so many. */
  #on({ line, row }: Spot, rows: number): Spot {
    let left = row + rows
    for (let at = line; at < this.#lines; at++) {
      const count = this.#line(at).rows
      if (left < count) return { line: at, row: left }
      left -= count
    }
    return { line: this.#lines, row: 0 }
  }

  #back({ line, row }: Spot, rows: number): Spot {
    let left = rows - row
    let at = line
    while (left > 0 && at > 0) left -= this.#line(--at).rows
    return { line: at, row: Math.max(0, -left) }
  }

  /** The row with which the last screen begins. */
  #lastTop(): Spot {
    return this.#back({ line: this.#lines, row: 0 }, this.#size.rows)
  }
}

const NO_LINE: Line = { rows: 1, row: () => ({ text: '', columns: 0 }), place: () => 0, rowOf: () => 0 }

const isBehind = (one: Spot, other: Spot) =>
  one.line > other.line || (one.line === other.line && one.row > other.row)

let small: { readonly of: string; readonly text: string } | undefined

/** In small letters, where that leaves each character where it is; kept, because it is searched again. */
function smallOf(text: string): string {
  if (small?.of !== text) {
    const lower = text.toLowerCase()
    small = { of: text, text: lower.length === text.length ? lower : text }
  }
  return small.text
}

/** A line of ours: what it is called, and what stands beside that, on rows of its own where it is long. */
export interface OwnLine {
  readonly label?: Span
  readonly value: readonly Span[]
  /** Words of somebody else stand in it: where it goes on, it cannot be taken for a line that begins. */
  readonly foreign?: true
}

/** The columns before what stands beside a label. No row of ours begins as one of a plan does: with `|` or `+`. */
const LABEL = 10

/** Lines of ours, broken between words. */
export class OwnLines implements Part {
  readonly aside: boolean
  readonly #lines: readonly OwnLine[]
  readonly #palette: Palette
  /** Those of one width, by line: to paint a screen, each is asked for many times. */
  readonly #rows = new Map<number, readonly Row[]>()
  #columns = 0

  constructor(lines: readonly OwnLine[], palette: Palette, { aside = false } = {}) {
    this.aside = aside
    this.#lines = lines
    this.#palette = palette
  }

  get count(): number {
    return this.#lines.length
  }

  line(index: number, columns: number): Line {
    if (columns !== this.#columns) this.#rows.clear()
    this.#columns = columns
    const rows = this.#rows.get(index) ?? this.#rowsOf(this.#lines[index] ?? { value: [] }, columns)
    this.#rows.set(index, rows)
    return {
      rows: rows.length,
      row: row => rows[row] ?? { text: '', columns: 0 },
      place: row => row,
      rowOf: place => Math.min(place, rows.length - 1),
    }
  }

  #rowsOf({ label, value, foreign }: OwnLine, columns: number): Row[] {
    const beside = columns < 4 * LABEL ? LABEL - 2 : LABEL
    const left = label === undefined && foreign !== true ? 1 : beside
    const options = { columns: Math.max(1, columns - left), palette: this.#palette }
    const head = label && layOut([plain(' '), label], { columns: left, palette: this.#palette }).rows[0]
    return layOut(flowed(value, options.columns), options).rows.map((row, index) => {
      const before = index === 0 ? head : undefined
      const begin = index === 0 && label === undefined ? 1 : left
      const blank = ' '.repeat(Math.max(0, begin - (before?.columns ?? 0)))
      return { text: `${before?.text ?? ''}${blank}${row.text}`, columns: begin + row.columns }
    })
  }
}
