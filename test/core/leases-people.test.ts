import type { LeaseError } from '../../src/core/lease-error.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { errorOf, resultOf, until } from '../support/calls-rig.ts'
import { doneWith } from '../support/fake-kernel.ts'
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
  stops,
} from '../support/leases-rig.ts'

const test = suite('people and suspended evaluations')
const rigOf = leasesRigsOf(test)

const leaves = { suspension: S1, leave: true }

/** A rig in which an evaluation of Claude's is suspended. */
async function stopped(script: Parameters<typeof rigOf>[0] = STOPS): Promise<LeasesRig> {
  const rig = rigOf(script)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  return rig
}

const plain = (rig: LeasesRig, who = CLAUDE): Promise<Envelope> => rig.call(who, 'eval_expr', { expr: '1' })

/** What the desk refuses, by its code. */
async function refusedBy(work: () => unknown): Promise<LeaseError> {
  try {
    await work()
  } catch (error) {
    return error as LeaseError
  }
  throw new Error('it should have been refused')
}

test('a person takes over what a model holds: the model is told once, and can only look from then on', async () => {
  const rig = await stopped()
  const row = await rig.desk.take(ADA, NAMED)
  assert.equal([row.holder, row.expires_in_ms], [{ type: 'you' }, 1_800_000])
  assert.equal(kernelOf(rig).leases, [{ suspension: S1, lease_ms: 1_800_000 }])
  const told = noticeOf(await plain(rig)) ?? ''
  assert.match(
    told,
    /s1@ab12 in main \(ValueError: no stock\) was taken over by seat-1, terminal of client-9/,
  )
  assert.is(noticeOf(await plain(rig)), undefined)
  const { code, details } = errorOf(await rig.call(CLAUDE, 'debug_restart', leaves))
  assert.is(code, 'held_by_other')
  assert.is(details.person, true)
})

test('a person who leaves what a model had suspended has that told to the model, once', async () => {
  const rig = await stopped()
  await rig.desk.take(ADA, NAMED)
  await plain(rig)
  assert.ok((await rig.call(ADA.caller, 'debug_restart', leaves)).ok)
  assert.match(
    noticeOf(await plain(rig)) ?? '',
    /is suspended no more\. seat-1, terminal of client-9 has left it\./,
  )
  assert.is(noticeOf(await plain(rig)), undefined)
  assert.equal(
    rig.noted.map(({ what, holder, by }) => [what, holder, by]),
    [
      ['suspended', 'claude-code', null],
      ['taken', ADA.who, ADA.who],
      ['left', ADA.who, ADA.who],
    ],
  )
})

test('what a model has running in a frame goes on when it is taken, and what stops there is the person’s', async () => {
  const inner = `${S1} frame 0: slow`
  const rig = await stopped({ evaluate: { boom: stops(S1), [inner]: { ends: 'never' } } })
  const kernel = kernelOf(rig)
  const answer = rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: 'slow' })
  const running = () => kernel.asked.findLast(one => one.method === 'evaluate' && one.source === inner)
  await until(() => running() !== undefined)
  await rig.desk.take(ADA, NAMED)
  const call = running()
  if (call?.method !== 'evaluate') throw new Error('it does not run')
  const nested = { ...suspendedAs('s2@ab12', { within: S1, level: 2 }).suspension, call: call.call }
  kernel.tell({ type: 'suspended', suspension: nested })
  kernel.finish(call.call, doneWith('2'))
  const done = await answer
  assert.is(resultOf(done).value_repr, '2')
  assert.match(noticeOf(done) ?? '', /taken over/)
  for (const suspension of [S1, 's2@ab12'])
    assert.is(errorOf(await rig.call(CLAUDE, 'debug_eval', { suspension, expr: '1' })).code, 'held_by_other')
  assert.equal(
    (await rig.desk.list(ADA.caller)).map(({ holder }) => holder.type),
    ['you', 'you'],
  )
})

test('to take one is to take what stands on it; the rest stays with its holder', async () => {
  const rig = rigOf({
    evaluate: {
      boom: stops(S1),
      [`${S1} frame 0: x`]: stops('s2@ab12', { within: S1, level: 2 }),
      other: stops('s3@ab12'),
    },
  })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: 'x' })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'other' })
  await rig.desk.take(ADA, NAMED)
  assert.equal(
    (await rig.desk.list(CLAUDE)).map(({ id, holder }) => [id, holder.type]),
    [
      ['s3@ab12', 'you'],
      ['s2@ab12', 'other'],
      [S1, 'other'],
    ],
  )
})

test('what is put before whoever comes first is told to each caller once, and is theirs who act first', async () => {
  const rig = await stopped()
  await rig.desk.take(ADA, NAMED)
  const handed = await rig.desk.hand(ADA, NAMED)
  assert.equal([handed.holder, handed.expires_in_ms], [{ type: 'anyone' }, 600_000])
  assert.match(
    noticeOf(await plain(rig, CODEX)) ?? '',
    /has put s1@ab12 .* before whoever comes first: debug_state/,
  )
  assert.is(noticeOf(await plain(rig, CODEX)), undefined)
  // Those who could do nothing with it, and those of other projects, are not told.
  assert.is(noticeOf(await plain(rig, client('little', { profile: 'core' }))), undefined)
  assert.is(noticeOf(await plain(rig, client('far', { root: '/bank' }))), undefined)
  assert.ok((await rig.call(CODEX, 'debug_eval', { suspension: S1, expr: '1' })).ok)
  assert.is(errorOf(await rig.call(CLAUDE, 'debug_restart', leaves)).code, 'held_by_other')
  // It is offered no more: whoever comes now hears nothing of it.
  assert.is(noticeOf(await plain(rig, client('late'))), undefined)
  assert.ok((await rig.call(CODEX, 'debug_restart', leaves)).ok)
})

test('a call that the image refuses makes nothing its caller’s, and whoever comes first still may', async () => {
  const refused = { type: 'refused', reason: 'malformed', message: 'It does not read.' } as const
  const rig = rigOf({
    evaluate: { boom: stops(S1), [`${S1} frame 0: )`]: { ends: refused } },
  })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.desk.take(ADA, NAMED)
  await rig.desk.hand(ADA, NAMED)
  assert.match(noticeOf(await plain(rig, CODEX)) ?? '', /before whoever comes first/)
  const { code } = errorOf(await rig.call(CODEX, 'debug_eval', { suspension: S1, expr: ')' }))
  assert.is(code, 'invalid_args')
  assert.equal(
    (await rig.desk.list(CLAUDE)).map(({ holder }) => holder.type),
    ['anyone'],
  )
  assert.is(noticeOf(await plain(rig, CODEX)), undefined)
  assert.match(noticeOf(await plain(rig, client('late'))) ?? '', /before whoever comes first/)
  assert.ok((await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: '1' })).ok)
  assert.is(errorOf(await rig.call(CODEX, 'debug_restart', leaves)).code, 'held_by_other')
})

test('what is put before one caller is told to that one, who alone may act', async () => {
  const rig = await stopped()
  await plain(rig, CODEX)
  const known = rig.desk.callers()
  assert.equal(
    known.map(({ who }) => who),
    ['codex', 'claude-code'],
  )
  await rig.desk.hand(ADA, { ...NAMED, to: 'codex' })
  const told = noticeOf(await plain(rig)) ?? ''
  assert.match(told, /was put before codex by seat-1/)
  assert.match(
    noticeOf(await plain(rig, CODEX)) ?? '',
    /before you: debug_state \{"suspension":"s1@ab12","kernel":"main"\}/,
  )
  assert.is(errorOf(await rig.call(CLAUDE, 'debug_restart', leaves)).code, 'held_by_other')
  assert.ok((await rig.call(CODEX, 'debug_restart', leaves)).ok)
  const { to, by } = rig.noted.find(({ what }) => what === 'handed') ?? {}
  assert.equal([to, by], ['codex', ADA.who])
})

test('a caller that nobody knows, or that several call themselves, is refused with those there are, and nothing is given', async () => {
  const rig = await stopped()
  const nobody = await refusedBy(() => rig.desk.hand(ADA, { ...NAMED, to: 'nobody' }))
  assert.is(nobody.code, 'invalid_params')
  assert.match(nobody.message, /caller-1 \(claude-code, \/shop\)/)
  await plain(rig, client('claude-code', { origin: 'another host' }))
  assert.match(
    (await refusedBy(() => rig.desk.hand(ADA, { ...NAMED, to: 'claude-code' }))).message,
    /Several/,
  )
  assert.is((await rig.desk.list(CLAUDE))[0]?.holder.type, 'you')
  await rig.desk.hand(ADA, { ...NAMED, to: 'caller-2' })
  assert.is((await rig.desk.list(CLAUDE))[0]?.holder.type, 'other')
})

test('what has ended can neither be taken nor handed, also where it ends in that moment', async () => {
  const rig = await stopped()
  kernelOf(rig).suspended.end(S1, 'expired')
  for (const work of [() => rig.desk.take(ADA, NAMED), () => rig.desk.hand(ADA, NAMED)])
    assert.is((await refusedBy(work)).code, 'no_such_suspension')
  assert.is(
    (await refusedBy(() => rig.desk.take(ADA, { ...NAMED, kernel: 'nowhere' }))).code as string,
    'no_such_kernel',
  )
  const gone = { type: 'not_found', what: S1, nearest: [] } as const
  const late = await stopped({ ...STOPS, looks: { lease: () => gone } })
  assert.is((await refusedBy(() => late.desk.take(ADA, NAMED))).code, 'no_such_suspension')
})

test('an image that does not say in time how long it waits is taken from all the same', async () => {
  const busy = { type: 'busy', call: 'c' as never, elapsed_ms: 1 } as const
  const rig = await stopped({ ...STOPS, looks: { lease: () => busy } })
  const row = await rig.desk.take(ADA, NAMED)
  assert.equal([row.holder.type, row.expires_in_ms, row.busy], ['you', null, null])
  assert.is(errorOf(await rig.call(CLAUDE, 'debug_restart', leaves)).code, 'held_by_other')
})

test('an error of a person’s own is seen by them, and put before whoever comes first when they say so', async () => {
  const error = {
    id: 'last_exc',
    where: 'sys.last_exc',
    type: { name: 'KeyError', module: 'builtins', qualified: 'KeyError' },
    message: "'x'",
  }
  const asked: unknown[] = []
  const { suspension } = suspendedAs('s7@ab12', {
    how: 'post_mortem',
    message: "'x'",
    type: error.type,
    who: 'you',
  })
  const rig = rigOf({
    looks: {
      theirs: { type: 'found', value: { errors: [error] } },
      adopt(query) {
        asked.push(query)
        return query.id === error.id
          ? { type: 'found', value: suspension }
          : { type: 'not_found', what: query.id, nearest: [error.id] }
      },
    },
  })
  await plain(rig)
  assert.equal(await rig.desk.theirs('main'), { errors: [error] })
  const wrong = await refusedBy(() => rig.desk.adopt(ADA, { kernel: 'main', id: 'nothing' }))
  assert.is(wrong.code, 'no_such_suspension')
  const row = await rig.desk.adopt(ADA, { kernel: 'main', id: error.id })
  assert.equal([row.id, row.holder], ['s7@ab12', { type: 'anyone' }])
  assert.equal(asked.at(-1), { id: error.id, lease_ms: 600_000 })
  assert.match(
    noticeOf(await plain(rig)) ?? '',
    /seat-1, .* has put s7@ab12 in main \(KeyError: 'x'\) before whoever/,
  )
  assert.equal(
    rig.noted.map(({ what, by, call }) => [what, by, call]),
    [
      ['suspended', null, undefined],
      ['adopted', ADA.who, undefined],
    ],
  )
})

test('an image that knows no errors of others says so, and an unanswered look is no empty list', async () => {
  const lacking = rigOf({ abilities: ['evaluate'] })
  await plain(lacking)
  const none = await refusedBy(() => lacking.desk.theirs('main'))
  assert.equal([none.code as string, none.details.reason], ['kernel_unavailable', 'no_ability'])
  const silent = rigOf({ looks: { theirs: () => ({ type: 'timed_out', deadline_ms: 5 }) } })
  await plain(silent)
  assert.is((await refusedBy(() => silent.desk.theirs('main'))).details.reason, 'timed_out')
})

test('front ends hear once of each thing that happens, those of the project or of all', async () => {
  const rig = rigOf(STOPS)
  const here: string[] = []
  const elsewhere: string[] = []
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
  await rig.desk.hand(ADA, { ...NAMED, to: 'claude-code' })
  await rig.call(CLAUDE, 'debug_restart', leaves)
  assert.equal(here, ['suspended', 'taken', 'handed', 'ended'])
  assert.equal(elsewhere, [])
  const [began, taken, handed, ended] = rig.heard
  assert.equal(began?.suspension.holder, { type: 'other', who: 'claude-code', person: false })
  assert.is(began?.suspension.message, 'no stock')
  if (taken?.type !== 'taken' || handed?.type !== 'handed' || ended?.type !== 'ended')
    throw new Error('other news')
  assert.equal([taken.by, taken.from], [ADA.who, 'claude-code'])
  assert.equal(taken.suspension.holder, { type: 'other', who: ADA.who, person: true })
  assert.equal([handed.by, handed.to], [ADA.who, 'claude-code'])
  assert.equal([ended.how, ended.by], ['left', 'claude-code'])
})

test('what was put before whoever comes first and has ended is offered to nobody', async () => {
  const rig = await stopped()
  await rig.desk.hand(ADA, NAMED)
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(noticeOf(await plain(rig, CODEX)), undefined)
})
