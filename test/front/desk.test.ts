import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import type { Grant } from '../../src/approvals/contract.ts'
import { DiffLines } from '../../src/front/hunks/diff-lines.ts'
import { openPalette, widthOf } from '../../src/terminal/layout.ts'
import { breaksOf, changedWords, PlanText } from '../../src/terminal/plan-text.ts'
import { Sheet } from '../../src/terminal/sheet.ts'
import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'
import { PROPOSED } from '../support/watch-plans.ts'

const test = suite('desk')

const long = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}`).join('\n')

const ONE = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), title: 'Write one', turn: 'turn-1' })

const TWO = shownPlanOf({ id: 'plan-bbbbbbbb', hash: 'b'.repeat(64), title: 'Write two', turn: 'turn-1' })

const OTHER = shownPlanOf({ id: 'plan-cccccccc', hash: 'c'.repeat(64), title: 'Write three', turn: 'turn-2' })

const LONG = shownPlanOf({ id: 'plan-llllllll', title: 'Write much', body: long(200) })

test('nothing waits, and it says so', () => {
  const { desk, text } = openDesk()
  assert.match(text(), /seat-1 · nothing waits/)
  assert.match(text(), /Nothing waits for you\./)
  assert.is(desk.waits, 0)
})

test('a plan is listed with its tool, its kernel, who asks and how long it has waited, which goes on', () => {
  const { desk, tell, text } = openDesk()
  tell(shownPlanOf({ kernel: 'shop', tool: 'eval_expr', who: 'cursor', waited_ms: 4_000, title: 'Run it' }))
  assert.match(text(), /▸ 1 {3}eval_expr {2}shop {2}cursor {4}4 s {2}Run it/)
  desk.tick(61_000)
  assert.match(text(), /1 min 5 s {2}Run it/)
  assert.is(desk.waits, 1)
})

test('plans of one turn stand together, whenever they came', () => {
  const { tell, rows } = openDesk()
  tell(ONE, OTHER, TWO)
  assert.equal(
    rows()
      .slice(1, 4)
      .map(row => row.replace(/ {2,}/g, ' ')),
    [
      '▸ 1 ┌ write_file - a model 0 s Write one',
      ' 2 └ write_file - a model 0 s Write two',
      ' 3 write_file - a model 0 s Write three',
    ],
  )
})

test('all that an approval is about is shown: title, tool, who, project, size, hash and code', () => {
  const { tell, text } = openDesk()
  tell(ONE)
  for (const part of [
    'Write one',
    'write_file (dangerous), 1 line, 4 bytes, for a model in /project',
    'a'.repeat(64),
    'imago approve plan-aaaaaaaa --code k7mp-3xqr-9tfw-2hjd',
    '| one',
  ])
    assert.ok(text().includes(part), part)
})

test('space, b, the arrows and the page keys go through the text, and it says how far', () => {
  const { tell, keys, key, text } = openDesk()
  tell(LONG)
  assert.match(text(), /6% · line 15 of 200/)
  keys(' ')
  assert.match(text(), /15% · line 33 of 200/)
  keys('b')
  assert.match(text(), /line 15 of 200/)
  key('down', 'down', 'up', 'page-down', 'page-up')
  assert.match(text(), /line 16 of 200/)
  key('end')
  assert.match(text(), /100% · line 200 of 200/)
  key('home')
  assert.match(text(), /line 15 of 200/)
})

test('/ searches, Enter goes to the next, and what is found stands out', () => {
  const { tell, keys, text, written } = openDesk()
  tell(LONG)
  keys('/LINE 12')
  assert.match(text(), /^ \/LINE 12$/m)
  keys('\r')
  assert.match(text(), /^\| line 12\n/m)
  assert.ok(written().some(row => row.text.includes('\x1b[30;43mline 12\x1b[0m')))
  keys('/\r')
  assert.match(text(), /^\| line 120\n/m)
  keys('/nowhere\r')
  assert.match(text(), /nowhere: not found below/)
})

test('j and k, Tab and the digits look at other plans, and each keeps what was seen of it', () => {
  const { tell, keys, key, text } = openDesk()
  tell(LONG, ONE, OTHER)
  const title = () => /^── (\S+)/m.exec(text())?.[1]
  assert.is(title(), LONG.id)
  keys('j')
  assert.is(title(), ONE.id)
  keys('k')
  assert.is(title(), LONG.id)
  keys('\t\t')
  assert.is(title(), OTHER.id)
  key('shift-tab')
  assert.is(title(), ONE.id)
  keys('3')
  assert.is(title(), OTHER.id)
  keys('9')
  assert.is(title(), OTHER.id)
  keys('j')
  assert.is(title(), LONG.id)
})

test('q, Ctrl-C and Ctrl-D leave', () => {
  const { tell, keys, key } = openDesk()
  assert.equal(keys('q'), { type: 'leave' })
  tell(ONE)
  assert.equal(keys('q'), { type: 'leave' })
  assert.equal(key('ctrl-c'), { type: 'leave' })
  assert.equal(key('ctrl-d'), { type: 'leave' })
  keys('n')
  assert.is(key('ctrl-c'), undefined)
})

test('? shows the keys and h what became of plans; q goes back from both', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, TWO)
  keys('?')
  assert.match(text(), /Keys[\s\S]* y +it is done exactly as shown/)
  assert.is(keys('q'), undefined)
  keys('n')
  keys('because\r')
  desk.answered(ONE.id, { type: 'taken' })
  keys('h')
  assert.match(text(), /What became of plans here[\s\S]*plan-aaaaaaaa denied: Write one/)
  assert.is(keys('h'), undefined)
  assert.match(text(), /^── plan-bbbbbbbb/m)
})

test('the first plan of a turn rings, and no other', () => {
  const { desk } = openDesk()
  const rings = [ONE, TWO, OTHER, ONE].map(plan => desk.tell({ type: 'plan', plan }))
  assert.equal(rings, [true, false, true, false])
})

test('a plan that is told again shows what has changed, and keeps its place', () => {
  const { desk, tell, text, keys } = openDesk()
  tell(ONE, OTHER)
  keys('j')
  desk.tell({ type: 'plan', plan: { ...OTHER, code: '', warnings: ['Three wrong codes were tried.'] } })
  assert.match(text(), /LOOK +Three wrong codes were tried\./)
  assert.not.match(text(), /imago approve/)
  assert.is(desk.waits, 2)
})

test('a title, a reason and a cause that are as long as rows begin none that looks like ours (threat 14)', () => {
  const forged = `${'x '.repeat(34)} tool     list_globals (safe) ${'x '.repeat(30)} end      of plan-aaaaaaaa: 1 line ▸ 2 | y`
  const hunks = [
    {
      number: 1,
      shown: 'a.py',
      line: 1,
      before: '',
      after: 'x\n',
      diff: '@@ -0,0 +1,1 @@\n+x\n',
      why: forged,
    },
  ]
  const { desk, tell, keys, rows } = openDesk({ rows: 50 })
  const forgedRows = () => rows().filter(row => /^ ?(?:[|+▸─]|tool +list|end +of plan-aaaaaaaa)/.test(row))
  const before = forgedRows().length
  tell(shownPlanOf({ ...ONE, id: 'plan-ffffffff', title: forged, who: forged, root: forged, hunks }))
  // The list, and what the hunk has itself.
  assert.is(forgedRows().length - before, 1 + 2)
  keys('n')
  keys(`${forged}\r`)
  assert.is(forgedRows().filter(row => !row.startsWith('──')).length - before, 1 + 1 - 1)
  desk.tell({ type: 'settled', id: 'plan-ffffffff', why: forged })
  assert.ok(rows().every(row => !/^ (?:tool +list|end +of)/.test(row)))
})

test('what is so with every plan of a kind is a row among others, and nothing to be looked at twice', () => {
  const { tell, text } = openDesk()
  tell(shownPlanOf({ ...ONE, notes: ['What is defined may change until this runs.'] }))
  assert.match(text(), /^ note +What is defined may change until this runs\.$/m)
  assert.not.match(text(), /LOOK/)
})

test('the question stays in sight, however long the answer to it is, at 40×10', () => {
  const { tell, keys, text } = openDesk({ columns: 40, rows: 10 })
  tell(ONE)
  keys('n')
  keys(`${'because of this '.repeat(20)}END`)
  assert.match(text(), /^ Why not\?$/m)
  assert.match(text(), /END$/m)
})

test('a page of the console says that q goes back, and not that it leaves the seat', () => {
  const { keys, text } = openDesk({ rows: 40, page: true })
  assert.match(text(), / q back /)
  keys('?')
  assert.match(text(), / q +goes back to the console/)
  assert.match(text(), / Ctrl-Z +stops the console/)
  assert.not.match(text(), / q +leaves/)
})

for (const [columns, rows] of [
  [80, 24],
  [40, 10],
  [200, 60],
  [20, 5],
  [1, 1],
] as const)
  test(`it is as large as the screen, at ${columns}×${rows}, and no row is wider`, () => {
    const { desk, tell, keys, written } = openDesk({ columns, rows })
    for (let n = 0; n < 30; n++) tell(shownPlanOf({ ...LONG, id: `plan-${n}`, warnings: ['x'.repeat(90)] }))
    for (const key of ['', 'G', 'n', 'a'.repeat(200), '\x1b', '?', 'q', 'h']) {
      keys(key)
      assert.is(written().length, rows)
      assert.ok(written().every(row => row.columns <= columns))
      const { cursor } = desk
      assert.ok(cursor === undefined || (cursor.row < rows && cursor.column < Math.max(2, columns)))
    }
  })

test('after a resize the same line stands at the top', () => {
  const { desk, tell, keys, rows } = openDesk({ columns: 40, rows: 20 })
  const body = Array.from({ length: 100 }, (_, n) => `${n} ${'word '.repeat(20)}`).join('\n')
  tell(shownPlanOf({ ...ONE, body }))
  keys('/70 word\r')
  const top = () => rows()[3]
  const before = top()
  assert.match(before ?? '', /^\| 70 word/)
  desk.resize({ columns: 100, rows: 30 })
  assert.match(top() ?? '', /^\| 70 word/)
  desk.resize({ columns: 40, rows: 20 })
  assert.is(top(), before)
})

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

test('the words that changed between two lines are found, and blanks between them join them', () => {
  assert.equal(marked(['return total'], ['return subtotal']), [[['total']], [['subtotal']]])
  assert.equal(marked(['def f(a):'], ['def f(a, b=1):']), [[[]], [[', b=1']]])
  assert.equal(marked(['one two three four'], ['one 2 3 four']), [[['two three']], [['2 3']]])
})

test('of lines that are others altogether no word stands out', () => {
  assert.equal(marked(['import os'], ['x = sum(y)']), [[[]], [[]]])
  assert.equal(marked(['', 'a b'], ['', 'a c']), [
    [[], ['b']],
    [[], ['c']],
  ])
})

test('one line that becomes two is compared with both', () => {
  const [removed, added] = marked(['    a = first(x) + second(y)'], ['    a = first(x)', '    b = second(y)'])
  assert.equal(added, [[], ['b =']])
  assert.equal(removed, [['+']])
})

test('a mark is one word', () => {
  assert.equal(marked(['x = "a⟦U+202E⟧"'], ['x = "a⟦U+202D⟧"']), [[['⟦U+202E⟧']], [['⟦U+202D⟧']]])
})

test('long lines and long blocks have no words, and take no time for them', () => {
  const line = 'word '.repeat(2_000)
  assert.equal(changedWords([line], [`${line}x`]), { removed: [[]], added: [[]] })
  const many = Array.from({ length: 400 }, (_, n) => `line ${n}`)
  assert.ok(changedWords(many, [...many, 'more']).removed.every(ranges => ranges.length === 0))
})

test('what stands out is a piece of its line, for any lines', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '(', 'é', '\t', '⟦U+202E⟧'), maxLength: 20 })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), fc.array(line, { maxLength: 6 }), (removed, added) => {
      const words = changedWords(removed, added)
      for (const [lines, ranges] of [
        [removed, words.removed],
        [added, words.added],
      ] as const) {
        assert.is(ranges.length, lines.length)
        for (const [index, found] of ranges.entries()) {
          let at = 0
          for (const { from, to } of found) {
            assert.ok(from >= at && to > from && to <= (lines[index]?.length ?? 0))
            at = to
          }
        }
      }
    }),
  )
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

/** All rows of a sheet, as it is gone through. */
function readThrough(sheet: Sheet, rows: number): string[] {
  const found = sheet.rows().map(row => stripVTControlCharacters(row.text))
  for (let before = ''; ; ) {
    sheet.move(1)
    const last = stripVTControlCharacters(sheet.rows().at(-1)?.text ?? '')
    const top = sheet.position
    const now = `${top.line} ${top.percent} ${sheet
      .rows()
      .map(({ text }) => text)
      .join('\n')}`
    if (now === before) return found
    if (sheet.rows().length === rows) found.push(last)
    before = now
  }
}

test('going through a sheet row by row shows each row once', () => {
  const text = Array.from({ length: 40 }, (_, n) => `${n} ${'x'.repeat((n * 13) % 70)}`).join('\n')
  const part = new PlanText(text, { palette: COLOURED, as: 'text' })
  const sheet = new Sheet([part], { columns: 30, rows: 7 })
  const all = rowsOf(text, { columns: 30 }).map(row => stripVTControlCharacters(row))
  assert.is(sheet.seen, false)
  // The first step that goes nowhere repeats the last row.
  assert.equal(readThrough(sheet, 7).slice(0, all.length), all)
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
  sheet.search('nowhere')
  assert.equal(sheet.position.lines, lines)
  assert.ok(coloured < 5_000, `${coloured} lines`)
})

const NOTED = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), grants: ['src/shop.py', 'src/*.py'] })

/** What stands on the screen, however it is broken into rows. */
const flat = (text: string) => text.replace(/\s+/g, ' ')

test('a note stays a while and then goes', () => {
  const { desk, text } = openDesk()
  desk.tell({ type: 'notice', text: 'seat-2 has left.' })
  assert.match(text(), /seat-2 has left/)
  desk.tick(7_999)
  assert.match(text(), /seat-2 has left/)
  desk.tick(8_000)
  assert.not.match(text(), /seat-2 has left/)
})

const NOTICES = [
  'write_file on src/*.py for a model: let through without asking from now on, says seat-1. To end that: imago revoke grant-1',
  'write_file on src/*.py for a model: let through without asking: Write a.py. To take it back: imago undo plan-bbbbbbbb. To be asked again: imago revoke grant-1',
  'Too much of a model was refused in a row (3): nothing more of it is asked for 60 s, unless somebody takes a seat.',
]

for (const [columns, rows] of [
  [80, 24],
  [40, 24],
] as const)
  test(`notices are whole at ${columns}×${rows}, one after the other, and h has them all`, () => {
    const { desk, keys, text } = openDesk({ columns, rows })
    for (const notice of NOTICES) desk.tell({ type: 'notice', text: notice })
    const seen = new Set<string>()
    for (let now = 0; now < 60_000; now += 1_000) {
      desk.tick(now)
      for (const notice of NOTICES) if (flat(text()).includes(notice)) seen.add(notice)
    }
    assert.equal([...seen], NOTICES)
    keys('h')
    for (const notice of NOTICES) assert.ok(flat(text()).includes(notice), notice)
  })

test('what a key comes to is whole at 80 and at 40 columns', () => {
  for (const columns of [80, 40]) {
    const { desk, tell, keys, text } = openDesk({ columns })
    tell(NOTED)
    keys('g')
    keys('2')
    desk.answered(NOTED.id, { type: 'taken' })
    assert.match(flat(text()), /approved; src\/\*\.py is let through from now on, until this seat is left/)
    const hunk = { number: 1, shown: 'a.py', line: 1, before: '', after: 'x\n', why: null }
    tell({ ...ONE, hunks: [{ ...hunk, diff: '@@ -0,0 +1,1 @@\n+x\n' }] })
    keys('g')
    assert.match(
      flat(text()),
      /no grant for a plan with hunks: it is for those that are approved as a whole\./,
    )
    tell({ ...ONE, id: 'plan-bbbbbbbb', args: { path: 'a.py' } })
    keys('\te')
    const about = { type: 'arguments', plan: 'plan-bbbbbbbb', suffix: '.json' } as const
    desk.edited(about, { type: 'text', text: '{"path": }' })
    assert.match(flat(text()), /not JSON any more: .*Nothing was sent\./)
  }
})

test('a notice is not lost when something else is said right behind it', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(NOTED)
  keys('n\r')
  desk.tell({ type: 'notice', text: 'Nothing more of it is asked for a minute.' })
  desk.answered(NOTED.id, { type: 'taken' })
  assert.match(text(), /Nothing more of it is asked for a minute\.\n plan-aaaaaaaa denied\n/)
})

test('a plan that went out of date leaves its cause, whole, on the screen and in what h shows', () => {
  for (const columns of [80, 40]) {
    const { desk, tell, keys, text } = openDesk({ columns })
    tell(NOTED)
    const why =
      'It is out of date: src/shop.py has changed since it was worked out. The model was told to look again.'
    desk.tell({ type: 'settled', id: NOTED.id, why })
    assert.ok(flat(text()).includes(`${NOTED.id} needs no answer any more. ${why}`))
    assert.is(keys('y'), undefined)
    keys('\r')
    assert.not.match(text(), /^ *\| one/m)
    keys('h')
    assert.ok(flat(text()).includes(why))
  }
})

test('where there is no room for all of a note, it says where the rest is', () => {
  const { desk, text } = openDesk({ columns: 40, rows: 10 })
  desk.tell({ type: 'notice', text: 'word '.repeat(60).trim() })
  assert.match(text(), /… all of it: h$/m)
  assert.is(text().split('\n').length, 10)
})

test('notes that nobody could see are not piled up', () => {
  const { desk, text } = openDesk()
  for (let n = 0; n < 1_000; n++) desk.tell({ type: 'notice', text: `notice ${n}` })
  assert.match(text(), /notice 980\n/)
  desk.tick(70_000)
  assert.not.match(text(), /notice \d/)
})

test('a note takes no row from a plan that is whole on the screen without it, and is whole itself later', () => {
  const { desk, tell, keys, text } = openDesk()
  const body = Array.from({ length: 16 }, (_, n) => `line ${n}`).join('\n')
  desk.tell({ type: 'notice', text: NOTICES[1] ?? '' })
  tell({ ...ONE, body })
  assert.match(text(), /all 16 lines/)
  assert.match(text(), /^ write_file on src.* … h$/m)
  desk.tick(20_000)
  assert.equal(keys('y')?.type, 'answer')
  desk.answered(NOTED.id, { type: 'taken' })
  assert.ok(flat(text()).includes(NOTICES[1] ?? ''))
})

const HOUR = 3_600_000

const grantOf = (given: Partial<Grant>): Grant => ({
  id: 'grant-1',
  tool: 'write_file',
  kernel: null,
  pattern: 'src/*.py',
  root: '/project',
  who: 'a model',
  seat: 'seat-1',
  used: 0,
  ends_ms: 8 * HOUR,
  ...given,
})

const PAUSE = { who: 'cursor', refusals: 3, left_ms: 120_000 }

test('while nothing waits, what is let through and who is let be stand there, with when that ends', () => {
  const { desk, text } = openDesk()
  assert.not.match(text(), / r revoke or lift/)
  desk.stands({ grants: [grantOf({ used: 2 })], pauses: [PAUSE] })
  assert.match(text(), /1 +write_file on src\/\*\.py for a model, 8 h 0 min more, let through 2/)
  assert.match(text(), /Nothing of cursor is asked for 2 min more: 3 were refused/)
  assert.match(text(), / r revoke or lift/)
  desk.tick(61_000)
  assert.match(text(), /a model, 7 h 59 min more/)
  assert.match(text(), /Nothing of cursor is asked for less than a minute more/)
  desk.stands({ grants: [], pauses: [] })
  assert.not.match(text(), /let through|is asked for/)
})

test('r shows it over a plan, a digit revokes and l lifts, and q goes back', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(shownPlanOf())
  assert.equal(keys('r'), { type: 'look' })
  assert.match(text(), /Nothing is let through without asking/)
  assert.is(keys('1'), undefined)
  assert.is(keys('l'), undefined)
  desk.stands({ grants: [grantOf({}), grantOf({ id: 'grant-2', pattern: 'a.py' })], pauses: [PAUSE] })
  assert.match(text(), /1 +write_file on src[\s\S]*2 +write_file on a\.py/)
  assert.match(text(), / 1-2 revoke {2}l lift the pause {2}q back/)
  assert.equal(keys('2'), { type: 'revoke', grant: 'grant-2' })
  assert.equal(keys('l'), { type: 'lift' })
  assert.is(keys('y'), undefined)
  keys('q')
  assert.match(text(), /^── plan-abcdefgh/m)
})

test('who leaves in the middle of hunks is told how much is not sent, and goes only with another y', () => {
  for (const leave of ['q', 'ctrl-c', 'ctrl-d']) {
    const { tell, keys, key, text } = openDesk()
    tell(PROPOSED)
    keys('y')
    keys('nnot this\r')
    const left = () => (leave === 'q' ? keys('q') : key(leave))
    assert.is(left(), undefined)
    assert.match(text(), /2 decisions are not sent: leave\?/)
    keys('n')
    assert.match(text(), /✓✗· Edit[\s\S]*hunk +3 of 3/)
    left()
    assert.equal(keys('y'), { type: 'leave' })
  }
})

test('Ctrl-C twice leaves in any case, and where all is sent q asks nothing', () => {
  const { tell, keys, key } = openDesk()
  tell(PROPOSED)
  keys('y')
  assert.is(key('ctrl-c'), undefined)
  assert.equal(key('ctrl-c'), { type: 'leave' })
  const other = openDesk()
  other.tell(PROPOSED)
  other.keys('D')
  other.keys('\r')
  assert.is(other.keys('y')?.type, 'answer')
  assert.equal(other.keys('q'), { type: 'leave' })
})

test('a page of the console is left without a question, and has all that was decided when it is opened again', () => {
  const { tell, keys, text } = openDesk({ page: true })
  tell(PROPOSED)
  keys('y')
  assert.equal(keys('q'), { type: 'leave' })
  assert.match(text(), /✓·· Edit/)
})

test('what was said of a grant goes with it, but for those who look it up', () => {
  const { desk, keys, text } = openDesk()
  desk.say('Given to a model: write_file on src/*.py. To end that: imago revoke grant-1')
  desk.say('Given to a model: write_file on b.py. To end that: imago revoke grant-12')
  desk.say('plan-abcdefgh approved; src/*.py is let through from now on, until this seat is left')
  desk.stands({ grants: [grantOf({})], pauses: [] })
  desk.revoked('grant-1')
  assert.not.match(text(), /is let through from now on/)
  assert.not.match(text(), /imago revoke grant-1$/m)
  assert.match(text(), /imago revoke grant-12[\s\S]*Revoked: grant-1\./)
  keys('h')
  assert.match(text(), /revoke\s+grant-1\s/)
})
