import { flowed, layOut, type Row } from '../console/layout.ts'
import { type Palette, plain, type Span } from '../console/style.ts'
import type { Line, Part } from './sheet.ts'

/** A line of ours: what it is called, and what stands beside that, on rows of its own where it is long. */
export interface OwnLine {
  readonly label?: Span
  readonly value: readonly Span[]
  /** Words of somebody else stand in it: where it goes on, it cannot be taken for a line that begins. */
  readonly foreign?: true
}

/** The columns before what stands beside a label. No row of ours begins as one of a plan does: with `|` or `+`. */
export const LABEL = 10

/** Lines of ours, broken between words. */
export class OwnLines implements Part {
  readonly aside: boolean
  readonly #lines: readonly OwnLine[]
  readonly #palette: Palette

  constructor(lines: readonly OwnLine[], palette: Palette, { aside = false } = {}) {
    this.aside = aside
    this.#lines = lines
    this.#palette = palette
  }

  get count(): number {
    return this.#lines.length
  }

  line(index: number, columns: number): Line {
    const rows = this.#rowsOf(this.#lines[index] ?? { value: [] }, columns)
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
