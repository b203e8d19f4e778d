import { diffArrays } from 'diff'
import { eastAsianWidth } from 'get-east-asian-width'
import { DiffLines, type Role } from '../front/hunks/diff-lines.ts'
import { escapeText } from '../text/escape.ts'
import {
  type Look,
  layOut,
  looking,
  type Palette,
  pieceOf,
  plain,
  type Row,
  restyled,
  type Span,
  textOf,
} from './layout.ts'
import type { Line, Part } from './sheet.ts'

interface TextOptions {
  readonly palette: Palette
  /** `diff`: its unified diffs are shown as such. `code`: its lines have colours. Neither says anything about the text. */
  readonly as: 'diff' | 'code' | 'text'
  /** Colours code, all of it at once. */
  colours?(text: string): readonly Span[]
  /** Whether our margin stands before each row; it does, unless this says no. */
  readonly margin?: boolean
}

/**
 * A text such as that of a plan, line by line, each row of it with our margin in front: `| `, and `+ ` where a long line goes on.
 * A line is broken and coloured when it is looked at, and never all of them, so that a text may be as long as it likes.
 */
export class PlanText implements Part {
  readonly text: string
  readonly #palette: Palette
  readonly #margin: boolean
  readonly #starts: number[] = [0]
  readonly #diff: DiffLines | undefined
  readonly #code: readonly (readonly Span[])[] | undefined
  readonly #made = new Map<number, LineLook>()
  #madeFor = 0
  #sought = ''
  #words: { readonly from: number; readonly words: ChangedWords; readonly added: number } | undefined

  constructor(text: string, { palette, as, colours, margin = true }: TextOptions) {
    this.text = text.endsWith('\n') ? text.slice(0, -1) : text
    this.#palette = palette
    this.#margin = margin
    for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1))
      this.#starts.push(at + 1)
    const beginning = (line: number) => {
      const start = this.#starts[line] ?? this.text.length
      return this.text.slice(start, Math.min(start + 80, this.#endOf(line)))
    }
    this.#diff = as === 'diff' ? new DiffLines({ count: this.count, beginning }) : undefined
    this.#code = as === 'code' && colours !== undefined ? linesOf(colours(this.text)) : undefined
  }

  get count(): number {
    return this.#starts.length
  }

  /** All that stands outside its diffs. */
  get outside(): string {
    const pieces = [...(this.#diff?.outside() ?? [{ from: 0, to: this.count }])]
    return pieces
      .map(({ from, to }) => this.text.slice(this.#starts[from] ?? 0, this.#starts[to] ?? this.text.length))
      .join('')
      .trim()
  }

  line(index: number, columns: number): Line {
    if (this.#isSaidBelow(index)) return { ...NO_ROW, place: () => this.#starts[index] ?? 0 }
    const { breaks, spans, text } = this.#madeOf(index, columns)
    return {
      rows: breaks.rows,
      row: row => this.#row({ text, spans, breaks, row, columns }),
      place: row =>
        (this.#starts[index] ?? 0) +
        Math.min(breaks.startOf(row), this.#endOf(index) - (this.#starts[index] ?? 0)),
      rowOf: place => breaks.rowAt(Math.max(0, place - (this.#starts[index] ?? 0))),
    }
  }

  seek(sought: string): void {
    this.#sought = sought
  }

  lineAt(place: number): number {
    return lastNotAbove(this.#starts, place)
  }

  /** The first of three headings of a file says nothing where the other two have the same names. */
  #isSaidBelow(line: number): boolean {
    if (this.#diff?.role(line) !== 'file') return false
    const [from, to] = [this.#lineText(line + 1), this.#lineText(line + 2)]
    if (!from.startsWith('--- ') || !to.startsWith('+++ ') || this.#diff.role(line + 2) !== 'file')
      return false
    return this.#lineText(line) === `diff --git ${from.slice(4)} ${to.slice(4)}`
  }

  #endOf(line: number): number {
    const next = this.#starts[line + 1]
    return next === undefined ? this.text.length : next - 1
  }

  #lineText(line: number): string {
    return this.text.slice(this.#starts[line] ?? this.text.length, this.#endOf(line))
  }

  #madeOf(index: number, columns: number): LineLook {
    if (this.#madeFor !== columns || this.#made.size > KEPT) this.#made.clear()
    this.#madeFor = columns
    const known = this.#made.get(index)
    if (known !== undefined) return known
    const spans = this.#spansOf(index, this.#lineText(index))
    const text = textOf(spans)
    const made = { breaks: breaksOf(text, Math.max(1, columns - (this.#margin ? MARGIN : 0))), spans, text }
    this.#made.set(index, made)
    return made
  }

  #spansOf(index: number, text: string): readonly Span[] {
    if (text.length > LONG) return [plain(text)]
    const code = this.#code?.[index]
    if (code !== undefined) return code
    const role = this.#diff?.role(index) ?? 'text'
    const look = LOOKS[role]
    const changed = role === 'added' || role === 'removed' ? this.#changedIn(index) : []
    if (changed.length === 0) return [{ text, look }]
    // Those of the line itself, behind the sign of the diff.
    const ranges = changed.map(({ from, to }) => ({ from: from + 1, to: to + 1 }))
    const word = role === 'added' ? 'addedWord' : 'removedWord'
    if (!this.#palette.coloured)
      return bracketed(text, ranges, role === 'added' ? ['{+', '+}'] : ['[-', '-]'])
    return ranges.reduce<Span[]>(
      (spans, range) => restyled(spans, { ...range, look: word }),
      [{ text, look }],
    )
  }

  #changedIn(line: number): readonly Range[] {
    const block = this.#diff?.block(line)
    if (block === undefined) return []
    const { removed, added } = block
    if (this.#words?.from !== removed.from || this.#words.added !== added.from) {
      const texts = ({ from, to }: { from: number; to: number }) =>
        Array.from({ length: to - from }, (_, index) => this.#lineText(from + index).slice(1))
      const words = changedWords(texts(removed), texts(added))
      this.#words = { from: removed.from, added: added.from, words }
    }
    const { words } = this.#words
    return (line < removed.to ? words.removed[line - removed.from] : words.added[line - added.from]) ?? []
  }

  #row({ text, breaks, row, columns, ...made }: LineLook & { row: number; columns: number }): Row {
    const [from, to] = [breaks.startOf(row), breaks.startOf(row + 1)]
    const spans = pieceOf(made.spans, { from, to })
    const margin = this.#margin ? [looking('hint', row === 0 ? '| ' : '+ ')] : []
    const marked = this.#margin ? withMarks(spans, { text, from, to }) : spans
    const found = withFound(marked, this.#sought)
    return (
      layOut([...margin, ...found], { columns, palette: this.#palette }).rows[0] ?? { text: '', columns: 0 }
    )
  }
}

/** A line as it is shown. */
interface LineLook {
  readonly breaks: Breaks
  readonly spans: readonly Span[]
  readonly text: string
}

const NO_ROW = { rows: 0, row: () => ({ text: '', columns: 0 }), rowOf: () => 0 }

const MARGIN = 2

/** A longer line has no colours. */
const LONG = 4_000

/** Lines that stay as they were made. */
const KEPT = 500

const LOOKS: Readonly<Record<Role, Look | undefined>> = {
  text: undefined,
  file: 'title',
  section: 'section',
  added: 'added',
  removed: 'removed',
  context: undefined,
  note: 'hint',
}

/** Where there are no colours, what changed stands between signs, which have a look that no text has. */
function bracketed(text: string, ranges: readonly Range[], [open, close]: readonly [string, string]): Span[] {
  const spans: Span[] = []
  let at = 0
  for (const { from, to } of ranges) {
    spans.push(plain(text.slice(at, from)), looking('bar', open))
    spans.push(looking('title', text.slice(from, to)), looking('bar', close))
    at = to
  }
  return [...spans, plain(text.slice(at))].filter(span => span.text !== '')
}

const MARK = /⟦U\+[0-9A-F]{4,6}⟧|␍/g

/** As long as a mark is. */
const MARK_CHARS = 10

/** The marks in a piece of a line stand out, also one that began in the row before or goes on in the next. */
function withMarks(spans: readonly Span[], o: { text: string; from: number; to: number }): readonly Span[] {
  const begin = Math.max(0, o.from - MARK_CHARS)
  const around = o.text.slice(begin, o.to + MARK_CHARS)
  let found = spans
  for (const { index, 0: mark } of around.matchAll(MARK)) {
    const from = begin + index - o.from
    if (from + mark.length <= 0 || from >= o.to - o.from) continue
    const look = mark === '␍' ? 'hint' : 'alarm'
    found = restyled(found, { from: Math.max(0, from), to: from + mark.length, look })
  }
  return found
}

/** What is sought stands out. */
function withFound(spans: readonly Span[], sought: string): readonly Span[] {
  if (sought === '') return spans
  const text = textOf(spans).toLowerCase()
  let found = spans
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length))
    found = restyled(found, { from: at, to: at + sought.length, look: 'match' })
  return found
}

function linesOf(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [[]]
  for (const { text, look } of spans)
    for (const [index, line] of text.split('\n').entries()) {
      if (index > 0) lines.push([])
      if (line !== '') lines.at(-1)?.push({ text: line, look })
    }
  return lines
}

const PLAIN = /^[\x20-\x7e]*$/

/** Where the rows of a line begin, the first at 0, so that each fits into so many columns at any terminal. */
interface Breaks {
  readonly rows: number
  /** For the row after the last, the end of the line. */
  startOf(row: number): number
  /** The row in which the character stands. */
  rowAt(index: number): number
}

/** A line without anything but ASCII is not looked through, however long it is. */
export function breaksOf(line: string, width: number): Breaks {
  const { length } = line
  if (PLAIN.test(line))
    return {
      rows: Math.max(1, Math.ceil(length / width)),
      startOf: row => Math.min(length, row * width),
      rowAt: index => Math.max(0, Math.floor(Math.min(index, length - 1) / width)),
    }
  const starts = startsOf(line, width)
  return {
    rows: starts.length,
    startOf: row => starts[row] ?? length,
    rowAt: index => lastNotAbove(starts, index),
  }
}

function startsOf(line: string, width: number): number[] {
  const starts = [0]
  let taken = 0
  for (let at = 0; at < line.length; ) {
    const code = line.codePointAt(at) ?? 0
    const columns = columnsOf(code)
    if (taken + columns > width && taken > 0) {
      starts.push(at)
      taken = 0
    }
    taken += columns
    at += code > 0xffff ? 2 : 1
  }
  return starts
}

/** The most that any terminal takes for it, so that no terminal cuts off what stands at the end of a row. */
function columnsOf(code: number): number {
  if (code >= 0x20 && code < 0x7f) return 1
  if (code === 0x09) return 4
  const escaped = escapeText(String.fromCodePoint(code))
  return PLAIN.test(escaped) ? escaped.length : eastAsianWidth(code, { ambiguousAsWide: true })
}

/** The index of the last number that is not above `sought`, among numbers that rise. */
function lastNotAbove(numbers: readonly number[], sought: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) <= sought) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** A piece of a line, in UTF-16 units. */
interface Range {
  readonly from: number
  readonly to: number
}

/** What of each line changed, in order of the lines; nothing for a line that is another one altogether. */
interface ChangedWords {
  readonly removed: readonly (readonly Range[])[]
  readonly added: readonly (readonly Range[])[]
}

/** Of longer lines, and of more of them at once, nobody sees the words; and finding them takes long. */
const MOST_CHARS = 4_000

const MOST_LINES = 60

/** How many words may differ for the shortest difference to be sought. */
const MOST_EDITS = 400

/** Of a line of which less stays than this share, no words stand out: all of it is another one. */
const LEAST_ALIKE = 0.3

/** A mark of ours is one word. */
const WORDS = /⟦U\+[0-9A-F]+⟧|[\p{L}\p{M}\p{N}_]+|\s+|./gsu

/**
 * Which words differ between lines that were removed and those that stand in their place: all of them as one text, so
 * that a line may become two. Where that would be too much, lines that pair up by their place are compared alone, and
 * of very long ones nothing is said.
 */
export function changedWords(removed: readonly string[], added: readonly string[]): ChangedWords {
  const none = { removed: removed.map(() => []), added: added.map(() => []) }
  if (removed.length === 0 || added.length === 0) return none
  if (isSmall(removed) && isSmall(added)) return compared(removed, added) ?? none
  if (removed.length !== added.length || removed.length > MOST_PAIRS) return none
  const pairs = removed.map((line, index) => compared([line], [added[index] ?? '']))
  return {
    removed: pairs.map(pair => pair?.removed[0] ?? []),
    added: pairs.map(pair => pair?.added[0] ?? []),
  }
}

/** The most lines of one block whose words are compared: somebody waits for it. */
const MOST_PAIRS = 300

const isSmall = (lines: readonly string[]) =>
  lines.length <= MOST_LINES && lines.reduce((sum, { length }) => sum + length, 0) <= MOST_CHARS

function compared(removed: readonly string[], added: readonly string[]): ChangedWords | undefined {
  if (!isSmall(removed) || !isSmall(added)) return undefined
  const words = (lines: readonly string[]) => lines.join('\n').match(WORDS) ?? []
  const changes = diffArrays(words(removed), words(added), { maxEditLength: MOST_EDITS })
  if (changes === undefined) return undefined
  const [old, fresh] = [new Side(), new Side()]
  for (const { value, added: isAdded, removed: isRemoved } of changes) {
    const text = value.join('')
    if (!isAdded) old.put(text, isRemoved)
    if (!isRemoved) fresh.put(text, isAdded)
  }
  return { removed: old.lines(removed), added: fresh.lines(added) }
}

/** One side, word by word: what of each of its lines changed, and how much of it stayed. */
class Side {
  readonly #changed: Range[][] = [[]]
  readonly #alike: number[] = [0]
  #at = 0

  put(text: string, changed: boolean): void {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) {
        this.#changed.push([])
        this.#alike.push(0)
        this.#at = 0
      }
      const line = this.#changed.length - 1
      if (changed) this.#add(line, piece.length)
      else this.#alike[line] = (this.#alike[line] ?? 0) + piece.replace(/\s/g, '').length
      this.#at += piece.length
    }
  }

  lines(texts: readonly string[]): Range[][] {
    return texts.map((text, index) => {
      const ink = text.replace(/\s/g, '').length
      const alike = this.#alike[index] ?? 0
      return ink > 0 && alike / ink >= LEAST_ALIKE ? joined(this.#changed[index] ?? [], text) : []
    })
  }

  #add(line: number, length: number): void {
    if (length > 0) this.#changed[line]?.push({ from: this.#at, to: this.#at + length })
  }
}

/** Changed words with nothing but blanks between them are one piece; blanks at its ends say nothing. */
function joined(ranges: readonly Range[], text: string): Range[] {
  const found: Range[] = []
  for (const range of ranges) {
    const last = found.at(-1)
    if (last !== undefined && text.slice(last.to, range.from).trim() === '')
      found[found.length - 1] = { from: last.from, to: range.to }
    else found.push(range)
  }
  return found.map(({ from, to }) => {
    const piece = text.slice(from, to)
    const begin = piece.length - piece.trimStart().length
    return piece.trim() === '' ? { from, to } : { from: from + begin, to: from + piece.trimEnd().length }
  })
}
