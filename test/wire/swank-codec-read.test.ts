import fc from 'fast-check'
import { WireError } from '../../wire/errors.ts'
import { MOST_LEVELS, read } from '../../wire/swank/read.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { codeOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('swank reader')
const atom = (atom: string) => ({ atom })
const text = (text: string) => ({ text })

/** What a Lisp prints, and what is read. */
const READ: readonly (readonly [string, Sexp])[] = [
  // Lists, and the one value that is both.
  ['nil', null],
  ['()', null],
  ['( )', null],
  ['(nil (nil) ())', [null, [null], null]],
  ['(:return (:ok nil) 12)', [atom(':return'), [atom(':ok'), null], 12]],
  [' \t\r\n( 1\n2 )', [1, 2]],
  // Pairs.
  ['(a . b)', { list: [atom('a')], tail: atom('b') }],
  ['(1 2 . "x")', { list: [1, 2], tail: text('x') }],
  [
    '((a . 1) (b . nil))',
    [
      { list: [atom('a')], tail: 1 },
      { list: [atom('b')], tail: null },
    ],
  ],
  ['(. b)', [atom('.'), atom('b')]],
  ['(a |.| b)', [atom('a'), atom('|.|'), atom('b')]],
  // Numbers.
  ['(0 -1 +2 12. -0)', [0, -1, 2, 12, 0]],
  ['9007199254740991', 9007199254740991],
  [
    '(9007199254740993 -123456789012345678901234567890)',
    [9007199254740993n, -123456789012345678901234567890n],
  ],
  ['(1.5 -0.25 1.0d0 1.0e-3 2.5f0 1d3 1.0d+2)', [1.5, -0.25, 1, 0.001, 2.5, 1000, 100]],
  ['(1/3 -22/7)', [atom('1/3'), atom('-22/7')]],
  [
    '(1.0d400 1+ + - -- 1e 12a 1.2.3 -x)',
    ['1.0d400', '1+', '+', '-', '--', '1e', '12a', '1.2.3', '-x'].map(atom),
  ],
  [
    '(#xff #b101 #.sb-ext:double-float-positive-infinity)',
    ['#xff', '#b101', '#.sb-ext:double-float-positive-infinity'].map(atom),
  ],
  // Symbols, in whatever package.
  ['(t :key swank::foo cl-user:bar #:g12)', ['t', ':key', 'swank::foo', 'cl-user:bar', '#:g12'].map(atom)],
  [
    '(|a b| foo::|x (y| |p\\|q| :|K L| || a\\ b)',
    ['|a b|', 'foo::|x (y|', '|p\\|q|', ':|K L|', '||', 'a\\ b'].map(atom),
  ],
  ['(|nil| |12| NIL)', ['|nil|', '|12|', 'NIL'].map(atom)],
  ['(naïve 漢字 💥)', ['naïve', '漢字', '💥'].map(atom)],
  // Texts.
  ['""', text('')],
  ['("a\\"b" "c\\\\" "d\ne" "\\n")', [text('a"b'), text('c\\'), text('d\ne'), text('n')]],
  ['("(nil" "#<" ")" "|")', [text('(nil'), text('#<'), text(')'), text('|')]],
  ['("é\\"漢" "💥" x)', [text('é"漢'), text('💥'), atom('x')]],
  ['"nil"', text('nil')],
  // Characters, delimiters among them.
  [
    '(#\\a #\\space #\\( #\\) #\\" #\\\\ #\\| #\\; x)',
    ['#\\a', '#\\space', '#\\(', '#\\)', '#\\"', '#\\\\', '#\\|', '#\\;', 'x'].map(atom),
  ],
  ['(#\\  #\\é #\\💥 #\\u+1f4a5)', ['#\\ ', '#\\é', '#\\💥', '#\\u+1f4a5'].map(atom)],
  // What cannot be read, and stays as it was printed.
  ['(#<function car> 1)', [atom('#<function car>'), 1]],
  ['(#<a #<b c> #<d>> 1)', [atom('#<a #<b c> #<d>>'), 1]],
  ['(#<a "x > y" (z> 1)', [atom('#<a "x > y" (z>'), 1]],
  ['(#<a "x \\"> y"> 1)', [atom('#<a "x \\"> y">'), 1]],
  ['(#<a #\\> #\\"> 1)', [atom('#<a #\\> #\\">'), 1]],
  ['(#<a 5" long> 1)', [atom('#<a 5" long>'), 1]],
  ['(#<é 漢> 1)', [atom('#<é 漢>'), 1]],
  // Quotes, vectors and the rest of what # stands before.
  [
    "('x #'f '(1 2) ''y)",
    [
      [atom('quote'), atom('x')],
      [atom('function'), atom('f')],
      [atom('quote'), [1, 2]],
      [atom('quote'), [atom('quote'), atom('y')]],
    ],
  ],
  [
    '`(a ,b ,@c)',
    [atom('quasiquote'), [atom('a'), [atom('unquote'), atom('b')], [atom('unquote-splicing'), atom('c')]]],
  ],
  ['(#(1 #()) x)', [{ prefix: '#', items: [1, { prefix: '#', items: [] }] }, atom('x')]],
  [
    '#2a((1 2) (3 4))',
    {
      prefix: '#2a',
      items: [
        [1, 2],
        [3, 4],
      ],
    },
  ],
  ['#s(point :x 1)', { prefix: '#s', items: [atom('point'), atom(':x'), 1] }],
  ['(#p"/a\\"b" #*0101)', [{ prefix: '#p', items: [text('/a"b')] }, atom('#*0101')]],
  ['#.(delete-file "x")', { prefix: '#.', items: [atom('delete-file'), text('x')] }],
]
for (const [printed, value] of READ)
  test(`${printed} is read`, () => {
    assert.equal(read(printed), value)
    assert.equal(read(Buffer.from(printed)), value)
    // Among letters of several bytes, all that is not ASCII is decoded piece by piece.
    assert.equal(read(`("é" ${printed})`), [text('é'), value])
  })

test('a text is no view of the message that it came in, and the message is left as it was', () => {
  const message = Buffer.from(`("${'x'.repeat(1_000)}" "a\\"b")`)
  const before = Buffer.from(message)
  const value = read(message)
  assert.equal(message, before)
  message.fill('?')
  assert.equal(value, [text('x'.repeat(1_000)), text('a"b')])
})

for (const broken of [
  '',
  ' ',
  '(',
  '(1',
  '"',
  '"a',
  '"a\\',
  '"a\\"',
  ')',
  '(1))) ('.slice(3),
  "'",
  "(')",
  '#(',
  '((1)',
  '#p"x',
])
  test(`${JSON.stringify(broken)} is malformed (fault 19)`, () => {
    assert.is(
      codeOf(() => read(broken)),
      'FRAME_MALFORMED',
    )
  })

test('what stands behind the first expression is left alone', () => {
  assert.equal(read('(1 2) and "more'), [1, 2])
})

test('a text that is cut anywhere is malformed, and never read as a shorter one (fault 19)', () => {
  const whole = '(:debug 3 1 ("a \\"b\\" | c" #<x "y>"> |p q|) (#\\) . 1/2) #(1 \'z) nil)'
  read(whole)
  for (let at = 0; at < whole.length; at++)
    assert.is(
      codeOf(() => read(whole.slice(0, at))),
      'FRAME_MALFORMED',
      whole.slice(0, at),
    )
})

test(`lists nest ${MOST_LEVELS} levels deep and no deeper, and no depth exhausts the stack`, () => {
  const nested = (levels: number) => '('.repeat(levels) + ')'.repeat(levels)
  read(nested(MOST_LEVELS))
  for (const deep of [nested(MOST_LEVELS + 1), '('.repeat(1e6), '#('.repeat(1e6), "'".repeat(1e6)])
    assert.is(
      codeOf(() => read(deep)),
      'LIMIT_EXCEEDED',
    )
})

/** Of what whoever wants to keep a reader busy would send 2 MB. */
const HOSTILE = [
  '"',
  '#<',
  '#<"',
  '#<a>',
  '#<a "',
  '#\\',
  '\\',
  '|',
  '1',
  '".',
  '#p"',
  '"\\',
  ';',
  '#|',
  '1/',
  '. ',
  '- ',
  'é"',
]
test('2 MB of anything is read or refused within the time of a test', () => {
  for (const piece of HOSTILE) {
    const many = piece.repeat(2e6 / Buffer.byteLength(piece))
    for (const message of [many, `(${many}`, `(:return (:ok ${many}) 1)`]) survives(message)
  }
})

test('16 MB of text, of escapes and of small lists are read whole', () => {
  const value = (printed: string) => read(Buffer.from(`(:return (:ok ${printed}) 1)`))
  const long = 'x'.repeat(16e6)
  assert.equal(value(`"${long}"`), [atom(':return'), [atom(':ok'), text(long)], 1])
  assert.equal(value(`"${'\\"'.repeat(8e6)}"`), [atom(':return'), [atom(':ok'), text('"'.repeat(8e6))], 1])
  const [, answer] = value(`(${'(1) '.repeat(4e6)})`) as readonly Sexp[]
  const [, list] = answer as readonly Sexp[]
  assert.is((list as readonly Sexp[]).length, 4e6)
})

test('any text of the characters that matter is read or refused, and never anything else (fault 21)', () => {
  const unit = fc.constantFrom(...'()"\\|#<>\'`,@;:.+-/0123456789edNILnil \n\tsapé漢💥')
  fc.assert(fc.property(fc.string({ unit, maxLength: 60 }), survives), { numRuns: 5_000 })
})

test('random text is read or refused, and never anything else (fault 21)', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), survives), { numRuns: 2_000 })
})

function survives(printed: string) {
  try {
    read(printed)
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    assert.ok(['FRAME_MALFORMED', 'LIMIT_EXCEEDED'].includes(error.code))
  }
}
