import type { Caller } from '../../src/core/call.ts'
import type { LookName, Suspension } from '../../wire/kernel.ts'
import { errorOf } from '../support/calls-rig.ts'
import type { Script } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'
import {
  ADA,
  CLAUDE,
  CODEX,
  client,
  kernelOf,
  type LeasesRig,
  leasesRigsOf,
  noticeOf,
  ROOT,
  S1,
  stops,
} from '../support/leases-rig.ts'

const test = suite('who keeps a suspended evaluation waiting, and whose one is that nobody has told of')
const rigOf = leasesRigsOf(test)

const { suspension: STOPPED } = suspendedAs(S1)
const frame = { number: 0, function: 'price', call: null, file: null, line: null, source: null }
const rest = { locals: [], locals_omitted: 0, around: null, can: [], notes: [] } as const

const SHOWN: Script = {
  evaluate: { boom: stops(S1) },
  looks: {
    suspension: ({ suspension: id }) => ({
      type: 'found',
      value: {
        suspension: { ...STOPPED, id },
        restarts: [{ name: 'RETRY', description: 'Run it again.' }],
        frames: [frame],
        next: null,
        frames_total: 1,
      },
    }),
    frame: query =>
      query.frame === 0
        ? { type: 'found', value: { ...frame, ...rest } }
        : { type: 'malformed', message: 'There is no such frame.' },
  },
}

/** What looks of that name were to renew, one for each. */
const renewals = (rig: LeasesRig, name: LookName): readonly boolean[] =>
  kernelOf(rig).asked.flatMap(asked =>
    asked.method === name && 'query' in asked ? [Reflect.get(asked.query, 'renew') === true] : [],
  )

const look = async (rig: LeasesRig, caller: Caller): Promise<void> => {
  await rig.call(caller, 'debug_state', { suspension: S1 })
  await rig.call(caller, 'debug_frame', { suspension: S1 })
}

test('the looks of whoever holds one, and those of a person, renew it, and nobody else’s', async () => {
  const rig = rigOf(SHOWN)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  for (const caller of [CLAUDE, CODEX, ADA.caller, client('other', { kind: 'cli', profile: 'full' })])
    await look(rig, caller)
  for (const name of ['suspension', 'frame'] as const)
    assert.equal(renewals(rig, name), [true, false, true, false])
})

test('what was taken over or is for whoever comes first is kept by no look of who held it', async () => {
  const rig = rigOf(SHOWN)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  const named = { kernel: 'main', suspension: S1 }
  await rig.desk.take(ADA, named)
  await look(rig, CLAUDE)
  await rig.desk.hand(ADA, named)
  await look(rig, CLAUDE)
  await look(rig, CODEX)
  assert.equal(renewals(rig, 'suspension'), [false, false, false])
  await rig.desk.hand(ADA, { ...named, to: 'codex' })
  await look(rig, CODEX)
  assert.equal(renewals(rig, 'frame'), [false, false, false, true])
})

test('a call that fails renews nothing, though it has looked', async () => {
  const rig = rigOf(SHOWN)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  const gone = await rig.call(CLAUDE, 'debug_restart', { suspension: S1, restart: 'continue' })
  assert.is(errorOf(gone).code, 'not_found')
  assert.is(errorOf(await rig.call(CODEX, 'debug_eval', { suspension: S1, expr: '1' })).code, 'held_by_other')
  assert.equal(renewals(rig, 'suspension'), [false])
})

const OLD: Suspension = { ...STOPPED, id: 's7@ab12', call: 'of an older daemon' as never, who: 'claude-code' }
const leaves = { suspension: OLD.id, leave: true }

test('one that nobody has told of is nobody’s, until a person takes it or hands it on', async () => {
  let there: readonly Suspension[] = [OLD]
  const rig = rigOf({
    evaluate: {
      [`${OLD.id} {"type":"leave"}`]: { ends: { type: 'left', message: 'It was left.', elapsed_ms: 1 } },
    },
    looks: { suspensions: () => ({ type: 'found', value: { suspensions: there } }) },
  })
  const evaluations = () => kernelOf(rig).asked.filter(({ method }) => method === 'evaluate').length
  for (const caller of [CODEX, CLAUDE, ADA.caller])
    assert.is(errorOf(await rig.call(caller, 'debug_restart', leaves)).code, 'held_by_other')
  assert.is(evaluations(), 0)
  assert.equal(
    (await rig.desk.list(ADA.caller)).map(({ id, holder }) => [id, holder.type]),
    [[OLD.id, 'other']],
  )
  await rig.desk.hand(ADA, { kernel: 'main', suspension: OLD.id, to: 'codex' })
  assert.is(errorOf(await rig.call(CLAUDE, 'debug_restart', leaves)).code, 'held_by_other')
  assert.ok((await rig.call(CODEX, 'debug_restart', leaves)).ok)
  assert.is(evaluations(), 1)
  there = []
  assert.equal(await rig.desk.list(ADA.caller), [])
  assert.equal(
    rig.noted.map(({ what, holder }) => [what, holder]),
    [
      ['suspended', 'claude-code'],
      ['handed', 'codex'],
      ['lost', 'codex'],
    ],
  )
  assert.match(noticeOf(await rig.call(CODEX, 'eval_expr', { expr: '1' })) ?? '', OLD.id)
})

test('a person takes one that nobody has told of by its name alone', async () => {
  const rig = rigOf({ looks: { suspensions: { type: 'found', value: { suspensions: [OLD] } } } })
  rig.leases.lives({ name: 'main', root: ROOT, kernel: kernelOf(rig) })
  const row = await rig.desk.take(ADA, { kernel: 'main', suspension: OLD.id })
  assert.equal([row.id, row.holder.type], [OLD.id, 'you'])
})

test('where the image does not say what waits in it, nothing is run there', async () => {
  const rig = rigOf({ looks: { suspensions: { type: 'timed_out', deadline_ms: 1 } } })
  assert.is(errorOf(await rig.call(CODEX, 'debug_restart', leaves)).code, 'unresponsive')
  assert.is(kernelOf(rig).asked.filter(({ method }) => method === 'evaluate').length, 0)
})
