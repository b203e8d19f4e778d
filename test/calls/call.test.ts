import { noticed, noticeOf } from '../../src/calls/answer.ts'
import type { CallEvent } from '../../src/calls/contract.ts'
import { NODE_FILES } from '../../src/journal/files.ts'
import { TOOLS } from '../../tools/index.ts'
import { failed, ok, rises, TOOL_ERRORS } from '../../tools/outcome.ts'
import { errorOf, type RigOptions, resultOf, rigsOf, toolAt } from '../support/calls-rig.ts'
import { doneWith, FakeKernel } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('call')

const rig = rigsOf(test)

test('a call goes to the kernel and comes back as one envelope', async () => {
  const { run, kernel } = rig({ script: { evaluate: { '1 + 2': { ends: doneWith('3') } } } })
  const envelope = await run('eval_expr', { expr: '1 + 2' })
  assert.is(resultOf(envelope).value_repr, '3')
  assert.equal(Object.keys(envelope), ['ok', 'result'])
  assert.equal(
    kernel.asked.map(asked => asked.method),
    ['evaluate'],
  )
})

test('an error has exactly code, message, details, retryable and next, and its code is of the table', async () => {
  const { run } = rig()
  for (const [tool, args] of [
    ['nothing_like_it', {}],
    ['eval_expr', { exprr: 1 }],
    ['read_more', { handle: '@out.99' }],
    ['job', { job: 'job-99' }],
  ] as const) {
    const envelope = await run(tool, args)
    assert.equal(Object.keys(envelope), ['ok', 'error'])
    const error = errorOf(envelope)
    assert.equal(Object.keys(error).sort(), ['code', 'details', 'message', 'next', 'retryable'])
    assert.is(error.retryable, TOOL_ERRORS[error.code].retryable)
    assert.ok(error.message.length > 0 && typeof error.details === 'object')
  }
})

test('an unknown tool is told its nearest, and nothing is asked of any kernel', async () => {
  const { run, kernel, resolved } = rig()
  const error = errorOf(await run('evl_expr', { expr: '1' }))
  assert.is(error.code, 'unknown_function')
  assert.equal(error.details.nearest, ['eval_expr'])
  assert.equal([kernel.asked, resolved], [[], []])
})

test('a name without end is an unknown function, and is not repeated whole', async () => {
  const error = errorOf(await rig().run('x'.repeat(1e6)))
  assert.is(error.code, 'unknown_function')
  assert.ok(error.message.length < 500)
})

test('kernel names the kernel, and never reaches the tool', async () => {
  const { run, resolved } = rig()
  await run('list_globals', { kernel: 'other' })
  await run('list_globals', {})
  assert.equal(resolved, ['other', undefined])
})

/** Ways to be refused, each with what is asked and with the code of the answer. */
const dangerous = toolAt('dangerous')

const rule = (decision: string, match: string) => `[[rule]]\ndecision = "${decision}"\n${match}\n`

const EVAL = ['eval_expr', { expr: 'x' }] as const

const REFUSED: readonly (readonly [string, RigOptions, string, unknown, string])[] = [
  ['unknown tool', {}, 'eval_exp', { expr: 'x' }, 'unknown_function'],
  ['wrong arguments', {}, 'eval_expr', { expr: 7 }, 'invalid_args'],
  ['denied by a rule', { policy: rule('deny', 'tool = "eval_*"') }, ...EVAL, 'denied'],
  ['denied by the project', { projectPolicy: rule('deny', 'level = "cautious"') }, ...EVAL, 'denied'],
  ['asked for by a rule', { policy: rule('ask', 'tool = "eval_expr"') }, ...EVAL, 'approval_unavailable'],
  ['dangerous by default', { tools: [dangerous.tool] }, 'do_dangerous', {}, 'approval_unavailable'],
  ['a broken policy', { policy: 'nonsense' }, ...EVAL, 'denied'],
  ['a project that allows', { projectPolicy: rule('allow', 'tool = "eval_expr"') }, ...EVAL, 'denied'],
  ['denied though safe', { policy: rule('deny', 'tool = "list_globals"') }, 'list_globals', {}, 'denied'],
]

for (const [what, options, tool, args, code] of REFUSED)
  test(`refused (${what}): the answer is ${code}, and there is no effect`, async () => {
    const { run, kernel, resolved, calls, journal } = rig(options)
    const error = errorOf(await run(tool, args))
    assert.is(error.code, code)
    assert.match(error.message, code === 'unknown_function' ? /no tool/ : /Nothing ran/)
    assert.equal([kernel.asked, resolved, calls.jobs.names(), dangerous.ran], [[], [], [], []])
    const [line, ...more] = await journal()
    assert.equal([line?.type, line?.outcome, more], ['refused', code, []])
  })

test('a broken policy lets looking go on', async () => {
  const { run } = rig({ policy: 'nonsense' })
  assert.ok((await run('list_globals')).ok)
})

test('what nobody could be asked about names the rule that would allow it, and that rule does', async () => {
  const { tool, ran } = toolAt('dangerous')
  const { run, folder } = rig({ tools: [tool] })
  const { message, next } = errorOf(await run('do_dangerous'))
  assert.match(message, `${folder}/policy.toml`)
  assert.match(next ?? '', /Do not try another way/)
  const policy = message.slice(message.indexOf('[[rule]]'))
  assert.ok((await rig({ tools: [tool], policy }).run('do_dangerous')).ok)
  assert.equal(ran, ['dangerous'])
})

test('a rule for one kernel holds for it alone, also where the caller names none', async () => {
  const policy = '[[rule]]\ndecision = "deny"\nkernel = "main"\nlevel = "cautious"\n'
  const { run, kernel } = rig({ policy })
  assert.is(errorOf(await run('eval_expr', { expr: 'x' })).code, 'denied')
  assert.is(errorOf(await run('eval_expr', { expr: 'x', kernel: 'main' })).code, 'denied')
  assert.equal(kernel.asked, [])
  assert.ok((await run('eval_expr', { expr: 'x', kernel: 'other' })).ok)
})

test('a cautious call is in the journal before the kernel is asked, and its end follows', async () => {
  const lines: unknown[] = []
  const made = rig({
    script: { evaluate: { x: { ends: doneWith('1') } } },
    files: {
      ...NODE_FILES,
      write(fd, bytes) {
        lines.push(
          JSON.parse(Buffer.from(bytes).toString().trim().split('\n').at(-1) ?? '').type,
          made.kernel.asked.length,
        )
        return NODE_FILES.write(fd, bytes)
      },
    },
  })
  await made.run('eval_expr', { expr: 'x' })
  assert.equal(lines, ['dispatched', 0])
  assert.equal(
    (await made.journal()).map(({ type, outcome, kernel, epoch, decision }) => [
      type,
      outcome,
      kernel,
      epoch,
      decision,
    ]),
    [
      ['dispatched', undefined, 'main', 'feedbeef', 'allow'],
      ['ended', 'ok', undefined, undefined, undefined],
    ],
  )
})

test('while the journal cannot be written, cautious calls are refused, looking goes on, and it recovers (fault 12)', async () => {
  let broken = true
  const { run, kernel, faults } = rig({
    files: {
      ...NODE_FILES,
      write(fd, bytes) {
        if (broken) throw new Error('EIO: i/o error')
        return NODE_FILES.write(fd, bytes)
      },
    },
  })
  const error = errorOf(await run('eval_expr', { expr: 'x' }))
  assert.equal([error.code, error.details.reason], ['internal', 'journal_unavailable'])
  assert.equal(kernel.asked, [])
  assert.ok((await run('list_globals')).ok)
  assert.ok(faults.length > 0)
  broken = false
  assert.ok((await run('eval_expr', { expr: 'x' })).ok)
})

test('a huge result is cut, says so, and its handle leads to all of it (fault 14)', async () => {
  const huge = 'z'.repeat(5_000_000)
  const { tool } = toolAt('cautious', { outcome: () => ok({ huge }) })
  const { run } = rig({ tools: [tool, ...TOOLS] })
  const result = resultOf(await run('do_cautious'))
  assert.is(result.truncated, true)
  const [, handle] = /read_more (@txt\.\d+)/.exec(String(result.huge)) ?? []
  const part = resultOf(await run('read_more', { handle, from: 4_999_990, count: 50 }))
  assert.equal([part.text, part.total, part.next], ['z'.repeat(10), 5_000_000, null])
})

test('a huge error is cut as well', async () => {
  const { tool } = toolAt('safe', {
    outcome: () => failed('exception', { message: 'm'.repeat(1e6), details: { traceback: 't'.repeat(1e6) } }),
  })
  const error = errorOf(await rig({ tools: [tool] }).run('do_safe'))
  assert.ok(JSON.stringify(error).length < 100_000)
  assert.is(error.details.truncated, true)
})

test('a caller is told of the dispatch once, and of the output in order', async () => {
  const output = (text: string) => ({ type: 'output', stream: 'stdout', text }) as const
  const { run } = rig({ script: { evaluate: { x: { events: [output('a'), output('b')] } } } })
  const events: CallEvent[] = []
  await run('eval_expr', { expr: 'x' }, { on: event => events.push(event) })
  assert.equal(
    events.map(({ type }) => type),
    ['dispatched', 'output', 'output'],
  )
  assert.equal(events.slice(1), [output('a'), output('b')])
})

test('a listener that throws does not disturb the call', async () => {
  const { run } = rig({ script: { evaluate: { x: { ends: doneWith('1') } } } })
  const on = () => {
    throw new Error('gone')
  }
  assert.ok((await run('eval_expr', { expr: 'x' }, { on })).ok)
})

test('a question of the code goes to the caller, and is refused where nobody can be asked', async () => {
  const script = { evaluate: { 'input()': { events: [{ ask: 'name? ' }] } } }
  const asked: string[] = []
  const ask = async ({ prompt }: { prompt: string }) => {
    asked.push(prompt)
    return 'Ada'
  }
  const { run } = rig({ script })
  assert.is(resultOf(await run('eval_expr', { expr: 'input()' }, { ask })).stdout, 'Ada')
  assert.is(resultOf(await run('eval_expr', { expr: 'input()' })).stdout, 'refused')
  assert.equal(asked, ['name? '])
})

test('the journal has what the caller has said, and not what stands by itself', async () => {
  const { run, journal } = rig()
  for (const limit of [{}, { limit: 7 }, { limit: 50 }])
    await run('complete', { text: 'a', cursor: 1, ...limit })
  await run('eval_expr', { expr: '1' })
  await run('eval_expr', { expr: '1', on_error: 'end' })
  const said = (await journal()).flatMap(line => (line.args === undefined ? [] : [line.args]))
  const typed = { text: '(1 characters)', cursor: 1 }
  assert.equal(said, [typed, { ...typed, limit: 7 }, typed, { expr: '1' }, { expr: '1', on_error: 'end' }])
})

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

test('a name that is missing in a program that has just begun is asked for again, and a suspended evaluation is not', async () => {
  const kernel = new FakeKernel()
  let times = 0
  const kernels = {
    resolve: async () => ({ name: 'main', kernel }),
    mayBeLoading: () => times++ < 2,
  }
  const { run } = rig({ options: { kernels } })
  assert.is(errorOf(await run('inspect', { expr: 'unheard_of' })).code, 'not_found')
  assert.equal([kernel.asked.length, times], [3, 3])
  times = 0
  for (const [tool, args] of [
    ['debug_state', { suspension: 's1' }],
    ['untrace_function', { tracepoint: 't1' }],
  ] as const)
    assert.is(errorOf(await run(tool, args)).code, 'not_found')
  assert.is(times, 0)
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

const place = { name: 'python', replaces: 'python was killed by SIGKILL. Its last words:\n…' }

const NOTICE =
  'This is a new and empty image of python. The one before is gone: python was killed by SIGKILL.'

test('a result says that its image is a new one, and how the last was lost', () => {
  const ended = noticed(ok({ value_repr: '1' }) as Parameters<typeof noticed>[0], noticeOf(place))
  assert.equal(ended, { type: 'ok', result: { value_repr: '1', notice: NOTICE } })
})

test('an image that replaces none says nothing, and a result that is no object stays as it is', () => {
  const result = ok({ value_repr: '1' }) as Parameters<typeof noticed>[0]
  assert.equal(noticed(result, noticeOf({ name: 'python' })), result)
  assert.equal(noticed(result, undefined), result)
  assert.equal(noticed({ type: 'ok', result: [1] }, noticeOf(place)), { type: 'ok', result: [1] })
})

/** A kernel that lists these, and how often it was asked. */
function listing(...ids: readonly string[]) {
  const looked: string[] = []
  const kernel = new FakeKernel({
    looks: {
      suspensions() {
        looked.push('suspensions')
        return { type: 'found', value: { suspensions: ids.map(id => suspendedAs(id).suspension) } }
      },
    },
  })
  return { kernel, looked }
}

async function asked(policy?: string) {
  const dev = listing()
  const prod = listing('s1@9a32')
  const roots: string[] = []
  const made = rig({
    ...(policy !== undefined && { policy }),
    options: {
      kernels: {
        resolve: async () => ({ name: 'dev', kernel: dev.kernel }),
        besides({ root }) {
          roots.push(root)
          return [{ name: 'prod', kernel: prod.kernel }]
        },
      },
    },
  })
  const envelope = await made.run('debug_state', { suspension: 's1', kernel: 'dev' })
  if (envelope.ok) throw new Error('it was found')
  return { root: made.root, error: envelope.error, looked: prod.looked, roots }
}

test('where it is found is said, and only the caller’s project is looked through', async () => {
  const { root, error, looked, roots } = await asked()
  assert.match(error.message, 's1@9a32 is in prod.')
  assert.equal(looked, ['suspensions'])
  assert.equal(roots, [root])
})

for (const decision of ['deny', 'ask'])
  test(`a kernel that the policy would ${decision} the tool is not looked into, nor named`, async () => {
    const { error, looked } = await asked(`[[rule]]\ndecision = "${decision}"\nkernel = "prod"\n`)
    assert.is(error.code, 'not_found')
    assert.not.match(JSON.stringify(error), /prod|9a32/)
    assert.equal(looked, [])
  })
