import { openPauses } from '../../src/core/pauses.ts'
import type { CallId } from '../../wire/kernel.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE } from '../support/book.ts'
import { errorOf, HandClock, settled } from '../support/calls-rig.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { somePlan } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('pauses')
const rig = fileRigsOf(test)

test('of 100 plans in a row a person who refuses is shown three (threat 36)', async () => {
  const { run, seat, files, journal } = rig()
  const person = seat(() => 'deny')
  const codes: string[] = []
  for (let n = 0; n < 100; n++) codes.push(errorOf(await run('put', { path: `f${n}.txt`, text: 'x' })).code)
  assert.equal(codes, [...Array(3).fill('denied'), ...Array(97).fill('busy')])
  assert.is(person.plans.length, 3)
  const error = errorOf(await run('put', PUT))
  assert.match(
    error.message,
    /A person has refused 3 plans of yours in a row\. .* for 1 min 0 s\. Nothing ran/,
  )
  assert.match(error.next ?? '', /^Stop here\. .*Tell the person/)
  assert.equal([error.retryable, error.details.left_ms], [false, MINUTE])
  assert.match(JSON.stringify(person.told.at(-1)), /3 plans of test were refused in a row/)
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('of 100 plans at once eight are shown, and the third time all of them are refused, no others (threat 36)', async () => {
  const { run, seat, files } = rig({ options: { pending: 200 } })
  const person = seat()
  for (const shown of [8, 16, 24]) {
    const answers = Array.from({ length: 100 }, (_, n) => run('put', { path: `f${n}.txt`, text: 'x' }))
    for (const answer of answers.slice(8)) assert.is(errorOf(await answer).code, 'busy')
    for (const { id } of [...person.plans]) person.answer('deny', id)
    for (const answer of answers.slice(0, 8)) assert.is(errorOf(await answer).code, 'denied')
    assert.is(person.plans.length, shown)
  }
  // The refusals of what was asked before it do not make the pause longer.
  assert.is(errorOf(await run('put', PUT)).details.left_ms, MINUTE)
  assert.equal([person.plans.length, files.effects.length], [24, 0])
})

test('plans of one turn that are refused are one refusal, and the correction of them may come', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const put = (count: number) => {
    const plans = Array.from({ length: count }, () => somePlan())
    for (const plan of plans) void approvals.ask(plan, { signal: new LightSignal() })
    return plans
  }
  const deny = (plans: readonly { readonly id: string }[]) => {
    for (const { id } of plans) person.answer({ deny: 'use tabs' }, id)
  }
  const { origin } = somePlan()
  for (const _ of 'ab') {
    deny(put(3))
    assert.is(approvals.paused(origin), undefined)
  }
  deny(put(3))
  assert.is(approvals.paused(origin)?.refusals, 3)
  await clock.pass(MINUTE)
})

test('what comes after a refusal is of another turn, however many of the first one wait (threat 36)', () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const put = () => {
    const plan = somePlan()
    void approvals.ask(plan, { signal: new LightSignal() })
    return plan
  }
  put()
  const { origin } = put()
  const turns = new Set<string | undefined>()
  for (let n = 0; n < 3; n++) {
    assert.is(approvals.paused(origin), undefined)
    const { id } = put()
    turns.add(person.plans.at(-1)?.turn)
    person.answer('deny', id)
  }
  assert.equal([turns.size, approvals.paused(origin)?.refusals], [3, 3])
})

test('a pause is told to every seat, stands in the journal and the list, and ends when a seat lifts it', async () => {
  const { approvals, clock, journal } = book()
  const [person, other] = [takeSeat(approvals), takeSeat(approvals)]
  const refuse = () => {
    const plan = somePlan()
    void approvals.ask(plan, { signal: new LightSignal() })
    person.answer('deny', plan.id)
  }
  const said = (what: string) => journal.filter(entry => entry.type === 'seat' && entry.what === what)
  const seat = approvals.sit({ who: 'a hurried person', tell() {} })
  assert.equal([approvals.pauses(), seat.lift(), said('lifted')], [[], 0, []])
  for (let n = 0; n < 3; n++) refuse()
  await clock.pass(MINUTE / 4)
  assert.equal(approvals.pauses(), [{ who: 'a test', refusals: 3, left_ms: (MINUTE / 4) * 3 }])
  const why = '3 plans of a test were refused in a row: none of it is put before you for 1 min 0 s.'
  for (const { told } of [person, other]) assert.equal(told.at(-1), { type: 'notice', text: why })
  assert.equal(said('paused'), [{ type: 'seat', what: 'paused', seat: null, who: 'a test', why }])
  assert.equal([seat.lift(), seat.lift(), approvals.pauses()], [1, 0, []])
  assert.is(approvals.paused(somePlan().origin), undefined)
  for (const { told } of [person, other])
    assert.match(JSON.stringify(told.at(-1)), /a hurried person wants to be asked again/)
  assert.equal(said('lifted'), [
    { type: 'seat', what: 'lifted', seat: 'seat-3', who: 'a hurried person', why: null },
  ])
  for (let n = 0; n < 3; n++) refuse()
  seat.leave()
  assert.equal([seat.lift(), approvals.pauses().length], [0, 1])
})

test('a pause of all names nobody', () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  for (let n = 0; n < 10; n++) {
    const plan = somePlan({ origin: `host ${n}`, caller: `client-${n}` })
    void approvals.ask(plan, { signal: new LightSignal() })
    person.answer('deny', plan.id)
  }
  assert.equal(approvals.pauses(), [{ who: null, refusals: 10, left_ms: MINUTE }])
})

test('connecting anew, under another name too, does not end a pause (threat 36)', async () => {
  const { run, seat } = rig()
  const person = seat(() => 'deny')
  for (let n = 0; n < 20; n++) {
    const caller = { id: `client-${n}`, who: `name ${n}` }
    const { code } = errorOf(await run('put', PUT, { caller, call: `call-${n}` as CallId }))
    assert.is(code, n < 3 ? 'denied' : 'busy')
  }
  assert.is(person.plans.length, 3)
})

test('a pause is of one origin, until ten plans in a row are refused whoever asks (threat 36)', async () => {
  const { run, seat } = rig()
  const person = seat(() => 'deny')
  const codes: string[] = []
  for (let n = 0; n < 12; n++)
    codes.push(errorOf(await run('put', PUT, { caller: { origin: `host ${n}` } })).code)
  assert.equal(codes, [...Array(10).fill('denied'), 'busy', 'busy'])
  assert.is(person.plans.length, 10)
  const error = errorOf(await run('put', PUT, { caller: { origin: 'host 99' } }))
  assert.match(error.message, /refused 10 plans in a row, of whoever asked/)
  assert.match(JSON.stringify(person.told.at(-1)), /10 plans were refused in a row: none is put before you/)
})

test('each refusal after a pause begins a longer one, and an approval begins anew (threat 36)', async () => {
  const { run, seat, clock } = rig()
  let reply: 'deny' | 'approve' = 'deny'
  const person = seat(() => reply)
  const left = async () => errorOf(await run('put', PUT)).details.left_ms
  for (let n = 0; n < 3; n++) await run('put', PUT)
  for (const minutes of [1, 5, 30, 30]) {
    assert.is(await left(), minutes * MINUTE)
    await clock.pass(minutes * MINUTE - 1)
    assert.is(await left(), 1)
    await clock.pass(1)
    assert.is(errorOf(await run('put', PUT)).code, 'denied')
  }
  await clock.pass(30 * MINUTE)
  reply = 'approve'
  assert.ok((await run('put', PUT)).ok)
  reply = 'deny'
  for (let n = 0; n < 2; n++) await run('put', { ...PUT, text: 'other' })
  assert.is(errorOf(await run('put', { ...PUT, text: 'other' })).code, 'denied')
  assert.is(person.plans.length, 11)
})

test('a plan that waits can be approved in a pause, and ends it; so does a new seat (threat 36)', async () => {
  const { approvals } = book()
  const still = new LightSignal()
  const person = takeSeat(approvals)
  const plans = Array.from({ length: 4 }, (_, n) => somePlan({ caller: `client-${n}` }))
  for (const plan of plans) void approvals.ask(plan, { signal: still })
  const deny = () => {
    for (const { id } of plans.slice(0, 3)) person.answer('deny', id)
  }
  deny()
  const { origin } = plans[0] ?? somePlan()
  assert.equal(approvals.paused(origin), { of: 'origin', refusals: 3, leftMs: MINUTE })
  assert.is(approvals.paused('cli /elsewhere'), undefined)
  person.answer('approve', plans[3]?.id)
  assert.is(approvals.paused(origin), undefined)
  for (const plan of Array.from({ length: 3 }, () => somePlan())) {
    void approvals.ask(plan, { signal: still })
    person.answer('deny', plan.id)
  }
  assert.is(approvals.paused(origin)?.refusals, 3)
  takeSeat(approvals)
  assert.is(approvals.paused(origin), undefined)
})

test('only what a person says counts: what expires, moves or is withdrawn begins no pause', async () => {
  const { approvals, clock } = book()
  takeSeat(approvals)
  for (let n = 0; n < 5; n++) {
    const [gone, late] = [new LightSignal(), somePlan()]
    void approvals.ask(somePlan(), { signal: gone })
    void approvals.ask(late, { signal: new LightSignal() })
    gone.abort()
    await clock.pass(30 * MINUTE)
    assert.is(approvals.paused(late.origin), undefined)
  }
})

test('refusals far apart are not in a row', async () => {
  const clock = new HandClock()
  const pauses = openPauses(clock)
  for (let n = 0; n < 20; n++) {
    assert.is(pauses.refused({ origin: 'one', who: 'a test' }, 'seat'), undefined)
    await clock.pass(60 * MINUTE)
  }
  await settled()
  assert.is(pauses.paused('one'), undefined)
})
