import { evalExpr } from '../../tools/evaluate.ts'
import { interruptJob, job as jobTool } from '../../tools/job.ts'
import { ok } from '../../tools/outcome.ts'
import { showEnvelope } from '../../tools/show.ts'
import type { InterruptReport, KernelIdentity } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import { assert, suite } from '../support/harness.ts'
import { callId, errorOf, job, kernel, outputLog, resultOf, run, shown } from './context.ts'

const test = suite('job')

const EVALUATION = {
  value_repr: '3',
  values: [shown('3')],
  stdout: '',
  stderr: '',
  output: '',
  truncated: false,
  elapsed_ms: 9,
}

function interruptible(report: InterruptReport) {
  const hit: string[] = []
  const interrupt = async (call: string) => {
    hit.push(call)
    return report
  }
  return { kernel: kernel({ interrupt }), hit }
}

test('the status of a running job is how far it is, what it printed, and what can be done', async () => {
  const output = outputLog()
  output.add({ type: 'output', stream: 'stdout', text: 'epoch 1\n' })
  const result = resultOf(await run(jobTool, { job: 'job-1' }, { jobs: [job({ output })] }))
  assert.equal(result, {
    status: 'running',
    job: 'job-1',
    tool: 'eval_expr',
    kernel: 'demo',
    elapsed_ms: 61_000,
    stdout: 'epoch 1\n',
    stderr: '',
    output: 'epoch 1\n',
    truncated: false,
    next: 'job {"job":"job-1","action":"wait"} waits for it; interrupt_job {"job":"job-1"} stops it.',
  })
  const text = showEnvelope({ ok: true, result }, jobTool)
  assert.ok(text.startsWith('running: eval_expr in demo goes on as job job-1, 1 min 1 s so far\nnext: job {'))
  assert.match(text, 'stdout:\nepoch 1')
})

test('job without a name lists the jobs, how far each is, and refuses to wait for none', async () => {
  const jobs = [
    job(),
    job({ name: 'job-2', tool: 'load_file', outcome: ok({}) }),
    job({ name: 'job-3', asking: { plan: 'p1', waitedMs: 5, withdraw: () => {} } }),
  ]
  const result = resultOf(await run(jobTool, {}, { jobs }))
  assert.equal(
    (result.jobs as { job: string; status: string }[]).map(one => [one.job, one.status]),
    [
      ['job-1', 'running'],
      ['job-2', 'done'],
      ['job-3', 'waiting'],
    ],
  )
  assert.match(
    jobTool.show(result),
    /^job-1 {2}running: eval_expr in demo, 1 min 1 s\njob-2 {2}done: load_file in demo, .*\njob-3 {2}waiting for p1: eval_expr in demo/,
  )
  assert.is(jobTool.show(resultOf(await run(jobTool, {}, {}))), 'no jobs')
  assert.is(errorOf(await run(jobTool, { action: 'wait' }, { jobs })).code, 'invalid_args')
})

test('a call that has not begun says which job of its kernel it waits behind', async () => {
  const one = kernel()
  const jobs = [
    job({ kernel: one }),
    job({ name: 'job-2', kernel: one }),
    job({ name: 'job-3', kernel: kernel() }),
  ]
  const list = jobTool.show(resultOf(await run(jobTool, {}, { jobs })))
  assert.match(
    list,
    /^job-1 {2}running: .*\njob-2 {2}waiting for job-1: eval_expr in demo.*\njob-3 {2}running: /,
  )
  const told = async (name: string) => resultOf(await run(jobTool, { job: name }, { jobs }))
  const [first, second, third] = [await told('job-1'), await told('job-2'), await told('job-3')]
  assert.equal([first.behind, second.behind, third.behind], [undefined, 'job-1', undefined])
  assert.match(
    showEnvelope({ ok: true, result: second }, jobTool),
    'eval_expr waits its turn in demo, behind job-1 (eval_expr, 1 min 1 s so far). It is job job-2.',
  )
})

test('a running answer reads the same whichever tool gave it', () => {
  const result = {
    status: 'running',
    job: 'job-1',
    tool: 'eval_expr',
    kernel: 'demo',
    elapsed_ms: 1,
    next: '…',
  }
  const full = { ...result, stdout: '', stderr: '', output: '', truncated: false }
  const texts = [jobTool, evalExpr, undefined].map(tool => showEnvelope({ ok: true, result: full }, tool))
  assert.is(new Set(texts).size, 1)
})

test('waiting waits as long as was asked, half a minute by default, and can be cancelled', async () => {
  const waits: number[] = []
  const signals: Signal[] = []
  const one = job({
    wait: async ({ ms, signal }) => {
      waits.push(ms)
      signals.push(signal)
    },
  })
  const { signal } = new AbortController()
  await run(jobTool, { job: 'job-1', action: 'wait' }, { jobs: [one], signal })
  await run(jobTool, { job: 'job-1', action: 'wait', seconds: 0.5 }, { jobs: [one] })
  assert.equal(waits, [30_000, 500])
  assert.is(signals[0], signal)
})

test('a finished job has the result of its own tool, and reads like it', async () => {
  const result = resultOf(await run(jobTool, { job: 'job-1' }, { jobs: [job({ outcome: ok(EVALUATION) })] }))
  assert.equal(result, { ...EVALUATION, status: 'done', job: 'job-1', tool: 'eval_expr' })
  assert.is(jobTool.show(result), '3')
})

test('the result of another tool is kept whatever its form', async () => {
  const jobs = [job({ tool: 'count', outcome: ok(7) })]
  assert.equal(
    await run(jobTool, { job: 'job-1' }, { jobs }),
    ok({ result: 7, status: 'done', job: 'job-1', tool: 'count' }),
  )
  assert.is(jobTool.show(7), '7')
  assert.match(jobTool.show({ status: 'done', tool: 'count', total: 7 }), '"total": 7')
})

const reports: readonly (readonly [InterruptReport['outcome'], RegExp])[] = [
  ['stopped', /^$/],
  ['withdrawn', /^$/],
  ['not_running', /gives its result/],
  ['still_running', /Interrupt it again, or wait for it/],
]

test('a person is offered to end the image only where the kernel offers it', async () => {
  const { kernel } = interruptible({ outcome: 'still_running', message: 'As seen.', offer: 'restart' })
  const result = resultOf(await run(interruptJob, { job: 'job-1' }, { jobs: [job({ kernel })] }))
  assert.match(String(result.next), /Interrupt it again.*imago restart demo/)
})

for (const [outcome, next] of reports)
  test(`an interrupt that came to "${outcome}" is reported as that`, async () => {
    const { kernel, hit } = interruptible({ outcome, message: 'As seen.' })
    const outcomeOf = await run(interruptJob, { job: 'job-1' }, { jobs: [job({ kernel })] })
    const result = resultOf(outcomeOf)
    assert.is(result.status, outcome)
    assert.is(result.message, 'As seen.')
    assert.match(String(result.next ?? ''), next)
    assert.equal(hit, [callId('call-7')])
    assert.ok(jobTool.show(result).startsWith(`${outcome}: job job-1. As seen.`))
  })

test('a kernel that cannot interrupt is not asked to', async () => {
  const identity: KernelIdentity = { ...kernel().identity, abilities: new Set(['evaluate']) }
  const jobs = [job({ kernel: kernel({ identity }) })]
  const error = errorOf(await run(interruptJob, { job: 'job-1' }, { jobs }))
  assert.is(error.code, 'not_available')
  assert.match(error.next ?? '', 'imago stop demo')
})

test('an unknown job is answered with those that are known', async () => {
  const jobs = [job(), job({ name: 'job-2' })]
  const error = errorOf(await run(jobTool, { job: 'job-3' }, { jobs }))
  assert.is(error.code, 'unknown_job')
  assert.match(error.message, 'Known: job-1, job-2.')
  assert.equal(error.details, { job: 'job-3', known: ['job-1', 'job-2'] })
  assert.match(errorOf(await run(jobTool, { job: 'job-3' })).message, 'Known: none.')
})

test('a wait is refused that is endless, negative or no number', () => {
  for (const seconds of [-1, 3_601, Number.POSITIVE_INFINITY, Number.NaN, '5'])
    assert.not.ok(
      jobTool.parameters.safeParse({ job: 'job-1', action: 'wait', seconds }).success,
      String(seconds),
    )
  assert.not.ok(jobTool.parameters.safeParse({ job: 'job-1', action: 'kill' }).success)
})
