import { Notices } from '../../src/suspensions/leases.ts'
import { resultOf, until } from '../support/calls-rig.ts'
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
  STOPS,
  StoppingKernel,
  stopped,
  stops,
} from '../support/leases-rig.ts'

const test = suite('what owners of suspended evaluations are told')

const rigOf = leasesRigsOf(test)

const ONE = { expr: '1' }

const S2 = 's2@ab12'

const toldOf = async (rig: LeasesRig, caller = CLAUDE) => noticeOf(await rig.call(caller, 'eval_expr', ONE))

test('that it has expired is told to its owner alone, with the next answer, once', async () => {
  const rig = await stopped(rigOf(STOPS))
  kernelOf(rig).suspended.end(S1, 'expired', 'Nobody came within 600 s.')
  assert.is(await toldOf(rig, CODEX), undefined)
  assert.is(
    await toldOf(rig, client('claude-code', { connection: 'second' })),
    's1@ab12 in main (ValueError: no stock) is suspended no more. Nobody came in time, and it was aborted. Nobody came within 600 s.',
  )
  assert.is(await toldOf(rig), undefined)
  assert.equal(
    rig.heard.map(({ type }) => type),
    ['suspended', 'ended'],
  )
})

test('nothing is told with what completes while somebody types, nor where nobody reads: it waits', async () => {
  const rig = await stopped(
    rigOf({
      ...STOPS,
      looks: { complete: { type: 'found', value: { completions: [], omitted: 0 } as never } },
    }),
  )
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(noticeOf(await rig.call(CLAUDE, 'complete', { code: 'bo' })), undefined)
  const gone = AbortSignal.abort()
  assert.is(noticeOf(await rig.calls.run({ tool: 'eval_expr', args: ONE, caller: CLAUDE, gone })), undefined)
  assert.match((await toldOf(rig)) ?? '', /s1@ab12/)
})

test('an image that is lost takes its suspensions along, of which the next image knows nothing', async () => {
  const rig = await stopped(rigOf(STOPS))
  kernelOf(rig).die({ reason: 'killed', message: 'It was killed by SIGKILL.\nIts last words' })
  rig.kernels.set('main', new StoppingKernel(STOPS))
  await until(() => rig.noted.some(({ what }) => what === 'lost'))
  assert.match(
    (await toldOf(rig)) ?? '',
    /s1@ab12 in main \(ValueError: no stock\) is suspended no more\..*SIGKILL/s,
  )
  assert.is(await toldOf(rig), undefined)
  assert.equal(await rig.desk.list(CLAUDE), [])
  await rig.call(CODEX, 'eval_expr', { expr: 'boom' })
  assert.ok((await rig.call(CODEX, 'debug_restart', { suspension: S1, leave: true })).ok)
})

test('that a person took it is told once, and what they made of it once', async () => {
  const rig = await stopped(rigOf(STOPS))
  await rig.desk.take(ADA, NAMED)
  assert.match(
    (await toldOf(rig)) ?? '',
    /s1@ab12 in main \(ValueError: no stock\) was taken over by seat-1, terminal of client-9\./,
  )
  assert.is(await toldOf(rig), undefined)
  const left = await rig.call(ADA.caller, 'debug_restart', { suspension: S1, leave: true })
  assert.ok(left.ok && noticeOf(left) === undefined)
  assert.match((await toldOf(rig)) ?? '', /is suspended no more\. seat-1, terminal of client-9 has left it\./)
  assert.is(await toldOf(rig), undefined)
})

test('what is put before the agents is told to each of them once, in place of what was told of it before', async () => {
  const rig = await stopped(rigOf(STOPS))
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, NAMED)
  const offered =
    'seat-1, terminal of client-9 has put s1@ab12 in main (ValueError: no stock) before the agents of this project: ' +
    'debug_state {"suspension":"s1@ab12","kernel":"main"} shows it.'
  for (const caller of [CLAUDE, CODEX]) {
    assert.is(await toldOf(rig, caller), offered)
    assert.is(await toldOf(rig, caller), undefined)
  }
  // Those who could do nothing with it, and those of other projects, are not told.
  assert.is(await toldOf(rig, client('little', { profile: 'core' })), undefined)
  assert.is(await toldOf(rig, client('far', { root: '/bank' })), undefined)
  // Nor whoever acts on it: they know.
  const late = client('late')
  assert.is(noticeOf(await rig.call(late, 'debug_eval', { suspension: S1, expr: '1' })), undefined)
  assert.is(await toldOf(rig, late), undefined)
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(await toldOf(rig, client('later')), undefined)
})

test('what is put before the agents is told with an answer about its kernel, and with no other', async () => {
  const rig = await stopped(rigOf(STOPS))
  await rig.desk.hand(ADA, NAMED)
  rig.kernels.set('other', new StoppingKernel())
  for (const answer of [
    await rig.call(CODEX, 'write_file', { path: '/etc/shadow', text: 'x' }),
    await rig.call(CODEX, 'no_such_tool'),
    await rig.call(CODEX, 'eval_expr', { expr: '' }),
    await rig.call(CODEX, 'eval_expr', { ...ONE, kernel: 'other' }),
  ])
    assert.is(noticeOf(answer), undefined, JSON.stringify(answer))
  assert.match((await toldOf(rig, CODEX)) ?? '', /^seat-1, terminal of client-9 has put s1@ab12 in main/)
})

test('whoever has nothing suspended is told of nothing that becomes of what others have', async () => {
  const rig = rigOf({ evaluate: { boom: stops(S1), bang: stops(S2) } })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'bang' })
  await rig.desk.take(ADA, NAMED)
  kernelOf(rig).suspended.end(S1, 'expired')
  await rig.call(CLAUDE, 'debug_restart', { suspension: S2, leave: true })
  for (const tool of ['eval_expr', 'inspect', 'write_file'])
    assert.is(noticeOf(await rig.call(CODEX, tool, ONE)), undefined)
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
  [{ ends: doneWith('(:paid 77)', '2') }, 'It came to (:paid 77), 2'],
  [{ ends: doneWith() }, 'It came to its end, without a value.'],
  [{ ends: { type: 'interrupted', elapsed_ms: 1 } }, 'It was interrupted.'],
  [
    { ends: { ...suspendedAs('s9@ab12', { message: 'none left' }), type: 'raised' } },
    'It ended with an error: ValueError: none left',
  ],
  [stops(S2, { message: 'again' }), 'It is suspended again, as s2@ab12: ValueError: again'],
] as const satisfies readonly (readonly [Scene, string])[]

test('of one that a person resumes, whoever asked for it is told what it came to, in one notice', async () => {
  for (const [scene, came] of CAME_TO) {
    const rig = await stopped(rigOf(goesOn(scene)))
    await rig.desk.take(ADA, NAMED)
    await rig.call(ADA.caller, 'debug_restart', BY_RESTART)
    assert.is(
      await toldOf(rig),
      `${S1} in main (ValueError: no stock) is suspended no more. ${ADA.who} has resumed it. It goes on. ${came}`,
    )
    assert.is(await toldOf(rig), undefined)
    assert.is(await toldOf(rig, CODEX), undefined)
  }
})

test('what goes on for longer is told twice: that it was resumed, and then what it came to', async () => {
  const rig = await stopped(rigOf(goesOn({ ends: 'never' })))
  await rig.desk.take(ADA, NAMED)
  const resuming = rig.call(ADA.caller, 'debug_restart', BY_RESTART)
  await until(() => rig.heard.some(({ type }) => type === 'ended'))
  const [call] = kernelOf(rig)
    .asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))
    .slice(-1)
  if (call === undefined) throw new Error('nothing ran')
  const looks = async () => noticeOf(await rig.call(CLAUDE, 'inspect', { expr: 'nothing' })) ?? ''
  assert.match(await looks(), /has resumed it\. It goes on\.$/)
  kernelOf(rig).finish(call, doneWith('77'))
  await resuming
  assert.match(await looks(), /It came to 77$/)
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
  rig.leases.lost([lost, { ...lost, suspension: S2, root: undefined }])
  assert.is(await toldOf(rig, CODEX), undefined)
  assert.is(await toldOf(rig, client('claude-code', { root: '/bank', connection: 'far' })), undefined)
  assert.is(
    await toldOf(rig),
    `${S1} in main (ValueError: no stock) is suspended no more. ` +
      'The daemon that kept it has ended, and it with that one. Nothing of it goes on.',
  )
  assert.is(await toldOf(rig), undefined)
})

test('an error with marks in it is told in one line, with the marks shown', async () => {
  const rig = await stopped(rigOf({ evaluate: { boom: stops(S1, { message: 'a\n\u001b[31mb\u202ec' }) } }))
  kernelOf(rig).suspended.end(S1, 'lost', '')
  const told = String(resultOf(await rig.call(CLAUDE, 'eval_expr', ONE)).notice)
  assert.is(told.split('\n').length, 1)
  assert.ok(!told.includes('\u001b') && !told.includes('\u202e'))
  assert.match(told, /U\+202E/)
})

test('what is to be told is bounded by callers and sentences, and says what was dropped', () => {
  const notices = new Notices()
  for (let number = 1; number <= 20; number++) notices.add('one', { about: `s${number}`, text: `${number}` })
  const told = notices.take(['none', 'one'])
  assert.equal([told[0], told[1]], ['(4 earlier notices were dropped.)', '5'])
  assert.ok(notices.empty)
  for (let key = 0; key < 100; key++) notices.add(`${key}`, { about: 's1', text: 'text' })
  assert.equal([notices.take(['35']), notices.take(['36'])], [[], ['text']])
})

test('front ends hear once of each thing that happens, those of the project or of all', async () => {
  const rig = rigOf(STOPS)
  const [here, elsewhere]: [unknown[], string[]] = [[], []]
  rig.desk.watch({
    caller: ADA.caller,
    heard: event => here.push([event.type, 'own' in event ? event.own : undefined]),
  })
  rig.desk.watch({ caller: { ...ADA.caller, root: '/bank' }, heard: ({ type }) => elsewhere.push(type) })
  rig.desk.watch({
    caller: ADA.caller,
    heard() {
      throw new Error('it has gone')
    },
  })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, NAMED)
  await rig.call(CLAUDE, 'debug_restart', { suspension: S1, leave: true })
  const all = [
    ['suspended', undefined],
    ['taken', true],
    ['handed', true],
    ['ended', false],
  ]
  assert.equal([here, elsewhere], [all, []])
  const [began, taken, handed, ended] = rig.heard
  assert.equal(began?.suspension.holder, { type: 'other', who: 'claude-code', person: false })
  if (taken?.type !== 'taken' || handed?.type !== 'handed' || ended?.type !== 'ended')
    throw new Error('other news')
  assert.equal([taken.by, taken.from], [ADA.who, 'claude-code'])
  assert.equal(taken.suspension.holder, { type: 'other', who: ADA.who, person: true })
  assert.equal([handed.by, handed.to, handed.suspension.holder.type], [ADA.who, null, 'anyone'])
  assert.equal([ended.how, ended.by], ['left', 'claude-code'])
  // Whoever is told by events is told by no notice.
  assert.is(await toldOf(rig, ADA.caller), undefined)
})
