import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { sentencesBroken } from '../../src/terminal/answers.ts'
import { argumentsFor, type ToolFacts } from '../../src/terminal/colon.ts'
import { openCompleter } from '../../src/terminal/console.ts'
import { Editor, type Wish } from '../../src/terminal/editor.ts'
import { historyPath, openHistory } from '../../src/terminal/history.ts'
import {
  CURSOR,
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
import { PYTHON } from '../../src/terminal/syntax.ts'
import { type Key, openDecoder } from '../../src/terminal/tty.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('editor')

const HISTORY = ['import os', 'def f(x):\n    return x', 'print("a")', 'print("b")', 'x = 1']

function open({ history = HISTORY, text = '' } = {}) {
  const editor = new Editor({ syntax: PYTHON, history: () => history, columns: () => 80, suggests: true })
  editor.begin(text)
  const wishes: Wish[] = []
  return {
    editor,
    wishes,
    /** Types, as a terminal sends it. */
    type(sent: string) {
      const decoder = openDecoder()
      for (const key of [...decoder.push(sent), ...decoder.settle()]) {
        const wish = editor.press(key)
        if (wish !== undefined) wishes.push(wish)
      }
      return this
    },
    /** The text, with the cursor as a bar. */
    get shown() {
      const { text, cursor } = editor.edit
      return `${text.slice(0, cursor)}|${text.slice(cursor)}`
    },
  }
}

const UP = '\x1b[A'
const DOWN = '\x1b[B'
const LEFT = '\x1b[D'
const RIGHT = '\x1b[C'

const TYPED: readonly (readonly [what: string, typed: string, shown: string])[] = [
  ['text is put in at the cursor', `ac${LEFT}b`, 'ab|c'],
  ['Ctrl-A and Ctrl-E go to the ends of the line', 'b\x01a\x05c', 'abc|'],
  [
    'Ctrl-K cuts to the end of the line, and Ctrl-Y puts it back',
    'one two\x01\x0b\x19\x19',
    'one twoone two|',
  ],
  ['cuts in a row stay together', 'one two three\x17\x17\x19', 'one two three|'],
  ['Alt-Y puts in what was cut before', 'one \x15two\x15\x19\x1by', 'one |'],
  ['Ctrl-W takes what has no blanks, Alt-Backspace a word', 'a b.c\x17x.y\x1b\x7f', 'a x.|'],
  ['Alt-D cuts the next word', 'one two\x01\x1bd', '| two'],
  ['Alt-B and Alt-F go by words', 'one two\x1bb\x1bbX\x1bfY', 'XoneY| two'],
  ['Ctrl-T swaps', 'ab\x14', 'ba|'],
  ['Alt-U, Alt-L and Alt-C change a word', 'ab cD ef\x01\x1bu\x1bl\x1bc', 'AB cd Ef|'],
  ['Ctrl-_ takes back word by word', 'one two\x1f', 'one |'],
  ['and what a command did', 'one\x15\x1f', 'one|'],
  ['Backspace takes a whole character, however it is made', 'a👩‍🔬é\x7f\x7f', 'a|'],
  ['so do the arrows', `a👩‍🔬${LEFT}b`, 'ab|👩‍🔬'],
  ['Enter in an open block begins a line that is set in', 'def f():\rreturn 1', 'def f():\n    return 1|'],
  ['and set out after what a block ends with', 'if x:\r    pass\r', 'if x:\n        pass\n    |'],
  ['within brackets it stands below what they hold', 'f(1,\r2', 'f(1,\n  2|'],
  ['behind an open bracket it is set in by a step', 'x = [\r1', 'x = [\n    1|'],
  ['Tab sets in where nothing stands before', 'if x:\r\x15\ty', 'if x:\n    y|'],
  ['Backspace sets out by a step', 'if x:\rif y:\r\x7fz', 'if x:\n    if y:\n    z|'],
  ['Shift-Tab too', 'if x:\r\x1b[Zz', 'if x:\nz|'],
  ['Alt-Enter begins a line in what is complete', '1\x1b\r2', '1\n2|'],
  ['Ctrl-J too', '1\n2', '1\n2|'],
  ['Up and Down stay in the text while they can', `a\nbcd\ne${UP}${UP}X${DOWN}Y`, 'aX\nbcY|d\ne'],
  ['they keep their column over shorter lines', `abcd\ne\nfghi${UP}${UP}X`, 'abcdX|\ne\nfghi'],
]

for (const [what, typed, shown] of TYPED)
  test(what, () => assert.is(open({ history: [] }).type(typed).shown, shown))

const ENTERED: readonly (readonly [what: string, typed: string, run: string | undefined])[] = [
  ['an expression runs', '1 + 2\r', '1 + 2'],
  ['wherever in its line the cursor is', `1 + 2${LEFT}${LEFT}\r`, '1 + 2'],
  ['a block runs with an empty line', 'def f():\rreturn 1\r\r', 'def f():\n    return 1\n'],
  ['a block that has only its head does not', 'def f():\r\r', undefined],
  ['two empty lines end that too', 'def f():\r\r\r', 'def f():\n\n    '],
  ['a blank in front opens nothing', ' x = 1\r', ' x = 1'],
  ['an open bracket goes on', 'f(\r', undefined],
  ['two empty lines end it', 'f(:\r\r\r', 'f(:\n  \n  '],
  ['a text of several lines goes on over empty ones', 's = """a\r\r\r', undefined],
  ['a backslash goes on', 'x = 1 + \\\r', undefined],
  ['a decorator goes on', '@cached\r', undefined],
  ['what is wrong is for the language to say', 'x = = 1\r', 'x = = 1'],
  ['a command runs whatever stands in it', ':call eval_expr {"expr": "(\r', ':call eval_expr {"expr": "('],
  ['in the middle of several lines Enter begins another', `1\n2${UP}\r`, undefined],
  ['at their end it runs them', '1\n2\r', '1\n2'],
]

for (const [what, typed, run] of ENTERED)
  test(`Enter: ${what}`, () => {
    const { wishes } = open({ history: [] }).type(typed)
    assert.equal(
      wishes.map(wish => (wish.type === 'run' ? wish.text.replace(/[ \t]+$/gm, '') : wish.type)),
      run === undefined ? [] : [run.replace(/[ \t]+$/gm, '')],
    )
  })

test('Up brings back what was entered, what begins with some letters, and its lines; Down what was being written', () => {
  const all = open()
  assert.is(all.type(UP + UP).shown, 'print("b")|')
  assert.is(all.type(DOWN + DOWN).shown, '|')
  const some = open().type('pr')
  assert.is(some.type(UP + UP + UP).shown, 'print("a")|')
  assert.is(some.type(DOWN + DOWN).shown, 'pr|')
  const block = open().type(`def${UP}`)
  assert.is(block.type(UP).shown, 'def f(x):|\n    return x')
  assert.equal(block.type('\r').wishes, [{ type: 'run', text: 'def f(x):\n    return x' }])
})

test('a block that was brought back and changed needs its empty line again', () => {
  const it = open().type(`def${UP}+1\r`)
  assert.equal(it.wishes, [])
  assert.is(it.type('\r').wishes.length, 1)
})

test('how an earlier entry goes on is offered, and taken whole or by words', () => {
  const it = open().type('pri')
  assert.is(it.editor.suggestion, 'nt("b")')
  assert.is(it.type('\x1bf').shown, 'print|')
  assert.is(it.type(RIGHT).shown, 'print("b")|')
  assert.is(open().type(`pri${LEFT}`).editor.suggestion, '')
  assert.is(open().type('import os').editor.suggestion, '')
})

test('Ctrl-R finds what holds the letters, goes on to older ones, and Enter runs what was found', () => {
  const it = open().type('half\x12print')
  assert.is(it.shown, '|print("b")')
  assert.is(it.type('\x12').shown, '|print("a")')
  assert.ok(!it.editor.search?.failed)
  assert.ok(it.type('\x12').editor.search?.failed)
  assert.equal(it.type('\r').wishes, [{ type: 'run', text: 'print("a")' }])
})

test('Ctrl-G and Ctrl-C leave a search with what was there; other keys take what was found', () => {
  assert.is(open().type('half\x12pri\x07').shown, 'half|')
  assert.equal(open().type('half\x12pri\x03').wishes, [])
  assert.is(open().type('\x12os\x1b').shown, 'import |os')
  assert.is(open().type(`\x12os${RIGHT}X`).shown, 'import oX|s')
})

test('a paste is put in whole, without prompts, margins and empty lines around it, and Enter runs it', () => {
  const paste = (text: string) => `\x1b[200~${text.replaceAll('\n', '\r')}\x1b[201~`
  const session = '\n>>> def f(x):\n...     return x\n...\n>>> f(1)\n1\n'
  assert.is(open().type(paste(session)).shown, 'def f(x):\n    return x\n\nf(1)|')
  const set = '    def f():\n\n        return 1\n    \n'
  const it = open().type(paste(set))
  assert.is(it.shown, 'def f():\n\n    return 1|')
  assert.is(it.type('\r').wishes.length, 1)
  assert.is(open().type(`f(${paste('1, 2')})`).shown, 'f(1, 2)|')
})

const offered = (texts: readonly string[], from = 0, to = from) => ({
  from,
  to,
  offers: texts.map(text => ({ text, detail: `about ${text}` })),
  total: texts.length,
})

test('the only completion is written, and what several share', () => {
  const one = open().type('x.app')
  one.editor.offer(offered(['append'], 2, 5))
  assert.is(one.shown, 'x.append|')
  assert.is(one.editor.menu, undefined)
  const two = open().type('x.a')
  two.editor.offer(offered(['append', 'appear'], 2, 3))
  assert.is(two.shown, 'x.appe|')
  assert.is(two.editor.menu?.offers.length, 2)
})

test('Tab and the arrows choose, Enter takes what was chosen and runs nothing, Escape takes nothing', () => {
  const menu = () => {
    const it = open({ history: [] }).type('a')
    it.editor.offer(offered(['ab', 'ac', 'ad'], 0, 1))
    return it
  }
  assert.is(menu().type('\t').shown, 'ab|')
  assert.is(menu().type('\t\t\t\t').shown, 'ab|')
  assert.is(menu().type('\x1b[Z').shown, 'ad|')
  assert.is(menu().type(`\t${RIGHT}${RIGHT}${LEFT}`).shown, 'ac|')
  const taken = menu().type('\t\r')
  assert.equal([taken.shown, taken.wishes.length, taken.editor.menu], ['ab|', 0, undefined])
  assert.is(menu().type('\t\x07').shown, 'a|')
  assert.is(menu().type('\t(').shown, 'ab(|')
})

test('typing on narrows the menu, and closes it where nothing is left', () => {
  const it = open({ history: [] }).type('a')
  it.editor.offer(offered(['abc', 'abd', 'xyz'], 0, 1))
  assert.is(it.type('b').editor.menu?.offers.length, 2)
  assert.is(it.type('\t').shown, 'abc|')
  assert.is(it.type('\x7f\x7f\x7f').editor.menu, undefined)
})

test('a completion replaces what stands behind the cursor, too', () => {
  const it = open({ history: [] }).type(`pint(x)${LEFT.repeat(5)}`)
  it.editor.offer(offered(['print'], 0, 4))
  assert.is(it.shown, 'print|(x)')
})

test('Ctrl-D ends an empty text, and else takes a character away', () => {
  assert.equal(open().type('\x04').wishes, [{ type: 'end' }])
  const it = open().type('ab\x01\x04')
  assert.equal([it.shown, it.wishes.length], ['|b', 0])
})

test('keys that only the terminal can answer are handed on', () => {
  assert.equal(
    open({ history: [] })
      .type('x\t\x0c\x1a\x18\x05\x03')
      .wishes.map(({ type }) => type),
    ['complete', 'clear', 'suspend', 'write elsewhere', 'drop'],
  )
})

const read = (...chunks: string[]) => {
  const decoder = openDecoder()
  const keys = chunks.flatMap(chunk => decoder.push(chunk))
  return [...keys, ...decoder.settle()].map(shown)
}
const shown = (key: Key) =>
  key.type === 'key' ? `<${key.name}>` : key.type === 'text' ? key.text : `[${key.text}]`

const SENT: readonly (readonly [what: string, sent: string, keys: string[]])[] = [
  ['letters, signs and wide characters', 'a語👩‍🔬 é', ['a語👩‍🔬 é']],
  [
    'control keys',
    '\x01\x05\x0b\x15\x1f\x00',
    ['<ctrl-a>', '<ctrl-e>', '<ctrl-k>', '<ctrl-u>', '<ctrl-_>', '<ctrl-space>'],
  ],
  [
    'Enter, Ctrl-J, Tab and both backspaces',
    '\r\n\t\x7f\x08',
    ['<enter>', '<ctrl-j>', '<tab>', '<backspace>', '<backspace>'],
  ],
  ['arrows in both spellings', '\x1b[A\x1bOB\x1b[C\x1bOD', ['<up>', '<down>', '<right>', '<left>']],
  [
    'keys with modifiers',
    '\x1b[1;5C\x1b[1;3D\x1b[3;5~\x1b[Z',
    ['<ctrl-right>', '<alt-left>', '<ctrl-delete>', '<shift-tab>'],
  ],
  [
    'Home and End as four kinds of terminals send them',
    '\x1b[H\x1b[1~\x1bOH\x1b[7~\x1b[F\x1b[4~',
    ['<home>', '<home>', '<home>', '<home>', '<end>', '<end>'],
  ],
  [
    'Alt as an escape in front',
    '\x1bf\x1b\r\x1b\x7f\x1b<',
    ['<alt-f>', '<alt-enter>', '<alt-backspace>', '<alt-<>'],
  ],
  ['Alt with an arrow, escape in front', '\x1b\x1b[A', ['<alt-up>']],
  ['Shift-Enter as two protocols send it', '\x1b[13;2u\x1b[27;2;13~', ['<shift-enter>', '<shift-enter>']],
  ['letters by their number', '\x1b[97;5u\x1b[97;1u\x1b[97;2u', ['<ctrl-a>', 'a', 'A']],
  ['the escape key alone', '\x1b', ['<escape>']],
  ['two characters that begin a sequence, and nothing more', '\x1b[', ['<alt-[>']],
  [
    'a paste, with its line ends and whatever stands in it',
    '\x1b[200~a\r\nb\rc\x1b[A\x03\x1b[201~x',
    ['[a\nb\nc\x1b[A\x03]', 'x'],
  ],
  ['an empty paste', '\x1b[200~\x1b[201~', ['[]']],
  [
    'answers of a terminal that nobody asked for',
    '\x1b[24;80R\x1b[?1;2c\x1b]11;rgb:0/0/0\x07\x1bP1$r0m\x1b\\x',
    ['x'],
  ],
  ['function keys that mean nothing here', '\x1b[15~\x1bOP\x1b[[Ax', ['x']],
  ['focus and mouse', '\x1b[I\x1b[O\x1b[<0;10;10Mx', ['x']],
]

for (const [what, sent, keys] of SENT)
  test(`${what}, whole and in single bytes`, () => {
    assert.equal(read(sent), keys)
    assert.equal(joined(read(...sent)), joined(keys))
  })

/** Text may come in one piece or in several. */
const joined = (keys: readonly string[]) => keys.join('')

test('what follows an escape too late is a key of its own, a paste is not settled, and what never ends is dropped', () => {
  const decoder = openDecoder()
  assert.equal(decoder.push('\x1b'), [])
  assert.ok(decoder.waits)
  assert.equal(decoder.settle().map(shown), ['<escape>'])
  assert.equal(decoder.push('f').map(shown), ['f'])
  assert.equal(decoder.push('\x1b[200~a\x1b'), [])
  assert.not(decoder.waits)
  assert.equal(decoder.settle(), [])
  assert.equal(decoder.push('[201~').map(shown), ['[a]'])
  decoder.push(`\x1b]${'x'.repeat(5_000)}`)
  assert.equal(decoder.push('y').map(shown), ['y'])
})

test('whatever is sent, in whatever pieces, ends in keys and never in a throw', () => {
  const bytes = fc.array(
    fc.constantFrom('\x1b', '[', 'O', '2', '0', '1', ';', '~', 'A', 'u', 'a', '\r', ']', '\x07', '語'),
  )
  fc.assert(
    fc.property(bytes, fc.nat(), (units, cut) => {
      const sent = units.join('')
      const decoder = openDecoder()
      decoder.push(sent.slice(0, cut % (sent.length + 1)))
      decoder.push(sent.slice(cut % (sent.length + 1)))
      decoder.settle()
    }),
  )
})

const palette = openPalette({ coloured: false })

test('the columns that a text takes', () => {
  const texts = ['plain', '日本語', 'é', '👩‍🔬', '❤️', '🇩🇪', '\x1b[31m', '\t', '\u202e']
  assert.equal(texts.map(widthOf), [5, 6, 1, 2, 2, 2, 8, 4, 6])
})

test('rows break before what does not fit, and the cursor stands behind wide characters and full rows', () => {
  const laid = (before: string, after = '') =>
    layOut([plain(before), CURSOR, plain(after)], { columns: 5, palette })
  const { rows, cursor } = laid('ab日', '本語c')
  assert.equal(
    rows.map(({ text, columns }) => [text, columns]),
    [
      ['ab日', 4],
      ['本語c', 5],
    ],
  )
  assert.equal(
    [cursor, laid('本語c').cursor],
    [
      { row: 0, column: 4 },
      { row: 1, column: 0 },
    ],
  )
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

test('output: lines are done with at their ends, and a carriage return prints over its line alone', () => {
  for (const [printed, whole, begun] of [
    [['a', 'b\nc'], 'ab\n', 'c'],
    [['10%', '\r20%', '\r30%'], '', '30%'],
    [['10%\r'], '', '10%'],
    [['a\r', '\nb\r\n'], 'a\nb\n', ''],
    [['a\n\rb'], 'a\n', 'b'],
    [['x'.repeat(20_000)], `${'x'.repeat(20_000)}\n`, ''],
  ] as const) {
    const live = new Live()
    assert.equal([printed.map(text => live.push(text)).join(''), live.begun], [whole, begun])
  }
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
  assert.is(first(it), 'line 9')
  press(it, 'j', 'down', 'k', 'b')
  assert.is(first(it), 'line 1')
  press(it, 'G', ' ')
  assert.is(first(it), 'line 90')
  press(it, 'g', 'b')
  assert.is(first(it), 'line 0')
  assert.is(it.paint().length, 11)
  assert.match(it.paint().at(-1)?.text ?? '', /numbers {2}\d+% · line 10 of 100/)
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
  assert.is(first(it), 'line 18')
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
  parameter_aliases: { count: 'limit', code: 'expr' },
}
const WORDS: readonly (readonly [line: string, args: unknown])[] = [
  ['', {}],
  ['{"pattern": "x"}', { pattern: 'x' }],
  ['orders[0].total', { pattern: 'orders[0].total' }],
  ['a b limit=5', { pattern: 'a b', limit: 5 }],
  ['pattern="a b" limit=5', { pattern: 'a b', limit: 5 }],
  ['a b count=5', { pattern: 'a b', limit: 5 }],
  ['code=5', { pattern: 'code=5' }],
  ['x == 1', { pattern: 'x == 1' }],
  ['f(a=1)', { pattern: 'f(a=1)' }],
  ['x names=a,b', { pattern: 'x', names: ['a', 'b'] }],
]

test('the words behind a command are arguments of its tool', () => {
  for (const [line, args] of WORDS) assert.equal(argumentsFor(tool, line), args, line)
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
  const completing = openCompleter({
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
  const completing = openCompleter({ call: () => new Promise(resolve => answers.push(resolve)) })
  const first = completing.complete({ text: 'a', cursor: 1 })
  const second = completing.complete({ text: 'ab', cursor: 2 })
  for (const answer of answers) answer({ ok: true, result: found })
  assert.is(await first, undefined)
  assert.ok(await second)
})

test('a daemon without the tool is asked once, and a kernel that fails harms nothing', async () => {
  let asked = 0
  const error = { code: 'unknown_function', message: '', details: {}, retryable: false, next: null } as const
  const completing = openCompleter({
    async call() {
      asked++
      return { ok: false, error }
    },
  })
  assert.is(await completing.complete({ text: 'a', cursor: 1 }), undefined)
  assert.is(await completing.complete({ text: 'ab', cursor: 2 }), undefined)
  assert.is(asked, 1)
  const broken = openCompleter({ call: () => Promise.reject(new Error('lost')) })
  assert.is(await broken.complete({ text: 'a', cursor: 1 }), undefined)
})

let folder = ''
let path = ''
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-history-'))
  path = historyPath(folder, '/home/ada/my project')
})
test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const again = () => openHistory(path).entries

test('what was entered is there the next time, whatever lines it has, and only its owner can read it', () => {
  const history = openHistory(path)
  history.add('1 + 2')
  history.add('def f():\n    return "\\n語"\n')
  assert.equal(again(), ['1 + 2', 'def f():\n    return "\\n語"'])
  assert.equal(
    [path, join(folder, 'history')].map(at => statSync(at).mode & 0o777),
    [0o600, 0o700],
  )
})

test('a blank in front keeps a line out; so do nothing, and the same once more', () => {
  const history = openHistory(path)
  for (const entry of [' secret = 1', '\tx', '', '  ', 'x', 'x', 'y', 'x']) history.add(entry)
  assert.equal(
    [history.entries, again()],
    [
      ['x', 'y', 'x'],
      ['x', 'y', 'x'],
    ],
  )
})

test('each project has its own', () => {
  assert.is.not(historyPath(folder, '/a/app'), historyPath(folder, '/b/app'))
  assert.match(path, /my_project-[0-9a-f]{12}\.jsonl$/)
})

test('it is shortened to the newest, and very long entries are not kept', () => {
  const limits = { entries: 10, length: 20 }
  const history = openHistory(path, limits)
  for (let number = 0; number < 25; number++) history.add(`x = ${number}`)
  history.add('y'.repeat(21))
  const shorter = openHistory(path, limits)
  assert.equal([shorter.entries.length, shorter.entries.at(-1)], [10, 'x = 24'])
  assert.is(readFileSync(path, 'utf8').split('\n').length, 11)
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.equal(readdirSync(join(folder, 'history')).length, 1)
})

test('lines that a full disk has cut are left out', () => {
  openHistory(path).add('one')
  appendFileSync(path, '"tw')
  assert.equal(again(), ['one'])
  openHistory(path).add('three')
  assert.equal(again().at(-1), 'three')
})

test('where it cannot be written, it is kept in memory', () => {
  openHistory(path).add('one')
  chmodSync(path, 0o400)
  const nowhere = openHistory('/dev/null/history.jsonl')
  nowhere.add('two')
  assert.equal(nowhere.entries, ['two'])
})

test('several consoles write at once, one of them shortens it, and nothing of what is new is lost', async () => {
  const program = `
    import { openHistory } from ${JSON.stringify(join(PACKAGE_ROOT, 'dist/src/terminal/history.js'))}
    const [path, who] = process.argv.slice(1)
    for (let number = 0; number < 150; number++) openHistory(path, { entries: 300, length: 100 }).add(who + number)`
  const run = promisify(execFile)
  const who = ['a', 'b', 'c']
  await Promise.all(
    who.map(name => run(process.execPath, ['--input-type=module', '-e', program, path, name])),
  )
  const kept = openHistory(path, { entries: 1_000, length: 100 }).entries
  for (const name of who)
    assert.equal(
      kept.filter(entry => entry.startsWith(name)).slice(-50),
      Array.from({ length: 50 }, (_, number) => `${name}${number + 100}`),
    )
})
