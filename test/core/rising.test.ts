import { TOOLS } from '../../tools/index.ts'
import { ok, rises } from '../../tools/outcome.ts'
import { errorOf, rigsOf, toolAt } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('rising')
const rig = rigsOf(test)

test('arguments may raise the level of a call, and the gate judges the higher one', async () => {
  const { tool, ran } = toolAt('safe', { raise: 'dangerous' })
  const { run } = rig({ tools: [tool] })
  assert.is(errorOf(await run('do_safe')).code, 'approval_unavailable')
  assert.equal(ran, [])
})

test('what a person put in place of the arguments does not begin again with those that nobody approved', async () => {
  const { tool, ran } = toolAt('safe', { outcome: () => rises('cautious', 'it runs code') })
  const { run, seat } = rig({ tools: [tool], policy: '[[rule]]\ndecision = "ask"\nlevel = "safe"\n' })
  seat(plan => (plan.body.includes('better') ? 'approve' : { edit: { text: 'better' } }))
  const error = errorOf(await run('do_safe', { text: 'worse' }))
  assert.equal([error.code, ran], ['denied', ['safe']])
  assert.match(error.message, 'more than it was approved for: it runs code. Nothing ran.')
})

test('a call that rises goes through gate and journal again, and is told its level', async () => {
  let asked = 0
  const { tool, ran } = toolAt('safe', {
    outcome: () => (asked++ === 0 ? rises('cautious', 'it runs code') : ok(1)),
  })
  const { run, journal, calls } = rig({ tools: [tool] })
  assert.ok((await run('do_safe')).ok)
  assert.equal(ran, ['safe', 'cautious'])
  assert.is(calls.jobs.find('job-1')?.outcome?.type, 'ok')
  assert.equal(
    (await journal()).map(({ type, level }) => [type, level]),
    [
      ['dispatched', 'cautious'],
      ['ended', undefined],
    ],
  )
})

test('a call that rises beyond what is allowed did only look', async () => {
  const { tool, ran } = toolAt('safe', { outcome: () => rises('dangerous', 'it removes files') })
  const { run } = rig({ tools: [tool] })
  assert.is(errorOf(await run('do_safe')).code, 'approval_unavailable')
  assert.equal(ran, ['safe'])
})

test('a job that rises beyond what is allowed comes to its end', async () => {
  const { tool } = toolAt('cautious', { outcome: () => rises('dangerous', 'it removes files') })
  const { run, calls } = rig({ tools: [tool] })
  assert.is(errorOf(await run('do_cautious')).code, 'approval_unavailable')
  assert.is(calls.jobs.find('job-1')?.outcome?.type, 'failed')
  assert.is(calls.busy(), 0)
})

test('a tool that rises to where it is already is at fault', async () => {
  const { tool } = toolAt('cautious', { outcome: () => rises('cautious', 'again') })
  const { run, calls } = rig({ tools: [tool] })
  assert.is(errorOf(await run('do_cautious')).details.reason, 'handler_fault')
  assert.is(calls.jobs.find('job-1')?.outcome?.type, 'failed')
})

for (const how of ['by its arguments', 'on the way'] as const)
  test(`where readOnlyHint was promised, a look that would rise ${how} is answered needs_evaluation`, async () => {
    const { tool, ran } = toolAt(
      'safe',
      how === 'on the way' ? { outcome: () => rises('cautious', 'it calls f') } : { raise: 'cautious' },
    )
    const { run, journal } = rig({ tools: [tool, ...TOOLS] })
    const error = errorOf(await run('do_safe', {}, { caller: { readOnlyPromised: true } }))
    assert.is(error.code, 'needs_evaluation')
    assert.match(error.next ?? '', 'eval_expr')
    assert.equal(ran, how === 'on the way' ? ['safe'] : [])
    assert.equal(
      (await journal()).map(({ type }) => type),
      ['refused'],
    )
    assert.ok((await run('eval_expr', { expr: 'x' }, { caller: { readOnlyPromised: true } })).ok)
  })
