import type { Key } from './keys.ts'
import { flowed, type Place, printed, type Row } from './layout.ts'
import { NOTHING, type Region, Screen, type Size } from './screen.ts'
import type { Palette, Span } from './style.ts'
import type { Tty } from './tty.ts'

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
}

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
  #shown: { readonly page: Page; done(): void } | undefined
  #withheld = ''
  #due = false
  #away = false

  constructor({ tty, palette }: { tty: Tty; palette: Palette }) {
    this.#tty = tty
    this.palette = palette
    this.#screen = new Screen({ write: text => tty.write(text), size: () => tty.size() })
    tty.onKey(key => this.#heard(key))
    tty.onResize(() => this.#resized())
    tty.onResume(() => this.#resumed())
  }

  get size(): Size {
    return this.#tty.size()
  }

  /** From now on this one has the keys, those first that were pressed before; or nobody has. */
  act(actor: Actor | undefined): void {
    this.#actor = actor
    this.repaint()
    while (
      this.#ahead.length > 0 &&
      actor !== undefined &&
      this.#actor === actor &&
      this.#shown === undefined
    )
      actor.press(this.#ahead.shift() as Key)
  }

  /** The same, and what was pressed before is left for whoever comes after. */
  take(actor: Actor): void {
    this.#actor = actor
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
    if (this.#shown !== undefined || this.#away) this.#withheld += text
    else if (text !== '') this.#screen.print(text)
  }

  /** The last of an actor: whole lines in place of what it showed. */
  leave(spans: readonly Span[]): void {
    this.#actor = undefined
    this.#screen.replace(printed(flowed(spans, this.size.columns), this.palette))
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
    this.#tty.close()
  }

  #heard(key: Key): void {
    const shown = this.#shown
    if (shown !== undefined && key.type === 'text' && key.text.length > 1)
      for (const text of key.text) this.#heard({ type: 'text', text })
    else if (shown === undefined) {
      if (this.#actor === undefined) this.#ahead.push(key)
      else this.#actor.press(key)
      this.repaint()
    } else if (key.type === 'key' && key.name === 'ctrl-z') this.suspend()
    else if (shown.page.press(key)) this.repaint()
    else this.#leavePage(shown.done)
  }

  /** The last row has no line end, and no row is broken by the terminal. */
  #paintPage(): void {
    const { page } = this.#shown ?? {}
    const rows = page?.paint() ?? []
    const text = rows.map(row => `${row.text}\x1b[K`).join('\r\n')
    const { cursor } = page ?? {}
    const at = cursor === undefined ? '' : `\x1b[${cursor.row + 1};${cursor.column + 1}H\x1b[?25h`
    this.#tty.write(`\x1b[?25l\x1b[H\x1b[?7l${text}\x1b[?7h${at}`)
  }

  #turnPage(on: boolean): void {
    this.#tty.write(on ? '\x1b[?1049h\x1b[?25l' : '\x1b[?1049l\x1b[?25h')
    if (on) this.#paintPage()
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
  }

  #printWithheld(): void {
    if (this.#withheld !== '') this.#screen.print(this.#withheld)
    this.#withheld = ''
  }

  #resized(): void {
    this.#shown?.page.resize(this.size)
    if (this.#shown === undefined) this.#screen.resized()
    this.paintNow()
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
