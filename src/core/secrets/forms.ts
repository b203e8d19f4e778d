/** Where a secret stands in a text, and what kind it is. `to` is after its last character. */
export interface Found {
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
 * begins alike. Forms that an ordinary word could have are left out.
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
export const BEGINNINGS = [...FORMS.map(({ begins }) => begins), 'eyJ', '-----BEGIN', '://'].join('|')

const KNOWN = FORMS.map(form => ({
  ...form,
  // `Bearer` alone is written in any case.
  looks: new RegExp(`(?<![A-Za-z0-9])${form.begins}${form.goesOn}`, form.begins === 'bearer' ? 'iy' : 'y'),
}))

/** The secret of a known form that begins here, if one does. `text` is at `at` where a beginning was found. */
export function knownForm(text: string, at: number): Found | undefined {
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
export function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
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
  /^(?:(?:bearer|basic|token) *)?(?:\{[^{}]*\}|\$\{[^{}]*\}|\$\w*|%s|%\(\w*\)s|<[^<>]*>|\*+|\.\.\.|…|\[redacted: [a-z ]{1,40}, \d{1,12} characters\])?$/i

/** What stands where a secret will be: an interpolation, stars, nothing; or a mark of ours. */
export const isPlaceholder = (value: string) => PLACEHOLDER.test(value)
