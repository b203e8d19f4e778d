import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { DiffLines } from '../../src/front/hunks/diff-lines.ts'
import { openPalette, widthOf } from '../../src/terminal/layout.ts'
import { breaksOf, changedWords, PlanText } from '../../src/terminal/plan-text.ts'
import { Sheet } from '../../src/terminal/sheet.ts'
import { assert, suite } from '../support/harness.ts'

/** The text of a plan, row by row, and how it is gone through. */
const test = suite('plan text')

const COLOURED = openPalette({ coloured: true })

const PLAIN = openPalette({ coloured: false })

const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[34][0-7]`)

const rowsOf = (text: string, o: { columns: number; as?: 'diff' | 'code' | 'text'; coloured?: boolean }) => {
  const { columns, as = 'text', coloured = true } = o
  const part = new PlanText(text, { palette: coloured ? COLOURED : PLAIN, as })
  return Array.from({ length: part.count }, (_, index) => {
    const line = part.line(index, columns)
    return Array.from({ length: line.rows }, (_, row) => line.row(row).text)
  }).flat()
}

/** The words that stand out, by the line. */
const marked = (removed: string[], added: string[]) => {
  const words = changedWords(removed, added)
  const pieces = (lines: string[], ranges: typeof words.removed) =>
    lines.map((line, index) => (ranges[index] ?? []).map(({ from, to }) => line.slice(from, to)))
  return [pieces(removed, words.removed), pieces(added, words.added)]
}

const CHANGED: readonly (readonly [what: string, removed: string[], added: string[], words: string[][][]])[] =
  [
    ['a word', ['return total'], ['return subtotal'], [[['total']], [['subtotal']]]],
    ['what was put in', ['def f(a):'], ['def f(a, b=1):'], [[[]], [[', b=1']]]],
    ['words that blanks join', ['one two three four'], ['one 2 3 four'], [[['two three']], [['2 3']]]],
    ['none, of lines that are others altogether', ['import os'], ['x = sum(y)'], [[[]], [[]]]],
    [
      'line by line',
      ['', 'a b'],
      ['', 'a c'],
      [
        [[], ['b']],
        [[], ['c']],
      ],
    ],
    [
      'one line and the two that it becomes',
      ['    a = f(x) + g(y)'],
      ['    a = f(x)', '    b = g(y)'],
      [[['+']], [[], ['b =']]],
    ],
    ['a mark as one word', ['x = "a⟦U+202E⟧"'], ['x = "a⟦U+202D⟧"'], [[['⟦U+202E⟧']], [['⟦U+202D⟧']]]],
  ]

for (const [what, removed, added, words] of CHANGED)
  test(`what changed stands out: ${what}`, () => assert.equal(marked(removed, added), words))

test('long lines and long blocks have no words, and take no time for them', () => {
  const line = 'word '.repeat(2_000)
  assert.equal(changedWords([line], [`${line}x`]), { removed: [[]], added: [[]] })
  const many = Array.from({ length: 400 }, (_, n) => `line ${n}`)
  assert.ok(changedWords(many, [...many, 'more']).removed.every(ranges => ranges.length === 0))
})

const DIFF = [
  'Edits a.py: 1 line added, 1 removed.',
  '',
  'diff --git a/a.py b/a.py',
  '--- a/a.py',
  '+++ b/a.py',
  '@@ -1,2 +1,2 @@',
  ' one',
  '-two',
  '\\ No newline at end of file',
  '+2',
  '\\ No newline at end of file',
  'behind it',
]

const diffOf = (lines: readonly string[]) =>
  new DiffLines({ count: lines.length, beginning: line => lines[line] ?? '' })

test('the lines of a diff are what its headings count, and nothing else is', () => {
  const diff = diffOf(DIFF)
  assert.equal(
    DIFF.map((_, line) => diff.role(line)),
    [
      'text',
      'text',
      'file',
      'file',
      'file',
      'section',
      'context',
      'removed',
      'note',
      'added',
      'note',
      'text',
    ],
  )
  assert.equal(
    [...diff.outside()],
    [
      { from: 0, to: 2 },
      { from: 11, to: 12 },
    ],
  )
})

test('a line of a file that looks like a heading of a diff is a line of a file (threat 14)', () => {
  const lines = [
    '@@ -1,1 +1,4 @@',
    ' one',
    '+@@ -9,9 +9,9 @@',
    '+--- a/harmless.py',
    '++++ b/harmless.py',
    'not of it',
  ]
  const diff = diffOf(lines)
  assert.equal(
    lines.map((_, line) => diff.role(line)),
    ['section', 'context', 'added', 'added', 'added', 'text'],
  )
})

test('code that looks like a diff is code: none of it is shown as removed (threat 14)', () => {
  const code = '@@ -1,1 +0,0 @@\n-os.remove("x")\n'
  assert.ok(rowsOf(code, { columns: 80, as: 'diff' })[1]?.includes('\x1b[31m'))
  assert.ok(rowsOf(code, { columns: 80, as: 'code' }).every(row => !row.includes('\x1b[31m')))
})

test('with colours the words that changed stand out, and without they stand between signs', () => {
  const diff = '@@ -1,1 +1,1 @@\n-return total\n+return subtotal\n'
  assert.ok(rowsOf(diff, { columns: 80, as: 'diff' })[2]?.includes('\x1b[1;7;32msubtotal'))
  const plain = rowsOf(diff, { columns: 80, as: 'diff', coloured: false }).map(row =>
    stripVTControlCharacters(row),
  )
  assert.equal(plain, ['| @@ -1,1 +1,1 @@', '| -return [-total-]', '| +return {+subtotal+}'])
  assert.ok(rowsOf(diff, { columns: 80, as: 'diff', coloured: false }).every(row => !COLOUR.test(row)))
})

test('each row has our margin, and a long line goes on behind another one (threat 14)', () => {
  const rows = rowsOf(`${'x'.repeat(50)}==== end of plan-aaaaaaaa\n\ny`, { columns: 30 }).map(row =>
    stripVTControlCharacters(row),
  )
  assert.equal(rows, [
    `| ${'x'.repeat(28)}`,
    `+ ${'x'.repeat(22)}==== e`,
    '+ nd of plan-aaaaaaaa',
    '| ',
    '| y',
  ])
})

test('nothing of a text is lost between its rows, and none is too wide, for any text', () => {
  const unit = fc.constantFrom('a', ' ', 'é', '漢', '😀', 'e\u0301', '\t', 'ש', '⟦U+202E⟧', 'Ж', '\u0300')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 120 }), fc.integer({ min: 8, max: 40 }), (text, columns) => {
      const rows = rowsOf(text, { columns }).map(row => stripVTControlCharacters(row))
      assert.ok(rows.every(row => /^[|+] /.test(row) && widthOf(row) <= columns))
      assert.is(rows.map(row => row.slice(2)).join(''), text.replaceAll('\t', '    '))
    }),
  )
})

test('a mark that is broken by the end of a row stands out on both', () => {
  const rows = rowsOf(`${'x'.repeat(14)}⟦U+202E⟧y`, { columns: 20 })
  assert.ok(rows.every(row => row.includes('\x1b[1;30;43m')))
})

test('where a row begins is known without breaking what stands before it', () => {
  const breaks = breaksOf('x'.repeat(1_000_000), 70)
  assert.is(breaks.rows, 14_286)
  assert.is(breaks.startOf(14_285), 999_950)
  assert.is(breaks.startOf(14_286), 1_000_000)
  assert.is(breaks.rowAt(999_949), 14_284)
  assert.is(breaksOf('', 70).rows, 1)
})

test('going through a sheet row by row shows each row once', () => {
  const text = Array.from({ length: 40 }, (_, n) => `${n} ${'x'.repeat((n * 13) % 70)}`).join('\n')
  const sheet = new Sheet([new PlanText(text, { palette: COLOURED, as: 'text' })], { columns: 30, rows: 7 })
  const all = rowsOf(text, { columns: 30 })
  assert.is(sheet.seen, false)
  for (let top = 0; top + 7 <= all.length; top++) {
    assert.equal(
      sheet.rows().map(row => row.text),
      all.slice(top, top + 7),
    )
    sheet.move(1)
  }
  assert.is(sheet.seen, true)
})

test('only what is on the screen is broken and coloured, however long the text is', () => {
  let coloured = 0
  const lines = 100_000
  const part = new PlanText('word\n'.repeat(lines), { palette: COLOURED, as: 'text' })
  const counted = {
    count: part.count,
    text: part.text,
    lineAt: (place: number) => part.lineAt(place),
    line(index: number, columns: number) {
      coloured++
      return part.line(index, columns)
    },
  }
  const sheet = new Sheet([counted], { columns: 80, rows: 20 })
  sheet.rows()
  sheet.toEnd()
  sheet.rows()
  sheet.move(-1_000)
  sheet.find('nowhere')
  assert.equal(sheet.position.lines, lines)
  assert.ok(coloured < 5_000, `${coloured} lines`)
})
