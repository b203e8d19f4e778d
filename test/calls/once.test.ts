import { KernelError } from '../../src/kernels/kernel-error.ts'
import { rises } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { errorOf, resultOf, rigsOf, settled, toolAt, until } from '../support/calls-rig.ts'
import { doneWith } from '../support/fake-kernel.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf, ofCalls, typesOf } from '../support/history.ts'

const test = suite('once')

const rig = rigsOf(test)

const fileRig = fileRigsOf(test)

const call = 'call-1' as CallId

const SCRIPT = { evaluate: { x: { ends: doneWith('1') }, loop: { ends: 'never' } } } as const

test('a call that is asked for again is not run again; its answer is given (fault 29)', async () => {
  const { run, kernel, journal } = rig({ script: SCRIPT })
  const first = await run('eval_expr', { expr: 'x' }, { call })
  const again = await run('eval_expr', { expr: 'x' }, { call, caller: { id: 'reconnected' } })
  assert.equal(again, first)
  assert.is(kernel.asked.length, 1)
  assert.is((await journal()).length, 2)
})

test('a call that still runs is joined, with events from then on (fault 29)', async () => {
  const { run, kernel, calls } = rig({ script: SCRIPT })
  const first = run('eval_expr', { expr: 'loop' }, { call })
  await until(() => kernel.asked.length > 0)
  const again = run('eval_expr', { expr: 'loop' }, { call })
  await settled()
  assert.is(calls.busy(), 1)
  kernel.finish(call, doneWith('9'))
  assert.equal([resultOf(await first).value_repr, resultOf(await again).value_repr], ['9', '9'])
  assert.equal(
    kernel.asked.map(({ method }) => method),
    ['evaluate'],
  )
})

test('after the patience of its caller, a call leads to the same job, and then to its end (fault 29)', async () => {
  const { run, kernel } = rig({ script: SCRIPT })
  const args = { expr: 'loop', patience: 0 }
  const jobs = [await run('eval_expr', args, { call }), await run('eval_expr', args, { call })]
  assert.equal(
    jobs.map(answer => resultOf(answer).job),
    ['job-1', 'job-1'],
  )
  await settled()
  kernel.finish(call, doneWith('9'))
  await settled()
  assert.is(resultOf(await run('eval_expr', args, { call })).value_repr, '9')
})

test('the name of a call is its meaning in one project: from another one it is another call, and is refused', async () => {
  const { run, kernel, folder } = rig({ script: SCRIPT })
  await run('eval_expr', { expr: 'x' }, { call })
  const elsewhere = await run('eval_expr', { expr: 'x' }, { call, caller: { root: folder } })
  assert.is(errorOf(elsewhere).code, 'invalid_args')
  assert.is(kernel.asked.length, 1)
})

test('the name of a call keeps its meaning: other arguments or another tool are refused', async () => {
  const { run, kernel } = rig({ script: SCRIPT })
  await run('eval_expr', { expr: 'x' }, { call })
  for (const [tool, args] of [
    ['eval_expr', { expr: 'y' }],
    ['eval_expr', { expr: 'x', patience: 1 }],
    ['inspect', { expr: 'x' }],
  ] as const) {
    const error = errorOf(await run(tool, args, { call }))
    assert.equal([error.code, error.details.call], ['invalid_args', call])
  }
  assert.is(kernel.asked.length, 1)
})

test('a call of which nothing ran may be tried again under its name', async () => {
  const { tool, ran } = toolAt('cautious')
  let there = false
  const kernels = {
    resolve: async () => {
      if (!there) throw new Error('not yet')
      return { name: 'main', kernel: rig().kernel }
    },
  }
  const { run } = rig({ tools: [tool], options: { kernels } })
  assert.is(errorOf(await run('do_cautious', {}, { call })).code, 'kernel_unavailable')
  there = true
  assert.ok((await run('do_cautious', {}, { call })).ok)
  assert.ok((await run('do_cautious', {}, { call })).ok)
  assert.equal(ran, ['cautious'])
})

test('a plan that was used up and then stopped is not asked about again under its name', async () => {
  const theirs: (() => void)[] = []
  const { run, files, seat, journal } = fileRig({
    journalAs: written => ({
      async sync(entry) {
        await written.sync(entry)
        if (entry.type === 'dispatched') for (const one of theirs) one()
      },
    }),
  })
  theirs.push(() => files.put('a.txt', 'theirs'))
  const { plans } = seat(() => 'approve')
  const first = await run('put', PUT, { call })
  assert.is(errorOf(first).code, 'stale_plan')
  assert.equal(await run('put', PUT, { call }), first)
  assert.is(plans.length, 1)
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), ['requested', 'decided', 'dispatched', 'ended stale_plan'])
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('a call that there was nothing to do for keeps its answer, whatever there is to do by now', async () => {
  const { run, files, seat, journal } = fileRig()
  const { plans } = seat(() => 'approve')
  const nothing = { path: 'a.txt', text: 'old' }
  const first = await run('put', nothing, { call })
  files.put('a.txt', 'theirs')
  assert.equal(await run('put', nothing, { call }), first)
  assert.equal([plans, files.text('a.txt')], [[], 'theirs'])
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), ['looked ok'])
  assert.equal(invariantsOf(lines, files.effects), [])
})

test('a call that was dispatched before it rose and was refused is not dispatched again', async () => {
  const { tool, ran } = toolAt('cautious', { outcome: () => rises('dangerous', 'it removes files') })
  const { run, seat, journal } = rig({ tools: [tool] })
  seat(() => ({ deny: 'no' }))
  const first = await run('do_cautious', {}, { call })
  assert.is(errorOf(first).code, 'denied')
  assert.equal(await run('do_cautious', {}, { call }), first)
  assert.equal(ran, ['cautious'])
  assert.equal(invariantsOf(await journal(), []), [])
})

test('a failure is an answer too: it is given again, and the code is not run again', async () => {
  const thrown = { evaluate: { x: { ends: { type: 'interrupted', elapsed_ms: 1 } as const } } }
  const { run, kernel } = rig({ script: thrown })
  const first = await run('eval_expr', { expr: 'x' }, { call })
  assert.is(errorOf(first).code, 'interrupted')
  assert.equal(await run('eval_expr', { expr: 'x' }, { call }), first)
  assert.is(kernel.asked.length, 1)
})

test('a call whose answer has made room for newer ones is outcome_unknown, and is not run again', async () => {
  const { run, kernel } = rig({ script: SCRIPT })
  await run('eval_expr', { expr: 'x' }, { call })
  for (let index = 0; index < 256; index++)
    await run('eval_expr', { expr: 'x' }, { call: `later-${index}` as CallId })
  assert.is(errorOf(await run('eval_expr', { expr: 'x' }, { call })).code, 'outcome_unknown')
  assert.is(kernel.asked.length, 257)
})

test('a call that an earlier daemon ran is outcome_unknown, also where its kernel is gone with that daemon', async () => {
  const { run, journal } = rig({
    journalAs: () => ({
      earlier: async () => ({ tool: 'eval_expr', outcome: 'outcome_unknown', epoch: 'epoch-of-then' }),
    }),
    options: {
      kernels: {
        resolve: async () => {
          throw new KernelError('no_such_kernel', { message: 'There is no kernel shop.', next: null })
        },
      },
    },
  })
  const error = errorOf(await run('eval_expr', { expr: 'x', kernel: 'shop' }, { call }))
  assert.equal([error.code, error.details.outcome], ['outcome_unknown', 'outcome_unknown'])
  assert.equal(typesOf(ofCalls(await journal())), [])
})
