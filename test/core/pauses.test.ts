import type { CallId } from '../../wire/kernel.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE } from '../support/book.ts'
import { errorOf } from '../support/calls-rig.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { somePlan } from '../support/plans.ts'
import { type Reply, takeSeat } from '../support/seat.ts'

const test = suite('pauses')
const rig = fileRigsOf(test)
const still = new LightSignal()

/** Approvals, a person who sits, and plans that they answer at once. */
function person() {
  const made = book()
  const seat = takeSeat(made.approvals)
  return {
    ...made,
    seat,
    answers(reply: Reply, given: Parameters<typeof somePlan>[0] = {}) {
      const plan = somePlan(given)
      void made.approvals.ask(plan, { signal: still })
      seat.answer(reply, plan.id)
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
  assert.match(
    error.message,
    /A person has refused 3 plans of yours in a row\. .* for 5 min 0 s\. Nothing ran/,
  )
  assert.match(error.next ?? '', /^Stop here\. .*Tell the person/)
  assert.equal([error.retryable, error.details.left_ms], [false, 5 * MINUTE])
  assert.match(JSON.stringify(told.at(-1)), /3 plans of name 2 were refused in a row without a reason/)
  await clock.pass(5 * MINUTE)
  for (let n = 0; n < 3; n++) assert.is(errorOf(await run('put', PUT)).code, 'denied')
  assert.is(errorOf(await run('put', PUT)).code, 'busy')
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('plans of one turn that are refused are one refusal', async () => {
  const { approvals, seat, refusals, clock } = person()
  const refuse = (count: number) => {
    const plans = Array.from({ length: count }, () => somePlan())
    for (const plan of plans) void approvals.ask(plan, { signal: still })
    for (const { id } of plans) seat.answer('deny', id)
  }
  for (const _ of 'ab') {
    refuse(3)
    assert.is(refusals(), undefined)
  }
  refuse(3)
  assert.is(refusals(), 3)
  await clock.pass(MINUTE)
})

test('what comes after a refusal is of another turn, however many of the first one wait (threat 36)', () => {
  const { approvals, seat, answers, refusals } = person()
  void approvals.ask(somePlan(), { signal: still })
  for (let n = 0; n < 3; n++) {
    assert.is(refusals(), undefined)
    answers('deny')
  }
  assert.equal([new Set(seat.plans.slice(1).map(({ turn }) => turn)).size, refusals()], [3, 3])
})

test('a refusal with a reason, and a yes, begin the count anew; what nobody answers is not counted', async () => {
  const { answers, approvals, refusals, clock } = person()
  for (const reply of ['approve', { deny: 'use tabs' }] as const) {
    for (let n = 0; n < 2; n++) answers('deny')
    answers(reply)
  }
  for (let n = 0; n < 2; n++) answers('deny')
  const gone = new LightSignal()
  void approvals.ask(somePlan(), { signal: gone })
  gone.abort()
  void approvals.ask(somePlan(), { signal: still })
  await clock.pass(30 * MINUTE)
  assert.is(refusals(), undefined)
  answers('deny')
  assert.is(refusals(), 3)
})

test('a pause is of one caller, and a plan of it that waits can be approved, which ends it (threat 36)', () => {
  const { answers, approvals, seat, refusals } = person()
  const waits = somePlan()
  void approvals.ask(waits, { signal: still })
  for (let n = 0; n < 3; n++) answers('deny')
  assert.equal(approvals.limit(waits.origin), { type: 'paused', refusals: 3, leftMs: 5 * MINUTE })
  assert.is(approvals.limit('cli /elsewhere'), undefined)
  seat.answer('approve', waits.id)
  assert.equal([approvals.limit(waits.origin), refusals()], [undefined, undefined])
})

test('a pause is told to every seat, stands in the journal and the list, and ends when a seat lifts it', async () => {
  const { answers, approvals, clock, journal, seat } = person()
  const other = takeSeat(approvals)
  const said = (what: string) => journal.filter(entry => entry.type === 'seat' && entry.what === what)
  const hurried = approvals.sit({ who: 'a hurried person', tell() {} })
  assert.equal([approvals.pauses(), hurried.lift(), said('lifted')], [[], 0, []])
  for (let n = 0; n < 3; n++) answers('deny')
  await clock.pass(MINUTE)
  assert.equal(approvals.pauses(), [{ who: 'a test', refusals: 3, left_ms: 4 * MINUTE }])
  const why =
    '3 plans of a test were refused in a row without a reason: none of it is put before you for 5 min 0 s.'
  for (const { told } of [seat, other]) assert.equal(told.at(-1), { type: 'notice', text: why })
  assert.equal(said('paused'), [{ type: 'seat', what: 'paused', seat: null, who: 'a test', why }])
  assert.equal([hurried.lift(), hurried.lift(), approvals.pauses()], [1, 0, []])
  for (const { told } of [seat, other])
    assert.match(JSON.stringify(told.at(-1)), /a hurried person wants to be asked again/)
  assert.equal(said('lifted'), [
    { type: 'seat', what: 'lifted', seat: 'seat-3', who: 'a hurried person', why: null },
  ])
  for (let n = 0; n < 3; n++) answers('deny')
  hurried.leave()
  assert.equal([hurried.lift(), approvals.pauses().length], [0, 1])
})
