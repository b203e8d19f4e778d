import {
  beforeOf,
  fitted,
  layOut,
  looking,
  type Palette,
  type Row,
  type Size,
  type Span,
  textOf,
  widthOf,
} from './layout.ts'
import { LineInput } from './line.ts'
import { PlanText } from './plan-text.ts'
import { positionText, Sheet } from './sheet.ts'
import type { Key } from './tty.ts'

/** A long text, a screen at a time. Pure: keys in, rows out. */
export class Pager {
  readonly #title: string
  readonly #sheet: Sheet
  readonly #palette: Palette
  #size: Size
  #input: LineInput | undefined
  #sought = ''
  #note = ''

  constructor({
    title,
    spans,
    palette,
    size,
  }: { title: string; spans: readonly Span[]; palette: Palette; size: Size }) {
    const text = textOf(spans).trimEnd()
    const colours = () => beforeOf(spans, text.length)
    this.#title = title
    this.#sheet = new Sheet(
      [new PlanText(text, { palette, as: 'code', colours, margin: false })],
      roomIn(size),
    )
    this.#palette = palette
    this.#size = size
  }

  /** Breaks the text anew, and stays where it was. */
  resize(size: Size): void {
    this.#size = size
    this.#sheet.resize(roomIn(size))
  }

  /** False once the person has seen enough. */
  press(key: Key): boolean {
    this.#note = ''
    if (this.#input !== undefined) this.#write(this.#input, key)
    else if (key.type === 'text') return [...key.text].every(character => this.#turn(character))
    else if (key.type === 'key') return this.#turn(key.name)
    return true
  }

  /** As many rows as the terminal has. */
  paint(): readonly Row[] {
    const { rows: room } = roomIn(this.#size)
    const rows = this.#sheet.rows()
    return [...rows, ...Array.from({ length: room - rows.length }, () => EMPTY), this.#status()]
  }

  #turn(key: string): boolean {
    if (ENDS.has(key)) return false
    if (key === '/') this.#input = new LineInput('/', 'searches')
    else if (key === 'n' || key === 'N') this.#find(key === 'n' ? 1 : -1)
    else if (!this.#sheet.scroll(LIKE[key] ?? key))
      this.#note = 'q ends, space goes on, b back, / searches, n and N find the next and the one before'
    return true
  }

  #write(input: LineInput, key: Key): void {
    const came = input.press(key)
    if (came.type === 'written') return
    this.#input = undefined
    if (came.type === 'dropped') return
    this.#sought = came.text || this.#sought
    this.#find(1)
  }

  #find(by: -1 | 1): void {
    if (this.#sought !== '' && !this.#sheet.find(this.#sought, by))
      this.#note = `${this.#sought}: not found ${by === 1 ? 'below' : 'above'}`
  }

  #status(): Row {
    const { columns } = this.#size
    const where = `${this.#title}  ${positionText(this.#sheet.position, '·')}  q ends, space goes on, / searches`
    const text = this.#input === undefined ? this.#note || where : `/${this.#input.edit.text}`
    const shown = fitted(text, columns)
    const filled = shown + ' '.repeat(Math.max(0, columns - widthOf(shown)))
    return layOut([looking('chosen', filled)], { columns, palette: this.#palette }).rows[0] ?? EMPTY
  }
}

const ENDS: ReadonlySet<string> = new Set(['q', 'Q', 'escape', 'ctrl-c', 'ctrl-d'])

/** Keys that do what another one does. */
const LIKE: Readonly<Record<string, string>> = { j: 'down', k: 'up', g: 'home', u: 'ctrl-u' }

/** The last row says where one is. */
const roomIn = ({ columns, rows }: Size): Size => ({ columns, rows: Math.max(1, rows - 1) })

const EMPTY: Row = { text: '', columns: 0 }
