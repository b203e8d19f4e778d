import { unifiedDiff } from '../../tools/diff.ts'
import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('answers at a desk')

const long = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}`).join('\n')
const ONE = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), title: 'Write one', turn: 'turn-1' })
const TWO = shownPlanOf({ id: 'plan-bbbbbbbb', hash: 'b'.repeat(64), title: 'Write two', turn: 'turn-1' })
const OTHER = shownPlanOf({ id: 'plan-cccccccc', hash: 'c'.repeat(64), title: 'Write three', turn: 'turn-2' })
const LONG = shownPlanOf({ id: 'plan-llllllll', title: 'Write much', body: long(200) })

const answerTo = ({ id, hash }: typeof ONE, decision: 'approve' | 'deny', more = {}) => ({
  type: 'answer',
  answers: [{ plan: id, hash, decision, ...more }],
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

test('at 80×24, one line of a file is approved with one key while another plan waits', () => {
  const before = Array.from({ length: 30 }, (_, n) => `line_${n} = ${n}\n`).join('')
  const diff = unifiedDiff({ path: 'a.py', before, after: before.replace('= 12', '= 120') })
  const body = `Edits a.py: 1 line added, 1 removed.\n\n${diff.text}`
  const edit = { tool: 'edit_file', title: 'Edit a.py', who: 'claude-code', root: '/home/ada/shop', body }
  // Asked for the third time: the rule that is told then does not have to be looked at each time.
  const often = { times: 3, rule: '[[rule]]\ndecision = "allow"\ntool = "edit_file"\npath = "a.py"\n' }
  const { tell, keys, text } = openDesk({ columns: 80, rows: 24 })
  const plan = shownPlanOf({ ...ONE, ...edit, ...often })
  tell(plan, shownPlanOf({ ...TWO, ...edit }))
  assert.match(text(), /\| {2}line_15 = 15/)
  assert.equal(keys('y'), answerTo(plan, 'approve'))
})

test('of the headings of a file in a difference only those that say something are rows', () => {
  const diff = unifiedDiff({ path: 'a.py', before: 'one\n', after: 'two\n' })
  const { tell, text } = openDesk()
  tell(shownPlanOf({ ...ONE, body: diff.text }))
  assert.match(text(), /^\| --- a\/a\.py\n\| \+\+\+ b\/a\.py\n\| @@/m)
  assert.not.match(text(), /diff --git/)
  for (const body of [
    diff.text.replace('+++ b/a.py', '+++ b/other.py'),
    diff.text.replace('--- a/a.py', '--- /dev/null'),
    'diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\nno difference\n',
  ]) {
    const other = openDesk()
    other.tell(shownPlanOf({ ...ONE, body }))
    assert.match(other.text(), /^\| diff --git a\/a\.py b\/a\.py$/m)
  }
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
    ['{', /are not JSON any more/],
    ['[1]', /have to be one JSON object/],
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
