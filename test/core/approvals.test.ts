import { LightSignal } from '../../wire/signal.ts'
import { book } from '../support/book.ts'
import { settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('approvals')

const still = new LightSignal()

test('with nobody on a seat a plan is unavailable at once, and waits for nobody', async () => {
  const { approvals, clock } = book()
  assert.equal(
    [approvals.seated, await approvals.ask(somePlan(), { signal: still })],
    [false, { type: 'unavailable' }],
  )
  takeSeat(approvals).leave()
  assert.equal(
    [approvals.seated, await approvals.ask(somePlan(), { signal: still })],
    [false, { type: 'unavailable' }],
  )
  assert.equal([approvals.waiting(), clock.waiting], [[], 0])
})

test('what was cancelled before it was asked is not asked', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const signal = new LightSignal()
  signal.abort()
  assert.equal(await approvals.ask(somePlan(), { signal }), { type: 'cancelled' })
  assert.equal(person.told, [])
})

test('the journal says who sat down and who left', () => {
  const { approvals, journal } = book()
  const seat = takeSeat(approvals, undefined, 'terminal /dev/pts/3 (process 4711)')
  seat.leave()
  seat.leave()
  const said = { type: 'seat', seat: 'seat-1', who: 'terminal /dev/pts/3 (process 4711)', why: null }
  assert.equal(journal, [
    { ...said, what: 'taken' },
    { ...said, what: 'left' },
  ])
})

test('an answer for another plan is refused by its hash, in both directions (threat 20)', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const [one, other] = [somePlan({ body: 'harmless' }), somePlan({ body: 'rm -rf' })]
  const answers = [approvals.ask(one, { signal: still }), approvals.ask(other, { signal: still })]
  assert.is(person.answer({ crossed: other.hash }, one.id).type, 'wrong_hash')
  assert.is(person.answer({ crossed: one.hash }, other.id).type, 'wrong_hash')
  assert.is(approvals.waiting().length, 2)
  person.answer('approve', one.id)
  person.answer({ deny: 'no' }, other.id)
  assert.equal(await Promise.all(answers), [
    { type: 'approved', by: 'seat-1' },
    { type: 'denied', by: 'seat-1', reason: 'no' },
  ])
})

test('two plans with the same content are two approvals (threat 20)', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const [one, other] = [somePlan(), somePlan()]
  assert.is(one.hash, other.hash)
  const first = approvals.ask(one, { signal: still })
  void approvals.ask(other, { signal: still })
  person.answer('approve', one.id)
  assert.is((await first).type, 'approved')
  assert.equal(
    approvals.waiting().map(({ id }) => id),
    [other.id],
  )
})

test('an answer counts once: again, later and in another session it does not (threat 19)', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still })
  assert.is(person.answer('approve', plan.id).type, 'taken')
  assert.equal(await answer, { type: 'approved', by: 'seat-1' })
  for (const reply of ['approve', 'deny'] as const)
    assert.equal(person.answer(reply, plan.id), { type: 'late', why: 'a scripted seat approved it.' })
  const restarted = book().approvals
  const seat = restarted.sit({ who: 'another daemon', tell: () => undefined })
  const given = { plan: plan.id, hash: plan.hash, decision: 'approve' } as const
  assert.equal(seat.answer(given), { type: 'unknown' })
  assert.equal(restarted.answerWithCode({ ...given, code: person.plans[0]?.code ?? '' }), { type: 'unknown' })
})

test('a seat that has left answers nothing, though it knows the plan (threat 4)', async () => {
  const { approvals } = book()
  const [gone, stays] = [takeSeat(approvals), takeSeat(approvals)]
  const plan = somePlan()
  void approvals.ask(plan, { signal: still })
  gone.leave()
  assert.is(gone.answer('approve', plan.id).type, 'unknown')
  assert.is(stays.answer('deny', plan.id).type, 'taken')
})

test('the first answer counts, the others are told of it and come late (fault 27)', async () => {
  const { approvals } = book()
  const seats = ['one', 'two', 'three'].map(who => takeSeat(approvals, undefined, who))
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still })
  const taken = seats.map((seat, index) => seat.answer(index === 0 ? 'deny' : 'approve', plan.id).type)
  assert.equal(taken, ['taken', 'late', 'late'])
  assert.equal(await answer, { type: 'denied', by: 'seat-1', reason: null })
  const settledNews = { type: 'settled', id: plan.id, why: 'one denied it.' }
  assert.equal(
    seats.map(({ told }) => told.slice(1)),
    [[], [settledNews], [settledNews]],
  )
})

test('a seat that answers while it is told leaves the others with the plan settled, not open', async () => {
  const { approvals } = book()
  const seat = approvals.sit({
    who: 'quick',
    tell: news => {
      if (news.type === 'plan') seat.answer({ plan: news.plan.id, hash: news.plan.hash, decision: 'approve' })
    },
  })
  const slow = takeSeat(approvals)
  assert.is((await approvals.ask(somePlan(), { signal: still })).type, 'approved')
  assert.equal(
    slow.told.map(({ type }) => type),
    ['settled'],
  )
})

test('a plan waits for the next seat, which is told of all that waits, oldest first (fault 26)', async () => {
  const { approvals, clock } = book()
  const first = takeSeat(approvals)
  const plans = [somePlan({ title: 'one' }), somePlan({ title: 'two' })]
  const answers = plans.map(plan => approvals.ask(plan, { signal: still }))
  first.leave()
  await clock.pass(90_000)
  const second = takeSeat(approvals)
  assert.equal(
    second.plans.map(({ title, waited_ms }) => [title, waited_ms]),
    [
      ['one', 90_000],
      ['two', 90_000],
    ],
  )
  for (const plan of plans) second.answer('approve', plan.id)
  assert.equal(
    (await Promise.all(answers)).map(answer => answer.type === 'approved' && answer.by),
    ['seat-2', 'seat-2'],
  )
})

test('a seat that cannot be told has left, and the plan goes on waiting (fault 26)', async () => {
  const { approvals, journal, faults } = book()
  approvals.sit({
    who: 'broken',
    tell: () => {
      throw new Error('EPIPE')
    },
  })
  const answer = approvals.ask(somePlan(), { signal: still })
  assert.equal([approvals.seated, approvals.waiting().length, faults.length], [false, 1, 1])
  assert.equal(
    journal.map(entry => entry.type === 'seat' && entry.what),
    ['taken', 'left'],
  )
  takeSeat(approvals, () => 'approve')
  assert.is((await answer).type, 'approved')
})

test('a preview is worked out once, however often what waits is listed and told, and no list has it (threat 36)', () => {
  const { approvals } = book()
  let reads = 0
  const preview = {
    title: 'Do it',
    get body() {
      reads++
      return 'do it'
    },
  }
  const plan = { ...somePlan(), preview }
  takeSeat(approvals)
  void approvals.ask(plan, { signal: still })
  const once = reads
  const [listed] = approvals.waiting()
  takeSeat(approvals)
  assert.equal(
    [approvals.previewOf(plan.id)?.body, approvals.previewOf('plan-zzzzzzzz')?.body],
    ['do it', undefined],
  )
  assert.is(reads, once)
  assert.not.ok(listed !== undefined && 'body' in listed)
})

test('when the daemon ends, all that waits is cancelled, and the seats are told', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const answers = [approvals.ask(somePlan(), { signal: still }), approvals.ask(somePlan(), { signal: still })]
  approvals.close()
  const ended = { type: 'cancelled', reason: 'the daemon ended' }
  assert.equal(await Promise.all(answers), [ended, ended])
  assert.equal(
    person.told.map(({ type }) => type),
    ['plan', 'plan', 'settled', 'settled'],
  )
  await settled()
  assert.is(clock.waiting, 0)
})

test('eight plans of one caller may wait, however it connects, and 64 of all (threat 36)', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const ask = (origin: string, n: number) => {
    const plan = somePlan({ origin, caller: `connection ${n}` })
    void approvals.ask(plan, { signal: still })
    return plan.id
  }
  const first = Array.from({ length: 8 }, (_, n) => ask('a', n))
  assert.equal(approvals.limit('a'), { type: 'waiting', of: 'caller', waiting: 8, most: 8 })
  assert.is(approvals.limit('b'), undefined)
  person.answer('approve', first[0])
  assert.is(approvals.limit('a'), undefined)
  for (let n = 0; n < 57; n++) ask(`other ${n}`, n)
  assert.equal(approvals.limit('b'), { type: 'waiting', of: 'all', waiting: 64, most: 64 })
  person.answer('deny', first[1])
  assert.is(approvals.limit('b'), undefined)
})

test('a reason is kept to the letter, within bounds', async () => {
  const { approvals } = book()
  takeSeat(approvals, () => ({ deny: `not "so"\n${'x'.repeat(10_000)}` }))
  const answer = await approvals.ask(somePlan(), { signal: still })
  assert.ok(answer.type === 'denied' && answer.reason?.startsWith('not "so"\nxxx'))
  assert.is(answer.type === 'denied' && answer.reason?.length, 2_000)
})
