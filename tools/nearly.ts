import { type Failed, failed } from './outcome.ts'
import { lineNumbers, occurrences } from './placing.ts'
import { beginning, oneLine } from './wording.ts'

/** A text that was looked for in a file; `name` is that of the parameter that held it. */
export interface Sought {
  readonly path: string
  readonly text: string
  readonly wanted: string
  readonly name: string
}

/**
 * The failure of a text that does not occur: says what it differs in from what is nearest to it, and gives that as it
 * stands in the file. Nothing of it is ever applied.
 */
export function notThere(sought: Sought): Failed {
  const { path, name, text } = sought
  const looked = text.length <= LOOKED_CHARS
  const near = looked ? nearest(sought) : undefined
  const here = `${name} does not occur in ${oneLine(path)}`
  const facts = { found: 0, lines: [] }
  if (near === undefined)
    return failed('no_unique_match', {
      message: `${here}${looked ? ', and nothing like it does' : ''}. Nothing was changed.`,
      details: { ...facts, nearest: null },
      next: `Read the file with read_file, and pass ${name} exactly as it stands there.`,
    })
  const { differs, says, line, whole } = near
  return failed('no_unique_match', {
    message: `${here}; ${says}. Nothing was changed.`,
    details: { ...facts, nearest: { differs, line, text: near.text } },
    next: whole
      ? `If that is the place, pass details.nearest.text as ${name}: it is what the file has there.`
      : `Read on from line ${line} with read_file, and pass ${name} exactly as it stands there.`,
  })
}

/** A file longer than this is not searched for what is like it. */
const LOOKED_CHARS = 2 << 20

interface Nearest {
  /** In what: one of the names below, or `lines` where only its beginning is there. */
  readonly differs: string
  /** As a clause. */
  readonly says: string
  readonly line: number
  /** The text of the file, to the character; only its first lines where it is long. */
  readonly text: string
  readonly whole: boolean
}

/** What two texts can differ in and yet be meant to be the same; what changes least comes first. */
const DIFFERENCES: readonly {
  readonly name: string
  readonly says: string
  /** Makes a line the same as another that differs only in this. */
  line?(line: string): string
  /** What was asked for as it may have been meant. */
  meant?(wanted: string): string
}[] = [
  { name: 'line_ends', says: 'its line ends' },
  { name: 'trailing_blanks', says: 'blanks at the ends of lines', line: line => line.trimEnd() },
  { name: 'indentation', says: 'its indentation', line: line => line.trim() },
  { name: 'blanks', says: 'its blanks', line: squeezed },
  { name: 'escapes', says: 'being escaped once too often', line: squeezed, meant: unescaped },
  { name: 'line_numbers', says: 'line numbers', line: squeezed, meant: withoutNumbers },
  { name: 'lookalikes', says: 'characters that look alike', line: line => lookalike(squeezed(line)) },
  { name: 'case', says: 'capitals', line: line => squeezed(line).toLowerCase() },
]

function nearest({ text, wanted }: Sought): Nearest | undefined {
  const lines = rows(text)
  for (const { name, says, line = same, meant = same } of DIFFERENCES) {
    const asked = bare(meant(wanted)).map(line).join('\n')
    if (asked.trim() === '') continue
    const all = lines.map(row => line(row.text)).join('\n')
    const places = occurrences(all, asked)
    const [at, ...others] = lineNumbers(all, places)
    if (at === undefined) continue
    const more = others.length === 0 ? '' : `, and at ${others.length} further places`
    const there = shown(lines, at, asked.split('\n').length)
    return { differs: name, says: `at line ${at} it does but for ${says}${more}`, line: at, ...there }
  }
  return begun(lines, bare(wanted))
}

/** Lines of the file that are looked at as a beginning, and lines that are compared after one. */
const BEGINNINGS = 200
const COMPARED = 500

/** Where the most lines in a row agree from the first one on. */
function begun(lines: readonly Row[], wanted: readonly string[]): Nearest | undefined {
  const asked = wanted.map(squeezed)
  const from = asked.findIndex(line => line !== '')
  const first = asked[from] ?? ''
  if (first.length < 3) return undefined
  const file = lines.map(row => squeezed(row.text))
  const starts = [...file.keys()].filter(at => holds(file[at] ?? '', first)).slice(0, BEGINNINGS)
  const agreeing = (start: number) => {
    let count = 1
    while (count < COMPARED && from + count < asked.length && file[start + count] === asked[from + count])
      count++
    return count
  }
  const best = starts
    .map(start => ({ start, count: agreeing(start) }))
    .reduce<{ start: number; count: number } | undefined>(
      (most, one) => (most === undefined || one.count > most.count ? one : most),
      undefined,
    )
  if (best === undefined) return undefined
  const line = best.start + best.count + 1
  const says = `its first line is at line ${best.start + 1}, and from line ${line} on the file goes on otherwise`
  return {
    differs: 'lines',
    says,
    line: best.start + 1,
    ...shown(lines, best.start + 1, best.count + 1),
    whole: false,
  }
}

/** Not by `includes`, which can take the one length times the other. */
const holds = (line: string, wanted: string): boolean =>
  line.length >= wanted.length && occurrences(line, wanted).length > 0

/** A line of the file without its end, and with it. */
interface Row {
  readonly text: string
  readonly end: string
}

function rows(text: string): Row[] {
  const parts = text.split(/(\r\n|\r|\n)/)
  const found: Row[] = []
  for (let at = 0; at < parts.length; at += 2) found.push({ text: parts[at] ?? '', end: parts[at + 1] ?? '' })
  return found
}

/** The lines of what was asked for; one that only ends the last line is none. */
function bare(wanted: string): string[] {
  const lines = wanted.split(/\r\n|\r|\n/)
  return lines.length > 1 && lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

const SHOWN_CHARS = 2_000

function shown(lines: readonly Row[], line: number, count: number): { text: string; whole: boolean } {
  const texts = lines.slice(line - 1, line - 1 + count).map(row => row.text + row.end)
  const whole = texts.join('')
  if (whole.length <= SHOWN_CHARS) return { text: whole, whole: true }
  return { text: beginning(whole, SHOWN_CHARS), whole: false }
}

const same = (text: string): string => text

function squeezed(line: string): string {
  return line.trim().replace(/\s+/g, ' ')
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  "'": "'",
  '\\': '\\',
}

function unescaped(text: string): string {
  return text.replace(/\\([nrt"'\\])/g, (_, mark: string) => ESCAPES[mark] ?? mark)
}

/** As listings number their lines: `  12\t`, `12→`, `12: `, `12 | `. */
function withoutNumbers(text: string): string {
  return text.replace(/^[ \t]*\d+(?:\t|→|: ?| ?\| ?)/gm, '')
}

function lookalike(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[‘’‛′]/g, "'")
    .replace(/[“”„″]/g, '"')
    .replace(/[‐-―−]/g, '-')
}
