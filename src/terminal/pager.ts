import {
  afterOf,
  beforeOf,
  fitted,
  layOut,
  looking,
  type Palette,
  type Row,
  restyled,
  rowStarts,
  type Size,
  type Span,
  textOf,
  widthOf,
} from './layout.ts'
import type { Key } from './tty.ts'

/** A long text, a screen at a time. Pure: keys in, rows out. */
export class Pager {
  readonly #title: string
  readonly #spans: readonly Span[]
  readonly #text: string
  /** The same in small letters, to be searched. */
  readonly #small: string
  readonly #palette: Palette
  #size: Size
  /** Where in the text each row begins. */
  #starts: readonly number[] = []
  #top = 0
  #search = ''
  #asking: string | undefined
  #note = ''

  constructor(o: { title: string; spans: readonly Span[]; palette: Palette; size: Size }) {
    this.#title = o.title
    this.#text = textOf(o.spans).trimEnd()
    this.#spans = beforeOf(o.spans, this.#text.length)
    const small = this.#text.toLowerCase()
    this.#small = small.length === this.#text.length ? small : this.#text
    this.#palette = o.palette
    this.#size = o.size
    this.resize(o.size)
  }

  /** Breaks the text anew, and stays where it was. */
  resize(size: Size): void {
    const at = this.#starts[this.#top] ?? 0
    this.#size = size
    this.#starts = [...rowStarts(this.#text, size.columns)]
    this.#go(this.#rowOf(at))
  }

  /** False once the person has seen enough. */
  press(key: Key): boolean {
    this.#note = ''
    if (this.#asking !== undefined) this.#ask(this.#asking, key)
    else if (key.type === 'paste') return true
    else if (key.type === 'text') return [...key.text].every(character => this.#turn(character))
    else return this.#turn(key.name)
    return true
  }

  /** As many rows as the terminal has. */
  paint(): readonly Row[] {
    const from = this.#starts[this.#top] ?? 0
    const to = this.#starts[this.#top + this.#page] ?? this.#text.length + 1
    const shown = beforeOf(afterOf(this.#marked({ from, to }), from), to - from)
    const { columns } = this.#size
    const rows = layOut(shown, { columns, palette: this.#palette }).rows.slice(0, this.#page)
    const blank = Array.from({ length: this.#page - rows.length }, () => EMPTY)
    return [...rows, ...blank, this.#status(columns)]
  }

  get #page(): number {
    return Math.max(1, this.#size.rows - 1)
  }

  #turn(key: string): boolean {
    const half = Math.max(1, Math.floor(this.#page / 2))
    switch (key) {
      case 'q':
      case 'Q':
      case 'escape':
      case 'ctrl-c':
      case 'ctrl-d':
        return false
      case ' ':
      case 'f':
      case 'page-down':
      case 'ctrl-f':
      case 'ctrl-v':
        this.#go(this.#top + this.#page)
        return true
      case 'b':
      case 'page-up':
      case 'ctrl-b':
      case 'alt-v':
        this.#go(this.#top - this.#page)
        return true
      case 'd':
        this.#go(this.#top + half)
        return true
      case 'u':
        this.#go(this.#top - half)
        return true
      case 'j':
      case 'down':
      case 'enter':
      case 'ctrl-n':
        this.#go(this.#top + 1)
        return true
      case 'k':
      case 'up':
      case 'ctrl-p':
        this.#go(this.#top - 1)
        return true
      case 'g':
      case '<':
      case 'home':
        this.#go(0)
        return true
      case 'G':
      case '>':
      case 'end':
        this.#go(this.#starts.length)
        return true
      case '/':
        this.#asking = ''
        return true
      case 'n':
        this.#find(1)
        return true
      case 'N':
        this.#find(-1)
        return true
      default:
        this.#note = 'q ends, space goes on, b back, / searches, n and N find the next and the one before'
        return true
    }
  }

  #ask(asked: string, key: Key): void {
    if (key.type !== 'key') this.#asking = asked + (key.text.split('\n')[0] ?? '')
    else if (key.name === 'backspace') this.#asking = asked === '' ? undefined : asked.slice(0, -1)
    else {
      this.#asking = undefined
      if (key.name !== 'enter') return
      if (asked !== '') this.#search = asked
      this.#find(1)
    }
  }

  #find(by: -1 | 1): void {
    if (this.#search === '') return
    const sought = this.#search.toLowerCase()
    const from = this.#starts[this.#top + 1]
    const at =
      by === -1
        ? this.#small.slice(0, this.#starts[this.#top]).lastIndexOf(sought)
        : from === undefined
          ? -1
          : this.#small.indexOf(sought, from)
    if (at >= 0) this.#go(this.#rowOf(at))
    else this.#note = `${this.#search}: not found ${by === 1 ? 'below' : 'above'}`
  }

  /** The row that the place is in. */
  #rowOf(at: number): number {
    const after = this.#starts.findIndex(start => start > at)
    return (after < 0 ? this.#starts.length : after) - 1
  }

  #go(row: number): void {
    this.#top = Math.max(0, Math.min(row, this.#starts.length - this.#page))
  }

  /** What is sought stands out where it is shown. */
  #marked({ from, to }: { from: number; to: number }): readonly Span[] {
    if (this.#search === '') return this.#spans
    const sought = this.#search.toLowerCase()
    let spans = this.#spans
    const first = Math.max(0, from - sought.length)
    for (let at = this.#small.indexOf(sought, first); at >= 0 && at < to; ) {
      spans = restyled(spans, { from: at, to: at + sought.length, look: 'match' })
      at = this.#small.indexOf(sought, at + sought.length)
    }
    return spans
  }

  #status(columns: number): Row {
    const last = Math.min(this.#starts.length, this.#top + this.#page)
    const where = `${this.#title}  ${this.#top + 1}–${last} of ${this.#starts.length}  q ends, space goes on, / searches`
    const text = this.#asking === undefined ? this.#note || where : `/${this.#asking}`
    const shown = fitted(text, columns)
    const filled = shown + ' '.repeat(Math.max(0, columns - widthOf(shown)))
    return layOut([looking('chosen', filled)], { columns, palette: this.#palette }).rows[0] ?? EMPTY
  }
}

const EMPTY: Row = { text: '', columns: 0 }
