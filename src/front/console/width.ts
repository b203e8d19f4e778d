import { eastAsianWidth } from 'get-east-asian-width'
import { escapeText } from '../../core/escape.ts'

/** How many columns text takes at a terminal, and where what a person sees as one character begins and ends. */

/** What is shown as one character. */
interface Grapheme {
  /** As it is in the text. */
  readonly text: string
  /** As it is shown: controls as marks. */
  readonly shown: string
  readonly columns: number
}

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const PLAIN = /^[\x20-\x7e]*$/

/** Characters of one line, in order. */
export function* graphemesOf(line: string): Generator<Grapheme> {
  if (PLAIN.test(line)) for (const text of line) yield { text, shown: text, columns: 1 }
  else for (const { segment } of SEGMENTER.segment(line)) yield graphemeOf(segment)
}

/** The columns that a line takes, its controls shown as marks. */
export function widthOf(line: string): number {
  if (PLAIN.test(line)) return line.length
  let columns = 0
  for (const grapheme of graphemesOf(line)) columns += grapheme.columns
  return columns
}

/** The beginning of a line that fits, with a sign where it was cut. */
export function fitted(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line
  let text = ''
  let taken = 0
  for (const grapheme of graphemesOf(line)) {
    if (taken + grapheme.columns > columns - 1) break
    text += grapheme.text
    taken += grapheme.columns
  }
  return columns < 1 ? '' : `${text}…`
}

/** Where the character that stands at `at` ends. */
export function nextBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code < 0x80 && !(text.charCodeAt(at + 1) >= 0x80)) return Math.min(text.length, at + 1)
  const line = text.slice(at, lineEnd(text, at))
  for (const { segment } of SEGMENTER.segment(line.slice(0, LONGEST))) return at + segment.length
  return Math.min(text.length, at + 1)
}

/** Where the character before `at` begins. */
export function previousBoundary(text: string, at: number): number {
  if (at <= 1) return 0
  if (text.charCodeAt(at - 1) < 0x80) return at - 1
  const from = Math.max(text.lastIndexOf('\n', at - 1) + 1, at - LONGEST)
  let before = at - 1
  for (const { index } of SEGMENTER.segment(text.slice(from, at))) before = from + index
  return before
}

/** A family of four with skin tones is shorter. */
const LONGEST = 64

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

function graphemeOf(text: string): Grapheme {
  const shown = text === '\t' ? '    ' : escapeText(text)
  if (shown !== text) return { text, shown, columns: PLAIN.test(shown) ? shown.length : widthOf(shown) }
  return { text, shown, columns: columnsOf(text) }
}

const WIDE_SIGNS = /\u{fe0f}|\u{200d}|\p{Regional_Indicator}{2}/u
const COMBINING = /^\p{Mark}/u

function columnsOf(grapheme: string): number {
  if (WIDE_SIGNS.test(grapheme)) return 2
  if (COMBINING.test(grapheme)) return 0
  return eastAsianWidth(grapheme.codePointAt(0) ?? 0x20)
}
