import type { Plan } from '../../src/approvals/plan.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE, sitting, still } from '../support/book.ts'
import { errorOf, settled, until } from '../support/calls-rig.ts'
import { no, scriptedClient, YES } from '../support/clients.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { evidenceThat, type SomePlan, somePlan, somePlanOn } from '../support/plans.ts'
import { random } from '../support/random.ts'
import { type Reply, type ScriptedSeat, takeSeat } from '../support/seat.ts'
import { someHunks } from '../support/some-hunks.ts'

/** Plans that wait, and how they end: by themselves, and as a caller sees it where that is another thing. */
const test = suite('approvals')
const rig = fileRigsOf(test)

const typesTold = ({ told }: ScriptedSeat) => told.map(({ type }) => type)
const idsOf = (plans: readonly { readonly id: string }[]) => plans.map(({ id }) => id)

test('with nobody on a seat, or cancelled before, a plan is not put before anybody and does not wait', async () => {
  const { approvals, clock } = book()
  assert.equal(await approvals.ask(somePlan(), { signal: still }), { type: 'unavailable' })
  const person = takeSeat(approvals)
  const signal = new LightSignal()
  signal.abort()
  assert.equal(await approvals.ask(somePlan(), { signal }), { type: 'cancelled' })
  person.leave()
  assert.equal(await approvals.ask(somePlan(), { signal: still }), { type: 'unavailable' })
  assert.equal([approvals.seated, person.told, approvals.waiting(), clock.waiting], [false, [], [], 0])
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
  const { approvals, person, ask } = sitting()
  const [one, other] = [somePlan({ body: 'harmless' }), somePlan({ body: 'rm -rf' })]
  const answers = [ask(one), ask(other)]
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
  const { approvals, person, ask } = sitting()
  const [one, other] = [somePlan(), somePlan()]
  assert.is(one.hash, other.hash)
  const first = ask(one)
  void ask(other)
  person.answer('approve', one.id)
  assert.is((await first).type, 'approved')
  assert.equal(idsOf(approvals.waiting()), [other.id])
})

test('an answer counts once: again, later and in another session it does not (threat 19)', async () => {
  const { person, ask } = sitting()
  const plan = somePlan()
  const answer = ask(plan)
  assert.is(person.answer('approve', plan.id).type, 'taken')
  assert.equal(await answer, { type: 'approved', by: 'seat-1' })
  for (const reply of ['approve', 'deny'] as const)
    assert.equal(person.answer(reply, plan.id), { type: 'late', why: 'a scripted seat approved it.' })
  const restarted = book().approvals
  const seat = restarted.sit('another daemon')
  const given = { plan: plan.id, hash: plan.hash, decision: 'approve' } as const
  assert.equal(seat.answer(given), { type: 'unknown' })
  assert.equal(restarted.answerWithCode({ ...given, code: person.plans[0]?.code ?? '' }), { type: 'unknown' })
})

test('a seat that has left answers nothing, though it knows the plan (threat 4)', () => {
  const { approvals, person, ask } = sitting()
  const stays = takeSeat(approvals)
  const plan = somePlan()
  void ask(plan)
  person.leave()
  assert.is(person.answer('approve', plan.id).type, 'unknown')
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
  const news = { type: 'settled', id: plan.id, why: 'one denied it.' }
  assert.equal(
    seats.map(({ told }) => told.slice(1)),
    [[], [news], [news]],
  )
})

test('a plan waits for the next seat, which is told of all that waits, oldest first (fault 26)', async () => {
  const { approvals, clock, person, ask } = sitting()
  const plans = [somePlan({ title: 'one' }), somePlan({ title: 'two' })]
  const answers = plans.map(plan => ask(plan))
  person.leave()
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
  for (const answer of answers) assert.equal(await answer, { type: 'approved', by: 'seat-2' })
})

test('a preview is worked out once, however often what waits is listed and told, and no list has it (threat 36)', () => {
  const { approvals, ask } = sitting()
  let reads = 0
  const preview = {
    title: 'Do it',
    get body() {
      reads++
      return 'do it'
    },
  }
  const plan = { ...somePlan(), preview }
  void ask(plan)
  const once = reads
  const [listed] = approvals.waiting()
  takeSeat(approvals)
  assert.is(approvals.previewOf(plan.id)?.body, 'do it')
  assert.is(approvals.previewOf('plan-zzzzzzzz'), undefined)
  assert.is(reads, once)
  assert.not.ok(listed !== undefined && 'body' in listed)
})

test('eight plans of one caller may wait, however it connects, and 64 of all (threat 36)', () => {
  const { approvals, person, ask } = sitting()
  const put = (origin: string, n: number) => {
    const plan = somePlan({ origin, caller: `connection ${n}` })
    void ask(plan)
    return plan.id
  }
  const first = Array.from({ length: 8 }, (_, n) => put('a', n))
  assert.equal(approvals.limit('a'), { type: 'waiting', of: 'caller', waiting: 8, most: 8 })
  assert.is(approvals.limit('b'), undefined)
  person.answer('approve', first[0])
  assert.is(approvals.limit('a'), undefined)
  for (let n = 0; n < 57; n++) put(`other ${n}`, n)
  assert.equal(approvals.limit('b'), { type: 'waiting', of: 'all', waiting: 64, most: 64 })
  person.answer('deny', first[1])
  assert.is(approvals.limit('b'), undefined)
})

test('a person who changes the arguments is shown what they come to, though as many plans wait as may (threat 36)', async () => {
  const { run, seat, files } = rig()
  const person = seat()
  const calls = Array.from({ length: 8 }, (_, n) => run('put', { path: `${n}.txt`, text: 'theirs' }))
  await until(() => person.plans.length === 8)
  const ninth = errorOf(await run('put', PUT, { caller: { id: 'another connection' } }))
  assert.equal([ninth.code, ninth.details], ['busy', { waiting: 8, most: 8 }])
  person.answer({ edit: { path: '0.txt', text: 'mine' } }, person.plans[0]?.id)
  await until(() => person.plans.length === 9)
  person.answer('approve')
  assert.ok((await calls[0])?.ok)
  assert.is(files.text('0.txt'), 'mine')
})

test('two seats and a client that answer 200 plans crossed: each has one end, that of the first (fault 27)', async () => {
  const { approvals } = book()
  const seats = [takeSeat(approvals, undefined, 'one'), takeSeat(approvals, undefined, 'two')]
  const { below } = random(7)
  for (let n = 0; n < 200; n++) {
    const plan = somePlan({ origin: `host ${n}` })
    const client = scriptedClient()
    const answer = approvals.ask(plan, { signal: still, client })
    await client.asked()
    const ends: string[] = []
    const byClient = ['approve', 'deny'][below(2)]
    const steps = [
      () => client.answer(byClient === 'approve' ? YES : no('declined')),
      ...seats.map(seat => () => {
        const decision = below(2) === 0 ? 'approve' : 'deny'
        if (seat.answer(decision, plan.id).type === 'taken') ends.push(`${decision} ${seat.id}`)
      }),
    ]
    for (const _ of [...steps]) {
      const [step] = steps.splice(below(steps.length), 1)
      step?.()
      if (below(2) === 0) await settled()
    }
    const said = await answer
    const came = `${said.type === 'approved' ? 'approve' : 'deny'} ${'by' in said ? said.by : ''}`
    assert.ok(ends.length <= 1)
    assert.is(came, ends[0] ?? `${byClient} client a client`)
    await settled()
    assert.equal([approvals.waiting(), client.takenBack], [[], true])
    for (const seat of seats) assert.is(seat.answer('approve', plan.id).type, 'late')
  }
})

test('a thousand plans through one seat, however they end, leave no more behind than three hundred (threat 36)', async () => {
  const { approvals, clock, person } = sitting()
  const through = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const plan = somePlanOn(`src/f${n % 20}.py`, { caller: `caller ${n}` })
      const [signal, client] = [new LightSignal(), scriptedClient()]
      const answer = approvals.ask(plan, { signal, client, byDefault: { policyFile: '/policy.toml' } })
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
  // The ends of 256 plans, and how 64 of them came about; 32 notices; how often each of 20 files was asked about; the seat.
  assert.is(after300, 256 + 64 + 32 + 20 + 1)
})

// Over time.

test('nobody answers: after half an hour it counts as denied, and no clock is left running (fault 26)', async () => {
  const { approvals, clock, person, ask } = sitting()
  const plan = somePlan()
  const answer = ask(plan)
  await clock.pass(30 * MINUTE - 1)
  assert.is(approvals.waiting().length, 1)
  await clock.pass(1)
  assert.equal(await answer, { type: 'timed_out', afterMs: 30 * MINUTE })
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.is(clock.waiting, 0)
})

test('an hour that only the wall clock saw, as a suspended machine does, ends a plan (fault 25)', async () => {
  const { approvals, clock, wall, person, ask } = sitting()
  const plan = somePlan()
  const answer = ask(plan)
  wall.ahead = 60 * MINUTE
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.is((await answer).type, 'timed_out')
  wall.ahead = 0
  await clock.pass(10)
  assert.equal([person.answer('approve', plan.id).type, approvals.waiting()], ['late', []])
})

test('a wall clock that is set back gives no plan a longer life (fault 25)', async () => {
  const { clock, wall, person, ask } = sitting()
  const plan = somePlan()
  const answer = ask(plan)
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
    const { approvals, clock, wall, person, ask } = sitting()
    const plan = somePlan()
    const answer = ask(plan)
    person.answer('approve')
    assert.is((await answer).type, 'approved')
    assert.is(approvals.expired(plan), false)
    wall.ahead = jump
    if (jump === 0) await clock.pass(30 * MINUTE)
    assert.equal([approvals.expired(plan), approvals.expired(somePlan())], [true, false])
  })

test('what a plan was made from is looked at about once a second, and its moving ends the wait (fault 28)', async () => {
  const { clock, person, ask } = sitting()
  let moved: string | undefined
  let looks = 0
  const evidence = evidenceThat(() => {
    looks++
    return moved
  })
  const plan = somePlan({ evidence: [evidence] })
  const answer = ask(plan)
  await clock.pass(10_000)
  assert.is(looks, 10)
  moved = 'a.txt was changed'
  await clock.pass(1_000)
  assert.equal(await answer, { type: 'stale', causes: ['a.txt was changed'] })
  const why = 'It is out of date: a.txt was changed.'
  assert.equal(person.told.at(-1), { type: 'settled', id: plan.id, why })
  assert.equal(person.answer('approve', plan.id), { type: 'late', why })
})

test('evidence is looked at once at a time, and what is found after the answer changes nothing about it (fault 30)', async () => {
  const { approvals, clock, person, ask } = sitting()
  const other = takeSeat(approvals)
  const says: ((cause: string) => void)[] = []
  const moved = () => new Promise<string>(resolve => void says.push(resolve))
  const answer = ask(somePlan({ evidence: [{ ...evidenceThat(() => undefined), moved }] }))
  await clock.pass(20_000)
  assert.is(says.length, 1)
  person.answer('approve')
  says[0]?.('a.txt was changed')
  assert.is((await answer).type, 'approved')
  await settled()
  assert.equal([typesTold(person), typesTold(other)], [['plan'], ['plan', 'settled']])
})

test('evidence that cannot be looked at has moved', async () => {
  const { clock, ask } = sitting()
  const broken = { ...evidenceThat(() => undefined), moved: () => Promise.reject(new Error('EIO')) }
  const answer = ask(somePlan({ evidence: [broken] }))
  await clock.pass(1_000)
  assert.equal(await answer, { type: 'stale', causes: ['a.txt cannot be looked at any more'] })
})

// How plans ended.

test('each plan that waited is listed with its outcome and the cause, and with nothing of what it shows', async () => {
  const { approvals, clock, person, ask } = sitting()
  const gone = new LightSignal()
  const put = (given: SomePlan = {}, signal = new LightSignal()) => {
    const plan = somePlan({ title: 'Write a.py', body: 'the password\n', ...given })
    return { id: plan.id, answer: ask(plan, { signal }) }
  }
  const accept = { hunk: 1, decision: 'accept' } as const
  const refuse = (hunk: number) => ({ hunk, decision: 'refuse', reason: 'no' }) as const
  const answers: readonly (readonly [Reply, SomePlan?])[] = [
    ['approve'],
    [{ deny: 'the reason' }],
    [{ edit: { path: 'secret' } }],
    [{ choose: [accept, refuse(2)] }, { hunks: someHunks(2) }],
    [{ choose: [refuse(1), refuse(2)] }, { hunks: someHunks(2) }],
  ]
  for (const [reply, given] of answers) person.answer(reply, put(given).id)
  put({}, gone)
  gone.abort()
  put({ evidence: [evidenceThat(() => 'a.py has changed')] })
  await clock.pass(1_000)
  put()
  await clock.pass(30 * MINUTE)
  const last = put()
  approvals.close()
  assert.equal(await last.answer, { type: 'cancelled', reason: 'the daemon ended' })
  assert.equal(
    approvals.ends().map(({ outcome, why }) => [outcome, why]),
    [
      ['approved', 'a scripted seat approved it.'],
      ['denied', 'a scripted seat denied it.'],
      ['edited', 'a scripted seat approved it with other arguments, which are a plan of their own.'],
      ['approved_in_part', 'a scripted seat approved a part of it.'],
      ['denied', 'a scripted seat refused every part of it.'],
      ['withdrawn', 'Its caller gave up.'],
      ['stale', 'It is out of date: a.py has changed.'],
      ['timed_out', 'Nobody answered in time; it counts as denied.'],
      ['withdrawn', 'The daemon ends.'],
    ],
  )
  const [one] = approvals.ends()
  assert.equal([one?.tool, one?.title, one?.ago_ms], ['do_dangerous', 'Write a.py', 30 * MINUTE + 1_000])
  assert.not.match(JSON.stringify(approvals.ends()), /password|secret|the reason/)
  assert.equal([typesTold(person).at(-1), clock.waiting], ['settled', 0])
})

test('the last 64 ends are listed, oldest first', () => {
  const { approvals, person, ask } = sitting()
  const plans = Array.from({ length: 70 }, () => somePlan())
  for (const plan of plans) {
    void ask(plan)
    person.answer('approve', plan.id)
  }
  assert.equal(idsOf(approvals.ends()), idsOf(plans).slice(-64))
})

// Turns: plans that came together.

const turnsOf = ({ plans }: ScriptedSeat) => plans.map(({ turn }) => turn)

test('plans of one caller that come within a moment of the last one bear the name of the first', async () => {
  const { clock, person, ask } = sitting()
  const plans = [somePlan(), somePlan(), somePlan()]
  for (const plan of plans) {
    void ask(plan)
    await clock.pass(2_000)
  }
  const [first] = idsOf(plans)
  assert.equal(turnsOf(person), [first, first, first])
  await clock.pass(1)
  const later = somePlan()
  void ask(later)
  assert.is(turnsOf(person).at(-1), later.id)
})

test('a turn is over with the last of it that waits, is of one caller, and outlives what belonged to an earlier one', async () => {
  const { clock, person, ask } = sitting()
  const put = (plan: Plan) => {
    void ask(plan)
    return plan.id
  }
  const [old, other] = [put(somePlan()), put(somePlan({ caller: 'other' }))]
  await clock.pass(2_001)
  const first = put(somePlan())
  person.answer('approve', old)
  const second = put(somePlan())
  assert.equal(turnsOf(person), [old, other, first, first])
  person.answer('approve', first)
  person.answer('deny', second)
  const third = put(somePlan())
  assert.is(turnsOf(person).at(-1), third)
})

// Pauses: a person is not tired into a yes.

/** A person who answers at once whatever is put before them. */
function answering() {
  const made = sitting()
  return {
    ...made,
    answers(reply: Reply) {
      const plan = somePlan()
      void made.ask(plan)
      made.person.answer(reply, plan.id)
    },
    refusals: () => made.approvals.pauses()[0]?.refusals,
  }
}

test('of 100 plans in a row a person who refuses is shown three, however the caller connects (threat 36)', async () => {
  const { run, seat, files, journal, clock } = rig()
  const { plans, told } = seat(() => 'deny')
  const codes: string[] = []
  for (let n = 0; n < 100; n++) {
    const anew = { caller: { id: `client-${n}`, who: `name ${n}` }, call: `call-${n}` as CallId }
    codes.push(errorOf(await run('put', { path: `f${n}.txt`, text: 'x' }, anew)).code)
  }
  assert.equal(codes, [...Array(3).fill('denied'), ...Array(97).fill('busy')])
  assert.is(plans.length, 3)
  const error = errorOf(await run('put', PUT))
  assert.match(error.message, /A person has refused 3 plans of yours in a row\. .* Nothing ran/)
  assert.match(error.next ?? '', /^Stop here\. .*Tell the person/)
  assert.equal([error.retryable, error.details.left_ms], [false, 5 * MINUTE])
  assert.match(JSON.stringify(told.at(-1)), /3 plans of name 2 were refused in a row without a reason/)
  await clock.pass(5 * MINUTE)
  for (let n = 0; n < 3; n++) assert.is(errorOf(await run('put', PUT)).code, 'denied')
  assert.is(errorOf(await run('put', PUT)).code, 'busy')
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('plans of one turn that are refused are one refusal', () => {
  const { ask, person, refusals } = answering()
  const refuse = () => {
    const plans = [somePlan(), somePlan(), somePlan()]
    for (const plan of plans) void ask(plan)
    for (const { id } of plans) person.answer('deny', id)
    return refusals()
  }
  assert.equal([refuse(), refuse(), refuse()], [undefined, undefined, 3])
})

test('what comes after a refusal is of another turn, however many of the first one wait (threat 36)', () => {
  const { ask, answers, refusals } = answering()
  void ask()
  for (let n = 0; n < 3; n++) {
    assert.is(refusals(), undefined)
    answers('deny')
  }
  assert.is(refusals(), 3)
})

test('a refusal with a reason, and a yes, begin the count anew; what nobody answers is not counted', async () => {
  const { answers, ask, refusals, clock } = answering()
  for (const reply of ['approve', { deny: 'use tabs' }] as const) {
    for (let n = 0; n < 2; n++) answers('deny')
    answers(reply)
  }
  for (let n = 0; n < 2; n++) answers('deny')
  const gone = new LightSignal()
  void ask(somePlan(), { signal: gone })
  gone.abort()
  void ask()
  await clock.pass(30 * MINUTE)
  assert.is(refusals(), undefined)
  answers('deny')
  assert.is(refusals(), 3)
})

test('a pause is of one caller, and a plan of it that waits can be approved, which ends it (threat 36)', () => {
  const { answers, approvals, ask, person } = answering()
  const waits = somePlan()
  void ask(waits)
  for (let n = 0; n < 3; n++) answers('deny')
  assert.equal(approvals.limit(waits.origin), { type: 'paused', refusals: 3, leftMs: 5 * MINUTE })
  assert.is(approvals.limit('cli /elsewhere'), undefined)
  person.answer('approve', waits.id)
  assert.equal([approvals.limit(waits.origin), approvals.pauses()], [undefined, []])
})

test('a pause is told to every seat, stands in the journal and the list, and ends when a seat lifts it', async () => {
  const { answers, approvals, clock, journal, person } = answering()
  const said = (what: string) => journal.filter(entry => entry.type === 'seat' && entry.what === what)
  const hurried = approvals.sit('a hurried person')
  assert.equal([approvals.pauses(), hurried.lift(), said('lifted')], [[], 0, []])
  for (let n = 0; n < 3; n++) answers('deny')
  await clock.pass(MINUTE)
  assert.equal(approvals.pauses(), [{ who: 'a test', refusals: 3, left_ms: 4 * MINUTE }])
  const why =
    '3 plans of a test were refused in a row without a reason: none of it is put before you for 5 min 0 s.'
  assert.equal(person.told.at(-1), { type: 'notice', text: why })
  assert.equal(said('paused'), [{ type: 'seat', what: 'paused', seat: null, who: 'a test', why }])
  assert.equal([hurried.lift(), hurried.lift(), approvals.pauses()], [1, 0, []])
  assert.match(JSON.stringify(person.told.at(-1)), /a hurried person wants to be asked again/)
  const lifted = { type: 'seat', what: 'lifted', seat: 'seat-2', who: 'a hurried person', why: null }
  assert.equal(said('lifted'), [lifted])
  for (let n = 0; n < 3; n++) answers('deny')
  hurried.leave()
  assert.equal([hurried.lift(), approvals.pauses().length], [0, 1])
})

test('every seat is told how the call has ended that one of them approved, and none of a plan that was denied', async () => {
  const { approvals, person, ask } = sitting()
  const other = takeSeat(approvals)
  const plan = somePlan()
  const asked = ask(plan)
  person.answer('approve')
  await asked
  approvals.ended(plan.id, { outcome: 'ok', undo: 'plan-aaaaaaaa' })
  const denied = somePlan()
  const refused = ask(denied)
  other.answer('deny', denied.id)
  await refused
  approvals.ended(denied.id, { outcome: 'denied', undo: null })
  const told = { type: 'ended', id: plan.id, outcome: 'ok', undo: 'plan-aaaaaaaa' }
  for (const seat of [person, other])
    assert.equal(
      seat.told.filter(({ type }) => type === 'ended'),
      [told],
    )
})

test('a change that was taken back has no undo, and has it again once that was taken back', async () => {
  const { approvals, person, ask } = sitting()
  const plan = somePlan()
  const asked = ask(plan)
  person.answer('approve')
  await asked
  approvals.ended(plan.id, { outcome: 'ok', undo: 'plan-aaaaaaaa' })
  const undo = () => approvals.ends()[0]?.ended?.undo
  assert.is(undo(), 'plan-aaaaaaaa')
  approvals.tookBack('plan-aaaaaaaa', 'plan-bbbbbbbb')
  assert.is(undo(), null)
  assert.ok(approvals.ends()[0]?.ended?.taken_back)
  approvals.tookBack('plan-bbbbbbbb', 'plan-cccccccc')
  assert.is(undo(), 'plan-aaaaaaaa')
  assert.not.ok(approvals.ends()[0]?.ended?.taken_back)
})

test('the row of an undo, and that of its end, tell what it takes back, and whether that was an undo', async () => {
  const { approvals, person, ask } = sitting()
  const told = async (undoes: string | null) => {
    const asked = ask({ ...somePlan(), undoes })
    const [waiting] = approvals.waiting()
    person.answer('approve')
    await asked
    const end = approvals.ends().at(-1)
    assert.equal(waiting?.undoes, end?.undoes)
    return end?.undoes
  }
  assert.is(await told(null), undefined)
  assert.equal(await told('first'), { change: 'first', was_undo: false })
  approvals.tookBack('first', 'undo')
  assert.equal(await told('undo'), { change: 'undo', was_undo: true })
  approvals.tookBack('undo', 'redo')
  assert.equal(await told('redo'), { change: 'redo', was_undo: false })
})
