import { debugRestart } from '../../tools/debug-restart.ts'
import { defineTool } from '../../tools/define.ts'
import { ok } from '../../tools/outcome.ts'
import { runWork } from '../../tools/run-work.ts'
import { errorOf, resultOf, until } from '../support/calls-rig.ts'
import type { doneWith } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'
import {
  ADA,
  CLAUDE,
  CODEX,
  client,
  kernelOf,
  leasesRigsOf,
  noticeOf,
  S1,
  STOPS,
  StoppingKernel,
  stops,
} from '../support/leases-rig.ts'

const test = suite('leases of suspended evaluations')
const rigOf = leasesRigsOf(test)

const leaves = { suspension: S1, leave: true }

test('an error suspends the evaluations of those who are shown a way to go on, and of nobody else', async () => {
  const rig = rigOf()
  for (const profile of ['core', 'live', 'full'] as const)
    await rig.call(client(profile, { profile }), 'eval_expr', { expr: '1' })
  await rig.call(client('console', { kind: 'cli', profile: 'full' }), 'eval_expr', { expr: '1' })
  const leaseMs = 600_000
  assert.equal(kernelOf(rig).suspending, [undefined, { leaseMs }, { leaseMs }, { leaseMs }])
})

test('whoever asked for it holds it, also on a connection that is new', async () => {
  const rig = rigOf(STOPS)
  assert.is(errorOf(await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })).code, 'exception')
  const anew = client('claude-code', { connection: 'second' })
  assert.is(resultOf(await rig.call(anew, 'debug_restart', leaves)).value_repr, null)
  assert.equal(
    rig.noted.map(({ what, who, holder, by, why }) => [what, who, holder, by, why]),
    [
      ['suspended', 'test', 'claude-code', null, 'ValueError: no stock'],
      ['left', 'test', 'claude-code', 'claude-code', 'It was left.'],
    ],
  )
  assert.is(rig.noted[0]?.suspension, S1)
  assert.is(rig.noted[0]?.kernel, 'main')
  assert.ok(typeof rig.noted[0]?.call === 'string')
})

test('all commands of one project are one caller, and those of another project are not', async () => {
  const rig = rigOf(STOPS)
  const at = (root: string, connection: string) => {
    const { origin: _, ...command } = client('imago call', { kind: 'cli', profile: 'full', root, connection })
    return command
  }
  await rig.call(at('/shop', 'first'), 'eval_expr', { expr: 'boom' })
  assert.is(errorOf(await rig.call(at('/bank', 'second'), 'debug_restart', leaves)).code, 'held_by_other')
  assert.ok((await rig.call(at('/shop', 'third'), 'debug_restart', leaves)).ok)
})

test('another caller may look and not act, and nothing of that reaches the image', async () => {
  const rig = rigOf(STOPS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  const { asked } = kernelOf(rig)
  const before = asked.filter(({ method }) => method === 'evaluate').length
  for (const [tool, args] of [
    ['debug_restart', leaves],
    ['debug_eval', { suspension: S1, expr: '1' }],
  ] as const) {
    const { code, message } = errorOf(await rig.call(CODEX, tool, args))
    assert.is(code, 'held_by_other')
    assert.match(message, /claude-code/)
  }
  assert.is(asked.filter(({ method }) => method === 'evaluate').length, before)
  await rig.call(CODEX, 'debug_state', { suspension: S1 })
  assert.ok(asked.some(({ method }) => method === 'suspension'))
  assert.is(rig.noted.length, 1)
})

test('a tool that does not ask whose it is reaches nothing of another caller’s either', async () => {
  const careless = defineTool({
    name: 'careless',
    description: 'Has whatever is named go on.',
    parameters: {},
    level: 'cautious',
    profile: 'live',
    categories: ['tests'],
    needs: ['suspend'],
    examples: [],
    handler: async (_, context) =>
      ok(await runWork({ type: 'resume', suspension: S1, way: { type: 'leave' } }, context)),
  })
  const evaluate = defineTool({
    name: 'evaluate',
    description: 'Runs something.',
    parameters: {},
    level: 'cautious',
    profile: 'live',
    categories: ['tests'],
    needs: ['evaluate'],
    examples: [],
    handler: async (_, context) => ok(await runWork({ type: 'source', source: 'boom' }, context)),
  })
  const rig = rigOf(STOPS, { tools: [careless, evaluate, debugRestart] })
  await rig.call(CLAUDE, 'evaluate')
  const refused = errorOf(await rig.call(CODEX, 'careless'))
  const asEver = errorOf(await rig.call(CODEX, 'debug_restart', leaves))
  assert.equal(refused, asEver)
  assert.is(refused.code, 'held_by_other')
  assert.is(kernelOf(rig).suspended.live.length, 1)
  assert.is(resultOf(await rig.call(CLAUDE, 'careless')).type, 'done')
  assert.is(kernelOf(rig).suspended.live.length, 0)
})

test('what is evaluated in a frame and stops in turn is held by whoever holds that, and ends with it unmentioned', async () => {
  const inner = `${S1} frame 0: deeper`
  const rig = rigOf({ evaluate: { boom: stops(S1), [inner]: stops('s2@ab12', { level: 2, within: S1 }) } })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: 'deeper' })
  assert.is(
    errorOf(await rig.call(CODEX, 'debug_restart', { suspension: 's2@ab12', leave: true })).code,
    'held_by_other',
  )
  const left = await rig.call(CLAUDE, 'debug_restart', leaves)
  assert.is(noticeOf(left), undefined)
  assert.is(noticeOf(await rig.call(CLAUDE, 'eval_expr', { expr: '1' })), undefined)
  assert.equal(
    rig.noted.map(({ what, suspension }) => `${suspension} ${what}`),
    [`${S1} suspended`, 's2@ab12 suspended', 's2@ab12 within', `${S1} left`],
  )
})

test('what goes on and stops again is held by whoever had it go on', async () => {
  const rig = rigOf({
    evaluate: { boom: stops(S1), [`${S1} {"type":"again","frame":0}`]: stops('s2@ab12', { who: 'first' }) },
  })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CLAUDE, 'debug_restart', { suspension: S1, restart_frame: 0 })
  assert.ok((await rig.call(CLAUDE, 'debug_restart', { suspension: 's2@ab12', leave: true })).ok)
})

test('of two kernels whose ids are equal each has its own holder', async () => {
  const rig = rigOf(STOPS)
  rig.kernels.set('other', new StoppingKernel(STOPS))
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CODEX, 'eval_expr', { expr: 'boom', kernel: 'other' })
  assert.is(errorOf(await rig.call(CODEX, 'debug_restart', leaves)).code, 'held_by_other')
  const on = { ...leaves, kernel: 'other' }
  assert.is(errorOf(await rig.call(CLAUDE, 'debug_restart', on)).code, 'held_by_other')
  assert.ok((await rig.call(CODEX, 'debug_restart', on)).ok)
  assert.equal(
    (await rig.desk.list(CLAUDE)).map(({ kernel, holder }) => [kernel, holder.type]),
    [['main', 'you']],
  )
})

test('an image that is lost takes its suspensions along: the holder is told once, and the next image knows of none', async () => {
  const rig = rigOf(STOPS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  kernelOf(rig).die({ reason: 'killed', message: 'It was killed by SIGKILL.\nIts last words' })
  rig.kernels.set('main', new StoppingKernel(STOPS))
  await until(() => rig.noted.some(({ what }) => what === 'lost'))
  const told = noticeOf(await rig.call(CLAUDE, 'eval_expr', { expr: '1' })) ?? ''
  assert.match(told, /s1@ab12 in main \(ValueError: no stock\) is suspended no more\..*SIGKILL/s)
  assert.is(noticeOf(await rig.call(CLAUDE, 'eval_expr', { expr: '1' })), undefined)
  assert.equal(await rig.desk.list(CLAUDE), [])
  // A name of the life before says nothing of who holds the same name in this one.
  await rig.call(CODEX, 'eval_expr', { expr: 'boom' })
  assert.ok((await rig.call(CODEX, 'debug_restart', leaves)).ok)
  assert.equal(
    rig.noted.map(({ what }) => what),
    ['suspended', 'lost', 'suspended', 'left'],
  )
})

test('an end that is told before its beginning was answered leaves nothing behind', async () => {
  let settle: (value: ReturnType<typeof stopped>) => void = () => {}
  const stopped = () => stops(S1).ends as Extract<ReturnType<typeof doneWith>, { type: 'suspended' }>
  const rig = rigOf({ evaluate: { slow: { ends: new Promise(resolve => (settle = resolve)) } } })
  const kernel = kernelOf(rig)
  const answer = rig.call(CLAUDE, 'eval_expr', { expr: 'slow' })
  await until(() => kernel.suspending.length === 1)
  const { suspension } = stopped()
  const call = kernel.asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))[0] ?? null
  kernel.tell({ type: 'suspended', suspension: { ...suspension, call } })
  kernel.tell({ type: 'ended', id: S1, how: 'expired', message: '' })
  settle(stopped())
  const { details } = errorOf(await answer)
  assert.match(String(details.notice), /Nobody came in time/)
  assert.equal(await rig.desk.list(CLAUDE), [])
  assert.equal(
    rig.noted.map(({ what }) => what),
    ['suspended', 'expired'],
  )
})

test('those who sit hold what they evaluate on that one connection, whatever else calls from the project', async () => {
  const rig = rigOf(STOPS)
  const { caller } = ADA
  await rig.call(caller, 'eval_expr', { expr: 'boom' })
  const { seat: _, ...command } = { ...caller, id: 'client-10', who: 'imago call' }
  const { message } = errorOf(await rig.call(command, 'debug_restart', leaves))
  assert.match(message, /seat-1, terminal of client-9, a person/)
  assert.ok((await rig.call(caller, 'debug_restart', leaves)).ok)
})
