import type { CallEvent } from '../../src/calls/contract.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { errorOf, resultOf, settled } from '../support/calls-rig.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf, ofCalls, typesOf } from '../support/history.ts'

const test = suite('asking')

const rig = fileRigsOf(test)

test('a plan that nobody answers is denied after its time, and nothing can approve it then (fault 26)', async () => {
  const { run, files, seat, clock, journal } = rig()
  const person = seat()
  const answered = run('put', { ...PUT })
  const plan = await person.next()
  await clock.pass(30 * 60_000)
  const { result } = (await answered) as { result: { status: string; job: string } }
  assert.is(result.status, 'waiting')
  const error = errorOf(await run('job', { job: result.job }))
  assert.is(error.code, 'approval_timed_out')
  assert.match(error.message, /within 30 min/)
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.is(files.text('a.txt'), 'old')
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('a plan outlives the seat it was shown on, and is shown to the next one (fault 26)', async () => {
  const { run, files, seat } = rig()
  const first = seat()
  const answered = run('put', PUT)
  const plan = await first.next()
  first.leave()
  assert.is(first.answer('approve').type, 'unknown')
  const second = seat(() => 'approve')
  assert.ok((await answered).ok)
  assert.is(second.plans[0]?.id, plan.id)
  assert.is(files.text('a.txt'), 'new')
})

test('of two people who answer at once the first counts, and the other is told who it was (fault 27)', async () => {
  const { run, files, seat, journal } = rig()
  const [one, other] = [seat(undefined, 'terminal one'), seat(undefined, 'terminal two')]
  const answered = run('put', PUT)
  const plan = await one.next()
  assert.equal(
    [one.answer('deny').type, other.answer('approve')],
    ['taken', { type: 'late', why: 'terminal one denied it.' }],
  )
  assert.is(errorOf(await answered).code, 'denied')
  assert.equal(other.told.at(-1), { type: 'settled', id: plan.id, why: 'terminal one denied it.' })
  assert.equal(one.told.length, 1)
  assert.is(files.text('a.txt'), 'old')
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('a call that is cancelled while a person is asked is withdrawn, and the seats hear of it (fault 30)', async () => {
  const { run, files, seat, journal } = rig()
  const person = seat()
  const signal = new LightSignal()
  const answered = run('put', PUT, { signal })
  const plan = await person.next()
  signal.abort()
  assert.is(errorOf(await answered).code, 'withdrawn')
  assert.equal(person.told.at(-1), { type: 'settled', id: plan.id, why: 'Its caller gave up.' })
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.is(files.text('a.txt'), 'old')
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), ['requested', 'decided', 'refused withdrawn'])
  assert.equal(lines.find(({ type }) => type === 'decided')?.answer, 'cancelled')
  assert.equal(invariantsOf(lines, []), [])
})

test('a plan that waits when the daemon ends is not said to be cancelled, to its caller or in the journal', async () => {
  const { run, approvals, seat, journal } = rig()
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  approvals.close()
  const error = errorOf(await answered)
  assert.is(error.code, 'withdrawn')
  assert.match(error.message, /^The daemon ended while plan-/)
  const decided = (await journal()).find(({ type }) => type === 'decided')
  assert.equal([decided?.answer, decided?.reason], ['cancelled', 'the daemon ended'])
})

for (const step of ['look', 'lock', 'moved', 'commit'])
  test(`a call that is cancelled at ${step} ends once, with all of its effect or none (fault 30)`, async () => {
    const { run, files, seat, journal } = rig()
    seat(() => 'approve')
    const signal = new LightSignal()
    files.onStep = at => {
      if (at === step) signal.abort()
    }
    const envelope = await run('put', PUT, { signal })
    const done = step === 'commit'
    assert.is(envelope.ok, done)
    if (!envelope.ok) assert.is(envelope.error.code, 'withdrawn')
    assert.is(files.text('a.txt'), done ? 'new' : 'old')
    assert.equal(invariantsOf(await journal(), files.effects), [])
  })

test('a caller that waits is told that a person is asked, and what its job is after its patience', async () => {
  const { run, seat, clock, calls } = rig({ options: { patienceMs: 5_000 } })
  const person = seat()
  const events: CallEvent[] = []
  const answered = run('put', PUT, { on: event => events.push(event) })
  const plan = await person.next()
  await clock.pass(5_000)
  const result = resultOf(await answered)
  assert.equal([result.status, result.job, result.plan, result.kernel], ['waiting', 'job-1', plan.id, null])
  assert.match(String(result.message), `waits for approval: ${plan.id}`)
  assert.match(String(result.next), /Do not make the call again/)
  const told = events.map(event => (event.type === 'progress' ? event.message : event.type))
  assert.match(String(told.at(-1)), `put waits for approval of ${plan.id}, 4 s so far`)
  assert.ok(events.every(event => event.type === 'progress' && event.plan === plan.id))
  const waited = run('job', { job: 'job-1', action: 'wait', seconds: 100 })
  await settled()
  person.answer('approve')
  assert.is(resultOf(await waited).status, 'done')
  assert.is(calls.busy(), 0)
})

test('interrupting a job that waits for a person withdraws its plan', async () => {
  const { run, files, seat, clock } = rig()
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  await clock.pass(60_000)
  assert.is(resultOf(await answered).status, 'waiting')
  const report = resultOf(await run('job', { job: 'job-1', action: 'interrupt' }))
  assert.equal([report.status, /Nothing ran/.test(String(report.message))], ['withdrawn', true])
  assert.is(person.answer('approve').type, 'late')
  assert.is(errorOf(await run('job', { job: 'job-1' })).code, 'withdrawn')
  assert.is(files.text('a.txt'), 'old')
})

test('a caller may have eight plans waiting, is told so at the ninth, and holds up nobody else (threat 36)', async () => {
  const { run, seat, files, journal } = rig({ options: { pending: 200 } })
  const person = seat()
  const answers = Array.from({ length: 100 }, (_, n) => run('put', { path: `f${n}.txt`, text: 'x' }))
  const busy = await Promise.all(answers.slice(8))
  for (const envelope of busy) assert.is(errorOf(envelope).code, 'busy')
  assert.is(person.plans.length, 8)
  assert.match(
    errorOf(busy[0] ?? { ok: true, result: null }).message,
    /8 plans of this caller, .* wait for a person/,
  )
  const other = run('put', PUT, { caller: { id: 'somebody else', origin: 'elsewhere' } })
  await settled()
  assert.is(person.plans.length, 9)
  for (const { id } of person.plans) person.answer('approve', id)
  for (const envelope of await Promise.all([...answers.slice(0, 8), other])) assert.ok(envelope.ok)
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('nobody is asked about more than a person can be shown, and nothing of it is done (threat 15)', async () => {
  const { run, seat, files, journal } = rig()
  const person = seat(() => 'approve')
  files.put('a.txt', '\x01'.repeat(600_000))
  const error = errorOf(await run('put', PUT))
  assert.is(error.code, 'too_large')
  assert.match(error.message, 'Nobody was asked. Nothing ran.')
  assert.equal([person.plans.length, files.effects.length], [0, 0])
  assert.equal(typesOf(await journal()), ['seat', 'refused too_large'])
})

test('a call that is sent again while a person is asked joins it (fault 29)', async () => {
  const { run, seat, files } = rig()
  const person = seat()
  const call = 'mine' as CallId
  const [one, other] = [run('put', PUT, { call }), run('put', PUT, { call })]
  await person.next()
  person.answer('approve')
  assert.equal(await one, await other)
  assert.equal(await run('put', PUT, { call }), await one)
  assert.equal([person.plans.length, files.effects.length], [1, 1])
})

for (const outcome of ['ok', 'outcome_unknown'])
  test(`a call that an earlier daemon was given is not run again (${outcome}) (fault 29)`, async () => {
    const earlier = async (call: CallId) => (call === 'mine' ? { tool: 'put', outcome } : undefined)
    const { run, seat, files, kernel } = rig({ journalAs: () => ({ earlier }) })
    const person = seat(() => 'approve')
    for (const [tool, args] of [
      ['put', PUT],
      ['eval_expr', { expr: 'x' }],
    ] as const) {
      const error = errorOf(await run(tool, args, { call: 'mine' as CallId }))
      assert.is(error.code, 'outcome_unknown')
      assert.is(error.details.outcome, outcome)
      assert.ok((await run(tool, args, { call: `${tool} anew` as CallId })).ok)
    }
    assert.equal([person.plans.length, files.effects.length, kernel.asked.length], [1, 1, 1])
  })
