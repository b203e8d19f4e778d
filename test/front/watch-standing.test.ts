import type { Grant } from '../../src/core/approvals.ts'
import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'
import { PROPOSED } from '../support/watch-plans.ts'

/** What holds besides plans, and leaving with something that was not sent. */
const test = suite('what stands at a desk')

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
