import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Tool } from '../../tools/define.ts'
import { WireError, type WireErrorCode } from '../../wire/errors.ts'
import { errorOf, rigsOf, toolAt } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('faults')

const rig = rigsOf(test)

/** What a kernel throws, and what a caller is told of it, when looking and when running. */
const THROWN: readonly (readonly [WireErrorCode, string, string])[] = [
  ['LINK_CLOSED', 'kernel_unavailable', 'outcome_unknown'],
  ['UNRESPONSIVE', 'unresponsive', 'unresponsive'],
  ['BUSY', 'busy', 'busy'],
  ['MESSAGE_TOO_LARGE', 'too_large', 'too_large'],
  ['FRAME_TOO_LARGE', 'too_large', 'too_large'],
  ['MESSAGE_INVALID', 'invalid_result_shape', 'invalid_result_shape'],
  ['FRAME_MALFORMED', 'invalid_result_shape', 'outcome_unknown'],
  ['LIMIT_EXCEEDED', 'invalid_result_shape', 'outcome_unknown'],
  ['PROTOCOL_BROKEN', 'invalid_result_shape', 'outcome_unknown'],
  ['FRAME_TRUNCATED', 'kernel_unavailable', 'outcome_unknown'],
  ['REMOTE_FAULT', 'invalid_result_shape', 'outcome_unknown'],
]

for (const [code, looking, running] of THROWN)
  test(`a kernel that throws ${code} gives ${looking} to a look and ${running} to an evaluation`, async () => {
    const thrown = new WireError(code, 'It broke.')
    const { run } = rig({ script: { globals: thrown, evaluate: { x: { ends: thrown } } } })
    const told = ({ code, details }: { code: string; details: Readonly<Record<string, unknown>> }) =>
      code === 'internal' ? details.reason : code
    assert.is(told(errorOf(await run('list_globals'))), looking)
    assert.is(told(errorOf(await run('eval_expr', { expr: 'x' }))), running)
  })

test('that a kernel does not answer is said once, whoever says it', async () => {
  for (const message of ['main does not answer: it is frozen.', 'it is frozen.']) {
    const { run } = rig({ script: { evaluate: { x: { ends: new WireError('UNRESPONSIVE', message) } } } })
    assert.is(errorOf(await run('eval_expr', { expr: 'x' })).message, 'main does not answer: it is frozen.')
  }
})

const REMOTE: readonly (readonly [string, string])[] = [
  ['busy', 'busy'],
  ['cancelled', 'withdrawn'],
  ['unknown_method', 'not_available'],
  ['fault', 'outcome_unknown'],
]

for (const [remote, expected] of REMOTE)
  test(`a peer that fails an evaluation with ${remote} gives ${expected}`, async () => {
    const message = 'It said so.'
    const thrown = new WireError('REMOTE_FAULT', message, { remote: { code: remote, message, data: null } })
    const { run } = rig({ script: { evaluate: { x: { ends: thrown } } } })
    assert.is(errorOf(await run('eval_expr', { expr: 'x' })).code, expected)
  })

test('a kernel that dies in the middle gives outcome_unknown, and nothing is run again (fault 1)', async () => {
  const { run, kernel, journal } = rig({ script: { evaluate: { x: { ends: 'never' } } } })
  const answer = run('eval_expr', { expr: 'x' })
  while (kernel.asked.length === 0) await new Promise(resolve => setImmediate(resolve))
  kernel.die()
  assert.is(errorOf(await answer).code, 'outcome_unknown')
  assert.is(kernel.asked.length, 1)
  assert.equal(
    (await journal()).map(({ type, outcome }) => [type, outcome]),
    [
      ['dispatched', undefined],
      ['ended', 'outcome_unknown'],
    ],
  )
})

test('a kernel that has ended before the call is unavailable, and nothing ran', async () => {
  const { run, kernel } = rig()
  kernel.die()
  const error = errorOf(await run('eval_expr', { expr: 'x' }))
  assert.equal([error.code, error.retryable], ['kernel_unavailable', true])
  assert.equal(kernel.asked, [])
})

test('a kernel that cannot do what the tool needs makes the tool not available', async () => {
  const { run } = rig({ script: { abilities: ['evaluate'] } })
  const error = errorOf(await run('list_globals'))
  assert.is(error.code, 'not_available')
  assert.equal(error.details.missing, ['globals'])
})

const UNHAD: readonly (readonly [unknown, string])[] = [
  [
    new KernelError('no_such_kernel', {
      message: 'No kernel k.',
      next: 'imago kernels',
      details: { kernels: [] },
    }),
    'no_such_kernel',
  ],
  [new KernelError('kernel_unavailable', { message: 'It broke.', next: null }), 'kernel_unavailable'],
  [new WireError('KERNEL_START_FAILED', 'It ended at once.'), 'kernel_unavailable'],
  ['a string', 'kernel_unavailable'],
]

for (const [thrown, code] of UNHAD)
  test(`a kernel that cannot be had (${String(thrown)}) gives ${code}, and nothing ran`, async () => {
    const kernels = { resolve: () => Promise.reject(thrown) }
    const { run, journal } = rig({ options: { kernels } })
    const error = errorOf(await run('eval_expr', { expr: 'x', kernel: 'k' }))
    assert.is(error.code, code)
    assert.is(error.details.kernel, 'k')
    assert.equal(
      (await journal()).map(({ type, decision }) => [type, decision]),
      [['refused', 'allow']],
    )
  })

test('a tool that throws is at fault; its stack goes to the log and not to the caller', async () => {
  const { tool } = toolAt('cautious', {
    outcome: () => {
      throw new Error('boom')
    },
  })
  const { run, faults, calls } = rig({ tools: [tool] })
  const envelope = await run('do_cautious')
  assert.equal([errorOf(envelope).code, errorOf(envelope).details.reason], ['internal', 'handler_fault'])
  assert.not.match(JSON.stringify(envelope), /\.ts:\d+/)
  assert.match(String((faults[0]?.error as Error | undefined)?.stack), 'faults.test.ts')
  assert.is(calls.jobs.find('job-1')?.outcome?.type, 'failed')
})

test('whatever else is at fault, the call is answered', async () => {
  const broken: Tool = {
    ...toolAt('safe').tool,
    raise: () => {
      throw new Error('boom')
    },
  }
  const { run } = rig({ tools: [broken] })
  assert.is(errorOf(await run('do_safe')).details.reason, 'handler_fault')
  const policy = {
    rulesFor: () => {
      throw new Error('boom')
    },
  }
  assert.is(errorOf(await rig({ options: { policy } }).run('list_globals')).details.reason, 'handler_fault')
})
