import { book } from '../support/book.ts'
import { ask, granted, HOUR, isLetThrough, noticesOf } from '../support/granted.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

/** By whom, and when they would end by themselves. */
const test = suite('grants that are ended')

test('how long a grant still holds is known, by the clock that is ahead (fault 25)', async () => {
  const made = await granted('src/**')
  const left = () => made.approvals.grants().map(({ ends_ms }) => ends_ms)
  assert.equal(left(), [8 * HOUR])
  await made.clock.pass(HOUR)
  assert.equal(left(), [7 * HOUR])
  made.wall.ahead = 3 * HOUR
  assert.equal(left(), [4 * HOUR])
})

test('a grant ends with the seat that gave it, and no other', async () => {
  const made = await granted('src/**')
  const other = takeSeat(made.approvals)
  const plan = somePlanOn('lib/a.py')
  void ask(made, plan)
  other.answer({ grant: 'lib/**' }, plan.id)
  made.person.leave()
  assert.equal(
    made.approvals.grants().map(({ id }) => id),
    ['grant-2'],
  )
  assert.match(noticesOf(other).at(-1) ?? '', /^grant-1, .*: over, because its seat was left/)
  const ended = made.journal.filter(entry => entry.type === 'seat' && entry.what === 'ended')
  assert.is(ended.length, 1)
  assert.is(await isLetThrough({ ...made, person: other }, somePlanOn('src/shop.py')), false)
  assert.is(await isLetThrough({ ...made, person: other }, somePlanOn('lib/b.py')), true)
})

test('anybody ends a grant, once, and is asked about it again', async () => {
  const made = await granted('src/**')
  assert.is(made.approvals.revoke('grant-2', 'somebody'), false)
  assert.is(made.approvals.revoke('grant-1', 'somebody'), true)
  assert.is(made.approvals.revoke('grant-1', 'somebody'), false)
  assert.is(await isLetThrough(made, somePlanOn('src/shop.py')), false)
  assert.match(noticesOf(made.person).at(-1) ?? '', /^grant-1, .*: revoked by somebody\./)
  assert.is(made.journal.filter(entry => entry.type === 'seat' && entry.what === 'revoked').length, 1)
})

test('what was let through by a grant that has ended since is not carried out any more', async () => {
  const made = await granted('src/**')
  const [one, other] = [somePlanOn('src/a.py'), somePlanOn('src/b.py')]
  await ask(made, one)
  assert.is(made.approvals.expired(one), false)
  made.approvals.revoke('grant-1', 'somebody')
  assert.equal([made.approvals.expired(one), made.approvals.expired(other)], [true, false])
})

test('grants are bounded: of more than 64 the oldest has ended', async () => {
  const made = book()
  const person = takeSeat(made.approvals)
  for (let n = 0; n < 70; n++) {
    const plan = somePlanOn(`folder${n}/a.py`)
    void ask(made, plan)
    person.answer({ grant: `folder${n}/**` }, plan.id)
  }
  const ids = made.approvals.grants().map(({ id }) => id)
  assert.equal([ids.length, ids[0], ids.at(-1)], [64, 'grant-7', 'grant-70'])
  const over = noticesOf(person).filter(text => text.includes(': over, because there are 64 others'))
  assert.equal([over.length, over[0]?.slice(0, 8)], [6, 'grant-1,'])
})
