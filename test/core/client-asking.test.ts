import type { Plan } from '../../src/approvals/plan.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE } from '../support/book.ts'
import { errorOf, settled } from '../support/calls-rig.ts'
import { no, scriptedClient, YES } from '../support/clients.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { somePlan, somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('asking the client of a call')

const rig = fileRigsOf(test)

const still = new LightSignal()

test('a yes that nobody doubts approves, with nobody on a seat', async () => {
  const { approvals } = book()
  const client = scriptedClient()
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still, client })
  assert.is((await client.asked()).id, plan.id)
  client.answer(YES)
  assert.equal(await answer, { type: 'approved', by: 'client a client' })
})

test('whoever sits is told of a yes that counts, also where they were not shown the plan any more', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const there = async (plan: Plan) => {
    const client = scriptedClient('claude-code')
    const answer = approvals.ask(plan, { signal: still, client })
    await client.asked()
    client.answer(YES)
    await answer
    return person.told.slice(-2)
  }
  const [one, other] = [somePlanOn('src/a.py', { title: 'Write src/a.py' }), somePlan({ title: 'Do it' })]
  const why = 'The person at claude-code, which asks for it, approved it.'
  const said = `The person at claude-code approved ${one.id} there: Write src/a.py. To take it back: imago undo ${one.id}`
  assert.equal(await there(one), [
    { type: 'settled', id: one.id, why },
    { type: 'notice', text: said },
  ])
  const [, notice] = await there(other)
  assert.equal(notice, {
    type: 'notice',
    text: `The person at claude-code approved ${other.id} there: Do it`,
  })
})

test('a client is shown neither the code nor what could be granted: those are for seats alone (threat 5)', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const client = scriptedClient()
  void approvals.ask(somePlan(), { signal: still, client })
  const shown = await client.asked()
  assert.ok(person.plans[0]?.code)
  assert.not.match(JSON.stringify(shown), person.plans[0]?.code ?? '')
  assert.equal([shown.code, shown.grants], ['', []])
})

test('whose yes is doubted is not asked where nobody sits', async () => {
  const { approvals, clock } = book()
  const client = scriptedClient()
  client.doubted = 'it answers by itself'
  assert.equal(await approvals.ask(somePlan(), { signal: still, client }), { type: 'unavailable' })
  await settled()
  assert.equal([client.plans, clock.waiting], [[], 0])
})

test('a doubted yes is written down, told to the seats, and counts for nothing', async () => {
  const { approvals, journal } = book()
  const person = takeSeat(approvals)
  const client = scriptedClient('robot')
  client.doubted = 'it answers by itself'
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still, client })
  await client.asked()
  client.answer(YES)
  await settled()
  assert.is(approvals.waiting().length, 1)
  const why = `It said yes to ${plan.id}, which counts for nothing: it answers by itself.`
  assert.equal(journal.at(-1), { type: 'seat', what: 'doubted', seat: null, who: 'robot', why })
  assert.equal(person.told.at(-1), { type: 'notice', text: `robot: ${why}` })
  person.answer({ deny: 'no' }, plan.id)
  assert.equal(await answer, { type: 'denied', by: 'seat-1', reason: 'no' })
})

test('a yes that has come to be doubted while nobody sits is a refusal by nobody', async () => {
  const { approvals } = book()
  const client = scriptedClient()
  const answer = approvals.ask(somePlan(), { signal: still, client })
  await client.asked()
  client.doubted = 'it answered faster than anybody reads'
  client.answer(YES)
  assert.equal(await answer, {
    type: 'denied',
    by: 'client a client',
    reason: "its yes may not be a person's: it answered faster than anybody reads",
    unanswered: true,
  })
})

for (const [how, given, kept] of [
  ['declined', 'not like this', 'not like this'],
  ['declined', null, null],
  ['cancelled', null, 'they dismissed the question'],
] as const)
  test(`${how} at the client is a refusal at once, also while somebody sits (${given})`, async () => {
    const { approvals } = book()
    const person = takeSeat(approvals)
    const client = scriptedClient()
    client.doubted = 'it answers by itself'
    const plan = somePlan()
    const answer = approvals.ask(plan, { signal: still, client })
    await client.asked()
    client.answer(no(how, given))
    assert.equal(await answer, { type: 'denied', by: 'client a client', reason: kept })
    assert.is(person.told.at(-1)?.type, 'settled')
    assert.is(person.answer('approve', plan.id).type, 'late')
  })

for (const how of ['failed', 'silent'] as const)
  test(`${how} at the client never approves: whoever sits is waited for, and without them it is denied`, async () => {
    const { approvals } = book()
    const client = scriptedClient()
    const alone = approvals.ask(somePlan(), { signal: still, client })
    await client.asked()
    client.answer(no(how))
    const refused = await alone
    assert.equal([refused.type, refused.type === 'denied' && refused.unanswered], ['denied', true])
    const person = takeSeat(approvals)
    const other = scriptedClient()
    const seated = approvals.ask(somePlan(), { signal: still, client: other })
    await other.asked()
    other.answer(no(how))
    await settled()
    assert.is(approvals.waiting().length, 1)
    person.answer('approve')
    assert.equal(await seated, { type: 'approved', by: 'seat-1' })
  })

test('a client that throws has failed, and denies where nobody sits', async () => {
  const { approvals } = book()
  const client = { ...scriptedClient(), ask: () => Promise.reject(new Error('gone')) }
  assert.is((await approvals.ask(somePlan(), { signal: still, client })).type, 'denied')
  const thrower = {
    ...scriptedClient(),
    ask: () => {
      throw new Error('gone')
    },
  }
  assert.is((await approvals.ask(somePlan(), { signal: still, client: thrower })).type, 'denied')
})

test('somebody who sits down while a client is asked is waited for once it is silent', async () => {
  const { approvals } = book()
  const client = scriptedClient()
  const answer = approvals.ask(somePlan(), { signal: still, client })
  await client.asked()
  const person = takeSeat(approvals)
  client.answer(no('silent'))
  await settled()
  person.answer('approve')
  assert.is((await answer).type, 'approved')
})

for (const first of ['seat', 'client'] as const)
  test(`a seat and a client that answer crossed and at once: the first counts, once; ${first} (fault 27)`, async () => {
    const { approvals } = book()
    const [person, other] = [takeSeat(approvals), takeSeat(approvals)]
    const client = scriptedClient()
    const plan = somePlan()
    const answer = approvals.ask(plan, { signal: still, client })
    await client.asked()
    if (first === 'seat') {
      assert.is(person.answer({ deny: 'no' }, plan.id).type, 'taken')
      client.answer(YES)
    } else {
      client.answer(YES)
      await settled()
      assert.is(person.answer({ deny: 'no' }, plan.id).type, 'late')
    }
    const by = first === 'seat' ? { type: 'denied', by: 'seat-1', reason: 'no' } : undefined
    assert.equal(await answer, by ?? { type: 'approved', by: 'client a client' })
    await settled()
    assert.equal([client.takenBack, approvals.waiting()], [true, []])
    assert.is(other.told.filter(({ type }) => type === 'settled').length, 1)
  })

for (const [what, end] of [
  ['expired', { type: 'timed_out', afterMs: 30 * MINUTE }],
  ['withdrawn', { type: 'cancelled' }],
  ['ended with the daemon', { type: 'cancelled', reason: 'the daemon ended' }],
] as const)
  test(`the question is taken back from a client when its plan has ${what}, and a late yes is nothing`, async () => {
    const { approvals, clock } = book()
    const client = scriptedClient()
    const signal = new LightSignal()
    const answer = approvals.ask(somePlan(), { signal, client })
    await client.asked()
    if (what === 'expired') await clock.pass(30 * MINUTE)
    else if (what === 'withdrawn') signal.abort()
    else approvals.close()
    assert.equal(await answer, end)
    assert.is(client.takenBack, true)
    client.answer(YES)
    await settled()
    assert.equal([approvals.waiting(), clock.waiting], [[], 0])
  })

test('a yes that comes after the machine slept past the end of the plan approves nothing (fault 25)', async () => {
  const { approvals, wall } = book()
  const client = scriptedClient()
  const answer = approvals.ask(somePlan(), { signal: still, client })
  await client.asked()
  wall.ahead = 31 * MINUTE
  client.answer(YES)
  assert.is((await answer).type, 'timed_out')
})

test('what a client refuses, however often, is not what a person on a seat refuses: it begins no pause (threat 36)', async () => {
  const { approvals } = book()
  for (let n = 0; n < 5; n++) {
    const client = scriptedClient()
    const plan = somePlan()
    const answer = approvals.ask(plan, { signal: still, client })
    await client.asked()
    client.answer(no('declined'))
    assert.is((await answer).type, 'denied')
    assert.equal(approvals.pauses(), [])
  }
})

test('a name that a client gives itself is no seat, and holds nothing that does not show (threat 4)', async () => {
  const { approvals } = book()
  const client = scriptedClient('seat-1\u202e\n')
  const answer = approvals.ask(somePlan(), { signal: still, client })
  await client.asked()
  client.answer(YES)
  assert.equal(await answer, { type: 'approved', by: 'client seat-1\ufffd\ufffd' })
})

test('a call whose client can be asked is not refused because nobody sits, and is carried out once', async () => {
  const { run, files, journal } = rig()
  const client = scriptedClient()
  const answered = run('put', PUT, { caller: { client } })
  await client.asked()
  client.answer(YES)
  assert.ok((await answered).ok)
  assert.is(files.text('a.txt'), 'new')
  const lines = await journal()
  assert.is(lines.find(({ type }) => type === 'decided')?.by, 'client a client')
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('whoever called is told whether a person refused at the client, or nobody answered there', async () => {
  const { run, files } = rig()
  const ask = async (how: 'declined' | 'silent') => {
    const client = scriptedClient()
    const answered = run('put', PUT, { caller: { client }, call: `call-${how}` as CallId })
    await client.asked()
    client.answer(no(how))
    return errorOf(await answered)
  }
  const [declined, silent] = [await ask('declined'), await ask('silent')]
  assert.equal([declined.code, silent.code], ['denied', 'denied'])
  assert.match(declined.message, /^A person refused put/)
  assert.match(silent.message, /^No person has approved put .* nobody answered there\. Nothing ran/)
  assert.is(files.text('a.txt'), 'old')
})

test('a call whose client is doubted is refused at once where nobody sits', async () => {
  const { run } = rig()
  const client = scriptedClient()
  client.doubted = 'it answers by itself'
  assert.is(errorOf(await run('put', PUT, { caller: { client } })).code, 'approval_unavailable')
  assert.equal(client.plans, [])
})
