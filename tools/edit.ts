import { z } from 'zod'
import type { PlanContext } from './contract.ts'
import { defineTool } from './define.ts'
import { nearest } from './nearest.ts'
import { newlineWord, spelled } from './newlines.ts'
import { type Failed, failed } from './outcome.ts'
import { CHANGES_ONE_FILE, halfCharacter, PATH } from './parameters.ts'
import {
  isText,
  nothingThere,
  notText,
  proposed,
  rewritten,
  showWritten,
  type Work,
  written,
} from './rewrite.ts'
import { beginning, counted, oneLine, oneSpaced } from './text.ts'

export const editFile = defineTool({
  name: 'edit_file',
  description:
    'Replace a piece of text in a file of the project. old_str has to stand in the file exactly as you give ' +
    'it, blanks included, and once, or as often as count says; otherwise nothing is changed, and you are ' +
    'told where it occurs or what is nearest. Only line ends may differ: LF stands for the kind that the ' +
    'file has. A person is shown the difference and asked first; a refusal means stop, and not to try ' +
    'another way. undo_change takes the change back. After editing code that is loaded, use load_file or ' +
    'reload.',
  parameters: {
    path: PATH,
    old_str: z
      .string()
      .describe('The text to replace, as it stands in the file, with enough around it to occur only there.'),
    new_str: z.string().describe('What is to stand there instead; an empty text takes it out.'),
    count: z
      .int()
      .min(1)
      .max(100_000)
      .default(1)
      .describe('How often old_str occurs. All of them are replaced; any other number of them fails.'),
  },
  parameterAliases: {
    old_string: 'old_str',
    new_string: 'new_str',
    old_text: 'old_str',
    new_text: 'new_str',
    expected_replacements: 'count',
  },
  ...CHANGES_ONE_FILE,
  result: written,
  multiline: ['old_str', 'new_str'],
  examples: [
    {
      args: { path: 'shop/orders.py', old_str: 'return 1 / rate', new_str: 'return 1 / (rate or 1)' },
      shows: 'one place',
    },
    {
      args: { path: 'shop/orders.py', old_str: 'rate', new_str: 'discount', count: 3 },
      shows: 'three places at once',
    },
  ],

  preview: ({ path, old_str, new_str }) => ({
    title: `Edit ${oneLine(path)}`,
    body: `Replace\n${old_str}\nwith\n${new_str}`,
  }),
  plan: async (args, context) => proposed(await work(args, context)),
  show: result => showWritten('edited', result),
})

interface Arguments extends Replacement {
  readonly path: string
  readonly count: number
}

async function work(args: Arguments, { files }: PlanContext): Promise<Work> {
  const { path, old_str, new_str, count } = args
  const fault = textFault(args)
  if (fault !== undefined) return fault
  const file = await files.look(path)
  if (file.type === 'failed') return file
  if (!file.exists) return nothingThere(file)
  if (!isText(file)) return notText(file)
  const { newline } = file
  const wanted = spelled(old_str, newline)
  const replacement = spelled(new_str, newline)
  const places = occurrences(file.text, wanted)
  const shown = oneLine(file.shown)
  if (places.length === 0) return notThere({ path: shown, text: file.text, wanted: old_str, name: 'old_str' })
  const miscount = miscounted({ text: file.text, places, length: wanted.length, count, shown, counts: true })
  if (miscount !== undefined) return miscount
  const respelled = replacement !== new_str
  const note = `The line ends of new_str were written as ${newlineWord(newline)}, as the file has them.`
  return rewritten({
    file,
    files,
    text: replaced(file.text, { places, length: wanted.length, replacement }),
    notes: respelled ? [note] : [],
    does: `Replaces ${counted(count, 'place')} in ${shown}`,
    title: `Edit ${shown}`,
  })
}

/** Everything outside the places stays as it is, to the last character. */
function replaced(
  text: string,
  { places, length, replacement }: Omit<Found, 'text'> & { readonly replacement: string },
): string {
  const begins = [0, ...places.map(place => place + length)]
  return begins.map((begin, at) => text.slice(begin, places[at])).join(replacement)
}

/** A text that was looked for in a file; `name` is that of the parameter that held it. */
interface Sought {
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
  const near = looked ? nearestText(sought) : undefined
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
  { name: 'blanks', says: 'its blanks', line: oneSpaced },
  { name: 'blanks', says: 'its blanks', line: line => line.replace(/\s+/g, '') },
  { name: 'escapes', says: 'being escaped once too often', line: oneSpaced, meant: unescaped },
  { name: 'line_numbers', says: 'line numbers', line: oneSpaced, meant: withoutNumbers },
  { name: 'quotes', says: 'its quotes', line: line => oneSpaced(line).replaceAll('"', "'") },
  { name: 'lookalikes', says: 'characters that look alike', line: line => lookalike(oneSpaced(line)) },
  { name: 'case', says: 'capitals', line: line => oneSpaced(line).toLowerCase() },
  { name: 'spelling', says: 'blanks, quotes and capitals', line: fold },
]

function nearestText({ text, wanted }: Sought): Nearest | undefined {
  const lines = rows(text)
  const all = lines.map(row => row.text).join('\n')
  const folded = fold(all)
  const texts = (at: number, count: number) => lines.slice(at - 1, at - 1 + count).map(row => row.text)
  for (const { name, says, line: made = same, meant = same } of DIFFERENCES) {
    const asked = bare(meant(wanted))
    const as = asked.map(made).join('\n')
    if (as.trim() === '' || (meant !== same && meant(wanted) === wanted)) continue
    // Looked for only where the text is there once all differences are taken away.
    const places = lineNumbers(folded, somePlaces(folded, fold(asked.join('\n'))))
    const [line, ...others] = [...new Set(places)]
      .slice(0, CANDIDATES)
      .filter(at => somePlaces(texts(at, asked.length).map(made).join('\n'), as).length > 0)
    if (line === undefined) continue
    const count = others.length < CANDIDATES - 1 ? others.length : 'many'
    const more = count === 0 ? '' : `, and at ${count} further places`
    const there = shown(lines, { line, asked })
    return { differs: name, says: `at line ${line} it does but for ${says}${more}`, line, ...there }
  }
  return mostWords(lines, { all, asked: bare(wanted) })
}

/** The text without all that `DIFFERENCES` names, line ends aside. */
function fold(text: string): string {
  const plain = /^[\0-\x7f]*$/.test(text) ? text : lookalike(text)
  return plain
    .replace(/[^\S\n]+/g, '')
    .replace(/"/g, "'")
    .toLowerCase()
}

/** What is looked at most: places of one text, words of a line, lines that are meant, asked for, and spelled out. */
const [PLACES, WORDS, CANDIDATES, COMPARED, SPELLED] = [2_000, 8, 20, 500, 5_000]

/** The places of a text, as many as are found in bounded time, also in the worst of texts. */
function somePlaces(text: string, wanted: string): number[] {
  const first = wanted.slice(0, 32)
  let tries = first === '' ? 0 : Math.min(PLACES, 5e7 / wanted.length)
  const places: number[] = []
  for (let at = text.indexOf(first); at >= 0 && tries > 0; at = text.indexOf(first, at + 1), tries--)
    if (text.startsWith(wanted, at)) places.push(at)
  return places
}

/** The lines that have the most in common with what was asked for, found by the words of its first and its longest line. */
function mostWords(
  lines: readonly Row[],
  { all, asked }: { readonly all: string; readonly asked: readonly string[] },
): Nearest | undefined {
  const wanted = asked.slice(0, COMPARED).map(oneSpaced)
  const [longest = ''] = wanted.toSorted((one, other) => other.length - one.length)
  const anchors = new Set([wanted.findIndex(line => line !== ''), wanted.indexOf(longest)])
  const isSame = (from: number) =>
    wanted.map((line, at) => line === oneSpaced(lines[from - 1 + at]?.text ?? ''))
  const [best] = [...anchors]
    .flatMap(at =>
      linesLike(all, wanted[at] ?? '').map(([line, share]) => ({ line: Math.max(1, line - at), share })),
    )
    .map(({ line, share }) => ({ line, rank: share + isSame(line).filter(Boolean).length }))
    .sort((one, other) => other.rank - one.rank)
  if (best === undefined) return undefined
  const { line } = best
  const off = Math.max(0, isSame(line).indexOf(false))
  const [has, given] = whereTheyDiffer(lines[line - 1 + off]?.text ?? '', asked[off] ?? '')
  const says = `the nearest is at line ${line}, where line ${line + off} has ${has} in place of ${given}`
  return { differs: 'lines', says, line, ...shown(lines, { line, asked }), whole: false }
}

/** The lines that have at least half of the words of this one, counted by their letters; those with the most first. */
function linesLike(text: string, wanted: string): (readonly [line: number, share: number])[] {
  const words = [...new Set(wanted.match(/\w{2,}/g))].sort((a, b) => b.length - a.length).slice(0, WORDS)
  const letters = words.reduce((sum, word) => sum + word.length, 0)
  const shares = new Map<number, number>()
  for (const word of words)
    for (const line of new Set(lineNumbers(text, somePlaces(text, word))))
      shares.set(line, (shares.get(line) ?? 0) + word.length / letters)
  const like = [...shares].filter(([, share]) => share >= 0.5).sort(([, one], [, other]) => other - one)
  return like.length === 0 ? linesSpelledAlike(text, wanted) : like.slice(0, CANDIDATES)
}

/** The lines that are nearly spelled as this one, and not only begin so. */
function linesSpelledAlike(text: string, wanted: string): (readonly [line: number, share: number])[] {
  const lines = text.split('\n').map(line => line.trim())
  const isAsLong = (line: string) => 3 * Math.abs(line.length - wanted.length) <= wanted.length
  const like = nearest(wanted, new Set(lines.filter(isAsLong).slice(0, SPELLED)))
  const found = like.flatMap((line, at) =>
    lines.flatMap((one, index) => (one === line ? [[index + 1, 1 / (2 + at)] as const] : [])),
  )
  return found.slice(0, CANDIDATES)
}

/** The line of the file and the one asked for, quoted; long ones from a little before the first character that differs. */
function whereTheyDiffer(line: string, asked: string): [string, string] {
  const other = asked.trim()
  const one = line.slice(Math.max(0, line.indexOf(/\w+/.exec(other)?.[0] ?? ''))).trim()
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  const from = Math.max(one.length, other.length) <= QUOTED_CHARS ? 0 : Math.max(0, same - 20)
  const quoted = (text: string) =>
    `${from > 0 ? '…' : ''}${JSON.stringify(text.slice(from, from + QUOTED_CHARS))}${text.length > from + QUOTED_CHARS ? '…' : ''}`
  return [quoted(one), quoted(other)]
}

const QUOTED_CHARS = 80

/** A line of the file without its end, and with it. */
interface Row {
  readonly text: string
  readonly end: string
}

function rows(text: string): Row[] {
  const parts = text.split(/(\r\n|\r|\n)/)
  return parts.flatMap((part, at) => (at % 2 === 0 ? [{ text: part, end: parts[at + 1] ?? '' }] : []))
}

/** The lines of what was asked for; one that only ends the last line is none. */
function bare(wanted: string): string[] {
  const lines = wanted.split(/\r\n|\r|\n/)
  return lines.length > 1 && lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

const SHOWN_CHARS = 2_000

/** These lines as the file has them; where they are long, from a little before the first word on. */
function shown(
  lines: readonly Row[],
  { line, asked }: { readonly line: number; readonly asked: readonly string[] },
): { text: string; whole: boolean } {
  const texts = lines.slice(line - 1, line - 1 + asked.length).map(row => row.text + row.end)
  const whole = texts.join('')
  if (whole.length <= SHOWN_CHARS) return { text: whole, whole: true }
  const from = whole.indexOf(/\w+/.exec(asked.join('\n'))?.[0] ?? '') - 40
  return { text: beginning(whole.slice(Math.max(0, from)), SHOWN_CHARS), whole: false }
}

const same = (text: string): string => text

/** Other characters stand for themselves. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

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

/**
 * Where `wanted` begins within `text`, each time, those that overlap included. Linear in both, whatever they are
 * (Knuth, Morris and Pratt), while a search that begins anew at each place is not.
 */
export function occurrences<Item>(text: ArrayLike<Item>, wanted: ArrayLike<Item>): number[] {
  if (wanted.length === 0) return []
  const back = borders(wanted)
  const found: number[] = []
  let same = 0
  for (let at = 0; at < text.length; at++) {
    while (same > 0 && text[at] !== wanted[same]) same = back[same - 1] ?? 0
    if (text[at] === wanted[same]) same++
    if (same < wanted.length) continue
    found.push(at + 1 - same)
    same = back[same - 1] ?? 0
  }
  return found
}

/** For each beginning of `wanted`, how much of it is its end as well. */
function borders<Item>(wanted: ArrayLike<Item>): Int32Array {
  const back = new Int32Array(wanted.length)
  let same = 0
  for (let at = 1; at < wanted.length; at++) {
    while (same > 0 && wanted[at] !== wanted[same]) same = back[same - 1] ?? 0
    if (wanted[at] === wanted[same]) same++
    back[at] = same
  }
  return back
}

/** The numbers of the lines in which these places are, counted from 1; the places rise. */
export function lineNumbers(text: string, places: readonly number[]): number[] {
  let line = 1
  let next = text.indexOf('\n')
  return places.map(place => {
    for (; next !== -1 && next < place; next = text.indexOf('\n', next + 1)) line++
    return line
  })
}

/** A text to replace, and what is to stand there instead, as callers give them. */
export interface Replacement {
  readonly old_str: string
  readonly new_str: string
}

/** Why these two texts say nothing that can be done, in whatever file. */
export function textFault({ old_str, new_str }: Replacement): Failed | undefined {
  if (old_str === '')
    return failed('invalid_args', {
      message: 'old_str is empty, which occurs everywhere. Nothing was changed.',
      details: { parameter: 'old_str' },
      next: 'Give the text to replace. To make a new file, or to write all of one, use write_file.',
    })
  if (old_str === new_str) return nothingToChange()
  return halfCharacter('old_str', old_str) ?? halfCharacter('new_str', new_str)
}

export function nothingToChange(): Failed {
  return failed('invalid_args', {
    message: 'old_str and new_str are the same, so that there is nothing to change.',
    details: { parameter: 'new_str' },
    next: 'Give in new_str what is to stand there instead.',
  })
}

/** Lines that are named where a text occurs more often than was said. */
const NAMED = 20

interface Found {
  readonly text: string
  /** Where it begins; rising, and those that overlap included. */
  readonly places: readonly number[]
  readonly length: number
}

/** Why it is not clear which of these places is meant; `counts` where the caller can say how many there are. */
export function miscounted(
  found: Found & { readonly count: number; readonly shown: string; readonly counts: boolean },
): Failed | undefined {
  const { text, places, length, count, shown, counts } = found
  const overlap = places.some((place, index) => index > 0 && place < (places[index - 1] ?? 0) + length)
  if (places.length === count && !overlap) return undefined
  const lines = lineNumbers(text, places.slice(0, NAMED))
  const more = places.length > lines.length ? ', …' : ''
  const where = `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}`
  const often = `old_str occurs ${counted(places.length, 'time')} in ${shown} (${where})`
  const said = counts ? `where ${count} was said` : 'where it has to occur once'
  const all = counts ? `, or count ${places.length} to replace all of them` : ''
  return failed('no_unique_match', {
    message: overlap
      ? `${often}, and some of these overlap, so that it is not clear what to replace. Nothing was changed.`
      : `${often}, ${said}. Nothing was changed.`,
    details: { found: places.length, expected: count, lines },
    next: overlap
      ? 'Give more of the text around the place that is meant.'
      : `Give more of the text around the place that is meant${all}.`,
  })
}
