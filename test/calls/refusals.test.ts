import { faultOf } from '../../src/calls/faults.ts'
import * as refusals from '../../src/calls/refusals.ts'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Rules } from '../../src/policy/policy.ts'
import { LEVELS, type Level } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { failed, type Outcome, type ToolError } from '../../tools/outcome.ts'
import { WireError, type WireErrorCode } from '../../wire/errors.ts'
import { errorOf, rigsOf, toolAt } from '../support/calls-rig.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'

const test = suite('refusals and faults')

const { tool } = toolAt('dangerous')

const plan = somePlan()

const policy: Rules = { rules: [], problem: undefined, waiting: [], userFile: '/config/policy.toml' }

const fromUser = { type: 'user', file: '/config/policy.toml', number: 2 } as const

function judged(level: Level, from: typeof fromUser | { readonly type: 'default' } | typeof takenOut) {
  const rule = { decision: 'ask', level, from } as const
  return { tool, as: tool.name, level, kernel: 'main', policy, verdict: { decision: 'ask', rule } } as const
}

const takenOut = { ...fromUser, removed: true } as const

const inside = failed('invalid_args', { message: 'text is too long.' })

/** Every refusal there is, and whether whoever is refused has to stop. */
const ALL: Readonly<Record<string, readonly (readonly [Outcome<never>, stop: boolean])[]>> = {
  needsEvaluation: [[refusals.needsEvaluation(tool, 'it calls a function.'), false]],
  tooManyPending: [[refusals.tooManyPending({ pending: 32, most: 32 }), false]],
  otherCall: [[refusals.otherCall('call-1'), false]],
  forgotten: [[refusals.forgotten('call-1'), false]],
  journalUnavailable: [[refusals.journalUnavailable(new Error('The disk is full.')), false]],
  journalInTrouble: [[refusals.journalInTrouble('line 3 is not what was written.'), true]],
  ranEarlier: [
    [refusals.ranEarlier('call-1', { tool: 'put', outcome: 'ok' }), false],
    [refusals.ranEarlier('call-1', { tool: 'put', outcome: 'withdrawn' }), false],
  ],
  lacksAbility: [[refusals.lacksAbility({ tool, kernel: 'main', missing: ['inspect'] }), false]],
  kernelGone: [[refusals.kernelGone({ name: 'main', kernel: new FakeKernel() }), false]],
  policyBroken: [[refusals.policyBroken('line 3 of policy.toml is no TOML.'), true]],
  denied: [[refusals.denied(judged('dangerous', fromUser)), true]],
  unavailable: LEVELS.map(level => [refusals.unavailable(judged(level, fromUser)), true] as const),
  deniedByPerson: [
    [refusals.deniedByPerson({ plan, by: 'seat-1', reason: null }), true],
    [refusals.deniedByPerson({ plan, by: 'client claude-code', reason: null }), true],
    [refusals.deniedByPerson({ plan, by: 'seat-1', reason: 'not on a Friday' }), false],
  ],
  dismissed: [[refusals.dismissed({ plan, by: 'client claude-code' }), true]],
  unanswered: [
    [refusals.unanswered({ plan, by: 'client claude-code', reason: undefined }), true],
    [refusals.unanswered({ plan, by: 'client claude-code', reason: 'nobody answered there' }), true],
  ],
  badChoice: [[refusals.badChoice(plan, 'The text of hunk 2 cannot be written.'), true]],
  allRefused: [
    [refusals.allRefused(plan, [{ number: 1, path: 'a', line: 1, outcome: 'refused', reason: null }]), true],
    [refusals.allRefused(plan, [{ number: 1, path: 'a', line: 1, outcome: 'refused', reason: 'no' }]), false],
  ],
  untold: (['ask', 'deny'] as const).map(
    decision =>
      [refusals.untold(tool, { decision, rule: { decision, from: fromUser } }), decision === 'deny'] as const,
  ),
  timedOut: [[refusals.timedOut({ plan, afterMs: 60_000 }), true]],
  expired: [[refusals.expired(plan), true]],
  planWithdrawn: [
    [refusals.planWithdrawn(plan), false],
    [refusals.planWithdrawn(plan, 'the daemon ended'), false],
  ],
  stale: [[refusals.stale({ plan, causes: ['a.txt was changed'] }), false]],
  notNow: [
    [refusals.notNow({ type: 'waiting', of: 'caller', waiting: 8, most: 8 }), false],
    [refusals.notNow({ type: 'waiting', of: 'all', waiting: 64, most: 64 }), false],
    [refusals.notNow({ type: 'paused', refusals: 3, leftMs: 60_000 }), true],
  ],
  held: [[refusals.held({ tool: 'edit_file', title: 'Edit app.py' }), false]],
  tooManyHeld: [[refusals.tooManyHeld({ held: 100, most: 100 }), false]],
  editRises: [[refusals.editRises(tool, 'it runs code'), true]],
  badEdit: [
    [refusals.badEdit(tool), true],
    [refusals.badEdit(tool, inside), true],
  ],
}

function failureOf(outcome: Outcome<never>): ToolError {
  if (outcome.type !== 'failed') throw new Error(`${outcome.type} is no refusal`)
  return outcome.error
}

test('these are all refusals of the gate', () => {
  const made = Object.entries({ ...refusals })
    .filter(([name, made]) => typeof made === 'function' && !['unknownTool', 'reasonsIn'].includes(name))
    .map(([name]) => name)
  assert.equal(Object.keys(ALL).sort(), made.sort())
})

for (const [name, cases] of Object.entries(ALL))
  test(`${name} says that nothing ran, and whether to stop`, () => {
    for (const [outcome, stop] of cases) {
      const { message, next, code } = failureOf(outcome)
      assert.match(message, /[Nn]othing ran|Nothing was changed\.|It was not run again\./)
      assert.is((next ?? '').startsWith(refusals.STOP), stop, `${code}: ${next}`)
      assert.match(next ?? '', /\.$/)
      assert.ok((next ?? '').length > refusals.STOP.length || !stop, `${name} says what to tell the person`)
    }
  })

test('an approval that nobody gave and one that came too late are one code with two reasons', () => {
  const [nobody, late] = [refusals.timedOut({ plan, afterMs: 1 }), refusals.expired(plan)].map(failureOf)
  assert.equal([nobody?.code, late?.code], ['approval_timed_out', 'approval_timed_out'])
  assert.equal([nobody?.details.reason, late?.details.reason], ['nobody_answered', 'approval_expired'])
})

test('where the default allows, taking out the rule that asks is all there is to do', () => {
  const said = (level: Level, from: Parameters<typeof judged>[1]) =>
    failureOf(refusals.unavailable(judged(level, from))).message
  assert.match(said('cautious', fromUser), /a person takes that rule out, and runs imago policy accept\.$/)
  assert.not.match(said('cautious', fromUser), /\[\[rule\]\]/)
  assert.match(said('cautious', takenOut), /a person runs imago policy accept\.$/)
  assert.match(said('dangerous', fromUser), /take that rule out, add these lines to .*\n\[\[rule\]\]/)
  assert.match(said('dangerous', { type: 'default' }), /add these lines to .*\n\[\[rule\]\]/)
})

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

test('a call that lost an attached program says what to do next, which is not to start it', () => {
  const lost = { error: new WireError('LINK_CLOSED', 'It ended.'), kernel: 'web', attached: true }
  const rest = { cancelled: false, log: () => {} }
  const next = (tool: string, level: Level) => {
    const outcome = faultOf({ ...lost, ...rest, tool, level })
    return outcome.type === 'failed' ? [outcome.error.code, outcome.error.next] : []
  }
  const waited = 'What takes the place of a program that has ended is waited for.'
  assert.equal(next('inspect', 'safe'), ['kernel_unavailable', `Ask again. ${waited}`])
  assert.equal(next('eval_expr', 'cautious'), [
    'outcome_unknown',
    `Look at what is there before deciding to run anything again. ${waited}`,
  ])
})

test('what only some languages have is refused with the tool that does its work elsewhere', async () => {
  const { run } = rig({ script: { abilities: ['evaluate', 'references'] } })
  for (const [tool, args, next] of [
    ['who_calls', { name: 'f' }, /^Use who_references: /],
    ['compile_form', { form: '(f)' }, /^Use eval_expr: /],
  ] as const) {
    const error = errorOf(await run(tool, args))
    assert.equal(
      [error.code, error.message],
      [
        'not_available',
        `${tool} does not work in main: its language or image has nothing that answers it. Nothing ran.`,
      ],
    )
    assert.match(error.next ?? '', next)
  }
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
  assert.match(String((faults[0]?.error as Error | undefined)?.stack), 'refusals.test.ts')
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
