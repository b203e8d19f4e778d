import { eastAsianWidth } from 'get-east-asian-width'
import { escapeText } from '../../core/escape.ts'

const PLAIN = /^[\x20-\x7e]*$/

/** Where the rows of a line begin, the first at 0, so that each fits into so many columns at any terminal. */
export interface Breaks {
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
export function lastNotAbove(numbers: readonly number[], sought: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) <= sought) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}
