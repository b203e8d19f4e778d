import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

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
