import { type Found, isPlaceholder, matchAt } from './forms.ts'
import { NAME_CHARS, secretNamed } from './names.ts'

/**
 * The secret that a text gives to a name: `password = "…"`, `"api_key": "…"`, `PASSWORD=…`, `--token …`,
 * `X-Api-Key: …`, `:password "…"`. `[at, to)` is where a part of a name was found that says secret. What is computed
 * (`token = next(tokens)`) is code and stays. `resume` is where looking goes on.
 */
export function assignedSecret(
  text: string,
  { at, to }: { at: number; to: number },
): { readonly found: Found | undefined; readonly resume: number } {
  const from = beginOfName(text, at)
  const end = endOfName(text, to)
  const kind = secretNamed(text.slice(from, end))
  if (kind === undefined) return { found: undefined, resume: end }
  const name: Name = { text, from, end, kind }
  const found = inQuotes(name) ?? ofFlag(name) ?? ofHeader(name) ?? inTheOpen(name)
  return { found, resume: found?.to ?? end }
}

interface Name {
  readonly text: string
  readonly from: number
  readonly end: number
  readonly kind: string
}

const isNameChar = (code: number) =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95 ||
  code === 45

function beginOfName(text: string, at: number): number {
  let from = at
  while (from > 0 && at - from < NAME_CHARS && isNameChar(text.charCodeAt(from - 1))) from--
  return from
}

function endOfName(text: string, at: number): number {
  let to = at
  while (to < text.length && to - at < NAME_CHARS && isNameChar(text.charCodeAt(to))) to++
  // The hyphen of an arrow is not of the name.
  while (text[to - 1] === '-' && to > at) to--
  return to
}

/** Between the name and the quote: `: str =`, `:=`, `=>`, `->`, `==`, `=`, `:`, and what may stand before a quote. */
const ASSIGNS =
  /\\{0,3}["'`]?\]?\s{0,8}(?::\s{0,8}[A-Za-z_][\w.[\]|]{0,40}\s{0,8}=|:=|=>|->|[=!]=|[=:])\s{0,8}[A-Za-z@$]{0,2}(?=\\{0,3}["'`])/y
/** `:password "…"` and `(defvar *password* "…")`, and `PASSWORD '…'`. */
const KEYWORD = /\*?\s{1,8}(?=")/y
const SQL = /\s{1,8}(?=')/y
/** `["--password", "…"]` */
const NEXT_ITEM = /\\{0,3}["'],\s{0,8}(?=\\{0,3}["'])/y
const OPENING = /\\{0,3}["'`]/y

function inQuotes(name: Name): Found | undefined {
  const { text, from, end, kind } = name
  const between = betweenNameAndQuote(name)
  if (between === undefined) return undefined
  const opening = matchAt(OPENING, text, end + between.length) ?? ''
  const begin = end + between.length + opening.length
  const quote = opening.slice(-1)
  if (text.startsWith(quote + quote, begin)) return inThreeQuotes(text, { begin: begin + 2, quote, kind })
  const to = closing(text, { begin, quote, slashes: opening.length - 1 })
  const value = text.slice(begin, to)
  // `"token: " + x` and `input("Password: ")`: that quote ends the text that the name is in.
  if (/^[\s)+,%.\]};:]/.test(value) && isInside(text, { at: from, quote })) return undefined
  return tellsNothing(value, kind) ? undefined : { from: begin, to, kind }
}

function betweenNameAndQuote({ text, from, end, kind }: Name): string | undefined {
  if (text.startsWith('--', from)) {
    const item = matchAt(NEXT_ITEM, text, end)
    if (item !== undefined) return item
  }
  const before = text[from - 1]
  if (before === ':' || before === '*') {
    const keyword = matchAt(KEYWORD, text, end)
    if (keyword !== undefined) return keyword
  }
  return matchAt(ASSIGNS, text, end) ?? (kind === 'password' ? matchAt(SQL, text, end) : undefined)
}

/** A text over several lines is looked through, and not taken for one secret. */
const VALUE_CHARS = 4096
const THREE_QUOTES_CHARS = 512

function inThreeQuotes(
  text: string,
  { begin, quote, kind }: { begin: number; quote: string; kind: string },
): Found | undefined {
  const inside = text.slice(begin, begin + THREE_QUOTES_CHARS)
  const length = inside.indexOf(quote.repeat(3))
  if (length === -1 || tellsNothing(inside.slice(0, length), kind)) return undefined
  return { from: begin, to: begin + length, kind }
}

/** Where a text in quotes ends: at its quote, which has as many backslashes as the first; or with the line. */
function closing(
  text: string,
  { begin, quote, slashes }: { begin: number; quote: string; slashes: number },
): number {
  const limit = Math.min(text.length, begin + VALUE_CHARS)
  let run = 0
  for (let at = begin; at < limit; at++) {
    const character = text[at]
    if (character === '\n') return at
    if (character === quote && (slashes === 0 ? run % 2 === 0 : run <= slashes)) return at - (slashes && run)
    run = character === '\\' ? run + 1 : 0
  }
  return limit
}

/** Whether a text in such quotes is open here, by the line before. */
function isInside(text: string, { at, quote }: { at: number; quote: string }): boolean {
  let count = 0
  for (let before = at - 1; before >= 0 && at - before < 400 && text[before] !== '\n'; before--)
    if (text[before] === quote) count++
  return count % 2 === 1
}

/** Parsers have tokens too, which are short, or words. */
function tellsNothing(value: string, kind: string): boolean {
  if (isPlaceholder(value)) return true
  return (kind === 'token' || kind === 'cookie') && (value.length < 8 || /\s/.test(value.slice(0, 16)))
}

const FLAG_VALUE = /[ \t]{1,4}[^\s"'`\\;|&<>()[$-][^\s"'`\\;|&<>()]{0,1023}/y

/** `--password …`; a word of letters is prose. */
function ofFlag({ text, from, end, kind }: Name): Found | undefined {
  if (!text.startsWith('--', from)) return undefined
  const match = matchAt(FLAG_VALUE, text, end)
  const value = match?.trimStart() ?? ''
  if (match === undefined || isPlaceholder(value) || /^[A-Za-z]+[.,:]?$/.test(value)) return undefined
  return { from: end + match.length - value.length, to: end + match.length, kind }
}

/** What shows within a bound that a line of an HTTP header has a secret in it, and then the rest of the line. */
const HEADER = {
  authorization: /:[ \t]{0,4}(?=\w{1,32} \S)[^\r\n"'`\\{}]{4,4096}/y,
  cookie: /:[ \t]{0,4}(?=[^\s=]{1,256}=)[^\r\n"'`\\{}]{4,4096}/y,
  other: /:[ \t]{0,4}(?=[^\s\d]{0,256}\d)[^\r\n"'`\\{}]{4,4096}/y,
}

function ofHeader({ text, from, end, kind }: Name): Found | undefined {
  const isAlone = kind === 'authorization' || kind === 'cookie'
  if (!isAlone && !text.slice(from, end).includes('-')) return undefined
  const match = matchAt(isAlone ? HEADER[kind] : HEADER.other, text, end)
  const value = match?.slice(1).trimStart() ?? ''
  if (match === undefined || isPlaceholder(value)) return undefined
  return { from: end + match.length - value.length, to: end + match.length, kind }
}

const OPEN_VALUE = /(?:=|:[ \t]{1,4})[^\s"'`,;&|<>()[\]{}\\#=][^\s"'`,;&|<>()[\]{}\\#]{2,1023}/y
const NO_SECRET = /^(?:none|null|nil|true|false|undefined|\$.*|%.*|\d{1,5}|u?int\d+|float\d+)$/i

/** `PASSWORD=…` of a shell, `?token=…` of a URL, `password=…` of a data source, and `password: …` of YAML. */
function inTheOpen({ text, from, end, kind }: Name): Found | undefined {
  const match = matchAt(OPEN_VALUE, text, end)
  if (match === undefined) return undefined
  const value = match.slice(1).trimStart()
  const to = end + match.length
  if (NO_SECRET.test(value) || isPlaceholder(value)) return undefined
  const name = text.slice(from, end)
  const isWord = /^[A-Za-z_][A-Za-z_.]*$/.test(value)
  const isDotted = isWord && value.includes('.')
  const inCode = /[(),[\]{}.]/.test(text[to] ?? '')
  const found: Found = { from: to - value.length, to, kind }
  if (match.startsWith(':'))
    return /\d/.test(value) && /^\s*(?:\n|$)/.test(text.slice(to, to + 8)) ? found : undefined
  if (/[?&;]/.test(text[from - 1] ?? '') || name.startsWith('--')) return inCode ? undefined : found
  if (/^[A-Z0-9_]+$/.test(name)) return isDotted || inCode ? undefined : found
  return isWord || inCode ? undefined : found
}
