import type { Key } from './keys.ts'
import { flowed, printed } from './layout.ts'
import type { Pager } from './pager.ts'
import { NOTHING, type Region, Screen, type Size } from './screen.ts'
import type { Palette, Span } from './style.ts'
import type { Tty } from './tty.ts'

/** Who has the keys now, and what the end of the screen looks like for it. */
export interface Actor {
  press(key: Key): void
  paint(): Region
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
  #pager: { readonly pager: Pager; done(): void } | undefined
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
      this.#pager === undefined
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
    if (this.#pager !== undefined) this.#withheld += text
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
    if (this.#pager === undefined) this.#screen.show(this.#actor?.paint() ?? NOTHING)
  }

  /** Takes away what is shown at the end; what was printed stays. */
  erase(): void {
    this.#screen.erase()
  }

  clear(): void {
    this.#screen.clear()
  }

  /** Shows a text on a screen of its own, until the person has seen enough. */
  page(pager: Pager): Promise<void> {
    this.#screen.erase()
    this.#tty.write('\x1b[?1049h\x1b[?25l')
    return new Promise(resolve => {
      this.#pager = { pager, done: resolve }
      this.#paintPage()
    })
  }

  suspend(): void {
    if (this.#pager !== undefined) this.#tty.write('\x1b[?1049l')
    this.#screen.erase()
    this.#away = true
    this.#tty.suspend()
  }

  /** Lets another program have the terminal, until `work` returns. */
  lend<Result>(work: () => Result): Result {
    this.#screen.erase()
    const result = this.#tty.lend(work)
    this.repaint()
    return result
  }

  close(): void {
    if (this.#pager !== undefined) this.#tty.write('\x1b[?1049l')
    this.#screen.erase()
    this.#tty.close()
  }

  #heard(key: Key): void {
    const shown = this.#pager
    if (shown !== undefined && key.type === 'text' && key.text.length > 1)
      for (const text of key.text) this.#heard({ type: 'text', text })
    else if (shown === undefined) {
      if (this.#actor === undefined) this.#ahead.push(key)
      else this.#actor.press(key)
      this.repaint()
    } else if (key.type === 'key' && key.name === 'ctrl-z') this.suspend()
    else if (shown.pager.press(key)) this.#paintPage()
    else this.#leavePage(shown.done)
  }

  #paintPage(): void {
    const rows = this.#pager?.pager.paint() ?? []
    const text = rows.map(row => `${row.text}\x1b[K`).join('\r\n')
    this.#tty.write(`\x1b[H\x1b[?7l${text}\x1b[?7h`)
  }

  #leavePage(done: () => void): void {
    this.#pager = undefined
    this.#tty.write('\x1b[?1049l\x1b[?25h')
    if (this.#withheld !== '') this.#screen.print(this.#withheld)
    this.#withheld = ''
    done()
    this.repaint()
  }

  #resized(): void {
    if (this.#pager !== undefined) {
      this.#pager.pager.resize(this.size)
      this.#paintPage()
    } else {
      this.#screen.resized()
      this.paintNow()
    }
  }

  #resumed(): void {
    this.#away = false
    if (this.#pager !== undefined) {
      this.#tty.write('\x1b[?1049h\x1b[?25l')
      this.#paintPage()
    } else {
      this.#screen.forget()
      this.paintNow()
    }
  }
}
