import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import { ENTRY_KINDS, type ToolContext, type Walk, type WalkedEntry } from './contract.ts'
import { defineTool } from './define.ts'
import { countsBy, countsOf, cutLine, leftOut, leftOutLine, nameWord, sizeWord } from './folders.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { EXCLUDE, FOLDER, halfCharacter, INCLUDE_IGNORED, OF_LOOK } from './parameters.ts'
import { counted, oneLine } from './text.ts'
import { PAGE_TOKENS, tokensAtMost } from './tokens.ts'

/** Bytes of the largest file that is searched for a text. */
const FILE_BYTES = 2 * 1024 * 1024

/** Lines of one file that are shown, so that a file full of them does not take the place of all others. */
const LINES_OF_FILE = 20

/** Tokens of all lines that are shown, before those of the last file. */
export const ANSWER_SIZE = PAGE_TOKENS * 0.8

const lineFound = z.object({
  /** From 1. */
  line: z.number(),
  /** Where the text begins in the whole line, in characters from 1; null for a line that is shown with it. */
  column: z.number().nullable(),
  text: z.string(),
  /** Whether it is only a part of the line. */
  cut: z.literal(true).exactOptional(),
})
export type FoundLine = Of<typeof lineFound>

export const foundFile = z.object({
  path: z.string(),
  kind: z.enum(ENTRY_KINDS),
  bytes: z.number().exactOptional(),
  target: z.string().exactOptional(),
  /** Lines of the file in which the text occurs. */
  matches: z.number().exactOptional(),
  /** The first of them, and the lines around them that were asked for. */
  lines: z.array(lineFound).exactOptional(),
  /** Lines with the text that are not among `lines`. */
  more: z.number().exactOptional(),
})
export type Found = Of<typeof foundFile>

/** Why a file was not looked into. */
const SKIPPED = {
  binary: 'binary',
  too_large: 'too large',
  unreadable: 'not readable',
  vanished: 'gone meanwhile',
} as const
type Skipped = keyof typeof SKIPPED

/** What `search_files` answers with. */
export const searchResult = z.object({
  /** Where the search began, from the project's root. */
  path: z.string(),
  /** What has the name that was asked for; with `text`, the files in which that occurs. */
  found: z.array(foundFile),
  /** Lines with the text, in all files of this page; null where none was searched for. */
  matches: z.number().nullable(),
  /** Files that were looked into for the text. */
  searched: z.number(),
  /** Files that were not, and why. */
  skipped: countsBy(SKIPPED),
  /** How many names were passed over, and why. */
  left_out: leftOut,
  truncated: z.boolean(),
  /** The arguments that search on; null at the end. */
  next: z.object({ after: z.string() }).nullable(),
  notes: z.array(z.string()),
})
export type SearchResult = Of<typeof searchResult>

export const searchFiles = defineTool({
  name: 'search_files',
  description:
    'Find files of the project by name, by a text in them, or both. The text is taken literally and within ' +
    'one line; the answer has the lines with their numbers. What ignore files leave out, binary files and ' +
    'files over 2 MiB are counted, not searched. Links are not followed. Runs no code. For names in the ' +
    'running image use apropos_search.',
  parameters: {
    pattern: z
      .string()
      .min(1)
      .max(400)
      .optional()
      .describe(
        'A glob that the name has to match, or a folder above it: `*.py`, `*.{ts,tsx}`; with a slash it counts from ' +
          '`path`: `src/**/test_*.py`.',
      ),
    text: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('A text that a line has to hold, exactly as it is written here; no regular expression.'),
    path: FOLDER.describe('The folder to search, or one file; the root of the project if left out.'),
    ignore_case: z.boolean().default(false).describe('Take upper and lower case for the same in `text`.'),
    whole_word: z.boolean().default(false).describe('Only where `text` is no part of a longer word.'),
    context: z.int().min(0).max(10).default(0).describe('How many lines to show around each line found.'),
    exclude_patterns: EXCLUDE,
    include_ignored: INCLUDE_IGNORED,
    after: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('Only what comes after that path: the `next` of the answer before.'),
    limit: z.int().min(1).max(1_000).default(100).describe('How many lines, or names, to show at most.'),
  },
  parameterAliases: {
    glob: 'pattern',
    query: 'text',
    context_lines: 'context',
  },
  level: 'safe',
  profile: 'full',
  categories: ['files', 'search'],
  needs: [],
  paths: ['path'],
  result: searchResult,
  examples: [
    { args: { pattern: '*.toml' }, shows: 'files by their name' },
    { args: { text: 'def checkout(', pattern: '*.py', context: 2 }, shows: 'a text in files of one kind' },
  ],

  handler: (args, context) => search(args, context),
  show: showSearched,
})

interface Arguments {
  readonly pattern?: string | undefined
  readonly text?: string | undefined
  readonly path: string
  readonly ignore_case: boolean
  readonly whole_word: boolean
  readonly context: number
  readonly exclude_patterns: readonly string[]
  readonly include_ignored: boolean
  readonly after?: string | undefined
  readonly limit: number
}

async function search(
  args: Arguments,
  { files, signal, lookMs }: ToolContext,
): Promise<Outcome<SearchResult>> {
  const { pattern, text, path, exclude_patterns, include_ignored, after, limit } = args
  if (pattern === undefined && text === undefined) return nothingAsked()
  if (text !== undefined) {
    const fault = faultOfText(text)
    if (fault !== undefined) return fault
  }
  const walk = await files.walk(path, {
    matching: pattern === undefined ? [] : [pattern],
    exclude: exclude_patterns,
    ignored: include_ignored,
    after,
    signal,
    ms: lookMs * OF_LOOK,
  })
  if (walk.type === 'failed') return walk
  const page = new Page(walk, { ...args, limit })
  await page.fill()
  return ok(page.result())
}

const nothingAsked = () =>
  failed('invalid_args', {
    message: 'search_files was asked for nothing: it takes a pattern for names, a text, or both.',
    details: { parameter: 'pattern' },
    next: 'Give a pattern or a text. For all names in a folder use list_directory.',
  })

/** Why no line of a file can hold that text. */
export function faultOfText(text: string): Failed | undefined {
  if (!/[\r\n]/.test(text)) return halfCharacter('text', text)
  return failed('invalid_args', {
    message: 'text holds a line end; it is searched for within single lines.',
    details: { parameter: 'text' },
    next: 'Search for one of its lines, with context to see the others.',
  })
}

/** One answer, while it is put together. */
class Page {
  readonly #walk: Walk
  readonly #args: Arguments
  readonly #matcher: Matcher | undefined
  readonly #found: Found[] = []
  readonly #skipped: Record<Skipped, number> = { binary: 0, too_large: 0, unreadable: 0, vanished: 0 }
  #searched = 0
  #matches = 0
  #shown = 0
  #size = 0
  /** The last entry that is done with. */
  #passed: string | undefined
  #next: string | undefined

  constructor(walk: Walk, args: Arguments) {
    this.#walk = walk
    this.#args = args
    const { text, ignore_case: ignoreCase, whole_word: wholeWord } = args
    this.#matcher = text === undefined ? undefined : openMatcher({ text, ignoreCase, wholeWord })
    this.#passed = args.after
  }

  async fill(): Promise<void> {
    for await (const entry of this.#walk.entries()) {
      if (this.#isFull()) {
        this.#next = this.#passed
        return
      }
      const matcher = this.#matcher
      const isDone = matcher === undefined ? this.#name(entry) : await this.#lines(entry, matcher)
      if (!isDone) break
      this.#passed = entry.shown
    }
    if (this.#walk.cut !== null) this.#next = this.#passed
  }

  #isFull(): boolean {
    return this.#shown >= this.#args.limit || this.#size >= ANSWER_SIZE
  }

  /** What is in a folder that was found is not named once more. */
  #name(entry: WalkedEntry): true {
    if (!entry.isWithinMatch) this.#add(entry, {})
    return true
  }

  /** False where there was no time for all of the file. */
  async #lines(entry: WalkedEntry, matcher: Matcher): Promise<boolean> {
    if (entry.kind !== 'file') return true
    const file = entry.read({ most: FILE_BYTES, holding: matcher.holding })
    if (file.type !== 'text' && file.type !== 'without') {
      this.#skipped[file.type]++
      return true
    }
    if (file.type === 'text') {
      const { context, limit } = this.#args
      const most = Math.min(limit - this.#shown, this.#isOneFile(entry) ? limit : LINES_OF_FILE)
      const isOver = () => this.#walk.isOver()
      const matches = await scan({ text: file.text, matcher, context, most, isOver })
      if (matches === undefined) return false
      const { count, lines, shown, size } = matches
      if (count > 0) {
        this.#add(entry, { matches: count, lines, ...(count > shown && { more: count - shown }) })
        this.#matches += count
        this.#shown += shown - 1
        this.#size += size
      }
    }
    this.#searched++
    return true
  }

  #isOneFile({ shown }: WalkedEntry): boolean {
    return shown === this.#walk.shown
  }

  #add({ shown, kind, bytes, target }: WalkedEntry, more: Partial<Found>): void {
    this.#found.push({
      path: shown,
      kind,
      ...(bytes !== null && { bytes }),
      ...(target !== null && { target }),
      ...more,
    })
    this.#shown++
    this.#size += tokensAtMost(shown) + 20
  }

  result(): SearchResult {
    const { left, cut, remarks, shown } = this.#walk
    const skipped = Object.entries(this.#skipped).filter(([, count]) => count > 0)
    return {
      path: shown,
      found: this.#found,
      matches: this.#matcher === undefined ? null : this.#matches,
      searched: this.#searched,
      skipped: Object.fromEntries(skipped),
      left_out: countsOf(left),
      truncated: this.#next !== undefined || cut !== null || this.#found.some(({ more = 0 }) => more > 0),
      next: this.#next === undefined ? null : { after: this.#next },
      notes: [...remarks, ...[cutLine(cut)].filter(line => line !== null)],
    }
  }
}

/** How much was found, and then each file with its lines, as `grep` shows them. */
function showSearched(result: SearchResult): string {
  const { path, found, left_out, next, notes } = result
  const more = next === null ? null : `for more: after ${JSON.stringify(next.after)}`
  const facts = [...counts(result), leftOutLine(left_out), more].filter(fact => fact !== null)
  return [`${oneLine(path)}: ${facts.join('; ')}`, ...notes, ...found.flatMap(foundLines)].join('\n')
}

function counts({ found, matches, searched, skipped }: SearchResult): (string | null)[] {
  if (matches === null) return [found.length === 0 ? 'no such name' : counted(found.length, 'name')]
  const parts = (Object.keys(SKIPPED) as Skipped[]).flatMap(why => {
    const count = skipped[why] ?? 0
    return count === 0 ? [] : [`${count} ${SKIPPED[why]}`]
  })
  const lines =
    matches === 0 ? 'not found' : `${counted(matches, 'line')} in ${counted(found.length, 'file')}`
  return [`${lines} of ${searched} searched`, parts.length === 0 ? null : `not searched: ${parts.join(', ')}`]
}

/** A file, and the lines of it that were found. */
export function foundLines({ path, kind, bytes, target, lines, more }: Found): string[] {
  const size = bytes === undefined || lines !== undefined ? '' : `  ${sizeWord(bytes)}`
  const name = nameWord({ name: path, kind, ...(target !== undefined && { target }) })
  const rest = more === undefined ? [] : [`  … ${counted(more, 'more line')}: search this file alone`]
  return [`${name}${size}`, ...(lines ?? []).flatMap(shownLine), ...rest]
}

/** `  12: the line` with the text in it, `  13- the next one`, and `  --` where lines are left out between them. */
function shownLine({ line, column, text }: FoundLine, index: number, all: readonly FoundLine[]): string[] {
  const before = all[index - 1]
  const hasContext = all.some(one => one.column === null)
  const gap = hasContext && before !== undefined && before.line < line - 1 ? ['  --'] : []
  return [...gap, `  ${line}${column === null ? '-' : ':'} ${visible(text)}`]
}

/** A tab stays; what would end the line, or move the cursor, is written as an escape. */
const visible = (text: string): string => text.split('\t').map(oneLine).join('\t')

/** The lines of one file in which a text occurs. */
interface FileMatches {
  /** Lines in which it occurs, also those that are not shown. */
  readonly count: number
  readonly lines: readonly FoundLine[]
  /** Lines with the text among `lines`. */
  readonly shown: number
  /** Characters of `lines`. */
  readonly size: number
}

interface Scan {
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
  return {
    count,
    lines: found,
    shown,
    size: found.reduce((sum, { text }) => sum + tokensAtMost(text) + 4, 0),
  }
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

// Where a text occurs in a line: literally, for a pattern of a model's own could take a machine for good.

interface SearchText {
  readonly text: string
  readonly ignoreCase: boolean
  readonly wholeWord: boolean
}

interface Place {
  /** The first UTF-16 unit of it, from 0. */
  readonly at: number
  readonly length: number
}

interface Matcher {
  /** The first place at or after `from`. What it costs grows with the line, whatever the text and the line are. */
  first(line: string, from?: number): Place | undefined
  /** A text that a file holds to the letter where it occurs; null where none is known. */
  readonly holding: string | null
}

/** A text up to this length the engine looks for; of a longer one its beginning is what a file has to hold. */
const SHORT = 32

export function openMatcher({ text, ignoreCase, wholeWord }: SearchText): Matcher {
  const fits = wholeWord ? isWord : () => true
  const isEasy = !ignoreCase && !wholeWord && text.length <= SHORT
  return {
    holding: ignoreCase ? null : text.slice(0, whole(text, SHORT)),
    first: isEasy
      ? (line, from = 0) => placeAt(line.indexOf(text, from), text)
      : finder(text, { ignoreCase, fits }),
  }
}

const placeAt = (at: number, { length }: string): Place | undefined =>
  at === -1 ? undefined : { at, length }

interface FinderOptions {
  readonly ignoreCase: boolean
  fits(line: string, place: Place): boolean
}

/** As Knuth, Morris and Pratt: each unit of a line is looked at once, also by a text that almost occurs everywhere. */
function finder(text: string, { ignoreCase, fits }: FinderOptions): Matcher['first'] {
  const unitAt = ignoreCase ? foldedUnit : (line: string, at: number) => line.charCodeAt(at)
  const { length } = text
  const wanted = Uint16Array.from({ length }, (_, at) => unitAt(text, at))
  const borders = bordersOf(wanted)
  return (line, from = 0) => {
    let met = 0
    for (let at = from; at < line.length; at++) {
      const unit = unitAt(line, at)
      while (met > 0 && unit !== wanted[met]) met = borders[met - 1] ?? 0
      if (unit === wanted[met]) met++
      if (met < length) continue
      const place = { at: at + 1 - length, length }
      if (fits(line, place)) return place
      met = borders[met - 1] ?? 0
    }
    return undefined
  }
}

/** For each beginning of a text the length of its longest end, shorter than itself, that the text begins with too. */
function bordersOf(units: Uint16Array): Uint16Array {
  const borders = new Uint16Array(units.length)
  for (let at = 1, met = 0; at < units.length; at++) {
    while (met > 0 && units[at] !== units[met]) met = borders[met - 1] ?? 0
    if (units[at] === units[met]) met++
    borders[at] = met
  }
  return borders
}

/** Of each unit that stands for itself, what it is folded to, and 0 while that was not asked. */
const FOLDED = new Uint16Array(0x1_0000)

/** Upper and lower case as Unicode folds single characters; a letter and two that stand for it stay different. */
function foldedUnit(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit >= 0xd800 && unit < 0xe000) return foldedHalf(text, at)
  const known = FOLDED[unit] ?? 0
  if (known !== 0) return known
  const folded = foldedCharacter(text.charAt(at)).charCodeAt(0)
  FOLDED[unit] = folded
  return folded
}

/** Characters of two units fold to such, so that lengths stay. */
function foldedHalf(text: string, at: number): number {
  const begin = whole(text, at)
  const character = after(text, begin)
  const folded = foldedCharacter(character)
  return (folded.length === character.length ? folded : character).charCodeAt(at - begin)
}

/** Folded by Unicode otherwise than by way of their upper case: the dotless i is no case of I. */
const APART: ReadonlyMap<string, string> = new Map([
  ['\u0131', '\u0131'],
  ['\u1fd3', '\u0390'],
  ['\u1fe3', '\u03b0'],
  ['\ufb05', '\ufb06'],
])

function foldedCharacter(character: string): string {
  const apart = APART.get(character)
  if (apart !== undefined) return apart
  const upper = character.toUpperCase()
  const single = upper.length === character.length ? upper : character
  const lower = single.toLowerCase()
  return lower.length === character.length ? lower : single
}

const WORD = /[\p{L}\p{M}\p{N}_]/u

/** Whether it is no part of a longer word: where it begins or ends with a part of a word, none stands beside it. */
function isWord(line: string, { at, length }: Place): boolean {
  const [first, last] = [after(line, at), before(line, at + length)]
  const opens = !WORD.test(first) || !WORD.test(before(line, at))
  return opens && (!WORD.test(last) || !WORD.test(after(line, at + length)))
}

const after = (line: string, at: number): string => {
  const point = line.codePointAt(at)
  return point === undefined ? '' : String.fromCodePoint(point)
}

const before = (line: string, at: number): string => {
  const last = line.charCodeAt(at - 1)
  return at <= 0 ? '' : line.slice(last >= 0xdc00 && last < 0xe000 ? at - 2 : at - 1, at)
}

/** Characters of a line that are shown, and of those before a place in it. */
const LINE_SHOWN = 240

const BEFORE_PLACE = 80

/** A line, or of a long one what is around the place, with `…` where it was cut. */
function around(line: string, place: Place | undefined): { text: string; cut: boolean } {
  if (line.length <= LINE_SHOWN) return { text: line, cut: false }
  const from = whole(line, Math.max(0, Math.min((place?.at ?? 0) - BEFORE_PLACE, line.length - LINE_SHOWN)))
  const to = whole(line, Math.min(line.length, from + LINE_SHOWN))
  return { text: `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`, cut: true }
}

/** That place, or the one before it where it is in the middle of a character. */
function whole(line: string, at: number): number {
  const unit = line.charCodeAt(at)
  return at > 0 && unit >= 0xdc00 && unit < 0xe000 ? at - 1 : at
}
