import { around, type Matcher, type Place } from './matching.ts'

/** The lines of one file in which a text occurs. */
export interface FileMatches {
  /** Lines in which it occurs, also those that are not shown. */
  readonly count: number
  readonly lines: readonly FoundLine[]
  /** Lines with the text among `lines`. */
  readonly shown: number
  /** Characters of `lines`. */
  readonly size: number
}

export interface FoundLine {
  /** From 1. */
  readonly line: number
  /** Where the text begins in the whole line, in characters from 1; null for a line that is shown with it. */
  readonly column: number | null
  readonly text: string
  /** Whether it is only a part of the line. */
  readonly cut?: true
}

export interface Scan {
  readonly text: string
  readonly matcher: Matcher
  /** Lines before and after each that are shown with it. */
  readonly context: number
  /** Lines with the text that are shown at most. */
  readonly most: number
  /** Asked every now and then: whether to stop. */
  isOver(): boolean | Promise<boolean>
}

/** Characters that are looked through between two turns of others; a longer line is looked through in parts. */
const PART = 64 * 1024
/** What a line costs however short it is, in characters. */
const LINE_COST = 32

/** All lines of a text; undefined where there was no time for them. */
export async function scan(o: Scan): Promise<FileMatches | undefined> {
  const found: FoundLine[] = []
  const recent: FoundLine[] = []
  let [count, shown, after, looked] = [0, 0, 0, 0]
  for (const { number, line } of linesIn(o.text)) {
    const isLong = line.length > PART
    looked += line.length + LINE_COST
    if (looked > PART) {
      if (await o.isOver()) return undefined
      looked = 0
    }
    const place = isLong ? await firstInParts(o, line) : o.matcher.first(line)
    if (place === 'over') return undefined
    if (place !== undefined) {
      count++
      if (shown < o.most) {
        found.push(...recent.splice(0), { ...foundLine(number, line, place), column: columnOf(line, place) })
        shown++
        after = o.context
        continue
      }
    }
    if (after > 0 && shown > 0) {
      found.push(foundLine(number, line, undefined))
      after--
    } else if (o.context > 0 && shown < o.most) {
      recent.push(foundLine(number, line, undefined))
      if (recent.length > o.context) recent.shift()
    }
  }
  return { count, lines: found, shown, size: found.reduce((sum, { text }) => sum + text.length + 8, 0) }
}

async function firstInParts({ matcher, isOver }: Scan, line: string): Promise<Place | 'over' | undefined> {
  for (let from = 0; from < line.length; from += PART) {
    if (await isOver()) return 'over'
    // Some characters more on both sides, so that what lies across two parts is found, and what is beside it is seen.
    const begin = Math.max(0, from - 2)
    const place = matcher.first(line.slice(begin, from + 2 * PART), from - begin)
    // What begins behind this part is seen better in the next.
    if (place !== undefined && begin + place.at < from + PART) return { ...place, at: begin + place.at }
  }
  return undefined
}

function foundLine(number: number, line: string, place: Place | undefined): FoundLine {
  const { text, cut } = around(line, place)
  return { line: number, column: null, text, ...(cut && { cut: true as const }) }
}

function columnOf(line: string, { at }: Place): number {
  let column = 1
  for (let unit = 0; unit < at; unit++) {
    const code = line.charCodeAt(unit)
    if (code < 0xdc00 || code >= 0xe000) column++
  }
  return column
}

/** The lines of a text, whichever way each of them ends. */
function* linesIn(text: string): Generator<{ number: number; line: string }> {
  const end = /\r\n|\n|\r/g
  let number = 1
  let from = 0
  for (let found = end.exec(text); found !== null; found = end.exec(text)) {
    yield { number, line: text.slice(from, found.index) }
    number++
    from = end.lastIndex
  }
  if (from < text.length) yield { number, line: text.slice(from) }
}
