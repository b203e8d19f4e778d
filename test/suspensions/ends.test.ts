import { errorOf, HandClock, until } from '../support/calls-rig.ts'
import { doneWith, type Scene, type Script } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'
import {
  ADA,
  CLAUDE,
  CODEX,
  kernelOf,
  type LeasesRig,
  leasesRigsOf,
  NAMED,
  S1,
  STOPS,
  StoppingKernel,
  stopped,
  stops,
} from '../support/leases-rig.ts'

const test = suite('how suspended evaluations have ended, as the next call about them is told')

const rigOf = leasesRigsOf(test)

const S2 = 's2@ab12'

const LEASE_MS = 600_000

/** What a call of that one about `S1` is told. */
const toldOf = async (rig: LeasesRig, caller = CLAUDE, args: object = { suspension: S1, leave: true }) =>
  errorOf(await rig.call(caller, 'debug_restart', args)).message

/** Somebody gives it up. */
const leave = (rig: LeasesRig, { caller } = ADA) =>
  rig.call(caller, 'debug_restart', { suspension: S1, leave: true })

test('that a person took it, and what they made of it, is told to the call that would act on it', async () => {
  const rig = await stopped(rigOf(STOPS))
  rig.desk.take(ADA, NAMED)
  assert.match(await toldOf(rig), `is owned by ${ADA.who}, a person`)
  assert.ok((await leave(rig)).ok)
  const told = `${S1} in main (ValueError: no stock) is suspended no more. ${ADA.who} has left it. It was left.`
  for (const args of [{ suspension: S1 }, { suspension: 's1' }, {}])
    assert.match(await toldOf(rig, CLAUDE, { ...args, leave: true }), told, JSON.stringify(args))
  const looked = await rig.call(CLAUDE, 'debug_eval', { expr: '1' })
  assert.match(errorOf(looked).message, told)
  // By its name everybody is told, and without it whoever had it.
  assert.match(await toldOf(rig, CODEX), told)
  assert.not.match(await toldOf(rig, CODEX, { leave: true }), S1)
})

test('with anything else that it calls, nobody is told of suspended evaluations', async () => {
  const rig = await stopped(rigOf(STOPS))
  rig.desk.take(ADA, NAMED)
  await leave(rig)
  const answer = await rig.call(CLAUDE, 'eval_expr', { expr: '1' })
  assert.not.match(JSON.stringify(answer), S1)
})

test('that one expired is told, and how long nobody came', async () => {
  const clock = new HandClock()
  const rig = await stopped(rigOf(STOPS, { clock }))
  await clock.pass(LEASE_MS)
  assert.is(
    await toldOf(rig),
    `${S1} in main (ValueError: no stock) is suspended no more. Nobody came to it for 10 min 0 s. It was left. Nothing was run.`,
  )
})

test('an image that is lost takes its suspensions along, of which the next image of its name says so', async () => {
  const rig = await stopped(rigOf(STOPS))
  kernelOf(rig).die({ reason: 'killed', message: 'It was killed by SIGKILL.\nIts last words' })
  rig.kernels.set('main', new StoppingKernel(STOPS))
  await until(() => rig.noted.some(({ what }) => what === 'lost'))
  assert.match(await toldOf(rig), /s1@ab12 in main \(ValueError: no stock\) is suspended no more\..*SIGKILL/s)
  assert.equal(rig.desk.list(CLAUDE), [])
})

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

const CAME_TO = [
  [{ ends: doneWith('(:paid 77)', '2') }, 'It came to (:paid 77), 2.'],
  [{ ends: doneWith() }, 'It came to its end, without a value.'],
  [{ ends: { type: 'interrupted', elapsed_ms: 1 } }, 'It was interrupted.'],
  [
    { ends: { ...suspendedAs('s9@ab12', { message: 'none left' }), type: 'raised' } },
    'It ended with an error: ValueError: none left',
  ],
  [stops(S2, { message: 'again' }), 'It is suspended again, as s2@ab12: ValueError: again'],
] as const satisfies readonly (readonly [Scene, string])[]

test('of one that a person resumed, what it came to is told, too', async () => {
  for (const [scene, came] of CAME_TO) {
    const rig = await stopped(rigOf(goesOn(scene)))
    await rig.desk.take(ADA, NAMED)
    await rig.call(ADA.caller, 'debug_restart', BY_RESTART)
    assert.match(
      await toldOf(rig),
      `${S1} in main (ValueError: no stock) is suspended no more. ${ADA.who} has resumed it. It goes on. ${came}`,
    )
  }
})

test('what goes on for longer was resumed, and then came to something', async () => {
  const rig = await stopped(rigOf(goesOn({ ends: 'never' })))
  await rig.desk.take(ADA, NAMED)
  const resuming = rig.call(ADA.caller, 'debug_restart', BY_RESTART)
  await until(() => rig.heard.some(({ type }) => type === 'ended'))
  const [call] = kernelOf(rig)
    .asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))
    .slice(-1)
  if (call === undefined) throw new Error('nothing ran')
  const looks = () =>
    rig.call(CLAUDE, 'debug_state', { suspension: 's1' }).then(answer => errorOf(answer).message)
  assert.match(await looks(), /has resumed it\. It goes on\./)
  kernelOf(rig).finish(call, doneWith('77'))
  await resuming
  assert.match(await looks(), /It goes on\. It came to 77/)
})

test('what a daemon kept that was lost has ended with it, as those of that name are told', async () => {
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
  rig.leases.lost([lost, { ...lost, suspension: S2, root: undefined }])
  const told =
    `${S1} in main (ValueError: no stock) is suspended no more. ` +
    'The daemon that kept it has ended, and it with that one. Nothing of it goes on.'
  assert.is(await toldOf(rig), `${told} Nothing was run.`)
  assert.match(await toldOf(rig, CLAUDE, { leave: true }), told)
  assert.not.match(await toldOf(rig, CODEX, { leave: true }), S1)
  assert.not.match(await toldOf(rig, CLAUDE, { suspension: S2, leave: true }), 'daemon')
})

test('an error with marks in it is told in one line, with the marks shown', async () => {
  const rig = await stopped(rigOf({ evaluate: { boom: stops(S1, { message: 'a\n\u001b[31mb\u202ec' }) } }))
  kernelOf(rig).suspended.end(S1, 'lost', '')
  const told = await toldOf(rig)
  assert.is(told.split('\n').length, 1)
  assert.ok(!told.includes('\u001b') && !told.includes('\u202e'))
  assert.match(told, /U\+202E/)
})

test('front ends hear once of each thing that happens, and which of it they did', async () => {
  const rig = rigOf(STOPS)
  const here = rig.follow(ADA.caller)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, NAMED)
  await rig.call(CLAUDE, 'debug_restart', { suspension: S1, leave: true })
  assert.equal(
    here.map(({ type, own }) => [type, own]),
    [
      ['suspended', false],
      ['taken', true],
      ['handed', true],
      ['ended', false],
    ],
  )
  const [began, taken, handed, ended] = rig.heard
  assert.equal(began?.suspension.holder, { type: 'other', who: 'claude-code', person: false })
  if (taken?.type !== 'taken' || handed?.type !== 'handed' || ended?.type !== 'ended')
    throw new Error('other news')
  assert.is(taken.by, ADA.who)
  assert.equal(taken.suspension.holder, { type: 'other', who: ADA.who, person: true })
  assert.equal([handed.by, handed.suspension.holder.type], [ADA.who, 'anyone'])
  assert.equal([ended.how, ended.by], ['left', 'claude-code'])
})
