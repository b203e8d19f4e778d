import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'
import { PROPOSED } from '../support/watch-plans.ts'

/** No key that is meant for one plan hits another, whatever comes and goes meanwhile. */
const test = suite('keys at a desk')

const ONE = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), title: 'Write one', turn: 'turn-1' })
const TWO = shownPlanOf({ id: 'plan-bbbbbbbb', hash: 'b'.repeat(64), title: 'Write two', turn: 'turn-1' })
const OTHER = shownPlanOf({ id: 'plan-cccccccc', hash: 'c'.repeat(64), title: 'Write three', turn: 'turn-2' })
const LATE = { type: 'late', why: 'terminal 9 denied it.' } as const

/** All keys that answer anything. */
const ANSWERS = ['y', 'n', 'a', 'd', 'e', 's', 'g', '1']

const press = (desk: ReturnType<typeof openDesk>['desk'], text: string) => desk.press({ type: 'text', text })
const settle = (desk: ReturnType<typeof openDesk>['desk'], { id }: typeof ONE) =>
  desk.tell({ type: 'settled', id, why: 'Its caller gave up.' })

for (const key of ANSWERS)
  test(`${key} does nothing before what it would answer was painted and stood (threat 20)`, () => {
    const { desk, tell, text } = openDesk()
    tell(shownPlanOf({ ...ONE, args: { a: 1 }, grants: ['a.py'] }), TWO)
    assert.is(press(desk, key), undefined)
    desk.paint()
    assert.is(desk.settling, true)
    assert.is(press(desk, key), undefined)
    assert.not.match(text(), /Why|All 2 plans|approving/)
  })

for (const key of ANSWERS)
  test(`${key} does nothing when what it was meant for was settled under the cursor (threat 20)`, () => {
    const { desk, tell, keys, text } = openDesk()
    tell(shownPlanOf({ ...ONE, args: { a: 1 }, grants: ['a.py'] }), TWO, OTHER)
    keys('')
    desk.paint()
    desk.rested()
    settle(desk, ONE)
    // Before anything was painted of it, and afterwards, however long.
    assert.is(press(desk, key), undefined)
    assert.is(keys(key), undefined)
    assert.match(text(), /plan-aaaaaaaa needs no answer any more\.\n Its caller gave up\./)
    assert.not.match(text(), /Why|All 2 plans|approving/)
    keys('\r')
    assert.match(text(), /^── plan-bbbbbbbb/m)
    assert.is(press(desk, key), undefined)
  })

test('a reason that is being written when its plan is settled goes nowhere, nor do its keys (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, TWO)
  keys('nbecau')
  settle(desk, ONE)
  assert.is(keys('se you say yes, jq1'), undefined)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  // The Enter that was to send it.
  assert.is(keys('\r'), undefined)
  assert.match(text(), /^── plan-bbbbbbbb/m)
  assert.equal(keys('y'), {
    type: 'answer',
    answers: [{ plan: TWO.id, hash: TWO.hash, decision: 'approve' }],
  })
})

test('a reason goes to the plan that it was begun for, whatever comes and goes beside it', () => {
  const { desk, tell, keys } = openDesk()
  tell(ONE, OTHER)
  keys('nbe')
  tell(TWO)
  settle(desk, OTHER)
  assert.equal(keys('cause\r'), {
    type: 'answer',
    answers: [{ plan: ONE.id, hash: ONE.hash, decision: 'deny', reason: 'because' }],
  })
})

test('a turn that is to be approved together is asked about anew when one of it is settled (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, TWO)
  keys('a')
  assert.match(text(), /All 2 plans of this turn/)
  settle(desk, TWO)
  assert.is(keys('y'), undefined)
  assert.match(text(), /plan-bbbbbbbb needs no answer any more/)
  keys('\r')
  assert.match(text(), /^── plan-aaaaaaaa/m)
})

test('a plan that comes later is in no turn that is being approved', () => {
  const { tell, keys } = openDesk()
  tell(ONE, TWO)
  keys('a')
  tell(shownPlanOf({ ...ONE, id: 'plan-dddddddd', hash: 'd'.repeat(64) }))
  const wish = keys('y')
  assert.equal(wish?.type === 'answer' && wish.answers.map(({ plan }) => plan), [ONE.id, TWO.id])
})

test('another plan that is settled goes with a note, and changes nothing of the one that is looked at', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER)
  keys('')
  desk.paint()
  desk.rested()
  settle(desk, OTHER)
  assert.equal(press(desk, 'y'), {
    type: 'answer',
    answers: [{ plan: ONE.id, hash: ONE.hash, decision: 'approve' }],
  })
  assert.match(text(), /plan-cccccccc needs no answer any more: Its caller gave up\./)
})

test('what was withdrawn makes room by itself once no key was pressed for a while', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER)
  desk.tick(1_000)
  settle(desk, ONE)
  desk.tick(10_999)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  keys('y')
  desk.tick(20_998)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  desk.tick(20_999)
  assert.match(text(), /^── plan-cccccccc/m)
})

test('a key that comes at once behind an answer is for nothing that the answer brought up', () => {
  const { desk, tell, text } = openDesk()
  tell(ONE, OTHER)
  desk.paint()
  desk.rested()
  const wish = press(desk, 'yyy')
  assert.equal(wish?.type === 'answer' && wish.answers.map(({ plan }) => plan), [ONE.id])
  desk.answered(ONE.id, { type: 'taken' })
  assert.is(press(desk, 'y'), undefined)
  assert.match(text(), /^── plan-cccccccc/m)
})

test('what comes at once behind n is its reason', () => {
  const { desk, tell, keys } = openDesk()
  tell(ONE)
  desk.paint()
  desk.rested()
  press(desk, 'nyes and no')
  const wish = keys('\r')
  assert.equal(wish?.type === 'answer' && wish.answers[0]?.reason, 'yes and no')
})

test('each hunk has to stand before a key answers it (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk({ rows: 50 })
  tell(PROPOSED)
  keys('y')
  assert.match(text(), /hunk +2 of 3/)
  assert.is(press(desk, 'y'), undefined)
  assert.match(text(), /hunk +2 of 3/)
})

test('an answer that came too late says so, and the next plan is not answered by it (fault 27)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER)
  keys('y')
  desk.answered(ONE.id, LATE)
  assert.match(text().replace(/\s+/g, ' '), /did not count: it came too late\. terminal 9 denied it\./)
  assert.is(keys('y'), undefined)
  keys('\r')
  assert.match(text(), /^── plan-cccccccc/m)
})

test('an answer that is settled by somebody else before its own end is known says so once (fault 27)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE)
  keys('y')
  desk.tell({ type: 'settled', id: ONE.id, why: 'terminal 9 denied it.' })
  desk.answered(ONE.id, LATE)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  assert.is(desk.waits, 0)
  assert.is(desk.past.length, 1)
})

test('an answer that does not fit leaves the plan to be answered', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE)
  keys('y')
  desk.answered(ONE.id, { type: 'unfit', why: 'that grant was not offered.' })
  assert.match(text(), /did not count: that grant was not offered\./)
  assert.is(keys('y')?.type, 'answer')
})

test('what was asked before something else had the screen has to stand again', () => {
  const { desk, tell } = openDesk()
  tell(ONE)
  desk.paint()
  desk.rested()
  desk.shownAgain()
  assert.is(press(desk, 'y'), undefined)
  desk.paint()
  assert.is(press(desk, 'y'), undefined)
  desk.rested()
  assert.is(press(desk, 'y')?.type, 'answer')
})

test('a seat that somebody wants is not granted by a key for a plan (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk()
  const wanted = {
    type: 'seat_wanted',
    id: 'wanted-1',
    who: 'x',
    terminal: 'y',
    pid: 9,
    command: 'z',
  } as const
  tell(ONE)
  keys('')
  desk.paint()
  desk.rested()
  desk.admit(wanted)
  settle(desk, ONE)
  assert.is(press(desk, 'y'), undefined)
  keys('\r')
  assert.match(text(), /Is that you\?/)
  desk.tell({ type: 'settled', id: 'wanted-1', why: 'It has gone.' })
  assert.is(keys('y'), undefined)
})
