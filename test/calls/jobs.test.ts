import type { CallEvent } from '../../src/calls/contract.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { type CallsRig, errorOf, resultOf, rigsOf, settled } from '../support/calls-rig.ts'
import { doneWith } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('jobs')

const rig = rigsOf(test)

const output = (text: string) => ({ type: 'output', stream: 'stdout', text }) as const

const LONG = {
  evaluate: {
    loop: { events: [output('begun\n')], ends: 'never' },
    deaf: { ends: 'deaf' },
    quick: { ends: doneWith('7') },
  },
} as const

/** The call that runs in the kernel. */
async function running({ kernel }: CallsRig): Promise<CallId> {
  for (;;) {
    const { running: found } = await kernel.status()
    if (found !== null) return found.call
    await settled()
  }
}

test('a call that outlives the patience of its caller is answered with a job, and goes on', async () => {
  const made = rig({ script: LONG })
  const answer = made.run('eval_expr', { expr: 'loop', patience: 2 })
  const call = await running(made)
  await made.clock.pass(2_000)
  const result = resultOf(await answer)
  assert.equal(
    [result.status, result.job, result.tool, result.kernel, result.elapsed_ms, result.stdout, result.output],
    ['running', 'job-1', 'eval_expr', 'main', 2_000, 'begun\n', 'begun\n'],
  )
  assert.match(String(result.next), 'job-1')
  assert.is(made.calls.busy(), 1)
  assert.equal(made.calls.jobs.names(), ['job-1'])
  made.kernel.finish(call, doneWith('42'))
  await settled()
  assert.is(made.calls.busy(), 0)
  assert.is(resultOf(await made.run('job', { job: 'job-1' })).value_repr, '42')
})

test('patience is 60 seconds unless the configuration or the call says otherwise', async () => {
  for (const [options, args, seconds] of [
    [{}, {}, 60],
    [{ patienceMs: 5_000 }, {}, 5],
    [{ patienceMs: 5_000 }, { patience: 0.25 }, 0.25],
  ] as const) {
    const made = rig({ script: LONG, options })
    const answer = made.run('eval_expr', { expr: 'loop', ...args })
    await running(made)
    await made.clock.pass(seconds * 1_000)
    assert.is(resultOf(await answer).elapsed_ms, seconds * 1_000)
  }
})

test('patience 0 is answered at once with the job, however quick the code is', async () => {
  const made = rig({ script: LONG })
  const result = resultOf(await made.run('eval_expr', { expr: 'quick', patience: 0 }))
  assert.equal([result.status, result.job, result.elapsed_ms], ['running', 'job-1', 0])
  const waited = resultOf(await made.run('job', { job: 'job-1', action: 'wait' }))
  assert.equal([waited.status, waited.value_repr], ['done', '7'])
})

test('a caller that waits for the end is never answered with a job, however long that takes', async () => {
  const made = rig({ script: LONG })
  const answer = made.run('eval_expr', { expr: 'loop', patience: 1 }, { untilDone: true })
  const call = await running(made)
  await made.clock.pass(10_000)
  made.kernel.finish(call, doneWith('9'))
  assert.is(resultOf(await answer).value_repr, '9')
})

test('a frozen kernel shows in the answer', async () => {
  const made = rig({ script: LONG })
  const answer = made.run('eval_expr', { expr: 'loop', patience: 1 })
  await running(made)
  made.kernel.turn('unresponsive')
  await made.clock.pass(1_000)
  const { kernel_health, next } = resultOf(await answer)
  assert.is(kernel_health, 'unresponsive')
  assert.match(String(next), /main does not answer at the moment/)
})

test('waiting for a job ends with it, or after its time, and stops nothing', async () => {
  const made = rig({ script: LONG })
  await made.run('eval_expr', { expr: 'loop', patience: 0 })
  const call = await running(made)
  const inVain = made.run('job', { job: 'job-1', action: 'wait', seconds: 3 })
  await made.clock.pass(3_000)
  assert.equal([resultOf(await inVain).status, resultOf(await inVain).elapsed_ms], ['running', 3_000])
  const waiting = made.run('job', { job: 'job-1', action: 'wait', seconds: 3_000 })
  await settled()
  made.kernel.finish(call, doneWith('1'))
  assert.is(resultOf(await waiting).status, 'done')
  await made.clock.pass(5_000)
  assert.is(made.calls.jobs.find('job-1')?.elapsedMs, 3_000)
})

test('a job that is interrupted says what was seen', async () => {
  const made = rig({ script: LONG })
  await made.run('eval_expr', { expr: 'loop', patience: 0 })
  await running(made)
  assert.is(resultOf(await made.run('interrupt_job', { job: 'job-1' })).status, 'stopped')
  assert.is(errorOf(await made.run('job', { job: 'job-1' })).code, 'interrupted')
})

test('job only reads: its older action to interrupt stops nothing, and names interrupt_job', async () => {
  const made = rig({ script: LONG })
  await made.run('eval_expr', { expr: 'loop', patience: 0 })
  await running(made)
  const refused = errorOf(await made.run('job', { job: 'job-1', action: 'interrupt' }))
  assert.equal([refused.code, refused.next], ['invalid_args', 'interrupt_job {"job":"job-1"}'])
  assert.is(resultOf(await made.run('job', { job: 'job-1' })).status, 'running')
})

test('a cancel interrupts running code, and the answer says that it was stopped', async () => {
  const made = rig({ script: LONG })
  const { signal, abort } = aborting()
  const answer = made.run('eval_expr', { expr: 'loop' }, { signal })
  await running(made)
  abort()
  assert.is(errorOf(await answer).code, 'interrupted')
})

test('a cancel of code that does not stop is answered after five seconds, with the job', async () => {
  const made = rig({ script: LONG })
  const { signal, abort } = aborting()
  const answer = made.run('eval_expr', { expr: 'deaf' }, { signal })
  await running(made)
  abort()
  await made.clock.pass(5_000)
  assert.is(resultOf(await answer).status, 'running')
  assert.is(made.calls.busy(), 1)
})

test('a cancel before the kernel is there withdraws the call, and nothing runs', async () => {
  let arrived = () => {}
  const kernels = {
    resolve: () =>
      new Promise<never>((_, reject) => {
        arrived = () => reject(new Error('late'))
      }),
  }
  const made = rig({ script: LONG, options: { kernels } })
  const { signal, abort } = aborting()
  const answer = made.run('eval_expr', { expr: 'quick' }, { signal })
  await settled()
  abort()
  assert.is(errorOf(await answer).code, 'withdrawn')
  arrived()
  await settled()
  assert.equal(made.kernel.asked, [])
})

test('a cancel that came before the call is a call that does not run', async () => {
  const made = rig({ script: LONG })
  const answer = await made.run('eval_expr', { expr: 'quick' }, { signal: AbortSignal.abort() })
  assert.is(errorOf(answer).code, 'withdrawn')
  assert.equal(made.kernel.asked, [])
})

test('a cancel at completion leaves one answer, and a later one hits nothing (fault 30)', async () => {
  const made = rig({ script: LONG })
  const { signal, abort } = aborting()
  const answer = made.run('eval_expr', { expr: 'loop' }, { signal })
  made.kernel.finish(await running(made), doneWith('9'))
  abort()
  assert.is(resultOf(await answer).value_repr, '9')
  await made.run('eval_expr', { expr: 'loop', patience: 0 })
  await running(made)
  abort()
  await settled()
  assert.is(made.calls.jobs.find('job-2')?.outcome, undefined)
  const ends = (await made.journal()).filter(({ type }) => type === 'ended')
  assert.is(ends.length, 1)
})

test('whoever listens is told once a second that the call goes on, until it is answered', async () => {
  const made = rig({ script: LONG })
  const events: CallEvent[] = []
  const answer = made.run('eval_expr', { expr: 'loop', patience: 3.5 }, { on: event => events.push(event) })
  await running(made)
  await made.clock.pass(10_000)
  await answer
  assert.equal(
    events.filter(({ type }) => type === 'progress'),
    [1_000, 2_000, 3_000].map(elapsed_ms => ({
      type: 'progress',
      message: 'eval_expr goes on in main',
      elapsed_ms,
    })),
  )
})

test('no timer is left behind by a call that was answered', async () => {
  const made = rig({ script: LONG })
  const { signal } = aborting()
  await made.run('eval_expr', { expr: 'quick' }, { signal, on: () => undefined })
  await made.run('eval_expr', { expr: 'loop', patience: 0 }, { signal, on: () => undefined })
  assert.is(made.clock.waiting, 0)
})

test('of finished jobs the last 256 are remembered, and one that is asked for stays longer', async () => {
  const { run, calls } = rig({ script: LONG })
  for (let index = 0; index < 256; index++) await run('eval_expr', { expr: 'quick' })
  assert.ok(calls.jobs.find('job-1') !== undefined)
  await run('eval_expr', { expr: 'quick' })
  assert.ok(calls.jobs.find('job-1') !== undefined)
  assert.is(calls.jobs.find('job-2'), undefined)
  assert.is(errorOf(await run('job', { job: 'job-2' })).code, 'unknown_job')
})

test('a thousand jobs whose callers were told their names are all there still when they have ended', async () => {
  const { run, calls } = rig({ script: LONG })
  for (let index = 0; index < 1_000; index++) {
    await run('eval_expr', { expr: 'quick', patience: 0 })
    await run('eval_expr', { expr: 'quick' })
  }
  await settled()
  const told = calls.jobs.names()
  assert.is(told.length, 1_000)
  assert.ok(told.every(name => calls.jobs.find(name)?.outcome?.type === 'ok'))
  for (let index = 0; index < 100; index++) await run('eval_expr', { expr: 'quick', patience: 0 })
  await settled()
  assert.is(calls.jobs.names().length, 1_024)
})

test('jobs whose name nobody was told are not listed once they have ended', async () => {
  const { run, calls } = rig({ script: LONG })
  await run('eval_expr', { expr: 'quick' })
  await run('eval_expr', { expr: 'quick', patience: 0 })
  await settled()
  assert.equal(calls.jobs.names(), ['job-2'])
})

test('a caller may have 32 calls under way, jobs included; one more is busy, and other callers are not', async () => {
  const made = rig({ script: LONG })
  for (let index = 0; index < 32; index++) await made.run('eval_expr', { expr: 'loop', patience: 0 })
  const error = errorOf(await made.run('list_globals'))
  assert.equal([error.code, error.retryable, error.details], ['busy', true, { pending: 32, most: 32 }])
  assert.match(error.next ?? '', /^Call again when one of them has been answered/)
  assert.ok((await made.run('list_globals', {}, { caller: { id: 'another' } })).ok)
  made.kernel.finish(await running(made))
  await settled()
  assert.ok((await made.run('list_globals')).ok)
})

function aborting() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
