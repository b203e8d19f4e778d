import { LispScanner, openLispBlocks, scanLisp } from '../../src/front/lisp-blocks.ts'
import { highlightLisp, highlightLispAt } from '../../src/terminal/languages.ts'
import { type Span, textOf } from '../../src/terminal/layout.ts'
import { LISP } from '../../src/terminal/syntax.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console lisp')

const WHOLE: readonly (readonly [text: string, whole: boolean])[] = [
  ['(+ 1 2)', true],
  ['(defun f (x)', false],
  ['"a (', false],
  ['"a \\" (" x', true],
  ['; (', true],
  ['#| ( |#', true],
  ['#| #| |# (', false],
  ['#\\(', true],
  ['(list #\\) #\\")', true],
  ['|a (|', true],
  ['|a (', false],
  ["'(a . b)", true],
  ["#'car", true],
  ['`(a ,@b', false],
  ['a\\(b', true],
  [')', true],
]

for (const [text, whole] of WHOLE)
  test(`${JSON.stringify(text)} is ${whole ? '' : 'not '}whole`, () => assert.is(LISP.isWhole(text), whole))

test('what is open goes on, until two empty lines end it', () => {
  assert.is(LISP.goesOn('(list 1'), true)
  assert.is(LISP.goesOn('(list 1\n'), true)
  assert.is(LISP.goesOn('(list 1\n\n'), false)
  assert.is(LISP.goesOn('(list 1)'), false)
})

const INDENTS: readonly (readonly [what: string, before: string, indent: number])[] = [
  ['the body of a function', '(defun area (shape)', 2],
  ['the lambda list of one', '(defun area', 4],
  ['under the first argument', '(format t "a"', 8],
  ['under the operator where it stands alone', '(format', 1],
  ['data', "'(a b", 4],
  ['a list of lists', "'((a 1)", 2],
  ['bindings', '(let ((a 1)', 6],
  ['the body of let', '(let ((a 1))', 2],
  ['a form before the body', '(multiple-value-bind (a b)', 4],
  ['a body after its forms', '(multiple-value-bind (a b)\n    (f)', 2],
  ['macros by their names', '(with-open-file (in path)', 2],
  ['a definition with a package', '(swank::defimplementation x', 2],
  ['a local function', '(flet ((twice (x)', 9],
  ['nested', '(defun f (x)\n  (when x', 4],
  ['in a text nothing is set in', '(f "abc', 0],
  ['outside of everything', '(f)', 0],
]

for (const [what, before, indent] of INDENTS)
  test(`a new line is set in as Lisp programmers do: ${what}`, () =>
    assert.is(LISP.indent(before), ' '.repeat(indent)))

const CALLS: readonly (readonly [what: string, before: string, argument: string])[] = [
  ['outside of lists there is none', '(f 1)', ''],
  ['nor for the operator itself', '(for', ''],
  ['the first argument', '(f ', '0:1:'],
  ['while it is written', '(f ab', '0:1:'],
  ['the second', '(f a ', '0:2:'],
  ['a keyword by its name', '(f a :key ', '0:3::key'],
  ['the innermost list counts', '(f (g 1 ', '3:2:'],
  ['in a text there is none', '(f "a ', ''],
]

for (const [what, before, argument] of CALLS)
  test(`the argument that is being written: ${what}`, () => assert.is(LISP.call(before), argument))

const lookOf = (spans: readonly Span[], text: string) => spans.find(span => span.text === text)?.look

test('definitions, operators, keywords, numbers, texts and comments have their looks, and no character is lost', () => {
  const text =
    '(defun area (shape &key (scale 1.5d0))\n  "Its area." ; all\n  (let ((x #\\a)) (car :full nil)) #| two |#)'
  const spans = highlightLisp(text)
  assert.is(textOf(spans), text)
  const pieces = [
    'defun',
    'area',
    '&key',
    '1.5d0',
    '"Its area."',
    '; all',
    'let',
    '#\\a',
    ':full',
    'nil',
    '#| two |#',
    'car',
  ]
  assert.equal(
    pieces.map(piece => lookOf(spans, piece)),
    [
      'keyword',
      'definition',
      'builtin',
      'number',
      'text',
      'comment',
      'keyword',
      'text',
      'builtin',
      'number',
      'comment',
      undefined,
    ],
  )
})

test('what is not Lisp keeps every character', () => {
  for (const text of ['#<object {1003}>', '"unclosed', ')))', '\u0000\n\t語', '', '#| ', '|a', '\\', '#\\'])
    assert.is(textOf(highlightLisp(text)), text)
})

test('the bracket at the cursor and its other half stand out, and brackets in texts do not count', () => {
  const marked = (text: string, cursor: number) =>
    highlightLispAt(text, cursor).filter(({ look }) => look === 'bracket').length
  assert.is(marked('(a ")" b)', 9), 2)
  assert.is(marked('(a b', 1), 0)
})

const BLOCKS: readonly (readonly [what: string, lines: string, person: string[], program?: string[]])[] = [
  ['forms', '1\n\n(f)', ['1', '(f)']],
  ['several in a line', '1 2', ['1 2']],
  ['a form over lines', '(f 1\n\n  2)\n3', ['(f 1\n\n  2)', '3']],
  ['a bracket too few', '(f 1\n\n\n3', ['(f 1', '3'], ['(f 1\n\n\n3']],
  ['a text over lines', '"a\nb"\n3', ['"a\nb"', '3']],
  ['a comment goes with what follows it', '; one\n(f)', ['; one\n(f)']],
]

for (const [what, lines, person, program = person] of BLOCKS)
  test(`lines are put together to what is run at once: ${what}`, () => {
    for (const [emptyLineEnds, expected] of [
      [true, person],
      [false, program],
    ] as const) {
      const blocks = openLispBlocks({ emptyLineEnds })
      const done = lines.split('\n').flatMap(line => blocks.push(line))
      const rest = blocks.rest()
      assert.equal(rest === undefined ? done : [...done, rest], expected)
    }
  })

test('text that is read line by line is read as at once', () => {
  const text = '(a "b\n(c" |d\n)| #| e\n#| |# |#\n (f g\nh)'
  const scanner = new LispScanner()
  for (const line of text.split(/(?<=\n)/)) scanner.add(line)
  const { open, inside, forms } = scanLisp(text)
  assert.equal({ open: scanner.open, inside: scanner.inside, forms: scanner.forms }, { open, inside, forms })
})
