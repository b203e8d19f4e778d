import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('desk')

const long = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}`).join('\n')
const ONE = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), title: 'Write one', turn: 'turn-1' })
const TWO = shownPlanOf({ id: 'plan-bbbbbbbb', hash: 'b'.repeat(64), title: 'Write two', turn: 'turn-1' })
const OTHER = shownPlanOf({ id: 'plan-cccccccc', hash: 'c'.repeat(64), title: 'Write three', turn: 'turn-2' })
const LONG = shownPlanOf({ id: 'plan-llllllll', title: 'Write much', body: long(200) })

const answerTo = ({ id, hash }: typeof ONE, decision: 'approve' | 'deny', more = {}) => ({
  type: 'answer',
  answers: [{ plan: id, hash, decision, ...more }],
})

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
    'write_file (dangerous), no kernel',
    'a model, in /project',
    'plan-aaaaaaaa: 1 line, 4 bytes',
    'a'.repeat(64),
    'imago approve plan-aaaaaaaa --code k7mp-3xqr-9tfw-2hjd',
    '| one',
  ])
    assert.ok(text().includes(part), part)
})

test('y approves exactly what was shown', () => {
  const { tell, keys, text, desk } = openDesk()
  tell(ONE)
  assert.equal(keys('y'), answerTo(ONE, 'approve'))
  assert.match(text(), /approving…/)
  desk.answered(ONE.id, { type: 'taken' })
  assert.match(text(), /plan-aaaaaaaa approved/)
  assert.match(text(), /Nothing waits for you\./)
})

test('an answer is given once, however often its key is pressed', () => {
  const { tell, keys } = openDesk()
  tell(ONE)
  keys('y')
  assert.is(keys('y'), undefined)
  assert.is(keys('n'), undefined)
})

test('n asks why, and Enter alone gives no reason', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE)
  assert.is(keys('n'), undefined)
  assert.match(text(), /Why not\?/)
  assert.equal(keys('not today, y\r'), answerTo(ONE, 'deny', { reason: 'not today, y' }))
  const other = openDesk()
  other.tell(ONE)
  assert.equal(other.keys('n\r'), answerTo(ONE, 'deny'))
})

test('a reason is written with the keys of a line editor, and Escape goes back to the plan', () => {
  const { desk, tell, keys, key, text } = openDesk()
  tell(ONE)
  keys('ntoo much')
  key('alt-backspace')
  keys('long')
  key('ctrl-a')
  keys('far ')
  assert.equal(desk.paint().length, 24)
  assert.equal(desk.cursor, { row: 22, column: 14 })
  assert.match(text(), /Why not\? far too long/)
  key('escape')
  assert.not.match(text(), /Why not/)
  keys('n')
  assert.equal(keys('other\r'), answerTo(ONE, 'deny', { reason: 'other' }))
})

test('what is pasted is a reason where one is written, and no key elsewhere', () => {
  const { desk, tell, keys } = openDesk()
  tell(ONE)
  keys('')
  desk.paint()
  desk.rested()
  assert.is(desk.press({ type: 'paste', text: 'y' }), undefined)
  keys('n')
  desk.press({ type: 'paste', text: 'one\ntwo\n' })
  assert.equal(keys('\r'), answerTo(ONE, 'deny', { reason: 'one two' }))
})

test('nothing is approved before the end of its text was on the screen (threat 15)', () => {
  const { tell, keys, text } = openDesk()
  tell(LONG)
  assert.is(keys('y'), undefined)
  assert.match(text(), /G shows the end; y after that/)
  assert.match(text(), /Not all of it was on the screen yet/)
  keys('G')
  assert.match(text(), /y approve/)
  assert.equal(keys('y'), answerTo(LONG, 'approve'))
})

test('a text that was padded is approved after its far end was seen, and no sooner (threat 15)', () => {
  for (const body of [
    `x = 1;${' '.repeat(150_000)}last = 1`,
    `${'\n'.repeat(1_500)}last = 1`,
    `x = "${'é'.repeat(50_000)}"; last = 1`,
  ]) {
    const { tell, keys, text } = openDesk()
    tell(shownPlanOf({ ...ONE, body }))
    for (let screens = 0; !/last = 1/.test(text()); screens++) {
      assert.is(keys('y'), undefined)
      assert.ok(screens < 10_000)
      keys(screens % 3 === 0 ? '>' : ' ')
    }
    keys('>')
    assert.is(keys('y')?.type, 'answer')
  }
})

test('what was seen may be approved from its beginning, too', () => {
  const { tell, keys } = openDesk()
  tell(LONG)
  assert.equal(keys('G<y'), answerTo(LONG, 'approve'))
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

test('after an answer the rest of the turn comes next', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER, TWO)
  keys('y')
  desk.answered(ONE.id, { type: 'taken' })
  assert.match(text(), /^── plan-bbbbbbbb/m)
})

test('a approves the whole turn after it showed what was not seen of it, and no other turn', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE, shownPlanOf({ ...TWO, body: long(100) }), OTHER)
  assert.is(keys('a'), undefined)
  assert.match(text(), /All 2 plans of this turn/)
  assert.is(keys('y'), undefined)
  assert.match(text(), /Not all of it was on the screen yet/)
  assert.equal(keys('Gy'), {
    type: 'answer',
    answers: [ONE, TWO].map(({ id, hash }) => ({ plan: id, hash, decision: 'approve' })),
  })
})

test('a alone in its turn, and n to the question about a turn, do nothing', () => {
  const { tell, keys, text } = openDesk()
  tell(OTHER)
  keys('a')
  assert.match(text(), /It is the only plan of its turn/)
  tell(ONE, TWO)
  keys('2a')
  assert.match(text(), /All 2 plans of this turn/)
  assert.is(keys('n'), undefined)
  assert.match(text(), /^── plan-aaaaaaaa/m)
})

test('d denies the whole turn with one reason', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE, TWO, OTHER)
  keys('d')
  assert.match(text(), /Why none of these 2\?/)
  assert.equal(keys('no\r'), {
    type: 'answer',
    answers: [ONE, TWO].map(({ id, hash }) => ({ plan: id, hash, decision: 'deny', reason: 'no' })),
  })
})

test('g offers what the plan offers, a digit approves with it, and Escape does not', () => {
  const { tell, keys, text } = openDesk()
  tell(shownPlanOf({ ...ONE, grants: ['src/shop.py', 'src/*.py'] }))
  keys('g')
  assert.match(text(), /1 +src\/shop\.py\n +2 +src\/\*\.py/)
  assert.is(keys('3'), undefined)
  keys('\x1bg')
  assert.equal(keys('2'), answerTo(ONE, 'approve', { grant: 'src/*.py' }))
})

test('g says so where nothing can be granted, and waits for the end of the text', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE)
  keys('g')
  assert.match(text(), /can be let through/)
  const other = openDesk()
  other.tell(shownPlanOf({ ...LONG, grants: ['a.py'] }))
  other.keys('g')
  assert.match(other.text(), /Not all of it was on the screen yet/)
})

test('e gives the arguments to an editor, and answers with what came back', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(shownPlanOf({ ...ONE, args: { path: 'a.py', content: 'one\n' } }))
  const wish = keys('e')
  assert.ok(wish?.type === 'edit')
  assert.equal(JSON.parse(wish.text), { path: 'a.py', content: 'one\n' })
  for (const [written, said] of [
    ['{', /That is no JSON/],
    ['[1]', /Arguments are a JSON object/],
  ] as const) {
    assert.is(desk.edited(wish.about, { type: 'text', text: written }), undefined)
    assert.match(text(), said)
  }
  assert.is(desk.edited(wish.about, { type: 'unchanged' }), undefined)
  assert.is(desk.edited(wish.about, { type: 'failed', why: 'The editor is ill.' }), undefined)
  assert.match(text(), /The editor is ill\./)
  assert.equal(desk.edited(wish.about, { type: 'text', text: '{"path":"b.py"}' }), {
    type: 'answer',
    answers: [{ plan: ONE.id, hash: ONE.hash, decision: 'edit', args: { path: 'b.py' } }],
  })
})

test('e and s say so where there is nothing to edit or to split', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE)
  assert.is(keys('e'), undefined)
  assert.match(text(), /There are no arguments/)
  keys('s')
  assert.match(text(), /it has no hunks/)
})

test('q, Ctrl-C and Ctrl-D leave, and Ctrl-Z suspends', () => {
  const { tell, keys, key } = openDesk()
  assert.equal(keys('q'), { type: 'leave' })
  tell(ONE)
  assert.equal(keys('q'), { type: 'leave' })
  assert.equal(key('ctrl-c'), { type: 'leave' })
  assert.equal(key('ctrl-d'), { type: 'leave' })
  assert.equal(key('ctrl-z'), { type: 'suspend' })
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
  assert.match(text(), /What became of plans here[\s\S]*plan-aaaaaaaa {2}denied {2}Write one/)
  assert.is(keys('h'), undefined)
  assert.match(text(), /^── plan-bbbbbbbb/m)
})

test('somebody else who wants a seat is let in by y alone', () => {
  const wanted = {
    type: 'seat_wanted',
    id: 'wanted-1',
    who: 'terminal 9',
    terminal: '/dev/pts/9',
    pid: 9,
    command: 'imago watch',
  } as const
  const { desk, keys, text } = openDesk()
  desk.admit(wanted)
  assert.match(text(), /Somebody else wants to approve, too[\s\S]*imago watch/)
  assert.equal(keys('y'), { type: 'admit', wanted: 'wanted-1', admit: true })
  desk.admit(wanted)
  assert.equal(keys('n'), { type: 'admit', wanted: 'wanted-1', admit: false })
  desk.admit(wanted)
  assert.is(desk.waits, 1)
  desk.tell({ type: 'settled', id: 'wanted-1', why: 'It has gone.' })
  assert.is(desk.waits, 0)
})

test('trouble with the journal is asked about first, and noted with y', () => {
  const { desk, keys, text } = openDesk()
  desk.sits({ id: 'seat-2', who: 'me', others: [], trouble: 'The journal was cut.' })
  assert.match(text(), /Dangerous calls are refused:\n The journal was cut\./)
  assert.equal(keys('y'), { type: 'acknowledge' })
  assert.is(desk.waits, 0)
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
  // The list, the rule, and what the preview and the hunk have themselves.
  assert.is(forgedRows().length - before, 1 + 1 + 2)
  keys('n')
  keys(`${forged}\r`)
  assert.is(forgedRows().filter(row => !row.startsWith('──')).length - before, 1 - 1)
  desk.tell({ type: 'settled', id: 'plan-ffffffff', why: forged })
  assert.ok(rows().every(row => !/^ (?:tool +list|end +of)/.test(row)))
})

test('a note stays a while and then goes', () => {
  const { desk, text } = openDesk()
  desk.tell({ type: 'notice', text: 'seat-2 has left.' })
  assert.match(text(), /seat-2 has left/)
  desk.tick(7_999)
  assert.match(text(), /seat-2 has left/)
  desk.tick(8_000)
  assert.not.match(text(), /seat-2 has left/)
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
