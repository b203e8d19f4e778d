import type { Evaluated } from '../../wire/kernel.ts'
import { until } from '../support/calls-rig.ts'
import { doneWith, type Scene, type Script } from '../support/fake-kernel.ts'
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
  NAMED,
  noticeOf,
  S1,
  stops,
} from '../support/leases-rig.ts'

const test = suite('what is told of suspensions that somebody else had a hand in')
const rigOf = leasesRigsOf(test)

const ONE = { expr: '1' }

/** An evaluation that stops, and what it comes to by its only restart. */
const goesOn = (scene: Scene): Script => ({
  evaluate: { boom: stops(S1), [`${S1} {"type":"restart","restart":0}`]: scene },
  looks: {
    suspension: {
      type: 'found',
      value: {
        suspension: suspendedAs(S1).suspension,
        restarts: [{ name: 'GIVE-AWAY', description: 'Take another amount.' }],
        frames: [],
        next: null,
        frames_total: 0,
      },
    },
  },
})
const BY_RESTART = { suspension: S1, restart: 'GIVE-AWAY' }

async function stopped(scene: Scene): Promise<LeasesRig> {
  const rig = rigOf(goesOn(scene))
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  return rig
}

const toldOf = async (rig: LeasesRig, caller = CLAUDE) => noticeOf(await rig.call(caller, 'eval_expr', ONE))

test('that it was taken over is not told to whoever has it back by then', async () => {
  const rig = await stopped({ ends: doneWith('77') })
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, { ...NAMED, to: 'back' })
  const told = await toldOf(rig)
  assert.match(told ?? '', /^seat-1, .* has put s1@ab12 .* before you: debug_state /)
  assert.not.match(told ?? '', 'taken over')
  assert.is(await toldOf(rig), undefined)
})

test('whoever acts on what they have back is told neither that it was taken nor that it is theirs', async () => {
  const rig = await stopped({ ends: doneWith('77') })
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, { ...NAMED, to: 'back' })
  assert.is(noticeOf(await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: '1' })), undefined)
  assert.is(noticeOf(await rig.call(CLAUDE, 'debug_restart', BY_RESTART)), undefined)
  assert.is(await toldOf(rig), undefined)
})

test('what was taken and is for whoever comes first is told as that alone', async () => {
  const rig = await stopped({ ends: doneWith('77') })
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, NAMED)
  const told = await toldOf(rig)
  assert.match(told ?? '', /before whoever comes first/)
  assert.not.match(told ?? '', 'taken over')
})

const CAME_TO = [
  [{ ends: doneWith('(:paid 77)', '2') }, 'It came to (:paid 77), 2'],
  [{ ends: doneWith() }, 'It came to its end, without a value.'],
  [{ ends: { type: 'interrupted', elapsed_ms: 1 } }, 'It was interrupted.'],
  [
    {
      ends: {
        type: 'raised',
        exception: suspendedAs('s9@ab12', { message: 'none left' }).exception,
        elapsed_ms: 1,
      },
    },
    'It ended with an error: ValueError: none left',
  ],
  [stops('s2@ab12', { message: 'again' }), 'It is suspended again, as s2@ab12: ValueError: again'],
] as const satisfies readonly (readonly [Scene, string])[]

test('of one that a person has go on, whoever held it is told what it came to, in one notice', async () => {
  for (const [scene, came] of CAME_TO) {
    const rig = await stopped(scene)
    await rig.desk.take(ADA, NAMED)
    await rig.call(ADA.caller, 'debug_restart', BY_RESTART)
    assert.is(
      await toldOf(rig),
      `${S1} in main (ValueError: no stock) is suspended no more. ${ADA.who} had it go on. It goes on. ${came}`,
    )
    assert.is(await toldOf(rig), undefined)
    assert.is(await toldOf(rig, CODEX), undefined)
  }
})

test('what goes on for longer is told twice: that it goes on, and then what it came to', async () => {
  const rig = await stopped({ ends: 'never' })
  await rig.desk.take(ADA, NAMED)
  const resuming = rig.call(ADA.caller, 'debug_restart', BY_RESTART)
  await until(() => rig.heard.some(({ type }) => type === 'ended'))
  const [call] = kernelOf(rig)
    .asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))
    .slice(-1)
  if (call === undefined) throw new Error('nothing ran')
  const looks = client('claude-code', { connection: 'second' })
  const first = noticeOf(await rig.call(looks, 'inspect', { expr: 'nothing' }))
  assert.match(first ?? '', /had it go on\. It goes on\.$/)
  kernelOf(rig).finish(call, doneWith('77'))
  await resuming
  assert.match(noticeOf(await rig.call(looks, 'inspect', { expr: 'nothing' })) ?? '', /It came to 77$/)
})

test('that it was left is told once, also where that takes a while', async () => {
  let left = (): void => undefined
  const leaving = new Promise<Evaluated>(resolve => {
    left = () => resolve({ type: 'left', message: 'It was left.', elapsed_ms: 1 })
  })
  const rig = rigOf({ evaluate: { boom: stops(S1), [`${S1} {"type":"leave"}`]: { ends: leaving } } })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.desk.take(ADA, NAMED)
  const resuming = rig.call(ADA.caller, 'debug_restart', { suspension: S1, leave: true })
  await until(() => rig.heard.some(({ type }) => type === 'ended'))
  const looks = () => rig.call(CLAUDE, 'inspect', { expr: 'nothing' })
  assert.match(noticeOf(await looks()) ?? '', /has left it\. It was left\.$/)
  left()
  await resuming
  assert.is(noticeOf(await looks()), undefined)
})

test('what a daemon kept that was lost is told to those of that name in that project, once', async () => {
  const rig = rigOf()
  const lost = {
    suspension: S1,
    kernel: 'main',
    epoch: 'e-1',
    root: CLAUDE.root,
    who: 'claude-code',
    holder: 'claude-code',
    why: 'ValueError: no stock',
  }
  rig.leases.book.lost([lost, { ...lost, suspension: 's2@ab12', root: undefined }])
  assert.is(await toldOf(rig, CODEX), undefined)
  assert.is(await toldOf(rig, client('claude-code', { root: '/bank', connection: 'far' })), undefined)
  assert.is(
    await toldOf(rig),
    `${S1} in main (ValueError: no stock) is suspended no more. ` +
      'The daemon that kept it has ended, and it with that one. Nothing of it goes on.',
  )
  assert.is(await toldOf(rig), undefined)
})
