import { openBlocks } from '../../src/front/blocks.ts'
import { LispScanner, openLispBlocks, scanLisp } from '../../src/front/lisp-blocks.ts'
import { openWolframBlocks } from '../../src/front/wolfram-blocks.ts'
import { highlightTraceback, terminalLanguage } from '../../src/terminal/languages.ts'
import { type Span, textOf } from '../../src/terminal/layout.ts'
import { LISP, PYTHON, WOLFRAM } from '../../src/terminal/syntax.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console languages')

/** The argument that is being written, as far as the text before the cursor tells. */
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

const LISP_CALLS: typeof CALLS = [
  ['outside of lists there is none', '(f 1)', ''],
  ['nor for the operator itself', '(for', ''],
  ['the first argument', '(f ', '0:1:'],
  ['while it is written', '(f ab', '0:1:'],
  ['the second', '(f a ', '0:2:'],
  ['a keyword by its name', '(f a :key ', '0:3::key'],
  ['the innermost list counts', '(f (g 1 ', '3:2:'],
  ['in a text there is none', '(f "a ', ''],
]

for (const [what, before, argument] of LISP_CALLS)
  test(`the argument that is being written in Lisp: ${what}`, () => assert.is(LISP.call(before), argument))

const WOLFRAM_CALLS: typeof CALLS = [
  ['outside of brackets there is none', 'f[1]', ''],
  ['the first argument', 'f[', '1:1:'],
  ['the second', 'f[a, ', '1:2:'],
  ['the innermost call counts', 'f[1, g[2, ', '6:2:'],
  ['a list is no call', 'f[{1, ', ''],
  ['nor are brackets in a text or a comment', 'f["[,", (* [, *) ', '1:2:'],
]

for (const [what, before, argument] of WOLFRAM_CALLS)
  test(`the argument that is being written in Wolfram Language: ${what}`, () =>
    assert.is(WOLFRAM.call(before), argument))

test('what is whole in Wolfram Language is told from what is not, and what is open is set in', () => {
  const whole = [
    '1 + 2',
    'f[x_] := x;',
    '<|"a" -> 1|>',
    '# + 1 &',
    'x!',
    'x++',
    '(* [ (* { *) *) 1',
    '"[" <> "(*"',
    '?Plus',
    'f[{1, 2}][[1]]',
    'a /; b',
    ']',
  ]
  const open = [
    '1 +',
    'f[x_] :=',
    'f[',
    '{1,',
    '"a',
    '(* a',
    '<|"a" -> 1',
    'a //',
    'a ->',
    'f @',
    'x /;',
    'a && (* b *)',
  ]
  assert.equal(
    [whole.filter(text => !WOLFRAM.isWhole(text)), open.filter(text => WOLFRAM.isWhole(text))],
    [[], []],
  )
  assert.equal(
    ['f[', 'f[\n  {1,', 'f[x_] :=', '1', '"a\n b'].map(text => WOLFRAM.indent(text).length),
    [2, 4, 2, 0, 0],
  )
})

test('a line that asks about a name as Wolfram Language does is told from code', () => {
  const asked = (line: string) => WOLFRAM.asked?.(line)
  assert.equal(asked('?Plus'), { type: 'name', name: 'Plus', source: false })
  assert.equal(asked('?? shop`total'), { type: 'name', name: 'shop`total', source: true })
  assert.equal([asked('x_?NumberQ'), asked('?1 + 2'), asked('?f[x]')], [undefined, undefined, undefined])
})

test('a pattern of names asks for those that are like it, and its star is no operator', () => {
  const like = (line: string) => {
    const asked = WOLFRAM.asked?.(line)
    return asked?.type === 'names' ? asked : undefined
  }
  const names = ['Int', 'Integer', 'Interrupt', 'PrintInt', 'shop`Int']
  assert.equal(
    [like('?Int*'), like('?Int@'), like('?shop`*')].map(one => names.filter(name => one?.matches(name))),
    [
      ['Int', 'Integer', 'Interrupt'],
      ['Integer', 'Interrupt'],
      ['Int', 'Integer', 'Interrupt', 'PrintInt', 'shop`Int'],
    ],
  )
  assert.equal([like('?Int*')?.part, like('?shop`*')?.module], ['Int', 'shop`'])
  assert.equal([WOLFRAM.goesOn('?Int*'), WOLFRAM.goesOn('2*')], [false, true])
})

test('a session of Wolfram Language that was copied is taken without its prompts and answers', () => {
  const session = ['In[1]:= a = {1,', '          2}', '', 'Out[1]= {1,', '          2}', '[1] In[2]:= a + 1']
  assert.equal(WOLFRAM.typed?.(session), ['a = {1,', '  2}', 'a + 1'])
  assert.equal(WOLFRAM.typed?.(['a = 1', 'In[1]']), ['a = 1', 'In[1]'])
})

test('Wolfram Language is coloured by how it looks, and nothing of a text is lost', () => {
  const text = 'f[x_] := Module[{a = "(*"}, Sin[#1] + 2.5*^-3 (* "b" *)] & /@ {True, α}'
  const spans = terminalLanguage('wolfram').highlight(text)
  assert.is(textOf(spans), text)
  const looks = (look: string) => spans.filter(span => span.look === look).map(span => span.text)
  assert.equal(
    [
      looks('keyword'),
      looks('builtin'),
      looks('text'),
      looks('comment'),
      looks('decorator'),
      looks('number'),
    ],
    [['Module'], ['Sin'], ['"(*"'], ['(* "b" *)'], ['#1'], ['2.5*^-3', 'True']],
  )
  const brackets = terminalLanguage('wolfram')
    .highlightAt('f[{1}]', 6)
    .filter(({ look }) => look === 'bracket')
  assert.equal(
    brackets.map(span => span.text),
    ['[', ']'],
  )
})

test('what is whole is told from what is not', () => {
  const told = (texts: readonly string[], { isWhole }: typeof PYTHON) => texts.map(text => isWhole(text))
  assert.equal(told(['1 + 2', 'def f():\n    return 1', 'if x:\n    y\n\nz'], PYTHON), [true, true, true])
  assert.equal(told(['def f():', 'f(', '"""a', 'x = \\'], PYTHON), [false, false, false, false])
  const whole = [
    '(+ 1 2)',
    '; (',
    '#| ( |#',
    '#\\(',
    '(list #\\) #\\")',
    '|a (|',
    "'(a . b)",
    "#'car",
    'a\\(b',
    ')',
    '"a \\" (" x',
  ]
  assert.equal(
    whole.filter(text => !LISP.isWhole(text)),
    [],
  )
  const open = ['(defun f (x)', '"a (', '#| #| |# (', '|a (', '`(a ,@b']
  assert.equal(
    open.filter(text => LISP.isWhole(text)),
    [],
  )
})

test('what is open in Lisp goes on, until two empty lines end it', () => {
  const texts = ['(list 1', '(list 1\n', '(list 1\n\n', '(list 1)']
  assert.equal(
    texts.map(text => LISP.goesOn(text)),
    [true, true, false, false],
  )
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

const lookOf = (spans: readonly Span[], text: string) => spans.find(span => span.text === text)?.look

const COLOURED: readonly (readonly [
  language: string,
  text: string,
  looks: Readonly<Record<string, string>>,
])[] = [
  [
    'python',
    '@cached\ndef total(rows: list) -> None:\n    """Sum."""\n    return sum(1.5 for x in rows)  # all\nself.len',
    {
      def: 'keyword',
      total: 'definition',
      list: 'builtin',
      None: 'number',
      '"""Sum."""': 'text',
      '1.5': 'number',
      '# all': 'comment',
      '@': 'decorator',
      len: 'none',
    },
  ],
  [
    'lisp',
    '(defun area (shape &key (scale 1.5d0))\n  "Its area." ; all\n  (let ((x #\\a)) (car :full nil)) #| two |#)',
    {
      defun: 'keyword',
      area: 'definition',
      '&key': 'builtin',
      '1.5d0': 'number',
      '"Its area."': 'text',
      '; all': 'comment',
      let: 'keyword',
      '#\\a': 'text',
      nil: 'number',
      '#| two |#': 'comment',
      car: 'none',
    },
  ],
]

for (const [name, text, looks] of COLOURED)
  test(`what is written in ${name} has its looks, and no character is lost, whatever it is`, () => {
    const { highlight } = terminalLanguage(name)
    const spans = highlight(text)
    const found = Object.keys(looks).map(piece => [piece, lookOf(spans, piece) ?? 'none'])
    assert.equal(Object.fromEntries(found), looks)
    const others = [
      '<object at 0x7f>',
      '"unclosed',
      ')))',
      '\u0000\n\t語',
      '',
      'array([1., 2.])',
      '#| ',
      '|a',
      '\\',
      '#\\',
    ]
    for (const one of [text, ...others]) assert.is(textOf(highlight(one)), one)
  })

test('the bracket at the cursor is shown with its other half, and brackets in texts do not count', () => {
  const brackets = (name: string, text: string, cursor: number) =>
    terminalLanguage(name)
      .highlightAt(text, cursor)
      .filter(({ look }) => look === 'bracket').length
  assert.equal(
    [brackets('python', 'f(a[1])', 7), brackets('python', 'f(a[1])', 4), brackets('python', 'f(a', 2)],
    [2, 2, 0],
  )
  assert.equal([brackets('lisp', '(a ")" b)', 9), brackets('lisp', '(a b', 1)], [2, 0])
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

type Blocks = readonly (readonly [what: string, lines: string, person: string[], program?: string[]])[]

const BLOCKS: Blocks = [
  ['expressions', '1\n\n2', ['1', '2']],
  ['a bracket over lines', 'f(1,\n\n2)\n3', ['f(1,', '2)', '3'], ['f(1,\n\n2)', '3']],
  ['a bracket too many', 'def f(:\n\n2', ['def f(:', '2'], ['def f(:\n\n2']],
  ['a backslash', 'x = 1 + \\\n2\n3', ['x = 1 + \\\n2', '3']],
  ['a triple-quoted text', 's = """a\nb"""\n3', ['s = """a\nb"""', '3']],
  ['an empty line in a text', 's = """a\n\n3', ['s = """a', '3'], ['s = """a\n\n3']],
  ['brackets and colons in texts and comments', 'x = "(:"  # [ {\ny', ['x = "(:"  # [ {', 'y']],
  ['an escaped quote', "x = 'it\\'s ('\ny", ["x = 'it\\'s ('", 'y']],
  ['a function, a line and an expression', 'def f():\n  1\n\nf()', ['def f():\n  1', 'f()']],
  ['a function at once followed', 'def f():\n  1\nf()', ['def f():\n  1', 'f()']],
  ['else and its kin', 'if x:\n  1\nelse:\n  2\n\n3', ['if x:\n  1\nelse:\n  2', '3']],
  ['decorators', '@a\n@b\ndef f():\n  1\n\n2', ['@a\n@b\ndef f():\n  1', '2']],
  [
    'an empty line in a function',
    'def f():\n  1\n\n  2\n3',
    ['def f():\n  1', '  2', '3'],
    ['def f():\n  1\n\n  2', '3'],
  ],
  ['what is not complete at the end', 'f(', ['f(']],
]

const LISP_BLOCKS: Blocks = [
  ['forms', '1\n\n(f)', ['1', '(f)']],
  ['several in a line', '1 2', ['1 2']],
  ['a form over lines', '(f 1\n\n  2)\n3', ['(f 1\n\n  2)', '3']],
  ['a bracket too few', '(f 1\n\n\n3', ['(f 1', '3'], ['(f 1\n\n\n3']],
  ['a text over lines', '"a\nb"\n3', ['"a\nb"', '3']],
  ['a comment goes with what follows it', '; one\n(f)', ['; one\n(f)']],
]

const WOLFRAM_BLOCKS: Blocks = [
  ['expressions', '1\n\nf[2]', ['1', 'f[2]']],
  ['a bracket over lines', 'f[1,\n\n 2]\n3', ['f[1,\n\n 2]', '3']],
  ['an operator that wants more', 'f[x_] :=\n x^2\nf[3]', ['f[x_] :=\n x^2', 'f[3]']],
  ['a bracket too few', 'f[1\n\n\n3', ['f[1', '3'], ['f[1\n\n\n3']],
  ['a question about a name', 'f?\n3', ['f?', '3']],
  ['a text and a comment over lines', '"a\nb" (* (*\n*) *)\n3', ['"a\nb" (* (*\n*) *)', '3']],
]

for (const [open, table] of [
  [openBlocks, BLOCKS],
  [openLispBlocks, LISP_BLOCKS],
  [openWolframBlocks, WOLFRAM_BLOCKS],
] as const)
  for (const [what, lines, person, program = person] of table)
    test(`lines are put together to what is run at once: ${what}`, () => {
      for (const [emptyLineEnds, expected] of [
        [true, person],
        [false, program],
      ] as const) {
        const blocks = open({ emptyLineEnds })
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

const PASTES: readonly (readonly [what: string, lines: string, done: string[], rest?: string])[] = [
  ['statements are one piece', 'x = 1\nx + 1\n\nx', ['x = 1\nx + 1\n\nx']],
  ['empty lines in front are not part of it', '\n\nx', ['x']],
  ['what ends set in goes on', 'def f():\n\n  1', [], 'def f():\n\n  1'],
  ['what ends with a colon goes on', 'x\nif y:', [], 'x\nif y:'],
  ['what ends inside a bracket goes on', 'f(1,\n2', [], 'f(1,\n2'],
  ['an empty line at the end ends it', 'def f():\n  1\n', ['def f():\n  1']],
  ['a line at the margin ends it', 'def f():\n\n  1\nf()', ['def f():\n\n  1\nf()']],
]

for (const [what, lines, done, rest] of PASTES)
  test(`of a paste, ${what}`, () => {
    const blocks = openBlocks({ emptyLineEnds: true })
    assert.equal(blocks.paste(lines.split('\n')), done)
    assert.is(blocks.rest(), rest)
  })
