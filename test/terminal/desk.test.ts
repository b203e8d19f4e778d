import type { Grant } from '../../src/approvals/contract.ts'
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

test('what waits is listed with its tool, its kernel, who asks and how long it has waited, which goes on', () => {
  const { desk, tell, text } = openDesk()
  assert.match(text(), /seat-1 · nothing waits[\s\S]*Nothing waits for you\./)
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

test('all that an approval is about is shown: title, tool, who, project, size, hash, code and notes', () => {
  const { tell, text } = openDesk()
  tell({ ...ONE, notes: ['What is defined may change until this runs.'] })
  for (const part of [
    'Write one',
    'write_file (dangerous), 1 line, 4 bytes, for a model in /project',
    'a'.repeat(64),
    'imago approve plan-aaaaaaaa --code k7mp-3xqr-9tfw-2hjd',
    ' note     What is defined may change until this runs.',
    '| one',
  ])
    assert.ok(text().includes(part), part)
  assert.not.match(text(), /LOOK/)
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

test('a plan that is told again shows what has changed, keeps its place, and has to stand anew', () => {
  const { desk, tell, text, keys } = openDesk()
  tell(ONE, OTHER)
  keys('j')
  desk.paint()
  desk.rested()
  tell({ ...OTHER, code: '', warnings: ['Three wrong codes were tried.'] })
  assert.is(desk.press({ type: 'text', text: 'y' }), undefined)
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

test('it is as large as the screen, and no row is wider', () => {
  for (const [columns, rows] of [
    [80, 24],
    [40, 10],
    [200, 60],
    [20, 5],
    [1, 1],
  ] as const) {
    const { desk, tell, keys, written } = openDesk({ columns, rows })
    for (let n = 0; n < 30; n++) tell({ ...LONG, id: `plan-${n}`, warnings: ['x'.repeat(90)] })
    for (const key of ['', 'G', 'n', 'a'.repeat(200), '\x1b', '?', 'q', 'h']) {
      keys(key)
      assert.is(written().length, rows)
      assert.ok(written().every(row => row.columns <= columns))
      const { cursor } = desk
      assert.ok(cursor === undefined || (cursor.row < rows && cursor.column < Math.max(2, columns)))
    }
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

test('notices are whole, one after the other, on wide screens and small ones, and h has them all', () => {
  for (const columns of [80, 40]) {
    const { desk, keys, text } = openDesk({ columns })
    for (const notice of NOTICES) desk.tell({ type: 'notice', text: notice })
    const seen = new Set<string>()
    for (let now = 0; now < 60_000; now += 1_000) {
      desk.tick(now)
      for (const notice of NOTICES) if (flat(text()).includes(notice)) seen.add(notice)
    }
    assert.equal([...seen], NOTICES)
    keys('h')
    for (const notice of NOTICES) assert.ok(flat(text()).includes(notice), notice)
  }
})

test('what a key comes to is whole at 40 columns, and takes no notice with it', () => {
  const { desk, tell, keys, text } = openDesk({ columns: 40 })
  tell(NOTED)
  keys('g')
  keys('2')
  desk.tell({ type: 'notice', text: 'Nothing more of it is asked.' })
  desk.answered(NOTED.id, { type: 'taken' })
  assert.match(
    flat(text()),
    /Nothing more of it is asked\. .*approved; src\/\*\.py is let through from now on, until this seat is left/,
  )
  tell({ ...ONE, args: { path: 'a.py' } })
  const about = { type: 'arguments', plan: ONE.id, suffix: '.json' } as const
  desk.edited(about, { type: 'text', text: '{"path": }' })
  assert.match(flat(text()), /not JSON any more: .*Nothing was sent\./)
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
  assert.match(text(), /There is no grant, and nobody is paused/)
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

test('who leaves in the middle of hunks is told how much is not sent, and goes only with another y or Ctrl-C', () => {
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
    assert.equal(leave === 'ctrl-c' ? key(leave) : keys('y'), { type: 'leave' })
  }
  const { tell, keys } = openDesk()
  tell(PROPOSED)
  keys('D\r')
  assert.is(keys('y')?.type, 'answer')
  assert.equal(keys('q'), { type: 'leave' })
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
