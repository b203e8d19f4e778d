import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE } from '../support/book.ts'
import { settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { evidenceThat, somePlan } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('approvals over time')

const still = new LightSignal()

test('nobody answers: after half an hour it counts as denied, and no clock is left running (fault 26)', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still })
  await clock.pass(30 * MINUTE - 1)
  assert.is(approvals.waiting().length, 1)
  await clock.pass(1)
  assert.equal(await answer, { type: 'timed_out', afterMs: 30 * MINUTE })
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.is(clock.waiting, 0)
})

test('an hour that only the wall clock saw, as a suspended machine does, ends a plan (fault 25)', async () => {
  const { approvals, clock, wall } = book()
  const person = takeSeat(approvals)
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still })
  wall.ahead = 60 * MINUTE
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.is((await answer).type, 'timed_out')
  wall.ahead = 0
  await clock.pass(10)
  assert.equal([person.answer('approve', plan.id).type, approvals.waiting()], ['late', []])
})

test('a wall clock that is set back gives no plan a longer life (fault 25)', async () => {
  const { approvals, clock, wall } = book()
  const person = takeSeat(approvals)
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still })
  wall.ahead = -60 * MINUTE
  await clock.pass(30 * MINUTE)
  assert.is((await answer).type, 'timed_out')
  assert.is(person.answer('approve', plan.id).type, 'late')
})

for (const [what, jump] of [
  ['set forward', 60 * MINUTE],
  ['passed by', 0],
] as const)
  test(`an approval that was not used yet expires as well: time was ${what} (fault 25)`, async () => {
    const { approvals, clock, wall } = book()
    takeSeat(approvals, () => 'approve')
    const plan = somePlan()
    assert.is((await approvals.ask(plan, { signal: still })).type, 'approved')
    assert.is(approvals.expired(plan), false)
    wall.ahead = jump
    if (jump === 0) await clock.pass(30 * MINUTE)
    assert.is(approvals.expired(plan), true)
    assert.is(approvals.expired(somePlan()), false)
  })

test('what a plan was made from is looked at about once a second, and its moving ends the wait (fault 28)', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  let moved: string | undefined
  let looks = 0
  const evidence = evidenceThat(() => {
    looks++
    return moved
  })
  const plan = somePlan({ evidence: [evidence] })
  const answer = approvals.ask(plan, { signal: still })
  await clock.pass(10_000)
  assert.is(looks, 10)
  moved = 'a.txt was changed'
  await clock.pass(1_000)
  assert.equal(await answer, { type: 'stale', causes: ['a.txt was changed'] })
  const why = 'It is out of date: a.txt was changed.'
  assert.equal(person.told.at(-1), { type: 'settled', id: plan.id, why })
  assert.equal(person.answer('approve', plan.id), { type: 'late', why })
})

test('evidence that is found to have moved after the answer changes nothing about it (fault 30)', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const other = takeSeat(approvals)
  let say: (cause: string) => void = () => undefined
  const moved = () =>
    new Promise<string>(resolve => {
      say = resolve
    })
  const answer = approvals.ask(somePlan({ evidence: [{ ...evidenceThat(() => undefined), moved }] }), {
    signal: still,
  })
  await clock.pass(1_000)
  person.answer('approve')
  say('a.txt was changed')
  assert.is((await answer).type, 'approved')
  await settled()
  assert.equal(
    [person, other].map(({ told }) => told.map(({ type }) => type)),
    [['plan'], ['plan', 'settled']],
  )
})

test('evidence that cannot be looked at has moved', async () => {
  const { approvals, clock } = book()
  takeSeat(approvals)
  const broken = { ...evidenceThat(() => undefined), moved: () => Promise.reject(new Error('EIO')) }
  const answer = approvals.ask(somePlan({ evidence: [broken] }), { signal: still })
  await clock.pass(1_000)
  assert.equal(await answer, { type: 'stale', causes: ['a.txt cannot be looked at any more'] })
})

test('evidence that takes long to look at is looked at once at a time', async () => {
  const { approvals, clock } = book()
  takeSeat(approvals)
  let looks = 0
  const slow = {
    ...evidenceThat(() => undefined),
    moved: () => {
      looks++
      return new Promise<undefined>(() => undefined)
    },
  }
  void approvals.ask(somePlan({ evidence: [slow] }), { signal: still })
  await clock.pass(20_000)
  assert.is(looks, 1)
})
