import { Frames } from '../watch/frames.ts'
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
  #takesAhead = false
  readonly #frames: Frames
  #shown: { readonly page: Page; done(): void } | undefined
  #withheld = ''
  #shortcut: { readonly name: string; act(): void } | undefined
  #due = false
  #away = false

  constructor({ tty, palette }: { tty: Tty; palette: Palette }) {
    this.#tty = tty
    this.palette = palette
    this.#screen = new Screen({ write: text => tty.write(text), size: () => tty.size() })
    this.#frames = new Frames({ write: text => tty.write(text), flushed: done => done() })
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
    this.#tty.close()
  }

  #heard(key: Key): void {
    const shown = this.#shown
    if (shown !== undefined && key.type === 'text' && key.text.length > 1)
      for (const text of key.text) this.#heard({ type: 'text', text })
    else if (shown === undefined) {
      if (key.type === 'key' && key.name === this.#shortcut?.name) this.#shortcut.act()
      else if (this.#actor === undefined) this.#ahead.push(key)
      else this.#actor.press(key)
      this.repaint()
    } else if (key.type === 'key' && key.name === 'ctrl-z') this.suspend()
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
    if (page !== undefined)
      this.#frames.show(page.paint(), { columns: this.size.columns, cursor: page.cursor })
  }

  #turnPage(on: boolean): void {
    this.#tty.write(on ? '\x1b[?1049h\x1b[?25l\x1b[2J' : '\x1b[?1049l\x1b[?25h')
    this.#frames.forget()
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
    else {
      this.#tty.write('\x1b[2J')
      this.#frames.forget()
    }
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

/** Characters of what is printed while something else has the screen that are kept at least. */
const WITHHELD = 1_000_000
const LEFT_OUT = '… what was printed before that is left out\n'
