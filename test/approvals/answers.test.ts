import type { Choice } from '../../tools/contract.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { type Book, book, MINUTE, sitting, still } from '../support/book.ts'
import { errorOf, settled } from '../support/calls-rig.ts'
import { no, scriptedClient, YES } from '../support/clients.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan, somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'
import { someHunks } from '../support/some-hunks.ts'

/** Choices on a seat, codes for scripts, and the client that a call came from. */
const test = suite('answers')
const rig = fileRigsOf(test)

const accept = (hunk: number): Choice => ({ hunk, decision: 'accept' })
const refuse = (hunk: number, reason: string | null = null): Choice => ({ hunk, decision: 'refuse', reason })
const edit = (hunk: number, text: string): Choice => ({ hunk, decision: 'edit', text, reason: null })

test('choices that do not fit the hunks are refused, and the plan goes on waiting for ones that do', async () => {
  const { approvals, person, ask } = sitting()
  const answer = ask(somePlan({ hunks: someHunks(2) }))
  const whys: [readonly Choice[], RegExp][] = [
    [[], /Not every hunk is decided/],
    [[accept(1)], /hunk 2 is not/],
    [[accept(1), accept(2), accept(3)], /no hunk 3/],
    [[accept(1), refuse(1)], /decided twice/],
    [[accept(1), edit(2, 'unwritable')], /hunk 2 cannot be written/],
  ]
  for (const [choices, why] of whys) {
    const taken = person.answer({ choose: choices })
    assert.match(taken.type === 'unfit' ? taken.why : taken.type, why)
  }
  assert.is(approvals.waiting().length, 1)
  const choices = [edit(1, 'mine\n'), refuse(2, 'not this one')]
  assert.is(person.answer({ choose: choices }).type, 'taken')
  assert.equal(await answer, { type: 'chosen', by: 'seat-1', choices })
  assert.is(person.answer({ choose: choices }).type, 'late')
  void ask(somePlan())
  assert.is(person.answer({ choose: [accept(1)] }).type, 'unfit')
})

test('a reason is kept to the letter, within bounds', async () => {
  const { person, ask } = sitting()
  const answer = ask(somePlan({ hunks: someHunks(2) }))
  person.answer({ choose: [refuse(1, 'x'.repeat(10_000)), refuse(2, '')] })
  const choices = [refuse(1, 'x'.repeat(2_000)), refuse(2, null)]
  assert.equal(await answer, { type: 'chosen', by: 'seat-1', choices })
  const denied = ask()
  person.answer({ deny: `not "so"\n${'x'.repeat(10_000)}` })
  assert.equal(await denied, { type: 'denied', by: 'seat-1', reason: `not "so"\n${'x'.repeat(1_991)}` })
})

test('a part that was approved ends refusals in a row, and every part refused is one of them (threat 36)', () => {
  const { approvals, person, ask } = sitting()
  const give = (choices: readonly Choice[]) => {
    const plan = somePlan({ hunks: someHunks(2) })
    void ask(plan)
    person.answer({ choose: choices }, plan.id)
    return approvals.pauses()[0]?.refusals
  }
  const none = [refuse(1), refuse(2)]
  assert.equal([give(none), give(none), give([accept(1), refuse(2)])], [undefined, undefined, undefined])
  assert.equal([give(none), give(none), give(none)], [undefined, undefined, 3])
})

// Codes.

const SEVENS = '7777-7777-7777-7777'

const giveCode = ({ approvals }: Book, plan: string | undefined, code: string | undefined) =>
  approvals.answerWithCode({ plan: plan ?? '', code: code ?? '', decision: 'approve' }).type

const refusalsIn = ({ journal }: Book) =>
  journal.filter(entry => entry.type === 'seat' && entry.what === 'refused')

test('a code has 80 random bits, is told to seats alone, and answers its own plan once', async () => {
  const made = sitting()
  const { approvals, person, ask } = made
  const [plan, second] = [somePlan(), somePlan()]
  const [answer] = [ask(plan), ask(second)]
  const [code = '', other] = person.plans.map(shown => shown.code)
  assert.match(code, /^(?:[0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
  assert.not.match(JSON.stringify(approvals.waiting()), code)
  const taken = [other, code, code].map(given => giveCode(made, plan.id, given))
  assert.equal(taken, ['wrong_code', 'taken', 'late'])
  assert.equal(await answer, { type: 'approved', by: `code of ${plan.id}` })
  const why = 'A script that had its code approved it.'
  assert.equal(person.told.at(-1), { type: 'settled', id: plan.id, why })
})

test('each letter of a code is drawn evenly from 32, and it is taken as people type it', () => {
  for (const given of [
    '0123456789ABCDEF',
    ' 0123 4567 89ab cdef',
    'OI23-4567-89ab-cdef',
    'ol23456789abcdef',
  ]) {
    const limits: number[] = []
    const made = sitting({ randomness: limit => limits.push(limit) - 1 })
    void made.ask()
    assert.equal([limits, made.person.plans[0]?.code], [Array(16).fill(32), '0123-4567-89ab-cdef'])
    assert.is(giveCode(made, made.person.plans[0]?.id, given), 'taken', given)
  }
})

test('three wrong codes end the code of a plan, the seats are warned, and a seat can still answer', async () => {
  const made = sitting({ randomness: () => 7 })
  const { person, ask } = made
  const plan = somePlan()
  const answer = ask(plan)
  for (const code of ['', '7777-7777-7777-777', '7777-7777-7777-7778', SEVENS, SEVENS])
    assert.is(giveCode(made, plan.id, code), 'wrong_code')
  assert.equal(
    person.plans.map(({ code }) => code),
    [SEVENS, ''],
  )
  assert.match(person.plans[1]?.warnings.join() ?? '', '3 wrong codes')
  assert.is(refusalsIn(made).length, 1)
  assert.is(person.answer('approve', plan.id).type, 'taken')
  assert.is((await answer).type, 'approved')
})

test('after ten wrong codes, of whatever plans, none works until a seat answers something (threat 5)', () => {
  const made = sitting({ randomness: () => 7 })
  const { person, ask } = made
  const guessed = Array.from({ length: 5 }, () => somePlan())
  const [other, later] = [somePlan(), somePlan()]
  for (const plan of [...guessed, other]) void ask(plan)
  for (const { id } of guessed)
    for (const code of ['a', 'b']) assert.is(giveCode(made, id, code), 'wrong_code')
  const text = '10 wrong codes were tried. No code works until a plan is answered on a seat.'
  assert.equal(person.told.at(-1), { type: 'notice', text })
  assert.is(refusalsIn(made).length, 1)
  assert.is(giveCode(made, other.id, SEVENS), 'wrong_code')
  void ask(later)
  assert.match(person.plans.at(-1)?.warnings.join() ?? '', 'No code works')
  assert.is(person.answer({ deny: 'who guesses?' }, guessed[0]?.id).type, 'taken')
  assert.equal([giveCode(made, later.id, SEVENS), giveCode(made, other.id, SEVENS)], ['taken', 'taken'])
})

// The client of a call.

/** A client that is asked about a plan; `answer` is how that ends. */
async function clientAsked(made: Book, client = scriptedClient(), plan = somePlan()) {
  const answer = made.approvals.ask(plan, { signal: still, client })
  await client.asked()
  return { client, plan, answer }
}

test('a yes that nobody doubts approves, with nobody on a seat', async () => {
  const { client, answer } = await clientAsked(book())
  client.answer(YES)
  assert.equal(await answer, { type: 'approved', by: 'client a client' })
})

test('whoever sits is told of a yes that counts, also where they were not shown the plan any more', async () => {
  const made = sitting()
  for (const [plan, said] of [
    [
      somePlanOn('src/a.py', { title: 'Write src/a.py' }),
      /approved (plan-\w+) there: Write src\/a\.py\. .* undo \1$/,
    ],
    [somePlan({ title: 'Do it' }), /approved plan-\w+ there: Do it$/],
  ] as const) {
    const { client, answer } = await clientAsked(made, scriptedClient('claude-code'), plan)
    client.answer(YES)
    await answer
    const [settledNews, notice] = made.person.told.slice(-2)
    const why = 'The person at claude-code, which asks for it, approved it.'
    assert.equal(settledNews, { type: 'settled', id: plan.id, why })
    assert.match(notice?.type === 'notice' ? notice.text : '', said)
  }
})

test('a client is shown neither the code nor what could be granted: those are for seats alone (threat 5)', async () => {
  const made = sitting()
  const { client } = await clientAsked(made)
  const [shown] = client.plans
  assert.ok(made.person.plans[0]?.code)
  assert.not.match(JSON.stringify(shown), made.person.plans[0]?.code ?? '')
  assert.equal([shown?.code, shown?.grants], ['', []])
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
  const made = sitting()
  const client = scriptedClient('robot')
  client.doubted = 'it answers by itself'
  const { plan, answer } = await clientAsked(made, client)
  client.answer(YES)
  await settled()
  assert.is(made.approvals.waiting().length, 1)
  const why = `It said yes to ${plan.id}, which counts for nothing: it answers by itself.`
  assert.equal(made.journal.at(-1), { type: 'seat', what: 'doubted', seat: null, who: 'robot', why })
  assert.equal(made.person.told.at(-1), { type: 'notice', text: `robot: ${why}` })
  made.person.answer({ deny: 'no' }, plan.id)
  assert.equal(await answer, { type: 'denied', by: 'seat-1', reason: 'no' })
})

test('a yes that has come to be doubted while nobody sits refuses nothing: nobody could be asked', async () => {
  const { client, answer } = await clientAsked(book())
  client.doubted = 'it answered faster than anybody reads'
  client.answer(YES)
  assert.equal(await answer, {
    type: 'unavailable',
    by: 'client a client',
    reason: "its yes may not be a person's: it answered faster than anybody reads",
  })
})

for (const given of ['not like this', null])
  test(`declined at the client is a refusal at once, also while somebody sits (${given})`, async () => {
    const made = sitting()
    const { client, plan, answer } = await clientAsked(made)
    client.doubted = 'it answers by itself'
    client.answer(no('declined', given))
    assert.equal(await answer, { type: 'denied', by: 'client a client', reason: given })
    assert.is(made.person.told.at(-1)?.type, 'settled')
    assert.is(made.person.answer('approve', plan.id).type, 'late')
  })

for (const [how, ends] of [
  ['failed', 'unavailable'],
  ['silent', 'unavailable'],
  ['cancelled', 'dismissed'],
] as const)
  test(`${how} at the client never approves: who sits by then is waited for, and without them it is ${ends}`, async () => {
    const made = book()
    const alone = await clientAsked(made)
    alone.client.answer(no(how))
    assert.is((await alone.answer).type, ends)
    const seated = await clientAsked(made)
    const person = takeSeat(made.approvals)
    seated.client.answer(no(how))
    await settled()
    assert.is(made.approvals.waiting().length, 1)
    person.answer('approve')
    assert.equal(await seated.answer, { type: 'approved', by: 'seat-1' })
  })

test('a client that throws has failed, and nobody could be asked where nobody sits', async () => {
  const throws = () => {
    throw new Error('gone')
  }
  for (const ask of [throws, async () => throws()]) {
    const client = { ...scriptedClient(), ask }
    assert.is((await book().approvals.ask(somePlan(), { signal: still, client })).type, 'unavailable')
  }
})

for (const first of ['seat', 'client'] as const)
  test(`a seat and a client that answer crossed and at once: the first counts, once; ${first} (fault 27)`, async () => {
    const made = sitting()
    const other = takeSeat(made.approvals)
    const { client, plan, answer } = await clientAsked(made)
    if (first === 'client') {
      client.answer(YES)
      await settled()
    }
    const { type } = made.person.answer({ deny: 'no' }, plan.id)
    if (first === 'seat') client.answer(YES)
    const denied = { type: 'denied', by: 'seat-1', reason: 'no' }
    const approved = { type: 'approved', by: 'client a client' }
    assert.equal([type, await answer], first === 'seat' ? ['taken', denied] : ['late', approved])
    await settled()
    assert.equal([client.takenBack, made.approvals.waiting()], [true, []])
    assert.is(other.told.filter(news => news.type === 'settled').length, 1)
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
  const made = book()
  const { client, answer } = await clientAsked(made)
  made.wall.ahead = 31 * MINUTE
  client.answer(YES)
  assert.is((await answer).type, 'timed_out')
})

test('what a client refuses, however often, is not what a person on a seat refuses: it begins no pause (threat 36)', async () => {
  const made = book()
  for (let n = 0; n < 5; n++) {
    const { client, answer } = await clientAsked(made)
    client.answer(no('declined'))
    assert.is((await answer).type, 'denied')
  }
  assert.equal(made.approvals.pauses(), [])
})

test('a name that a client gives itself is no seat, and holds nothing that does not show (threat 4)', async () => {
  const { client, answer } = await clientAsked(book(), scriptedClient('seat-1\u202e\n'))
  client.answer(YES)
  assert.equal(await answer, { type: 'approved', by: 'client seat-1\ufffd\ufffd' })
})

test('a caller is told whether its dialog refused, was closed without a choice, or gave no answer', async () => {
  const { run, files } = rig()
  const ask = async (how: 'declined' | 'silent' | 'cancelled') => {
    const client = scriptedClient()
    const answered = run('put', PUT, { caller: { client }, call: `call-${how}` as CallId })
    await client.asked()
    client.answer(no(how))
    return errorOf(await answered)
  }
  const [declined, silent, closed] = [await ask('declined'), await ask('silent'), await ask('cancelled')]
  assert.equal(
    [declined.code, silent.code, closed.code],
    ['denied', 'approval_unavailable', 'approval_dismissed'],
  )
  assert.match(declined.message, /^The dialog of a client refused put/)
  assert.match(closed.message, /^The dialog of a client was closed without a choice on put/)
  assert.match(
    silent.message,
    /^No person has approved put .* In the dialog of a client: nobody answered there\. Nothing ran/,
  )
  assert.is(files.text('a.txt'), 'old')
})
