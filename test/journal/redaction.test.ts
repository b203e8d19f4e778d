import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { keepSecret, redacted, redactedValue, secretsOf } from '../../src/journal/redaction.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, isLong, suite } from '../support/harness.ts'

const test = suite('redaction')

const redactedText = (text: string) => String(redactedValue(text))

/** Put together here, so that nobody takes this file for a leak. */
const made = (...parts: readonly string[]) => parts.join('')

const marked = (kind: string, secret: string) =>
  `[redacted: ${kind}, ${secret.length} characters, sha256 ${hash('sha256', secret)}]`

/** Also for the tests of the peers that redact for themselves. A number stands for so many letters. */
const SHARED: {
  readonly letters: string
  readonly forms: readonly (readonly [kind: string, ...parts: (string | number)[]])[]
  readonly urls: readonly string[]
  readonly named: Readonly<Record<string, readonly string[]>>
  readonly unnamed: readonly string[]
  readonly ordinary: readonly string[]
} = JSON.parse(readFileSync(join(import.meta.dirname, 'secrets.json'), 'utf8'))

const letters = (count: number) => SHARED.letters.repeat(4).slice(0, count)

const FORMS = SHARED.forms.map(([kind, ...parts]) => ({
  kind,
  secret: made(...parts.map(part => (typeof part === 'number' ? letters(part) : part))),
}))

for (const { kind, secret } of FORMS)
  test(`a ${kind} such as ${secret.slice(0, 12).trim()}… is marked wherever it stands, with its length (threat 7)`, () => {
    const mark = marked(kind, secret)
    for (const [before, after] of [
      ['', ''],
      ["x = f('", "')  # call"],
      ['say ', ' twice'],
      ['{"note": "', '"}'],
    ])
      assert.is(redactedText(before + secret + after), before + mark + after)
    assert.is(redactedText(`${secret} ${secret}`), `${mark} ${mark}`)
  })

/** `~` stands for the secret in the middle. */
const GIVEN: readonly (readonly [text: string, secret: string, kind: string])[] = [
  ['password = "~"', 'hunter2', 'password'],
  ["self.db_password: str = '~'", "it\\'s", 'password'],
  ['connect(host="a", password="~", port=1)', 'hunter2', 'password'],
  ["{'user': 'a', 'passwd': '~'}", 'x', 'password'],
  ['{"api_key": "~", "n": 1}', 'abc', 'api key'],
  ['"{\\"password\\": \\"~\\"}"', 'hunter2', 'password'],
  ['os.environ["GITHUB_TOKEN"] = "~"', 'abcdefgh1', 'token'],
  ['dbPassword := "~"', 'hunter2', 'password'],
  ['apiKey: `~`', 'abc', 'api key'],
  ['"Password" -> "~"', 'hunter2', 'password'],
  ['(connect :user "a" :password "~")', 'hunter2', 'password'],
  ['(defvar *password* "~")', 'hunter2', 'password'],
  ["CREATE USER a PASSWORD '~'", 'hunter2', 'password'],
  ['PASSWORD=~ ./run', 'hunter', 'password'],
  ['export AWS_SECRET_ACCESS_KEY=~\nnext', 'abc/def+ghi', 'access key'],
  ['mysql --password ~ db', 'hunter2', 'password'],
  ['mysql --password=~ db', 'hunter', 'password'],
  ['run(["login", "--token", "~"])', 'abc-def2', 'token'],
  ['get("http://h/p?token=~&x=1")', 'abc', 'token'],
  ['dsn = "host=db password=~ dbname=x"', 'hunter2', 'password'],
  ['db:\n  password: ~\n  port: 1', 'hunter2', 'password'],
  ['Authorization: ~', 'Basic YTpi', 'authorization'],
  ['curl -H "Authorization: ~" u', 'Bearer abcdefgh', 'authorization'],
  ['headers = {"Authorization": "~"}', 'token abcdef', 'authorization'],
  ['curl -H "X-Api-Key: ~" u', 'abc123', 'api key'],
  ['Cookie: ~\nHost: a', 'sid=abc; theme=dark', 'cookie'],
  ...SHARED.urls.map(text => [text, 'hunter2', 'password in a URL'] as const),
  ['private_key = """~"""', 'two\nlines', 'private key'],
]

for (const [text, secret, kind] of GIVEN)
  test(`in ${JSON.stringify(text)} what stands at ~ is marked (threat 7)`, () => {
    const mark = marked(kind, secret)
    assert.is(redactedText(text.replace('~', secret)), text.replace('~', mark))
    assert.is(redactedText(text.replace('~', mark)), text.replace('~', mark))
  })

const CODE = [
  'token = next(tokens)',
  'password = getpass()',
  'password = getpass("Password: ")\nx = f("a")',
  'login(user, password=pw)',
  'def f(a, *, password=None, token: str | None = None): ...',
  'token=self.token',
  'TOKEN=settings.TOKEN',
  'max_tokens = "100 and more"',
  'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")',
  'if token == "(": depth += 1',
  'secret = rng.choice("abcdef")',
  'token_type = "identifier"',
  'AWS_ACCESS_KEY_ID_NAME = "x"',
  'password_field = "username"',
  'password = ""',
  'headers = {"Authorization": f"Bearer {token}"}',
  'headers = {"Authorization": "Bearer " + token}',
  'url = "https://h/p?a=1&token=" + token + "&b=2"',
  'PASSWORD=$SECRET ./run',
  'raise SyntaxError("unexpected token \'foo\' in line")',
  'class Token: kind: str; text: str',
  'cookies = session.cookies',
  ...SHARED.ordinary,
]

for (const text of CODE)
  test(`ordinary code stays: ${JSON.stringify(text)}`, () => assert.is(redactedText(text), text))

test('a name says which kind of secret stands under it, or that none does (threat 7)', () => {
  const value = 'Zk39fKq01mmVxW'
  for (const [kind, names] of Object.entries(SHARED.named))
    for (const name of names) assert.equal(redactedValue({ [name]: value }), { [name]: marked(kind, value) })
  for (const name of SHARED.unnamed) assert.equal(redactedValue({ [name]: value }), { [name]: value })
})

test('values under names that say secret are marked in arguments, however deep, and the rest stays (threat 7)', () => {
  const args = {
    expr: '1 + 2',
    apiKey: 'abc',
    'x-auth-token': 12345,
    nested: [{ Password: 'p', user: 'u' }, { credentials: { id: 'i', list: ['l'] } }],
    max_tokens: 5,
    password: null,
    has_secret: true,
  }
  assert.equal(redactedValue(args), {
    expr: '1 + 2',
    apiKey: marked('api key', 'abc'),
    'x-auth-token': marked('token', '12345'),
    nested: [
      { Password: marked('password', 'p'), user: 'u' },
      {
        credentials: {
          id: marked('credential', 'i'),
          list: [marked('credential', 'l')],
        },
      },
    ],
    max_tokens: 5,
    password: null,
    has_secret: true,
  })
})

test('an entry is cleaned in what is written freely, and is the same object where there is nothing', () => {
  const secret = made('ghp_', letters(36))
  const entry: JournalEntry = {
    type: 'requested',
    call: 'c' as CallId,
    tool: 't',
    level: 'dangerous',
    kernel: null,
    epoch: null,
    caller: 'c',
    args: { path: 'a', content: `x ${secret}` },
    plan: {
      id: 'plan-a',
      hash: 'h',
      title: `write ${secret}`,
      preview_sha256: 's',
      preview_bytes: 1,
      paths: ['/p/api_key=Zk39fKq01mmVxW.py'],
    },
  }
  assert.is(JSON.stringify(redacted(entry)).includes(secret), false)
  // Which file it is must be told, though its name looks like a secret.
  assert.match(JSON.stringify(redacted(entry)), '"paths":["/p/api_key=Zk39fKq01mmVxW.py"]')
  const decided: JournalEntry = {
    type: 'decided',
    call: 'c' as CallId,
    plan: 'plan-a',
    answer: 'denied',
    by: 's',
    reason: `not with ${secret}`,
  }
  assert.is(JSON.stringify(redacted(decided)).includes(secret), false)
  const clean: JournalEntry = {
    ...entry,
    args: { path: 'a', list: [1, { b: 'c' }] },
    plan: { ...entry.plan, title: 't', paths: [] },
  }
  assert.is(redacted(clean), clean)
})

test('a secret that was kept is marked wherever it stands, until it is forgotten (threat 7)', () => {
  const mark = marked('key', 'kx83174625')
  const forgetCode = keepSecret('kx83174625', 'key')
  const forgetKey = keepSecret('kx83174625-and-more.*')
  const again = keepSecret('kx83174625', 'key')
  assert.is(redactedText('answer(kx83174625)'), `answer(${mark})`)
  assert.is(redactedText('kx83174625-and-more.*'), marked('secret', 'kx83174625-and-more.*'))
  assert.equal(redactedValue({ 'a kx83174625': ['kx83174625'] }), {
    [`a ${mark}`]: [mark],
  })
  forgetCode()
  forgetCode()
  assert.is(redactedText('kx83174625'), mark)
  again()
  forgetKey()
  assert.is(redactedText('kx83174625-and-more.*'), 'kx83174625-and-more.*')
})

test('a client has nothing hidden but what it wrote itself, and never a name or an id (threat 7)', () => {
  const secrets = ['call-4Xq9-a', 'edit_file_9', 'plan-7KqzA1']
  const forget = secrets.map(value => keepSecret(value, 'environment variable', 'client-1'))
  const [call = '', tool = '', plan = ''] = secrets
  const dispatched = (caller: string): JournalEntry => ({
    type: 'dispatched',
    call: call as CallId,
    tool,
    level: 'cautious',
    kernel: tool,
    epoch: tool,
    caller,
    who: tool,
    args: { [tool]: `run ${tool}` },
    decision: 'allow',
    plan,
  })
  const theirs = dispatched('client-2')
  assert.is(redacted(theirs), theirs)
  const mark = marked('environment variable', tool)
  for (const caller of ['client-1', 'client-1 agent'])
    assert.equal(redacted(dispatched(caller)), { ...dispatched(caller), args: { [mark]: `run ${mark}` } })
  const ended: JournalEntry = {
    type: 'ended',
    call: call as CallId,
    outcome: 'ok',
    elapsed_ms: 1,
    undo: plan,
  }
  assert.is(redacted(ended), ended)
  const decided: JournalEntry = {
    type: 'decided',
    call: call as CallId,
    plan,
    answer: 'denied',
    by: tool,
    reason: `a person does not want ${tool}`,
  }
  assert.is(redacted(decided), decided)
  for (const forgetOne of forget) forgetOne()
})

test('what can be guessed is not kept, since its mark would tell the guess that was right (threat 5)', () => {
  const guessable = 'short 83174625 123456789012345678901234 ab3dE6g swordfish abababababababab12'.split(' ')
  const forget = guessable.map(value => keepSecret(value))
  for (const value of guessable) assert.is(redactedText(`is it ${value}?`), `is it ${value}?`)
  for (const forgetOne of forget) forgetOne()
  const environment = {
    PIN_TOKEN: '8317462503174',
    DB_PASSWORD: 'abc123',
    API_TOKEN: 'aB3dE6gH1jK2',
    // A word and a path are found in too much that is none.
    OTHER_PASSWORD: 'postgres',
    GOOGLE_APPLICATION_CREDENTIALS: '/home/me/key.json',
    TOKEN_COUNT: '1234567890',
  }
  assert.equal(secretsOf(environment), ['aB3dE6gH1jK2'])
})

/** Pieces of which hostile texts are made: all that is looked for, and what goes on from there without an end. */
const PIECES = [
  ...'password token secret api_key private-key authorization cookie x-api-key --token'.split(' '),
  ...'= " \' ` \\" \\ """ ]( { } a 1 eyJ eyJaaaaaaaaaa. sk- sk-a1 ghp_ AKIA :// ://a: @ . - _'.split(' '),
  ...[': ', ' = ', ' -> ', ': str = ', '\n', ' ', 'bearer ', '[redacted: '],
  ...['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', '-----BEGIN '],
]

test('whatever the text, what is left of it is the text, but for whole marks', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }), pieces => {
      const text = pieces.join('')
      const clean = redactedText(text)
      const kept = clean.split(/\[redacted: [a-zA-Z ]+, \d+ characters, sha256 [0-9a-f]{64}\]/)
      let at = 0
      for (const part of kept) {
        const found = text.indexOf(part, at)
        if (found === -1) return false
        at = found + part.length
      }
      return true
    }),
    { numRuns: 3_000 },
  )
})

test('no text of two pieces over and over takes more than its length allows', () => {
  // A quadratic one would take hours here, and the limit of the test is 20 seconds: no clock is read.
  const ends = ['', 'a', ' ', '"', ':', '=']
  for (const [at, first] of PIECES.entries())
    for (const second of isLong ? ends : ends.filter((_, end) => end % 3 === at % 3)) {
      const piece = first + second
      redactedText(piece.repeat(Math.ceil(60_000 / piece.length)))
    }
  for (const piece of ['eyJ', 'password="', 'sk-', '://', 'token=\'a b token=" '])
    redactedText(piece.repeat(Math.ceil(4_000_000 / piece.length)))
})

test('arguments that are nested without an end, or are bytes, are cut and not followed', () => {
  let deep: unknown = made('ghp_', letters(36))
  for (let depth = 0; depth < 20_000; depth++) deep = [deep]
  assert.is(JSON.stringify(redactedValue({ deep, token: deep })).includes('ghp_'), false)
  assert.equal(redactedValue({ bytes: new Uint8Array(5) }), { bytes: '[5 bytes]' })
})
