import { Editor, type Wish } from '../../src/terminal/editor.ts'
import { PYTHON } from '../../src/terminal/syntax.ts'
import { openDecoder } from '../../src/terminal/tty.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console editor')

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

test('Up brings back what was entered, and Down what was being written', () => {
  const it = open()
  assert.is(it.type(UP).shown, 'x = 1|')
  assert.is(it.type(UP).shown, 'print("b")|')
  assert.is(it.type(DOWN + DOWN).shown, '|')
})

test('Up after some letters brings back only what begins with them', () => {
  const it = open().type('pr')
  assert.is(it.type(UP).shown, 'print("b")|')
  assert.is(it.type(UP).shown, 'print("a")|')
  assert.is(it.type(UP).shown, 'print("a")|')
  assert.is(it.type(DOWN + DOWN).shown, 'pr|')
})

test('Up goes through the lines of an earlier block, and beyond it; Enter runs it from anywhere', () => {
  const it = open().type('def')
  assert.is(it.type(UP).shown, 'def f(x):\n    return x|')
  assert.is(it.type(UP).shown, 'def f(x):|\n    return x')
  assert.equal(it.type('\r').wishes, [{ type: 'run', text: 'def f(x):\n    return x' }])
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
