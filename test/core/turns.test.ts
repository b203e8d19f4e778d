import { LightSignal } from '../../wire/signal.ts'
import { book } from '../support/book.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('turns')
const still = new LightSignal()

test('plans of one caller that come within a moment of the last one bear the name of the first', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const plans = [somePlan(), somePlan(), somePlan(), somePlan()]
  for (const plan of plans) {
    void approvals.ask(plan, { signal: still })
    await clock.pass(2_000)
  }
  assert.equal(
    person.plans.map(({ turn }) => turn),
    plans.map(() => plans[0]?.id),
  )
  assert.equal(
    approvals.waiting().map(({ turn }) => turn),
    plans.map(() => plans[0]?.id),
  )
  await clock.pass(1)
  const later = somePlan()
  void approvals.ask(later, { signal: still })
  assert.is(person.plans.at(-1)?.turn, later.id)
})

test('a turn is over with the last of it that waits, and is of one caller', () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const [first, other, second, third] = [somePlan(), somePlan({ caller: 'other' }), somePlan(), somePlan()]
  for (const plan of [first, other, second]) void approvals.ask(plan, { signal: still })
  assert.equal(
    person.plans.map(({ turn }) => turn),
    [first.id, other.id, first.id],
  )
  person.answer('approve', first.id)
  person.answer('deny', second.id)
  void approvals.ask(third, { signal: still })
  assert.is(person.plans.at(-1)?.turn, third.id)
})

test('what belonged to an earlier turn of the caller, and is answered late, ends no later one', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const [old, first, second] = [somePlan(), somePlan(), somePlan()]
  void approvals.ask(old, { signal: still })
  await clock.pass(2_001)
  void approvals.ask(first, { signal: still })
  person.answer('approve', old.id)
  void approvals.ask(second, { signal: still })
  assert.equal(
    person.plans.map(({ turn }) => turn),
    [old.id, first.id, first.id],
  )
})
