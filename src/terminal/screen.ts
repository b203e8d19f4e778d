import { flowed, type Palette, type Place, printed, type Row, type Size, type Span } from './layout.ts'
import type { Key, Tty } from './tty.ts'

/** The rows at the end of what is on the screen that are still changing, and where the cursor stands in them. */
export interface Region {
  readonly rows: readonly Row[]
  readonly cursor: Place
  /** A cursor is not shown where there is nothing to write. */
  readonly hidden?: true
}

const NOTHING: Region = { rows: [], cursor: { row: 0, column: 0 } }

interface ScreenOptions {
  write(text: string): void
  size(): Size
  /** The region is all of the screen, from its first row: what moves in it can be moved by the terminal. */
  readonly whole?: boolean
}

/**
 * Shows a region below everything that was printed, or on all of the screen, and writes only what differs from what is
 * there. Whatever is printed meanwhile goes above it.
 */
export class Screen {
  readonly #write: (text: string) => void
  readonly #size: () => Size
  readonly #whole: boolean
  #shown: Region = NOTHING

  constructor({ write, size, whole = false }: ScreenOptions) {
    this.#write = write
    this.#size = size
    this.#whole = whole
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

  /** Something else has written to the terminal, and has left the cursor where the region is to begin. */
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
    const shift = this.#whole ? shiftOf(before.rows, region.rows) : undefined
    const rows = shift === undefined ? before.rows : shifted(before.rows, shift)
    let text = shift === undefined ? '' : scrolled(shift)
    // Where a part of the screen has been moved, the cursor stands in its first row.
    let at = shift === undefined ? before.cursor.row : 0
    let last = Math.max(0, rows.length - 1)
    const go = (row: number) => {
      if (row <= last) text += vertical(row - at)
      else {
        text += `${vertical(last - at)}${'\r\n'.repeat(row - last)}`
        last = row
      }
      at = row
    }
    region.rows.forEach((row, index) => {
      if (rows[index]?.text === row.text) return
      go(index)
      text += `\r${row.text}${row.columns < columns ? '\x1b[K' : ''}`
    })
    if (rows.length > region.rows.length) {
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

/** Who has the keys now, and what the end of the screen looks like for it. */
export interface Actor {
  press(key: Key): void
  paint(): Region
}

/** What has a screen of its own, all of it, until the person has seen enough. */
export interface Page {
  /** False once it is over. */
  press(key: Key): boolean
  /** As many rows as the terminal has. */
  paint(): readonly Row[]
  resize(size: Size): void
  /** Where the cursor stands; undefined where nothing is being written. */
  readonly cursor?: Place | undefined
  /** Text that came at once is one key for it, and not one for each character. */
  readonly takesWhole?: true
}

/** An own screen, cleared, without a cursor; and back to what was there before. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J'
const LEAVE = '\x1b[r\x1b[?7h\x1b[?1049l\x1b[?25h'

/**
 * The terminal as the parts of the console share it: one of them acts at a time, and all may print above it. Keys that
 * nobody takes wait for the next that does.
 */
export class Stage {
  readonly palette: Palette
  readonly #tty: Tty
  readonly #screen: Screen
  readonly #ahead: Key[] = []
  #actor: Actor | undefined
  #takesAhead = false
  readonly #whole: Screen
  /** The terminal has not taken yet what was shown last. */
  #stuck = false
  #shown: { readonly page: Page; done(): void } | undefined
  #withheld = ''
  #shortcut: { readonly name: string; act(): void } | undefined
  #due = false
  #away = false

  constructor({ tty, palette }: { tty: Tty; palette: Palette }) {
    this.#tty = tty
    this.palette = palette
    const at = { write: (text: string) => tty.write(text), size: () => tty.size() }
    this.#screen = new Screen(at)
    this.#whole = new Screen({ ...at, whole: true })
    tty.onKey(key => this.#heard(key))
    tty.onResize(() => this.#resized())
    tty.onResume(() => this.#resumed())
    // However this process ends, the screen is that of before.
    process.on('exit', this.#ended).on('uncaughtExceptionMonitor', this.#ended)
  }

  get size(): Size {
    return this.#tty.size()
  }

  /** From now on this one has the keys, those first that were pressed before; or nobody has. */
  act(actor: Actor | undefined): void {
    this.#actor = actor
    this.#takesAhead = true
    this.repaint()
    this.#pressAhead()
  }

  /** Whatever acts, that key does this, unless something has a screen of its own. */
  onShortcut(name: string, act: () => void): void {
    this.#shortcut = { name, act }
  }

  /** Whether keys wait for whoever acts next. */
  get typedAhead(): boolean {
    return this.#ahead.length > 0
  }

  /** The same, and what was pressed before is left for whoever comes after. */
  take(actor: Actor): void {
    this.#actor = actor
    this.#takesAhead = false
    this.repaint()
  }

  /** A key that is for whoever acts next. */
  putBack(key: Key): void {
    this.#ahead.unshift(key)
  }

  keepForLater(key: Key): void {
    this.#ahead.push(key)
  }

  /** What was typed ahead is forgotten, as a terminal forgets it with Ctrl-C. */
  forgetAhead(): void {
    this.#ahead.length = 0
  }

  /** Whole lines, above what is being written. */
  print(spans: readonly Span[]): void {
    const text = printed(flowed(spans, this.size.columns), this.palette)
    if (this.#elsewhere) this.#withhold(text)
    else if (text !== '') this.#screen.print(text)
  }

  /** The last of an actor: whole lines in place of what it showed. */
  leave(spans: readonly Span[]): void {
    this.#actor = undefined
    const text = printed(flowed(spans, this.size.columns), this.palette)
    if (this.#elsewhere) this.#withhold(text)
    else this.#screen.replace(text)
  }

  /** What is shown is as the actor wants it, soon. */
  repaint(): void {
    if (this.#due) return
    this.#due = true
    setImmediate(() => this.paintNow())
  }

  paintNow(): void {
    this.#due = false
    if (this.#away) return
    if (this.#shown === undefined) this.#screen.show(this.#actor?.paint() ?? NOTHING)
    else this.#paintPage()
  }

  /** Takes away what is shown at the end; what was printed stays. */
  erase(): void {
    this.#screen.erase()
  }

  clear(): void {
    this.#screen.clear()
  }

  /** Shows that on a screen of its own, until it is over. */
  page(page: Page): Promise<void> {
    this.#screen.erase()
    return new Promise(resolve => {
      this.#shown = { page, done: resolve }
      this.#turnPage(true)
    })
  }

  /** Whether something has a screen of its own now. */
  get paged(): boolean {
    return this.#shown !== undefined
  }

  /** What has a screen of its own is over, without a key. */
  endPage(page: Page): void {
    if (this.#shown?.page === page) this.#leavePage(this.#shown.done)
  }

  /** A sound, or whatever the person has in its place. */
  bell(): void {
    if (!this.#away) this.#tty.write('\x07')
  }

  suspend(): void {
    this.#leaveScreen()
    this.#away = true
    this.#tty.suspend()
  }

  /** Lets another program have the terminal, until `work` has settled. */
  async lend<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#leaveScreen()
    this.#away = true
    try {
      return await this.#tty.lend(work)
    } finally {
      this.#resumed()
    }
  }

  close(): void {
    this.#leaveScreen()
    process.off('exit', this.#ended).off('uncaughtExceptionMonitor', this.#ended)
    this.#tty.close()
  }

  readonly #ended = (): void => {
    if (this.#shown !== undefined && !this.#away) this.#tty.write(LEAVE)
  }

  #heard(key: Key): void {
    const shown = this.#shown
    if (shown !== undefined && !shown.page.takesWhole && key.type === 'text' && key.text.length > 1)
      for (const text of key.text) this.#heard({ type: 'text', text })
    else if (shown === undefined) {
      if (key.type === 'key' && key.name === this.#shortcut?.name) this.#shortcut.act()
      else if (this.#actor === undefined) this.#ahead.push(key)
      else this.#actor.press(key)
      this.repaint()
    } else if (key.type === 'key' && key.name === 'ctrl-z') this.suspend()
    else if (key.type === 'key' && key.name === 'ctrl-l') this.#drawAnew()
    else if (shown.page.press(key)) this.repaint()
    else this.#leavePage(shown.done)
  }

  #pressAhead(): void {
    const actor = this.#actor
    const takes = () => this.#takesAhead && this.#actor === actor && !this.paged
    while (this.#ahead.length > 0 && actor !== undefined && takes()) actor.press(this.#ahead.shift() as Key)
  }

  #paintPage(): void {
    const { page } = this.#shown ?? {}
    if (page === undefined || this.#stuck) return
    const rows = page.paint()
    this.#whole.show(
      page.cursor === undefined ? { ...NOTHING, rows, hidden: true } : { rows, cursor: page.cursor },
    )
    let late = false
    this.#stuck = true
    this.#tty.flushed(() => {
      this.#stuck = false
      if (late) this.repaint()
    })
    late = true
  }

  #turnPage(on: boolean): void {
    this.#tty.write(on ? ENTER : LEAVE)
    this.#whole.forget()
    if (on) this.#paintPage()
  }

  /** Something else has the screen, so that nothing can be printed there. */
  get #elsewhere(): boolean {
    return this.#away || this.#shown !== undefined
  }

  #withhold(text: string): void {
    this.#withheld += text
    if (this.#withheld.length <= 2 * WITHHELD) return
    const from = this.#withheld.indexOf('\n', this.#withheld.length - WITHHELD) + 1
    this.#withheld = `${LEFT_OUT}${this.#withheld.slice(from)}`
  }

  #leaveScreen(): void {
    if (this.#shown !== undefined) this.#turnPage(false)
    else this.#screen.erase()
  }

  #leavePage(done: () => void): void {
    this.#shown = undefined
    this.#turnPage(false)
    this.#printWithheld()
    done()
    this.repaint()
    this.#pressAhead()
  }

  #printWithheld(): void {
    if (this.#withheld !== '') this.#screen.print(this.#withheld)
    this.#withheld = ''
  }

  #resized(): void {
    this.#shown?.page.resize(this.size)
    if (this.#shown === undefined) this.#screen.resized()
    else this.#drawAnew()
    this.paintNow()
  }

  /** All of a page is written again. */
  #drawAnew(): void {
    this.#tty.write('\x1b[H\x1b[2J')
    this.#whole.forget()
    this.repaint()
  }

  #resumed(): void {
    this.#away = false
    this.#shown?.page.resize(this.size)
    if (this.#shown !== undefined) this.#turnPage(true)
    else {
      this.#screen.forget()
      this.#printWithheld()
      this.paintNow()
    }
  }
}

/** Characters of what is printed while something else has the screen that are kept at least. */
const WITHHELD = 1_000_000
const LEFT_OUT = '… what was printed before that is left out\n'
