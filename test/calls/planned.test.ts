import type { ShownPlan } from '../../src/approvals/contract.ts'
import type { CallEvent } from '../../src/calls/contract.ts'
import { ok, rises } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { errorOf, resultOf, rigsOf, settled, toolAt } from '../support/calls-rig.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf, ofCalls, typesOf } from '../support/history.ts'

const test = suite('planned calls')

const open = rigsOf(test)

const rig = fileRigsOf(test)

test('an approved plan is carried out exactly as shown, once, and the journal tells the whole of it', async () => {
  const { run, files, seat, journal } = rig()
  const { plans } = seat(() => 'approve')
  const result = resultOf(await run('put', PUT))
  assert.is(files.text('a.txt'), 'new')
  const [plan] = plans
  assert.equal([plan?.title, plan?.body, plan?.tool], ['Put a.txt', '-old\n+new\n', 'put'])
  assert.equal(result, { undo: plan?.id })
  const lines = await journal()
  assert.equal(typesOf(lines), ['seat', 'requested', 'decided', 'dispatched', 'ended ok'])
  const [, requested, decided, dispatched, ended] = lines
  assert.equal([(requested?.plan as ShownPlan | undefined)?.hash, requested?.args], [plan?.hash, PUT])
  assert.equal([decided?.answer, decided?.by, decided?.plan], ['approved', 'seat-1', plan?.id])
  assert.equal([dispatched?.plan, dispatched?.decision], [plan?.id, 'ask'])
  assert.is(ended?.undo, plan?.id)
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('a refusal reaches the model with its reason to the letter, and another proposal is welcome', async () => {
  const { run, files, seat, journal } = rig()
  seat(() => ({ deny: 'Not on a Friday! ("really")' }))
  const error = errorOf(await run('put', PUT))
  assert.is(error.code, 'denied')
  assert.match(error.message, 'Not on a Friday! ("really")')
  assert.match(error.message, 'Nothing ran')
  assert.is(error.details.reason, 'Not on a Friday! ("really")')
  assert.match(error.next ?? '', /^Another proposal that heeds the reason is welcome/)
  assert.is(files.text('a.txt'), 'old')
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), ['requested', 'decided', 'refused denied'])
  assert.is(lines.find(({ type }) => type === 'decided')?.reason, 'Not on a Friday! ("really")')
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('what a person edited is a plan of its own, shown again, and the answer says what was changed', async () => {
  const { run, files, seat, journal } = rig()
  const { plans } = seat(plan =>
    plan.body.includes('better') ? 'approve' : { edit: { path: 'a.txt', text: 'better' } },
  )
  const result = resultOf(await run('put', PUT))
  assert.is(files.text('a.txt'), 'better')
  assert.equal(result.edited, { text: 'better' })
  assert.match(String(result.approval), 'other arguments')
  assert.equal(
    plans.map(({ body }) => body),
    ['-old\n+new\n', '-old\n+better\n'],
  )
  assert.is.not(plans[0]?.hash, plans[1]?.hash)
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), [
    'requested',
    'decided',
    'requested',
    'decided',
    'dispatched',
    'ended ok',
  ])
  assert.equal(lines.find(({ type }) => type === 'dispatched')?.args, { path: 'a.txt', text: 'better' })
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('edited arguments go the whole way: what does not fit, or leaves the project, does not run', async () => {
  for (const [edit, code] of [
    [{ path: 'a.txt', text: 7 }, 'denied'],
    [{ path: 'a.txt', text: 'x', approved: true }, 'denied'],
    [{ path: '../../etc/passwd', text: 'x' }, 'path_refused'],
  ] as const) {
    const { run, files, seat, journal } = rig()
    seat(() => ({ edit }))
    assert.is(errorOf(await run('put', PUT)).code, code)
    assert.equal(files.effects, [])
    assert.equal(invariantsOf(await journal(), []), [])
  }
})

test('edited arguments cannot take a call to another kernel', async () => {
  const { tool, ran } = toolAt('dangerous')
  const { run, seat } = open({ tools: [tool] })
  seat(() => ({ edit: { text: 'x', kernel: 'production' } }))
  assert.is(errorOf(await run('do_dangerous', { kernel: 'main' })).code, 'denied')
  assert.equal(ran, [])
})

test('a call is not run in an image that was begun anew between its approval and its effect (threat 18)', async () => {
  const { tool, ran } = toolAt('dangerous')
  const images = [new FakeKernel(), new FakeKernel()]
  let begun = 0
  const living = () => ({ name: 'main', kernel: images[begun] as FakeKernel })
  const { run, seat, journal } = open({
    tools: [tool],
    options: { kernels: { resolve: async () => living(), living } },
    journalAs: written => ({
      async sync(entry) {
        await written.sync(entry)
        if (entry.type === 'dispatched') begun = 1
      },
    }),
  })
  seat(() => 'approve')
  assert.is(errorOf(await run('do_dangerous')).code, 'stale_plan')
  assert.equal(ran, [])
  assert.equal(invariantsOf(await journal(), []), [])
})

test('a rule that allows carries the plan out without asking; evidence and the one use hold all the same', async () => {
  const policy = '[[rule]]\ndecision = "allow"\ntool = "put"\n'
  const { run, files, seat, journal } = rig({ policy })
  const person = seat()
  assert.ok((await run('put', PUT)).ok)
  assert.equal(person.plans, [])
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), ['dispatched', 'ended ok'])
  assert.equal([typeof lines[1]?.plan, lines[1]?.decision], ['string', 'allow'])
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('a rule that allows only one effect is judged once the effects are known, also with nobody to ask', async () => {
  const policy = '[[rule]]\ndecision = "allow"\neffect = "write_file"\n'
  const { run, files } = rig({ policy })
  assert.ok((await run('put', PUT)).ok)
  assert.is(files.text('a.txt'), 'new')
})

test('rules about paths hold for real paths, for looking tools as well', async () => {
  const policy = '[[rule]]\ndecision = "deny"\npath = "secrets"\n'
  const { run, files, seat, root, folder } = rig({ projectPolicy: policy })
  const person = seat(() => 'approve')
  for (const path of ['secrets/key', './x/../secrets', `${root}/secrets/deep/er`])
    assert.is(errorOf(await run('put', { path, text: 'x' })).code, 'denied')
  assert.is(errorOf(await run('put', { path: folder, text: 'x' })).code, 'path_refused')
  assert.equal([person.plans, files.effects], [[], []])
  assert.ok((await run('put', { path: 'secrets.txt', text: 'x' })).ok)
})

test('a denied call reads nothing and asks nobody', async () => {
  const { run, files, seat } = rig({ policy: '[[rule]]\ndecision = "deny"\ntool = "put"\n' })
  const person = seat()
  const steps: string[] = []
  files.onStep = step => void steps.push(step)
  assert.is(errorOf(await run('put', PUT)).code, 'denied')
  assert.equal([steps, person.plans], [[], []])
})

test('a call that rises on the way to dangerous is put before a person, and runs again at that level', async () => {
  const { tool, ran } = toolAt('safe', {
    outcome: () => (ran.length === 1 ? rises('dangerous', 'it removes files') : ok('done')),
  })
  const { run, seat, journal } = open({ tools: [tool] })
  seat(() => 'approve')
  assert.ok((await run('do_safe')).ok)
  assert.equal(ran, ['safe', 'dangerous'])
  assert.equal(invariantsOf(await journal(), []), [])
})

test('a cautious call that a rule wants asked about is asked about', async () => {
  const { run, seat, journal } = open({ policy: '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n' })
  const { plans } = seat(() => 'approve')
  assert.ok((await run('eval_expr', { expr: 'x' })).ok)
  assert.match(plans[0]?.body ?? '', 'x')
  assert.equal(invariantsOf(await journal(), []), [])
})

test('what a handler is given is what was approved, whatever became of the caller’s object', async () => {
  const { run, seat, files } = rig()
  const person = seat()
  const args = { path: 'a.txt', text: 'new' }
  const answered = run('put', args)
  await person.next()
  args.path = 'b.txt'
  args.text = 'worse'
  person.answer('approve')
  assert.ok((await answered).ok)
  assert.equal([files.text('a.txt'), files.text('b.txt')], ['new', undefined])
})

for (const key of ['approved', 'force', 'seat', 'code', 'plan'])
  test(`an argument ${key} changes nothing (threat 6)`, async () => {
    for (const value of [true, 'true', 'approve', 'seat-1', { approved: true }]) {
      const { run, files, seat } = rig()
      assert.is(errorOf(await run('put', { ...PUT, [key]: value })).code, 'invalid_args')
      const person = seat()
      assert.is(errorOf(await run('put', { ...PUT, _meta: { [key]: value } })).code, 'invalid_args')
      assert.equal([person.plans, files.effects], [[], []])
    }
  })

test('while the journal is in trouble dangerous calls are refused, and looking goes on', async () => {
  const trouble = 'segment 000001 is not what was written.'
  const { run, seat, files } = rig({ journalAs: () => ({ trouble }) })
  const person = seat(() => 'approve')
  const error = errorOf(await run('put', PUT))
  assert.equal([error.code, error.details.reason], ['denied', 'journal_in_trouble'])
  assert.match(error.message, trouble)
  assert.match(error.next ?? '', /imago log verify .*imago log acknowledge/)
  assert.equal([person.plans, files.effects], [[], []])
  assert.ok((await run('list_globals')).ok)
  assert.ok((await run('eval_expr', { expr: 'x' })).ok)
})

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
  const report = resultOf(await run('interrupt_job', { job: 'job-1' }))
  assert.equal([report.status, /Nothing ran/.test(String(report.message))], ['withdrawn', true])
  assert.is(person.answer('approve').type, 'late')
  assert.is(errorOf(await run('job', { job: 'job-1' })).code, 'withdrawn')
  assert.is(files.text('a.txt'), 'old')
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
