import type { Place, Row } from '../console/layout.ts'

export interface FramesOptions {
  write(text: string): void
  /** Calls back once all that was written is on its way to the terminal; at once where it is. */
  flushed(done: () => void): void
}

/** The whole screen, row by row. Writes only what differs from what is there, and nothing while a write is stuck. */
export class Frames {
  readonly #options: FramesOptions
  #rows: readonly Row[] = []
  #cursor: Place | undefined
  #stuck = false
  #freed = () => {}

  constructor(options: FramesOptions) {
    this.#options = options
  }

  /** The terminal has not taken the last frame yet: the next one is to wait until `freed`. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Called whenever a terminal that was stuck goes on. */
  onFreed(listener: () => void): void {
    this.#freed = listener
  }

  show(rows: readonly Row[], { columns, cursor }: { columns: number; cursor: Place | undefined }): void {
    const moved = shiftOf(this.#rows, rows)
    const before = moved === undefined ? this.#rows : shifted(this.#rows, moved)
    const text = rows
      .map((row, index) =>
        before[index]?.text === row.text
          ? ''
          : `${placed(index)}${row.text}${row.columns < columns ? '\x1b[K' : ''}`,
      )
      .join('')
    const changed = text !== '' || moved !== undefined
    this.#rows = rows
    const at = cursor === undefined ? '\x1b[?25l' : `${placed(cursor.row, cursor.column)}\x1b[?25h`
    const still = this.#cursor?.row === cursor?.row && this.#cursor?.column === cursor?.column
    this.#cursor = cursor
    if (changed)
      this.#write(`\x1b[?25l\x1b[?7l${moved === undefined ? '' : scrolled(moved)}${text}\x1b[?7h${at}`)
    else if (!still) this.#write(at)
  }

  /** Nothing of it is on the screen any more, or the screen has another size. */
  forget(): void {
    this.#rows = []
    this.#cursor = undefined
  }

  #write(text: string): void {
    this.#options.write(text)
    let done = false
    this.#options.flushed(() => {
      done = true
      if (!this.#stuck) return
      this.#stuck = false
      this.#freed()
    })
    this.#stuck = !done
  }
}

const placed = (row: number, column = 0) => `\x1b[${row + 1};${column + 1}H`

/** Rows from `from` on and before `to` stand `by` rows further up than they did; further down where it is negative. */
interface Shift {
  readonly from: number
  readonly to: number
  readonly by: number
}

/** Fewer rows are written faster than they are moved. */
const LEAST = 5

/** What a terminal can move by itself: over a slow line that is most of a screen. */
function shiftOf(before: readonly Row[], rows: readonly Row[]): Shift | undefined {
  if (before.length !== rows.length) return undefined
  const differs = (index: number) => before[index]?.text !== rows[index]?.text
  const first = rows.findIndex((_, index) => differs(index))
  const last = rows.findLastIndex((_, index) => differs(index))
  const standing = rows.filter(
    (row, index) => index > first && index < last && row.columns > 0 && !differs(index),
  ).length
  let best: (Shift & { readonly kept: number }) | undefined
  for (let by = 1 - (last - first); by < last - first; by++) {
    if (by === 0) continue
    const from = by > 0 ? first : first - by
    const to = by > 0 ? last + 1 - by : last + 1
    let kept = 0
    for (let index = from; index < to; index++)
      if (rows[index]?.columns !== 0 && before[index + by]?.text === rows[index]?.text) kept++
    if (kept > (best?.kept ?? standing + LEAST - 1)) best = { from: first, to: last + 1, by, kept }
  }
  return best
}

function shifted(rows: readonly Row[], { from, to, by }: Shift): readonly (Row | undefined)[] {
  return rows.map((row, index) => {
    if (index < from || index >= to) return row
    return index + by >= from && index + by < to ? rows[index + by] : BLANK
  })
}

const BLANK: Row = { text: '', columns: 0 }

function scrolled({ from, to, by }: Shift): string {
  return `\x1b[${from + 1};${to}r\x1b[${Math.abs(by)}${by > 0 ? 'S' : 'T'}\x1b[r`
}
