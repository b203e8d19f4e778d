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
export const SECRET_NAMES =
  'passw(?:or)?d|passphrase|secret|token|credential|cookie|authorization|(?:api|private|access|account|signing|encryption)[_-]?key'

const MAY_SAY_SECRET = new RegExp(SECRET_NAMES, 'i')

/** What kind of secret stands under this name; undefined where the name does not say that one does. */
export function secretNamed(name: string): string | undefined {
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
export const NAME_CHARS = 128

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
