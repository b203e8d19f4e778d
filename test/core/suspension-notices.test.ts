import { Notices } from '../../src/suspensions/leases.ts'
import type { Evaluated } from '../../wire/contract/evaluation.ts'
import { errorOf, resultOf, until } from '../support/calls-rig.ts'
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
  stops,
} from '../support/leases-rig.ts'

const test = suite('what owners of suspended evaluations are told')

const rigOf = leasesRigsOf(test)

const ONE = { expr: '1' }

const S2 = 's2@ab12'

/** A rig in which an evaluation of Claude's is suspended. */
async function stopped(script: Script = STOPS): Promise<LeasesRig> {
  const rig = rigOf(script)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  return rig
}

const toldOf = async (rig: LeasesRig, caller = CLAUDE) => noticeOf(await rig.call(caller, 'eval_expr', ONE))

test('that it has expired is told to its owner alone, with the next answer, once', async () => {
  const rig = await stopped()
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

test('an error says it in its details, and several ends are one text, the oldest first', async () => {
  const rig = await stopped({ evaluate: { boom: stops(S1), bang: stops(S2) } })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'bang' })
  for (const id of [S1, S2]) kernelOf(rig).suspended.end(id, 'expired')
  const { details, code } = errorOf(await rig.call(CLAUDE, 'inspect', { expr: 'nothing' }))
  assert.is(code, 'not_found')
  assert.match(String(details.notice), /^s1@ab12 .*\ns2@ab12 .*$/)
})

test('nothing is told with what completes while somebody types, nor where nobody reads: it waits', async () => {
  const rig = await stopped({
    ...STOPS,
    looks: { complete: { type: 'found', value: { completions: [], omitted: 0 } as never } },
  })
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(noticeOf(await rig.call(CLAUDE, 'complete', { code: 'bo' })), undefined)
  const gone = AbortSignal.abort()
  assert.is(noticeOf(await rig.calls.run({ tool: 'eval_expr', args: ONE, caller: CLAUDE, gone })), undefined)
  assert.match((await toldOf(rig)) ?? '', /s1@ab12/)
})

test('an end that is told before its beginning was answered leaves nothing behind', async () => {
  let settle: (value: Evaluated) => void = () => {}
  const rig = rigOf({ evaluate: { slow: { ends: new Promise(resolve => (settle = resolve)) } } })
  const kernel = kernelOf(rig)
  const answer = rig.call(CLAUDE, 'eval_expr', { expr: 'slow' })
  await until(() => kernel.suspending.length === 1)
  const ends = suspendedAs(S1)
  const call = kernel.asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))[0] ?? null
  kernel.tell({ type: 'suspended', suspension: { ...ends.suspension, call } })
  kernel.tell({ type: 'ended', id: S1, how: 'expired', message: '' })
  settle({ ...ends, suspension: { ...ends.suspension, call: 'another' as never } })
  assert.match(String(errorOf(await answer).details.notice), /Nobody came in time/)
})

test('an image that is lost takes its suspensions along, of which the next image knows nothing', async () => {
  const rig = await stopped()
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
  const rig = await stopped()
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
  const rig = await stopped()
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
    const rig = await stopped(goesOn(scene))
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
  const rig = await stopped(goesOn({ ends: 'never' }))
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

test('one that expires while a person reads it is gone by name when they act, and both are told', async () => {
  const rig = await stopped()
  await rig.desk.take(ADA, NAMED)
  kernelOf(rig).suspended.end(S1, 'expired')
  const answer = await rig.call(ADA.caller, 'debug_restart', { suspension: S1, leave: true })
  const { code, details } = errorOf(answer)
  assert.is(code, 'not_found')
  assert.match(String(details.notice), /Nobody came in time/)
  assert.match((await toldOf(rig)) ?? '', /^s1@ab12 in main .* Nobody came in time[^\n]*$/)
})

test('a person who watches is told by events, which say what is their own doing, and by no notice', async () => {
  const rig = await stopped()
  const heard: (boolean | undefined)[] = []
  rig.desk.watch({ caller: ADA.caller, heard: event => heard.push('own' in event ? event.own : undefined) })
  await rig.desk.take(ADA, NAMED)
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(await toldOf(rig, ADA.caller), undefined)
  assert.equal(heard, [true, false])
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
  const rig = await stopped({ evaluate: { boom: stops(S1, { message: 'a\n\u001b[31mb\u202ec' }) } })
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
  const [here, elsewhere]: [string[], string[]] = [[], []]
  rig.desk.watch({ caller: ADA.caller, heard: ({ type }) => here.push(type) })
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
  assert.equal([here, elsewhere], [['suspended', 'taken', 'handed', 'ended'], []])
  const [began, taken, handed, ended] = rig.heard
  assert.equal(began?.suspension.holder, { type: 'other', who: 'claude-code', person: false })
  if (taken?.type !== 'taken' || handed?.type !== 'handed' || ended?.type !== 'ended')
    throw new Error('other news')
  assert.equal([taken.by, taken.from], [ADA.who, 'claude-code'])
  assert.equal(taken.suspension.holder, { type: 'other', who: ADA.who, person: true })
  assert.equal([handed.by, handed.to, handed.suspension.holder.type], [ADA.who, null, 'anyone'])
  assert.equal([ended.how, ended.by], ['left', 'claude-code'])
})
