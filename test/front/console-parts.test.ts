import { sentencesBroken } from '../../src/terminal/answers.ts'
import { argumentsFor, type ToolFacts } from '../../src/terminal/colon.ts'
import { openCompleting } from '../../src/terminal/console.ts'
import {
  endOfRows,
  fitted,
  flowed,
  layOut,
  openPalette,
  plain,
  prose,
  textOf,
  wantsColour,
  widthOf,
} from '../../src/terminal/layout.ts'
import { Pager } from '../../src/terminal/pager.ts'
import { Live } from '../../src/terminal/run.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console parts')
const palette = openPalette({ coloured: false })

const WIDTHS: readonly (readonly [text: string, columns: number])[] = [
  ['plain', 5],
  ['日本語', 6],
  ['é', 1],
  ['👩‍🔬', 2],
  ['❤️', 2],
  ['🇩🇪', 2],
  ['\x1b[31m', 8],
  ['\t', 4],
  ['\u202e', 6],
]

for (const [text, columns] of WIDTHS)
  test(`${JSON.stringify(text)} takes ${columns} columns`, () => assert.is(widthOf(text), columns))

test('rows break before what does not fit, and no row is wider than the screen', () => {
  const rows = layOut([plain('ab日本語c')], { columns: 5, palette }).rows
  assert.equal(
    rows.map(({ text, columns }) => [text, columns]),
    [
      ['ab日', 4],
      ['本語c', 5],
    ],
  )
})

test('a text is cut with a sign, and fits', () => {
  assert.equal([fitted('abc', 3), fitted('abcd', 3), fitted('日本語', 4)], ['abc', 'ab…', '日…'])
})

test('sentences of ours are broken between words, and nothing else is', () => {
  const spans = [plain('error'), prose(undefined, ': one two three\nfour'), plain(' five six seven')]
  assert.is(textOf(flowed(spans, 12)), 'error: one\ntwo three\nfour five six seven')
})

test('sentences below a table of kernels are broken between words and stay set in; its rows are left alone', () => {
  const table =
    'web  ended  /a/long/path/that/is/kept\n    web has ended, of itself.\n\nPassed over: a file of others.'
  assert.equal(sentencesBroken(table, 20).split('\n'), [
    'web  ended  /a/long/path/that/is/kept',
    '    web has ended,',
    '    of itself.',
    '',
    'Passed over: a file',
    'of others.',
  ])
})

test('where so many rows are full is known, and that a text fits', () => {
  assert.is(endOfRows('ab\ncd\nef', { columns: 80, rows: 2 }), 6)
  assert.is(endOfRows('ab\ncd', { columns: 80, rows: 2 }), undefined)
  assert.is(endOfRows('abcdef', { columns: 2, rows: 2 }), 4)
})

const PRINTED: readonly (readonly [what: string, printed: string[], whole: string, begun: string])[] = [
  ['lines are done with at their ends', ['a', 'b\nc'], 'ab\n', 'c'],
  ['a carriage return prints over the line', ['10%', '\r20%', '\r30%'], '', '30%'],
  ['what is there stays until something comes', ['10%\r'], '', '10%'],
  ['a carriage return before a line end is none', ['a\r', '\nb\r\n'], 'a\nb\n', ''],
  ['it goes back no further than its line', ['a\n\rb'], 'a\n', 'b'],
]

for (const [what, printed, whole, begun] of PRINTED)
  test(`output: ${what}`, () => {
    const live = new Live()
    assert.equal([printed.map(text => live.push(text)).join(''), live.begun], [whole, begun])
  })

test('a line without end is not kept for ever', () => {
  const live = new Live()
  assert.is(live.push('x'.repeat(20_000)).length, 20_001)
  assert.is(live.begun, '')
})

const lines = Array.from({ length: 100 }, (_, number) => `line ${number}`).join('\n')
const pager = () =>
  new Pager({ title: 'numbers', spans: [plain(lines)], palette, size: { columns: 40, rows: 11 } })
const press = (it: Pager, ...keys: string[]) =>
  keys
    .map(key => it.press(key.length === 1 ? { type: 'text', text: key } : { type: 'key', name: key }))
    .at(-1)
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is sought stands out
const first = (it: Pager) => it.paint()[0]?.text.replace(/\x1b\[\d*m/g, '')

test('the pager goes forward and back by screens and lines, and no further than there are', () => {
  const it = pager()
  press(it, ' ')
  assert.is(first(it), 'line 10')
  press(it, 'j', 'down', 'k', 'b')
  assert.is(first(it), 'line 1')
  press(it, 'G', ' ')
  assert.is(first(it), 'line 90')
  press(it, 'g', 'b')
  assert.is(first(it), 'line 0')
  assert.is(it.paint().length, 11)
  assert.match(it.paint().at(-1)?.text ?? '', 'numbers  1–10 of 100')
})

test('the pager searches, on and back, and says what it does not find', () => {
  const it = pager()
  press(it, '/', '5', '5', 'enter')
  assert.is(first(it), 'line 55')
  press(it, '/', '5', '5', 'enter')
  assert.match(it.paint().at(-1)?.text ?? '', 'not found below')
  press(it, 'G', 'N')
  assert.is(first(it), 'line 55')
})

test('the pager keeps its place when the terminal changes', () => {
  const it = pager()
  press(it, ' ', ' ')
  it.resize({ columns: 20, rows: 6 })
  assert.is(first(it), 'line 20')
})

test('q, Escape and Ctrl-C end the pager, and nothing else does', () => {
  for (const key of ['q', 'escape', 'ctrl-c']) assert.is(press(pager(), key), false)
  assert.is(press(pager(), 'x'), true)
})

const tool: ToolFacts = {
  name: 'find',
  aliases: [],
  summary: '',
  needs: [],
  parameters: [
    { name: 'pattern', type: 'string', required: true },
    { name: 'limit', type: 'integer', required: false },
    { name: 'names', type: 'array', required: false },
  ],
}
const WORDS: readonly (readonly [line: string, args: unknown])[] = [
  ['', {}],
  ['{"pattern": "x"}', { pattern: 'x' }],
  ['orders[0].total', { pattern: 'orders[0].total' }],
  ['a b limit=5', { pattern: 'a b', limit: 5 }],
  ['pattern="a b" limit=5', { pattern: 'a b', limit: 5 }],
  ['x == 1', { pattern: 'x == 1' }],
  ['f(a=1)', { pattern: 'f(a=1)' }],
  ['x names=a,b', { pattern: 'x', names: ['a', 'b'] }],
]

for (const [line, args] of WORDS)
  test(`the words ${JSON.stringify(line)} as arguments`, () => assert.equal(argumentsFor(tool, line), args))

test('arguments that are not JSON are said to be none', () => {
  assert.match(String(argumentsFor(tool, '{x')), 'The arguments are not JSON')
})

test('NO_COLOR, with anything in it, leaves colours out and not what carries meaning', () => {
  assert.equal(
    [wantsColour({}), wantsColour({ NO_COLOR: '' }), wantsColour({ NO_COLOR: '0' })],
    [true, true, false],
  )
  assert.is(openPalette({ coloured: false }).begin('keyword'), '')
  assert.is(openPalette({ coloured: false }).begin('chosen'), '\x1b[7m')
})

const found = {
  from: 1,
  to: 3,
  completions: [{ text: 'append', kind: 'method', type_name: 'list' }],
  total: 1,
  call: null,
  because: null,
}

test('completions are counted in characters on the wire, and as JavaScript counts here', async () => {
  const asked: unknown[] = []
  const completing = openCompleting({
    async call({ args }) {
      asked.push(args)
      return { ok: true, result: found } satisfies Envelope
    },
  })
  const known = await completing.complete({ text: '😀ap', cursor: 4 })
  assert.equal(asked, [{ text: '😀ap', cursor: 3, limit: 500 }])
  assert.equal([known?.offers.from, known?.offers.to], [2, 4])
  assert.equal(known?.offers.offers, [{ text: 'append', detail: 'method' }])
})

test('an answer that comes after another question is dropped', async () => {
  const answers: ((envelope: Envelope) => void)[] = []
  const completing = openCompleting({ call: () => new Promise(resolve => answers.push(resolve)) })
  const first = completing.complete({ text: 'a', cursor: 1 })
  const second = completing.complete({ text: 'ab', cursor: 2 })
  for (const answer of answers) answer({ ok: true, result: found })
  assert.is(await first, undefined)
  assert.ok(await second)
})

test('a daemon without the tool is asked once, and a kernel that fails harms nothing', async () => {
  let asked = 0
  const error = { code: 'unknown_function', message: '', details: {}, retryable: false, next: null } as const
  const completing = openCompleting({
    async call() {
      asked++
      return { ok: false, error }
    },
  })
  assert.is(await completing.complete({ text: 'a', cursor: 1 }), undefined)
  assert.is(await completing.complete({ text: 'ab', cursor: 2 }), undefined)
  assert.is(asked, 1)
  const broken = openCompleting({ call: () => Promise.reject(new Error('lost')) })
  assert.is(await broken.complete({ text: 'a', cursor: 1 }), undefined)
})
