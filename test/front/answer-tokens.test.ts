import { randomBytes } from 'node:crypto'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type Told, toldWithin } from '../../src/calls/answer.ts'
import { type Envelope, toolError } from '../../tools/outcome.ts'
import { ANSWER_TOKENS, beginningWithin, endingWithin, tokensAtMost } from '../../tools/tokens.ts'
import { assert, suite } from '../support/harness.ts'
import { registry, three } from '../support/mcp-by-hand.ts'

/** What an answer costs its model, counted by a real tokenizer. */
const test = suite('tokens of an answer')

/** Tokens that every answer stays below: at 10,000 the first hosts cut. */
const BAR = 9_000

const anyOf = (letters: readonly string[], count: number) =>
  Array.from({ length: count }, () => letters[Math.floor(Math.random() * letters.length)]).join('')

const between = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at))

const DENSE: Readonly<Record<string, string>> = {
  'dense hex': randomBytes(500_000).toString('hex'),
  'hex in pairs': randomBytes(50_000).toString('hex').replace(/../g, '$& '),
  'escaped bytes': randomBytes(50_000).toString('hex').replace(/../g, '\\x$&'),
  base64: randomBytes(100_000).toString('base64'),
  Chinese: '数据库连接失败,请检查配置文件是否正确并重新启动服务器。'.repeat(3_000),
  'ideographs in no order': anyOf(between(0x4e00, 0x9fff), 50_000),
  Korean: anyOf(between(0xac00, 0xd7a3), 50_000),
  Japanese: 'データベースに接続できませんでした。設定を確認してください'.repeat(2_000),
  Russian: 'Не удалось подключиться к базе данных, проверьте настройки '.repeat(1_000),
  emoji: anyOf(between(0x1f300, 0x1f6ff), 30_000),
  'private use': anyOf(between(0xe000, 0xf8ff), 30_000),
  'control characters': anyOf(between(1, 31), 30_000),
  'a million short lines': 'x\n'.repeat(1_000_000),
  'lines of numbers': Array.from({ length: 100_000 }, (_, at) => `${at}`).join('\n'),
  'columns of numbers': Array.from({ length: 30_000 }, () => Math.random().toFixed(2)).join('  '),
  'letters in no order': anyOf(between(97, 122), 100_000),
  punctuation: anyOf([...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'], 50_000),
  prose: 'The value that stands there was made by the call before, and is kept until it is let go. '.repeat(
    2_000,
  ),
}

function store() {
  const kept: string[] = []
  return { kept, keep: (text: string) => `@txt.${kept.push(text)}` }
}

/** As hosts pass it on: the text, or all of it as JSON. */
const counts = ({ text, data }: Told) => [
  countTokens(text) + (data === undefined ? 0 : countTokens(JSON.stringify(data))),
  countTokens(JSON.stringify({ content: [{ type: 'text', text }], structuredContent: data })),
]

const [evaluate, files] = ['eval_expr', 'read_file'].map(name => {
  const tool = registry.find(name)
  if (tool === undefined) throw new Error(`no ${name}`)
  return tool
}) as [NonNullable<ReturnType<typeof registry.find>>, NonNullable<ReturnType<typeof registry.find>>]

const printed = (output: string): Envelope =>
  three.ok ? { ok: true, result: { ...(three.result as object), stdout: output, output } } : three

const ANSWERS: Readonly<Record<string, (text: string) => Envelope>> = {
  'what was printed': text => printed(text),
  'an error': message => ({ ok: false, error: toolError('internal', { message, details: { message } }) }),
  'a list': text => ({ ok: true, result: { found: text.match(/.{1,40}/gsu), total: 1 } }),
}

for (const [what, text] of Object.entries(DENSE))
  test(`${what}: every answer is under ${BAR} tokens, its data included, and leads to the rest`, () => {
    for (const [form, envelopeOf] of Object.entries(ANSWERS))
      for (const structured of [false, true]) {
        const texts = store()
        const envelope = envelopeOf(text.slice(0, 60_000))
        const told = toldWithin({ envelope, tool: evaluate, structured }, texts)
        const most = Math.max(...counts(told))
        assert.ok(most < BAR, `${form}: ${most} tokens`)
        assert.match(told.text, /read_more @txt\.1 from \d+/)
        assert.is(told.data !== undefined, structured)
        if (structured) assert.match(JSON.stringify(told.data), /read_more @txt\.\d+/)
      }
  })

test('what stands where a text was cut leads on from the last character that was shown', () => {
  const texts = store()
  const whole = DENSE['lines of numbers'] ?? ''
  const { text } = toldWithin({ envelope: printed(whole), tool: evaluate, structured: false }, texts)
  const [, handle, from] = /read_more (@txt\.1) from (\d+)/.exec(text) ?? []
  assert.is(handle, '@txt.1')
  const shown = text.slice(0, Number(from))
  assert.is(shown, texts.kept[0]?.slice(0, Number(from)))
  assert.match(text.slice(Number(from)), /^\n… \[/)
})

test('an answer that is short is given as it is, and nothing is kept', () => {
  const texts = store()
  const told = toldWithin({ envelope: three, tool: evaluate, structured: true }, texts)
  assert.equal(told, { text: '3', data: three })
  assert.equal(texts.kept, [])
})

test('a result that its tool cannot put into words is given as data', () => {
  const told = toldWithin(
    { envelope: { ok: true, result: { odd: 1 } }, tool: files, structured: false },
    store(),
  )
  assert.match(told.text, /"odd": 1/)
})

test('what is counted without a tokenizer is at least what one counts, and not three times that for code', () => {
  for (const [what, text] of Object.entries(DENSE)) {
    const part = text.slice(0, 20_000)
    assert.ok(tokensAtMost(part) >= countTokens(JSON.stringify(part)) * 0.97, what)
  }
  const code = String(toldWithin) + String(counts) + String(suite)
  assert.ok(tokensAtMost(code) < countTokens(code) * 3)
  assert.ok(tokensAtMost('x'.repeat(10_000_000), 100) < 200)
})

test('the beginning and the end of a text are cut between characters', () => {
  for (const text of ['😀'.repeat(100), 'a😀'.repeat(100), 'word '.repeat(100), ''])
    for (const tokens of [0, 1, 2.5, 7, 50, 10_000]) {
      const [head, tail] = [beginningWithin(text, tokens), endingWithin(text, tokens)]
      assert.ok(text.startsWith(head) && text.endsWith(tail))
      assert.ok(tokensAtMost(head) <= tokens && tokensAtMost(tail) <= tokens + 1)
      for (const part of [head, tail]) assert.is(/\p{Cs}/u.test(part), false)
    }
  assert.ok(ANSWER_TOKENS < BAR)
})
