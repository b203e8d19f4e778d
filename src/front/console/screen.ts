import type { Place, Row } from './layout.ts'

/** The rows at the end of what is on the screen that are still changing, and where the cursor stands in them. */
export interface Region {
  readonly rows: readonly Row[]
  readonly cursor: Place
  /** A cursor is not shown where there is nothing to write. */
  readonly hidden?: true
}

export interface Size {
  readonly columns: number
  readonly rows: number
}

export const NOTHING: Region = { rows: [], cursor: { row: 0, column: 0 } }

/**
 * Shows a region below everything that was printed, and writes only what differs from what is there. Whatever is
 * printed meanwhile goes above it.
 */
export class Screen {
  readonly #write: (text: string) => void
  readonly #size: () => Size
  #shown: Region = NOTHING

  constructor({ write, size }: { write: (text: string) => void; size: () => Size }) {
    this.#write = write
    this.#size = size
  }

  show(region: Region): void {
    const text = this.#differences(region)
    this.#shown = region
    if (text !== '') this.#write(text)
  }

  /** Prints whole lines above, wrapped by the terminal, so that they can be copied as they are. */
  print(text: string): void {
    const region = this.#shown
    const lines = text.replaceAll('\n', '\r\n')
    const erased = this.#erased()
    this.#shown = NOTHING
    const again = this.#differences(region)
    this.#shown = region
    this.#write(erased + lines + again)
  }

  /** Prints whole lines in place of the region. */
  replace(text: string): void {
    this.#write(this.#erased() + SHOW_CURSOR + text.replaceAll('\n', '\r\n'))
    this.#shown = NOTHING
  }

  /** Leaves nothing of the region on the screen. */
  erase(): void {
    if (this.#shown !== NOTHING) this.#write(this.#erased() + SHOW_CURSOR)
    this.#shown = NOTHING
  }

  /** Begins at the top of an empty screen. What has scrolled away stays there. */
  clear(): void {
    const region = this.#shown
    this.#shown = NOTHING
    this.#write(`\x1b[H\x1b[2J${this.#differences(region)}`)
    this.#shown = region
  }

  /** Something else has written to the terminal, and has left the cursor at the beginning of an empty line. */
  forget(): void {
    this.#shown = NOTHING
  }

  /** The terminal has become narrower or wider, and has broken the rows anew: they are taken back. */
  resized(): void {
    const { columns } = this.#size()
    const { rows, cursor } = this.#shown
    const above = rows.slice(0, cursor.row)
    const up = above.reduce((sum, row) => sum + Math.max(1, Math.ceil(row.columns / columns)), 0)
    this.#write(`${vertical(-up)}\r\x1b[J`)
    this.#shown = NOTHING
  }

  #erased(): string {
    const { rows, cursor } = this.#shown
    return rows.length === 0 ? '' : `${vertical(-cursor.row)}\r\x1b[J`
  }

  #differences(region: Region): string {
    const before = this.#shown
    const { columns } = this.#size()
    let at = before.cursor.row
    let last = Math.max(0, before.rows.length - 1)
    let text = ''
    const go = (row: number) => {
      if (row <= last) text += vertical(row - at)
      else {
        text += `${vertical(last - at)}${'\r\n'.repeat(row - last)}`
        last = row
      }
      at = row
    }
    region.rows.forEach((row, index) => {
      if (before.rows[index]?.text === row.text) return
      go(index)
      text += `\r${row.text}${row.columns < columns ? '\x1b[K' : ''}`
    })
    if (before.rows.length > region.rows.length) {
      go(Math.max(0, region.rows.length))
      text += '\r\x1b[J'
    }
    const changed = text !== ''
    go(region.cursor.row)
    const { column } = region.cursor
    const still = before.cursor.column === column && text === ''
    if (!still) text += `\r${column === 0 ? '' : `\x1b[${column}C`}`
    if (changed) text = `\x1b[?25l\x1b[?7l${text}\x1b[?7h`
    if (region.hidden) return changed || !before.hidden ? `${text}\x1b[?25l` : text
    return changed || before.hidden ? `${text}${SHOW_CURSOR}` : text
  }
}

const SHOW_CURSOR = '\x1b[?25h'

const vertical = (rows: number) => (rows === 0 ? '' : `\x1b[${Math.abs(rows)}${rows < 0 ? 'A' : 'B'}`)
