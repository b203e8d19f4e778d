import { sha256 } from '../sha256.ts'
import type { JournalEntry, JournalNote } from './entries.ts'

/** A word of a name that says secret, alone or as the end of a longer one (`pgpassword`). */
const SECRET_WORD =
  /(?:password|passwd|passphrase|secret|credential|cookie|authorization|apikey|privatekey|accesskey|accountkey)s?\d*$|token\d*$/

/** What `key` must follow, to be one. */
const KEY_OF = new Set(['api', 'private', 'access', 'account', 'secret', 'signing', 'encryption'])

/** A name that ends so speaks of a secret and holds none: `token_count`, `password_field`, `AWS_ACCESS_KEY_ID`. */
const SPEAKS_OF = new Set(
  (
    'count counts limit limits type types kind url uri endpoint name names id ids file path dir folder field fields ' +
    'length len size min max policy expiry expires ttl env header headers prompt reset form input label hint ' +
    'provider store class error errors regex pattern required enabled index position budget usage cost rate jar ' +
    'key algorithm hash salt bytes chars list map set table column'
  ).split(' '),
)

/** The parts of names that say secret, for finding them: as the source of one regular expression, for any case. */
const SECRET_NAMES =
  'passw(?:or)?d|passphrase|secret|token|credential|cookie|authorization|(?:api|private|access|account|signing|encryption)[_-]?key'

const MAY_SAY_SECRET = new RegExp(SECRET_NAMES, 'i')

/** What kind of secret stands under this name; undefined where the name does not say that one does. */
function secretNamed(name: string): string | undefined {
  if (!MAY_SAY_SECRET.test(name) || name.length > NAME_CHARS) return undefined
  const words = wordsOf(name)
  const last = words.at(-1) ?? ''
  for (const [index, word] of words.entries()) {
    if (word === 'key' && KEY_OF.has(words[index - 1] ?? '') && (word === last || !SPEAKS_OF.has(last)))
      return `${words[index - 1]} key`
    const match = SECRET_WORD.exec(word)
    if (match !== null && !SPEAKS_OF.has(last)) return KINDS[match[0]] ?? match[0].replace(/s?\d*$/, '')
  }
  return undefined
}

/** A longer name is none. */
const NAME_CHARS = 128

const KINDS: Readonly<Record<string, string>> = {
  passwd: 'password',
  apikey: 'api key',
  privatekey: 'private key',
  accesskey: 'access key',
  accountkey: 'account key',
}

/** `AWS_SECRET_ACCESS_KEY`, `x-api-key` and `dbPassword2` are of several words. */
const wordsOf = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word !== '')

/** Where a secret stands in a text, and what kind it is. `to` is after its last character. */
interface Found {
  readonly from: number
  readonly to: number
  readonly kind: string
}

/** A secret that can be told by its look. */
interface Form {
  readonly kind: string
  /** With what it begins, as the source of a regular expression. */
  readonly begins: string
  /** What follows. It matches within a bound, or all that it has looked at, so that looking stays linear. */
  readonly goesOn: string
  /** A long word may look like one; a secret has a digit in it. */
  readonly hasDigit?: true
}

/**
 * The forms that the services document for what they hand out. A longer name stands before a shorter one that
 * begins alike. Forms that an ordinary word could have are left out. They stand again, as the names above do, in
 * `wire/peers/python/imago/redaction.py`; the tests of both read `test/journal/secrets.json`.
 */
const FORMS: readonly Form[] = [
  { kind: 'aws key', begins: 'A(?:KIA|SIA)', goesOn: '[A-Z0-9]{16}(?![A-Za-z0-9])' },
  { kind: 'github token', begins: 'github_pat_', goesOn: '[A-Za-z0-9_]{22,}' },
  { kind: 'github token', begins: 'gh[pousr]_', goesOn: '[A-Za-z0-9]{30,}' },
  { kind: 'gitlab token', begins: 'gl(?:pat|dt|rt|cbt|ptt|ft|soat)-', goesOn: '[\\w-]{16,}' },
  { kind: 'slack token', begins: 'x(?:ox[a-z]|app)-', goesOn: '[\\w-]{10,}' },
  { kind: 'stripe key', begins: '[rs]k_(?:live|test)_', goesOn: '[A-Za-z0-9]{10,}' },
  { kind: 'api key', begins: 'sk-', goesOn: '[\\w-]{20,256}', hasDigit: true },
  { kind: 'google key', begins: 'AIza', goesOn: '[\\w-]{35}' },
  { kind: 'google token', begins: 'ya29\\.', goesOn: '[\\w-]{20,}' },
  { kind: 'npm token', begins: 'npm_', goesOn: '[A-Za-z0-9]{36}' },
  { kind: 'pypi token', begins: 'pypi-', goesOn: '[\\w-]{50,}' },
  { kind: 'hugging face token', begins: 'hf_', goesOn: '[A-Za-z0-9]{30,}' },
  { kind: 'bearer token', begins: 'bearer', goesOn: '[ \\t]{1,4}[\\w.~+/=-]{16,256}', hasDigit: true },
]

/** The beginnings of all forms, as the source of one regular expression. */
const BEGINNINGS = [...FORMS.map(({ begins }) => begins), 'eyJ', '-----BEGIN', '://'].join('|')

const KNOWN = FORMS.map(form => ({
  ...form,
  // `Bearer` alone is written in any case.
  looks: new RegExp(`(?<![A-Za-z0-9])${form.begins}${form.goesOn}`, form.begins === 'bearer' ? 'iy' : 'y'),
}))

/** The secret of a known form that begins here, if one does. `text` is at `at` where a beginning was found. */
function knownForm(text: string, at: number): Found | undefined {
  const found = text[at] === ':' ? urlPassword(text, at) : (privateKey(text, at) ?? webToken(text, at))
  if (found !== undefined) return found
  for (const { kind, looks, hasDigit } of KNOWN) {
    const match = matchAt(looks, text, at)
    if (match !== undefined && (!hasDigit || /\d/.test(match)))
      return { from: at, to: endOfRun(text, at + match.length), kind }
  }
  return undefined
}

/** What `pattern`, which is sticky, matches at that place. */
function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

const RUN = /[\w-]*/y

const endOfRun = (text: string, at: number) => at + (matchAt(RUN, text, at)?.length ?? 0)

const JWT = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}[\w.-]*/y

function webToken(text: string, at: number): Found | undefined {
  const match = matchAt(JWT, text, at)
  return match === undefined ? undefined : { from: at, to: at + match.length, kind: 'web token' }
}

const KEY_BEGINS = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y

/** Also where the line breaks of a key are written as escapes, or its lines are texts in a row. */
const KEY_BODY = /[A-Za-z0-9+/=\s\\:,"'.()-]*/y

const KEY_ENDS = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/

/** A private key as PEM, to its end; where its end is missing, to where it can no longer be one. */
function privateKey(text: string, at: number): Found | undefined {
  if (text[at] !== '-') return undefined
  const begins = matchAt(KEY_BEGINS, text, at)
  if (begins === undefined) return undefined
  const body = matchAt(KEY_BODY, text, at + begins.length) ?? ''
  const end = KEY_ENDS.exec(body)
  const length = end === null ? body.length : end.index + end[0].length
  return { from: at, to: at + begins.length + length, kind: 'private key' }
}

const USER_AND_PASSWORD = /:\/\/[^\s/?#@:"'`<>\\]*:[^\s/?#@"'`<>\\]+@/y

function urlPassword(text: string, at: number): Found | undefined {
  const match = matchAt(USER_AND_PASSWORD, text, at)
  if (match === undefined) return undefined
  const from = at + match.indexOf(':', 3) + 1
  const to = at + match.length - 1
  return isPlaceholder(text.slice(from, to)) ? undefined : { from, to, kind: 'password in a URL' }
}

const PLACEHOLDER =
  /^(?:(?:bearer|basic|token) *)?(?:\{[^{}]*\}|\$\{[^{}]*\}|\$\w*|%s|%\(\w*\)s|<[^<>]*>|\*+|\.\.\.|…|\[redacted: [a-z ]{1,40}, \d{1,12} characters(?:, sha256 [\da-f]{64})?\])?$/i

/** What stands where a secret will be: an interpolation, stars, nothing; or a mark of ours. */
const isPlaceholder = (value: string) => PLACEHOLDER.test(value)

/**
 * The secret that a text gives to a name: `password = "…"`, `"api_key": "…"`, `PASSWORD=…`, `--token …`,
 * `X-Api-Key: …`, `:password "…"`. `[at, to)` is where a part of a name was found that says secret. What is computed
 * (`token = next(tokens)`) is code and stays. `resume` is where looking goes on.
 */
function assignedSecret(
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

/**
 * The entry with a mark in place of every secret in what somebody wrote freely: under a name that says so, in a form
 * that is known, or kept by `keepSecret`. The same object where there is none. What is nested deeper than a line keeps
 * is left out. Names, ids, outcomes and paths stay as they are, whatever they look like: by them a call is found again,
 * and never runs twice.
 */
export function redacted(entry: JournalEntry): JournalEntry {
  const whose = ownerIn(entry)
  let clean: JournalEntry = entry
  for (const name of FREE_TEXTS) {
    if (!(name in entry)) continue
    const value = entry[name as keyof JournalEntry] as unknown
    const kept = cleaned(value, { whose, depth: 0 })
    if (kept !== value) clean = { ...clean, [name]: kept } as JournalEntry
  }
  if (clean.type !== 'requested') return clean
  const title = redactedText(clean.plan.title, whose)
  return title === clean.plan.title ? clean : { ...clean, plan: { ...clean.plan, title } }
}

/** All that a caller, a person or a program said in words of their own; the title of a plan besides. */
const FREE_TEXTS = ['args', 'why', 'reason', 'choices'] as const

/** Whose secrets are looked for. An error that suspended an evaluation may hold those of any client. */
function ownerIn(entry: JournalEntry): string {
  if ('caller' in entry) return entry.caller.split(' ', 1)[0] ?? NOBODY
  return entry.type === 'suspension' ? ANYBODY : NOBODY
}

const NOBODY = ''

const ANYBODY = '*'

/** The text with a mark in place of every secret; linear in its length, whatever it is. */
function redactedText(text: string, whose: string): string {
  if (text.length < SHORTEST) return text
  const kept = keptSecrets.redacted(text, whose)
  return MAY_HOLD.test(kept) ? withoutFound(kept) : kept
}

/**
 * From now on this exact value is a secret in what that client writes; without one, in what anybody does: a key of a
 * kernel. Gives back what forgets it. No client can have what another one ran hidden.
 *
 * A mark tells whoever can have a text written, and read what became of it, that it held the value: millions of guesses
 * in a second. So a value that can be guessed is not kept: one of digits alone, of fewer than 6 different characters,
 * or of fewer than 48 bits by its length and its kinds of characters. Above that bound, and for a value that stands in
 * a list of words, a mark still confirms a guess; so nothing that gives a right in this daemon may ever be kept that
 * has fewer than 80 random bits.
 */
export function keepSecret(value: string, kind = 'secret', client = NOBODY): () => void {
  return isGuessable(value) ? () => {} : keptSecrets.add(value, { kind, client })
}

/** Any value that JSON can hold, with a mark in place of every secret in it. The same one where there is none. */
export function redactedValue<Value>(value: Value): Value {
  return cleaned(value, { whose: ANYBODY, depth: 0 }) as Value
}

/**
 * The values of an environment whose names say that they are secret. A word or a path that stands there is found in
 * too much that is none.
 */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && isDistinct(value) && secretNamed(name) !== undefined ? [value] : [],
  )
}

const isDistinct = (value: string) =>
  !isGuessable(value) && !/^(?:[A-Za-z]{8,15}|~?(?:\/[\w. -]+){2,})$/.test(value)

/** What a program could find by trying, in years at most. */
function isGuessable(value: string): boolean {
  const kinds = KINDS_OF_CHARACTERS.reduce((sum, [kind, count]) => (kind.test(value) ? sum + count : sum), 0)
  return /^\d*$/.test(value) || new Set(value).size < DIFFERENT || value.length * Math.log2(kinds) < BITS
}

const BITS = 48

const DIFFERENT = 6

/** How many characters there are of each kind that a value has. */
const KINDS_OF_CHARACTERS = [
  [/\d/, 10],
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/[^\dA-Za-z]/, 32],
] as const

const SHORTEST = 6

/** A line keeps less of a value that is nested. */
const DEPTH = 12

/** The hash shows later that a text is the one which was hidden; it also lets a short secret be found by trying. */
const markFor = (kind: string, hidden: string) =>
  `[redacted: ${kind}, ${hidden.length} characters, sha256 ${sha256(hidden)}]`

interface Cleaning {
  readonly whose: string
  readonly depth: number
  /** Its name says that it is a secret: every text and number of it is hidden. */
  readonly kind?: string | undefined
}

const deeper = ({ whose, depth }: Cleaning, kind?: string): Cleaning => ({ whose, depth: depth + 1, kind })

function cleaned(value: unknown, at: Cleaning): unknown {
  const { kind } = at
  if (typeof value === 'string')
    return kind === undefined
      ? redactedText(value, at.whose)
      : isPlaceholder(value)
        ? value
        : markFor(kind, value)
  if (kind !== undefined && (typeof value === 'number' || typeof value === 'bigint'))
    return markFor(kind, String(value))
  if (typeof value !== 'object' || value === null) return value
  if (at.depth === DEPTH) return '…'
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) {
    const items = value.map(item => cleaned(item, deeper(at, kind)))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  return redactedObject(value, at)
}

function redactedObject(value: object, at: Cleaning): object {
  let changed = false
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => {
    const clean = cleaned(item, deeper(at, at.kind ?? secretNamed(name)))
    const key = redactedText(name, at.whose)
    if (clean !== item || key !== name) changed = true
    return [key, clean]
  })
  return changed ? Object.fromEntries(entries) : value
}

const MAY_HOLD = new RegExp(`${SECRET_NAMES}|${BEGINNINGS}`, 'i')

const EACH_BEGINNING = new RegExp(`(${SECRET_NAMES})|${BEGINNINGS}`, 'gi')

function withoutFound(text: string): string {
  let clean = ''
  let done = 0
  EACH_BEGINNING.lastIndex = 0
  for (let hit = EACH_BEGINNING.exec(text); hit !== null; hit = EACH_BEGINNING.exec(text)) {
    const { found, resume } = secretAt(text, hit)
    if (found !== undefined) {
      clean += text.slice(done, found.from) + markFor(found.kind, text.slice(found.from, found.to))
      done = found.to
    }
    EACH_BEGINNING.lastIndex = resume
  }
  return done === 0 ? text : clean + text.slice(done)
}

function secretAt(text: string, hit: RegExpExecArray): { found: Found | undefined; resume: number } {
  const [whole, name] = hit
  const to = hit.index + whole.length
  if (name !== undefined) return assignedSecret(text, { at: hit.index, to })
  const found = knownForm(text, hit.index)
  return { found, resume: found?.to ?? to }
}

/** Exact values by whose they are. A long list costs no more than a short one: they are looked for together. */
class KeptSecrets {
  /** How often each was handed in, and as what. */
  readonly #kept = new Map<string, Map<string, { readonly kind: string; count: number }>>()
  /** What finds those of one client and of nobody; undefined where there are none. */
  readonly #patterns = new Map<string, RegExp | undefined>()

  add(value: string, { kind, client }: { kind: string; client: string }): () => void {
    const own = this.#kept.get(client) ?? new Map<string, { kind: string; count: number }>()
    this.#kept.set(client, own)
    const kept = own.get(value) ?? { kind, count: 0 }
    own.set(value, kept)
    kept.count++
    this.#patterns.clear()
    let forgotten = false
    return () => {
      if (forgotten) return
      forgotten = true
      if (--kept.count > 0) return
      own.delete(value)
      if (own.size === 0) this.#kept.delete(client)
      this.#patterns.clear()
    }
  }

  redacted(text: string, whose: string): string {
    const owner = whose === ANYBODY || this.#kept.has(whose) ? whose : NOBODY
    if (!this.#patterns.has(owner)) this.#patterns.set(owner, this.#together(owner))
    const pattern = this.#patterns.get(owner)
    if (pattern === undefined || text.search(pattern) === -1) return text
    const kindOf = (value: string) =>
      this.#of(whose)
        .find(own => own.has(value))
        ?.get(value)?.kind
    return text.replace(pattern, value => markFor(kindOf(value) ?? 'secret', value))
  }

  #of(whose: string) {
    if (whose === ANYBODY) return [...this.#kept.values()]
    return [this.#kept.get(NOBODY), this.#kept.get(whose)].filter(own => own !== undefined)
  }

  /** The longest first, so that one that begins another does not leave the rest of it. */
  #together(whose: string): RegExp | undefined {
    const values = this.#of(whose).flatMap(own => [...own.keys()])
    if (values.length === 0) return undefined
    values.sort((one, other) => other.length - one.length)
    return new RegExp(values.map(value => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
  }
}

const keptSecrets = new KeptSecrets()

/** The form of a line. Readers skip lines of a form they do not know, and lines that do not parse. */
const JOURNAL_VERSION = 2

/** The line of an entry, of bounded length and without secrets, up to where its chain and the closing brace follow. */
export function entryBody(entry: JournalEntry, time: Date): string {
  const whose = ownerIn(entry)
  const kept = redacted('args' in entry ? withKeptArgs(entry, whose) : entry)
  const text = JSON.stringify(kept)
  if (text.length <= LINE_CHARS) return begun(text, time)
  const cut = { ...kept, args: hashed(text, whose) }
  const short = JSON.stringify(cut)
  if (short.length <= LINE_CHARS) return begun(short, time)
  return begun(JSON.stringify(capped(cut, { whose, depth: 0 })), time)
}

/** The same for what the journal says of itself. */
export const noteBody = (note: JournalNote, time: Date) => begun(JSON.stringify(note), time)

const begun = (text: string, time: Date) =>
  `{"v":${JOURNAL_VERSION},"time":"${textOf(time)}",${text.slice(1, -1)}`

let last = { ms: Number.NaN, text: '' }

/** Many lines are of the same millisecond. */
function textOf(time: Date): string {
  const ms = time.getTime()
  if (ms !== last.ms) last = { ms, text: time.toISOString() }
  return last.text
}

/** With whatever a caller passed as something that JSON can hold, within bounds. */
function withKeptArgs<Entry extends { readonly args: unknown }>(entry: Entry, whose: string): Entry {
  try {
    return isShort(entry.args) ? entry : { ...entry, args: capped(entry.args, { whose, depth: 0 }) }
  } catch {
    return { ...entry, args: '[cannot be shown]' }
  }
}

/** The usual case: a few short values, which stand in the line as they are. */
function isShort(args: unknown): boolean {
  if (typeof args !== 'object' || args === null) return false
  const values = Object.values(args)
  return values.length <= 16 && values.every(isShortValue)
}

function isShortValue(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= ARGUMENT_CHARS
  return typeof value === 'number' || typeof value === 'boolean'
}

/** Longer texts are kept as their beginning, their length and their hash. */
const ARGUMENT_CHARS = 4 * 1024

const BEGINNING_CHARS = 1024

const ARGUMENT_DEPTH = 8

/** Of a longer line, only the beginning of it is kept in place of its arguments. */
const LINE_CHARS = 64 * 1024

/** Arguments as they are kept: bounded, and always something that JSON can hold. */
function capped(value: unknown, at: Cleaning): unknown {
  if (typeof value === 'string') return value.length <= ARGUMENT_CHARS ? value : hashed(value, at.whose)
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (at.depth === ARGUMENT_DEPTH) return '…'
  if (Array.isArray(value)) return value.slice(0, 100).map(item => capped(item, deeper(at)))
  const entries = Object.entries(value).slice(0, 100)
  return Object.fromEntries(entries.map(([key, item]) => [key.slice(0, 100), capped(item, deeper(at))]))
}

function hashed(text: string, whose: string) {
  // A secret is known for one only as long as it is whole.
  const beginning = redactedText(text.slice(0, 8 * BEGINNING_CHARS), whose).slice(0, BEGINNING_CHARS)
  return {
    beginning,
    length: text.length,
    sha256: sha256(text),
  }
}
