import { bound, bounded, RESULT_CHARS } from '../../src/calls/answer.ts'
import { failed } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('bounds')

/** Keeps texts in memory, so that a test can read what a handle leads to. */
function store() {
  const kept: string[] = []
  return { kept, keep: (text: string) => `@txt.${kept.push(text)}` }
}

const size = (value: unknown) => JSON.stringify(value).length

test('a result that fits is returned as it is, not copied', () => {
  const result = { a: ['x', 1, null, { b: true }], text: 'y'.repeat(30_000) }
  const texts = store()
  assert.is(bound(result, texts), result)
  assert.is(texts.kept.length, 0)
})

test('one long text is cut in the middle, and its handle leads to all of it', () => {
  const text = `begin${'x'.repeat(1_000_000)}end`
  const texts = store()
  const result = bound({ text, other: 'stays' }, texts) as Record<string, unknown>
  assert.equal(texts.kept, [text])
  assert.is(result.truncated, true)
  assert.is(result.other, 'stays')
  assert.match(String(result.text), /^begin.*characters cut here; all of it: read_more @txt\.1\] …\n.*end$/s)
  assert.ok(size(result) <= RESULT_CHARS * 1.1)
})

test('a long list of small things is cut, and a handle leads to the whole result', () => {
  const list = Array.from({ length: 100_000 }, (_, index) => ({ name: `name_${index}`, type_name: 'int' }))
  const texts = store()
  const result = bound({ globals: list, total: list.length }, texts) as { globals: unknown[] }
  assert.ok(size(result) <= RESULT_CHARS * 1.1)
  assert.ok(result.globals.length > 8)
  assert.match(String(result.globals.at(-1)), /^… \[[\d,]+ more; all of it: read_more @txt\.1\] …$/)
  assert.equal(JSON.parse(texts.kept[0] ?? ''), { globals: list, total: list.length })
})

test('many texts that only together are too long become shorter, all alike', () => {
  const texts = store()
  const result = bound({ items: Array.from({ length: 100 }, () => 'y'.repeat(2_000)) }, texts)
  assert.ok(size(result) <= RESULT_CHARS * 1.2)
  assert.is((result as { items: unknown[] }).items.length, 100)
  assert.is(texts.kept.length, 1)
})

test('a message of an error that is cut for its length leads to all of it', () => {
  const message = `begin${'x'.repeat(100_000)}end`
  const texts = store()
  const outcome = bounded(failed('exception', { message }), texts)
  assert.equal(texts.kept, [message])
  const told = outcome.type === 'failed' ? outcome.error.message : ''
  assert.match(told, /^beginx.*characters cut here; all of it: read_more @txt\.1\] …\n.*end$/s)
  assert.ok(told.length < 7_000)
})

test('sixty megabytes in every shape come out small, with a handle to the whole (fault 14)', () => {
  const huge = 'z'.repeat(60_000_000)
  const wide = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, index) => [`key_${index}`, 'v'.repeat(50)]),
  )
  const deep = (levels: number): unknown =>
    levels === 0 ? 'w'.repeat(500) : Array.from({ length: 9 }, () => deep(levels - 1))
  for (const result of [huge, [huge], { huge }, wide, deep(5)]) {
    const texts = store()
    const shown = bound(result, texts)
    assert.ok(size(shown) <= RESULT_CHARS * 1.2, `${size(shown)} characters`)
    assert.match(JSON.stringify(shown), 'read_more @txt.1')
    assert.ok(texts.kept.length > 0)
  }
})

const circle: Record<string, unknown> = { name: 'circle' }

circle.self = circle

const trap = {
  fine: 1,
  get broken() {
    throw new Error('no such luck')
  },
}

const untouchable = new Proxy(
  {},
  {
    ownKeys() {
      throw new Error('hands off')
    },
  },
)

const DEGRADED: readonly (readonly [string, unknown, unknown])[] = [
  ['a bigint', { n: 10n ** 20n }, { n: '100000000000000000000' }],
  ['not a number', [Number.NaN, Number.POSITIVE_INFINITY, 1], ['NaN', 'Infinity', 1]],
  ['a cycle', circle, { name: 'circle', self: '[circular]' }],
  ['a getter that throws', trap, { fine: 1, broken: '[cannot be shown: no such luck]' }],
  ['a proxy that throws', { untouchable }, { untouchable: '[cannot be shown: hands off]' }],
  ['a map', new Map([['a', 1]]), [['a', 1]]],
  ['a set', new Set(['a']), ['a']],
  ['bytes', { data: new Uint8Array(5) }, { data: '[5 bytes]' }],
  ['an error', new TypeError('bad'), 'TypeError: bad'],
  [
    'an object of a class',
    new (class Point {
      x = 1
    })(),
    { x: 1 },
  ],
  ['a symbol', [Symbol('s')], ['Symbol(s)']],
  ['a function by its name', { call: Math.max }, { call: '[function max]' }],
]

for (const [what, given, expected] of DEGRADED)
  test(`${what} degrades to text or data`, () => {
    assert.equal(bound(given, store()), expected)
  })

test('nesting beyond what an answer shows is cut off', () => {
  let nested: unknown = 'bottom'
  for (let level = 0; level < 10_000; level++) nested = [nested]
  assert.match(JSON.stringify(bound(nested, store())), '[deeper]')
})
