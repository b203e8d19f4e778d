import { BLANK, INVISIBLE } from '../../wire/invisible.ts'

/** What could be taken for a mark in a plan: pictures of controls, and the brackets. */
const LIKE_MARKS = String.raw`\u2400-\u2426\u27e6\u27e7`

/** An emoji with something invisible in it, as far as its form tells: families, flags, keycaps. */
const LIKE_EMOJI = String.raw`\p{Emoji}(?:\p{Emoji_Modifier}|[\ufe0f\u20e3\u{e0020}-\u{e007f}]|\u200d\p{Emoji})+`

const PRINTED = new RegExp(String.raw`(${LIKE_EMOJI})|\r\n|${INVISIBLE}`, 'gu')

const EACH = new RegExp(INVISIBLE, 'gu')

/**
 * Text from kernels, tools, files and people on its way to a reader: each character that cannot be seen is written as
 * an escape, `\x1b`, `\u202e` or `\u{e0041}`. Nothing in the result moves a cursor, colours, hides text or turns its
 * direction. Tabs and newlines stay, and CRLF becomes a newline. An emoji that Unicode recommends (RGI) stays whole
 * with its joiners: a reader expects one picture. Every other joiner is escaped. The same text again is left as it is.
 */
export function escapeText(text: string): string {
  return text.replace(PRINTED, (found: string, picture?: string) => {
    if (found === '\r\n') return '\n'
    return isEmoji(picture) ? found : found.replace(EACH, escapeOf)
  })
}

/** `escapeText` in one line: a line end is written as an escape too, and a tab becomes a blank. */
export const escapeLine = (text: string): string =>
  escapeText(text).replaceAll('\n', '\\n').replaceAll('\t', ' ')

/** `escapeText` inside a JSON text: still JSON, still the same value. */
export function escapeJson(text: string): string {
  return text.replace(PRINTED, (found: string, picture?: string) =>
    isEmoji(picture) ? found : found.replace(EACH, escapeInJson),
  )
}

/** One word as a POSIX shell takes it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const escapeOf = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x100) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 1)}}`
}

/** JSON knows no code points: one that takes two UTF-16 units is two escapes. */
const escapeInJson = (character: string): string =>
  character
    .split('')
    .map(unit => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join('')

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')

const RGI = String.raw`\p{RGI_Emoji}`

let emoji: RegExp | undefined

/** Made when it is first needed: it is large. */
function isEmoji(picture: string | undefined): boolean {
  if (picture === undefined) return false
  emoji ??= new RegExp(`^${RGI}$`, 'v')
  return emoji.test(picture)
}

/** A text that shows everything that is in it, and what it had to show by a mark. */
interface EscapedPlan {
  readonly text: string
  /** How often each character was replaced by its mark, by its name (`U+202E`), in the order of first occurrence. */
  readonly hidden: ReadonlyMap<string, number>
}

/**
 * The table as a plan needs it: whoever approves one has to see each character, those inside of emoji too, and nothing
 * in a plan may look like a mark of ours.
 */
const UNSEEN = new RegExp(String.raw`\r\n|${INVISIBLE}|[${LIKE_MARKS}]`, 'gu')

/** A carriage return before a newline, which ends a line and does nothing else: visible, and one column wide. */
const RETURN = '␍'

/**
 * The same text with a visible mark, `⟦U+202E⟧`, for each character that is not seen as what it is, and for each that
 * could be taken for such a mark. Spaces, tabs and newlines stay; the carriage return of a CRLF becomes `␍`. Linear in
 * the text.
 */
export function escapePlan(text: string): EscapedPlan {
  const hidden = new Map<string, number>()
  const shown = text.replace(UNSEEN, found => {
    if (found === '\r\n') return `${RETURN}\n`
    const name = codePointName(found)
    hidden.set(name, (hidden.get(name) ?? 0) + 1)
    return `⟦${name}⟧`
  })
  return { text: shown, hidden }
}

/**
 * Whether the text has at most so many characters once it is marked, in UTF-16 units. Quick also where it has not: no
 * more is looked at than that many characters come from.
 */
export function fitsEscapedPlan(text: string, most: number): boolean {
  if (text.length > most) return false
  let length = text.length
  for (const [found] of text.matchAll(UNSEEN)) {
    if (found !== '\r\n') length += codePointName(found).length + 2 - found.length
    if (length > most) return false
  }
  return true
}

/** The same for what stands in one line: newlines and tabs are marks too. */
export function escapePlanLine(text: string): string {
  return escapePlan(text).text.replace(/[\t\n]/g, found => `⟦${codePointName(found)}⟧`)
}

/** A name that somebody gives themselves, for one line: what would not be seen as it is becomes `�`. */
export function plainName(text: string): string {
  return text.replace(UNSEEN, '\ufffd').replace(/[\t\n]/g, '\ufffd')
}

/** A line, or a run of blanks, beyond which something can hide at the far end, in characters. */
const LONG_LINE = 400

const LONG_RUN = 120

/** Hidden characters that have a warning of their own. */
const MOST_HIDDEN = 20

/** Words that are named in a warning. */
const NAMED = 5

/** What a person should look at twice, as sentences; often empty. Linear in the text. */
export function warningsOf(text: string): string[] {
  const { hidden } = escapePlan(text)
  const warnings = [...hidden].slice(0, MOST_HIDDEN).map(([name, count]) => hiddenWarning(name, count))
  if (hidden.size > MOST_HIDDEN)
    warnings.push(`${counted(hidden.size - MOST_HIDDEN)} other characters that do not show are marked, too.`)
  const longest = text.split('\n').reduce((most, line) => Math.max(most, line.length), 0)
  if (longest > LONG_LINE)
    warnings.push(`The longest line has ${counted(longest)} characters: look at all of it.`)
  const run = longestRun(text)
  if (run > LONG_RUN) warnings.push(`${counted(run)} blanks stand in a row: something may hide behind them.`)
  const mixed = mixedWords(text)
  if (mixed.length > 0) warnings.push(mixedWarning(mixed))
  return warnings
}

function hiddenWarning(name: string, count: number): string {
  const times = count === 1 ? 'once' : `${counted(count)} times`
  const kind = LIKE_A_MARK.test(charOf(name)) ? 'that could be taken for a mark' : 'that does not show'
  return `A character ${kind}, ${name}${what(name)}, occurs ${times}; it is marked ⟦${name}⟧.`
}

const LIKE_A_MARK = new RegExp(`[${LIKE_MARKS}]`, 'u')

const charOf = (name: string) => String.fromCodePoint(Number.parseInt(name.slice(2), 16))

/** What is known of the characters that such attacks are made of. */
function what(name: string): string {
  const code = Number.parseInt(name.slice(2), 16)
  if (code === 0x1b) return ' (escape: it commands terminals)'
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return ' (control)'
  if (code === 0x61c || code === 0x200e || code === 0x200f) return ' (reorders text)'
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) return ' (reorders text)'
  if ((code >= 0x200b && code <= 0x200d) || code === 0x2060 || code === 0xfeff) return ' (no width)'
  return ''
}

/** Of whatever leaves no ink, marked or not. Newlines are no blanks: empty lines are seen as what they are. */
const BLANKS = new RegExp(String.raw`(?:(?![\r\n])[\s\p{Default_Ignorable_Code_Point}${BLANK}])+`, 'gu')

function longestRun(text: string): number {
  let most = 0
  for (const [run] of text.matchAll(BLANKS)) most = Math.max(most, run.length)
  return most
}

const LATIN = /\p{Script=Latin}/u

/** Cyrillic, and the Greek letters that look like Latin ones: `Δx` is no disguise, `pаypal` is. */
const LOOKALIKE = /[\p{Script=Cyrillic}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυχ]/u

function mixedWords(text: string): string[] {
  const words = new Set<string>()
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}_]+/gu))
    if (LATIN.test(word) && LOOKALIKE.test(word)) words.add(word)
  return [...words]
}

function mixedWarning(words: readonly string[]): string {
  const spelt = words.slice(0, NAMED).map(word => {
    const strange = [...word].filter(letter => LOOKALIKE.test(letter)).map(codePointName)
    return `${word.slice(0, 60)} (${[...new Set(strange)].slice(0, NAMED).join(', ')})`
  })
  const more = words.length > NAMED ? `, and ${words.length - NAMED} more` : ''
  return `Letters of different alphabets that look alike stand in one word: ${spelt.join('; ')}${more}.`
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

const counted = (count: number) => count.toLocaleString('en-US')
