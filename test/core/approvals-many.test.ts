import type { CallId } from '../../wire/kernel.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE } from '../support/book.ts'
import { errorOf, settled, until } from '../support/calls-rig.ts'
import { no, scriptedClient, YES } from '../support/clients.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { somePlan, somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('many plans')
const rig = fileRigsOf(test)
const still = new LightSignal()
const byDefault = { policyFile: '/home/me/.config/imago/policy.toml' }

test('of 100 prompts eight are shown, and another may come with each that is answered (threat 36)', async () => {
  const { run, seat, files, journal } = rig({ options: { pending: 200 } })
  const person = seat()
  const answers = Array.from({ length: 100 }, (_, n) => run('put', { path: `f${n}.txt`, text: 'x' }))
  for (const answer of answers.slice(8)) {
    const error = errorOf(await answer)
    assert.is(error.code, 'busy')
    assert.match(
      error.message,
      /^8 plans of this caller, .* wait for a person, and 8 is the most\. .* nothing ran\.$/,
    )
    assert.equal(error.details, { waiting: 8, most: 8 })
  }
  const anew = { caller: { id: 'another connection' }, call: 'call-anew' as CallId }
  assert.is(errorOf(await run('put', PUT, anew)).code, 'busy')
  assert.is(person.plans.length, 8)
  const shown = [...person.plans]
  person.answer('approve', shown[0]?.id)
  await settled()
  const next = run('put', PUT)
  await until(() => person.plans.length === 9)
  for (const { id } of [...person.plans].slice(1)) person.answer('approve', id)
  assert.ok((await next).ok)
  for (const answer of answers.slice(0, 8)) assert.ok((await answer).ok)
  assert.is(files.effects.length, 9)
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('a person who changes the arguments is shown what they come to, though as many plans wait as may (threat 36)', async () => {
  const { run, seat, files } = rig()
  const person = seat()
  const calls = Array.from({ length: 8 }, (_, n) => run('put', { path: `${n}.txt`, text: 'theirs' }))
  await until(() => person.plans.length === 8)
  assert.is(errorOf(await run('put', PUT)).code, 'busy')
  person.answer({ edit: { path: '0.txt', text: 'mine' } }, person.plans[0]?.id)
  await until(() => person.plans.length === 9)
  person.answer('approve')
  assert.ok((await calls[0])?.ok)
  assert.is(files.text('0.txt'), 'mine')
})

test('two seats and a client that answer 200 plans crossed: each has one end, that of the first (fault 27)', async () => {
  const { approvals } = book()
  const seats = [takeSeat(approvals, undefined, 'one'), takeSeat(approvals, undefined, 'two')]
  let state = 7
  const random = (limit: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * limit)
  }
  for (let n = 0; n < 200; n++) {
    const plan = somePlan({ origin: `host ${n}` })
    const client = scriptedClient()
    const answer = approvals.ask(plan, { signal: still, client })
    await client.asked()
    const ends: string[] = []
    const byClient = ['approve', 'deny'][random(2)]
    const steps = [
      () => client.answer(byClient === 'approve' ? YES : no('declined')),
      ...seats.map(seat => () => {
        const decision = random(2) === 0 ? 'approve' : 'deny'
        if (seat.answer(decision, plan.id).type === 'taken') ends.push(`${decision} ${seat.id}`)
      }),
    ]
    for (const _ of [...steps]) {
      const [step] = steps.splice(random(steps.length), 1)
      step?.()
      if (random(2) === 0) await settled()
    }
    const said = await answer
    const by = 'by' in said ? said.by : ''
    const came = `${said.type === 'approved' ? 'approve' : 'deny'} ${by}`
    assert.is(ends.length <= 1, true)
    assert.is(came, ends[0] ?? `${byClient} client a client`)
    await settled()
    assert.equal([approvals.waiting(), client.takenBack], [[], true])
    for (const seat of seats) assert.is(seat.answer('approve', plan.id).type, 'late')
  }
})

test('a seat that vanishes with plans open leaves each to the next seat, or to its end as denied (fault 26)', async () => {
  const { approvals, clock } = book()
  const plans = [somePlanOn('a.py'), somePlanOn('b.py')]
  const first = takeSeat(approvals)
  const answers = plans.map(plan => approvals.ask(plan, { signal: still }))
  let broken = false
  const told: string[] = []
  approvals.sit({
    who: 'a terminal that is closed',
    tell: news => {
      if (broken) throw new Error('EPIPE')
      if (news.type === 'plan') told.push(news.plan.id)
    },
  })
  assert.equal(
    told,
    plans.map(({ id }) => id),
  )
  broken = true
  assert.is(first.answer('approve', plans[0]?.id).type, 'taken')
  first.leave()
  assert.is(approvals.seated, false)
  const next = takeSeat(approvals)
  assert.equal(
    next.plans.map(({ id }) => id),
    [plans[1]?.id],
  )
  next.leave()
  await clock.pass(30 * MINUTE)
  assert.equal(
    (await Promise.all(answers)).map(({ type }) => type),
    ['approved', 'timed_out'],
  )
})

test('a thousand plans through one seat, however they end, leave no more behind than three hundred (threat 36)', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const through = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const plan = somePlanOn(`src/f${n % 20}.py`, { caller: `caller ${n}` })
      const [signal, client] = [new LightSignal(), scriptedClient()]
      const answer = approvals.ask(plan, { signal, client, byDefault })
      if (n % 5 === 0) person.answer('approve', plan.id)
      else if (n % 5 === 1) person.answer({ deny: 'no' }, plan.id)
      else if (n % 5 === 2) signal.abort()
      else if (n % 5 === 3) await clock.pass(30 * MINUTE)
      else {
        await client.asked()
        client.answer(YES)
      }
      await answer
    }
    return approvals.kept()
  }
  const after300 = await through(0, 300)
  assert.equal([await through(300, 1_000), clock.waiting, approvals.waiting()], [after300, 0, []])
  // The ends of 256 plans, and how 64 of them came about; how often each of 20 files was asked about; and the seat.
  assert.is(after300, 256 + 64 + 20 + 1)
})
