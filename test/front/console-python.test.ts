import { highlight, highlightAt, highlightTraceback } from '../../src/terminal/languages.ts'
import { type Span, textOf } from '../../src/terminal/layout.ts'
import { PYTHON } from '../../src/terminal/syntax.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console python')

const CALLS: readonly (readonly [what: string, before: string, argument: string])[] = [
  ['outside of calls there is none', 'x = (1, 2', ''],
  ['the first argument', 'f(', '1:1:'],
  ['the second', 'f(a, ', '1:2:'],
  ['a keyword by its name', 'f(a, key=', '1:2:key'],
  ['a comparison is no keyword', 'f(a == ', '1:1:'],
  ['commas of what stands within do not count', 'f([1, 2], {3: 4, 5: 6}, (7, 8), ', '1:4:'],
  ['nor do those in texts', 'f("a, (b", \'c,\', ', '1:3:'],
  ['a list in a call is part of the call', 'f(1, [2, ', '1:2:'],
  ['the innermost call counts', 'f(1, g(2, ', '6:2:'],
  ['and the outer one once that is closed', 'f(1, g(2), ', '1:3:'],
  ['methods, and calls of calls', 'a.b(1)(', '6:1:'],
  ['a definition is no call', 'def f(a, ', ''],
  ['nor is a class', 'class A(B, ', ''],
  ['nor a word of the language', 'if (a, ', ''],
  ['over several lines', 'x = f(1,\n  key=', '5:2:key'],
]

for (const [what, before, argument] of CALLS)
  test(`the argument that is being written: ${what}`, () => assert.is(PYTHON.call(before), argument))

const WHOLE: readonly (readonly [text: string, whole: boolean])[] = [
  ['1 + 2', true],
  ['def f():\n    return 1', true],
  ['def f():', false],
  ['f(', false],
  ['"""a', false],
  ['x = \\', false],
  ['if x:\n    y\n\nz', true],
]

for (const [text, whole] of WHOLE)
  test(`${JSON.stringify(text)} is ${whole ? '' : 'not '}whole`, () => assert.is(PYTHON.isWhole(text), whole))

const lookOf = (spans: readonly Span[], text: string) => spans.find(span => span.text === text)?.look

test('words, names, numbers, texts and comments of Python have their looks, and no character is lost', () => {
  const text =
    '@cached\ndef total(rows: list) -> None:\n    """Sum."""\n    return sum(1.5 for x in rows)  # all\nself.len'
  const spans = highlight(text)
  assert.is(textOf(spans), text)
  assert.equal(
    ['def', 'total', 'list', 'None', '"""Sum."""', 'sum', '1.5', '# all', '@'].map(piece =>
      lookOf(spans, piece),
    ),
    ['keyword', 'definition', 'builtin', 'number', 'text', 'builtin', 'number', 'comment', 'decorator'],
  )
  assert.is(lookOf(spans, 'len'), undefined)
})

test('what is not Python keeps every character', () => {
  for (const text of ['<object at 0x7f>', '"unclosed', '))) def', '\u0000\n\t語', '', 'array([1., 2.])'])
    assert.is(textOf(highlight(text)), text)
})

test('the bracket at the cursor is shown with its other half', () => {
  const brackets = (text: string, cursor: number) =>
    highlightAt(text, cursor).filter(({ look }) => look === 'bracket').length
  assert.is(brackets('f(a[1])', 7), 2)
  assert.is(brackets('f(a[1])', 4), 2)
  assert.is(brackets('f(a', 2), 0)
})

test('a traceback has its places, its code and what was raised', () => {
  const report =
    'Traceback (most recent call last):\n  File "<imago-1>", line 3, in f\n    return 1 / 0\n           ~~^~~\nZeroDivisionError: division: by zero'
  const spans = highlightTraceback(report)
  assert.is(textOf(spans), report)
  assert.equal(
    ['"<imago-1>"', '3', 'f', 'return', '           ~~^~~', 'ZeroDivisionError', ': division: by zero'].map(
      piece => lookOf(spans, piece),
    ),
    ['place', 'number', 'definition', 'keyword', 'failure', 'failure', undefined],
  )
})

test('a message of several lines is a message to its end', () => {
  const report = 'ValueError: one\n    two = 1\nthree: 3'
  const spans = highlightTraceback(report)
  assert.is(textOf(spans), report)
  assert.is(spans.filter(({ look }) => look === 'failure').length, 1)
})
