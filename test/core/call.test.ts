import type { CallEvent } from '../../src/calls/contract.ts'
import { NODE_FILES } from '../../src/journal/writer.ts'
import { TOOLS } from '../../tools/index.ts'
import { failed, ok, TOOL_ERRORS } from '../../tools/outcome.ts'
import { errorOf, type RigOptions, resultOf, rigsOf, toolAt } from '../support/calls-rig.ts'
import { doneWith } from '../support/fake-kernel.ts'
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

for (const name of [
  'get_type',
  'get_repr',
  'get_dir',
  'get_doc',
  'get_last_exception',
  'execute_code',
  'x'.repeat(1e6),
])
  test(`the removed or unheard name ${name.slice(0, 20)} is an unknown function`, async () => {
    const error = errorOf(await rig().run(name))
    assert.is(error.code, 'unknown_function')
    assert.ok(error.message.length < 500)
  })

test('an alias is accepted', async () => {
  const { run } = rig({ script: { evaluate: { x: { ends: doneWith('7') } } } })
  assert.is(resultOf(await run('eval_form', { expr: 'x' })).value_repr, '7')
})

test('arguments may be left out altogether, and null is not left out', async () => {
  const { run } = rig()
  assert.ok((await run('list_globals', undefined)).ok)
  assert.is(errorOf(await run('list_globals', null)).code, 'invalid_args')
})

test('kernel names the kernel, and never reaches the tool', async () => {
  const { run, resolved } = rig()
  await run('list_globals', { kernel: 'other' })
  await run('list_globals', {})
  assert.equal(resolved, ['other', undefined])
})

/** Ways to be refused, each with what is asked and with the code of the answer. */
const dangerous = toolAt('dangerous')

const REFUSED: readonly (readonly [string, RigOptions, string, unknown, string])[] = [
  ['unknown tool', {}, 'eval_exp', { expr: 'x' }, 'unknown_function'],
  ['wrong arguments', {}, 'eval_expr', { expr: 7 }, 'invalid_args'],
  [
    'denied by a rule',
    { policy: '[[rule]]\ndecision = "deny"\ntool = "eval_*"\n' },
    'eval_expr',
    { expr: 'x' },
    'denied',
  ],
  [
    'denied by the project',
    { projectPolicy: '[[rule]]\ndecision = "deny"\nlevel = "cautious"\n' },
    'eval_expr',
    { expr: 'x' },
    'denied',
  ],
  [
    'asked for by a rule',
    { policy: '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n' },
    'eval_expr',
    { expr: 'x' },
    'approval_unavailable',
  ],
  ['dangerous by default', { tools: [dangerous.tool] }, 'do_dangerous', {}, 'approval_unavailable'],
  ['a broken policy', { policy: 'nonsense' }, 'eval_expr', { expr: 'x' }, 'denied'],
  [
    'a project that allows',
    { projectPolicy: '[[rule]]\ndecision = "allow"\ntool = "eval_expr"\n' },
    'eval_expr',
    { expr: 'x' },
    'denied',
  ],
  [
    'denied though safe',
    { policy: '[[rule]]\ndecision = "deny"\ntool = "list_globals"\n' },
    'list_globals',
    {},
    'denied',
  ],
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

test('where a rule asks, the answer names that rule: no other could allow it', async () => {
  const { run, root } = rig({ projectPolicy: '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n' })
  const { message } = errorOf(await run('eval_expr', { expr: 'x' }))
  assert.match(message, `Rule 1 of ${root}/imago.toml asks`)
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
  for (const limit of [{}, { limit: 50 }, { limit: 7 }])
    await run('complete', { text: 'a', cursor: 1, ...limit })
  await run('eval_expr', { expr: '1', on_error: 'suspend' })
  await run('eval_expr', { expr: '1', on_error: 'end' })
  const said = (await journal()).flatMap(line => (line.args === undefined ? [] : [line.args]))
  const typed = { text: '(1 characters)', cursor: 1 }
  assert.equal(said, [typed, typed, { ...typed, limit: 7 }, { expr: '1' }, { expr: '1', on_error: 'end' }])
})

test('what somebody is just typing is not in the journal, only how long it is', async () => {
  const completions = { from: 0, to: 2, completions: [], total: 0, call: null, because: null }
  const { run, journal } = rig({ script: { looks: { complete: { type: 'found', value: completions } } } })
  assert.ok((await run('complete', { text: 'password = "hunter2"', cursor: 3 })).ok)
  const [line] = await journal()
  assert.equal(line?.args, { text: '(20 characters)', cursor: 3 })
})
