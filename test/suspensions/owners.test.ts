import type { SuspensionError } from '../../src/suspensions/desk.ts'
import { GONE_MS } from '../../src/suspensions/owners.ts'
import type { LookName } from '../../wire/contract/looks.ts'
import { errorOf, HandClock, resultOf, until } from '../support/calls-rig.ts'
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
  NAMED,
  ROOT,
  S1,
  STOPS,
  stopped,
  stops,
} from '../support/leases-rig.ts'

/** The rule of `src/suspensions/owners.ts`, as callers and people meet it. */
const test = suite('whose a suspended evaluation is')

const rigOf = leasesRigsOf(test)

const S2 = 's2@ab12'

const LEAVES = { suspension: S1, leave: true }

/** An image in which code in a frame of S1 stops as S2. */
const NESTED: Script = {
  evaluate: {
    boom: stops(S1),
    [`${S1} frame 0: deeper`]: stops(S2, { level: 2, within: S1 }),
    bang: stops('s3@ab12'),
  },
}

/** Each suspension with whose it is, as that caller sees it. */
const owners = async ({ desk }: LeasesRig, caller = CODEX) =>
  (await desk.list(caller)).map(({ id, holder }) => [id, holder.type === 'other' ? holder.who : holder.type])

async function refusedBy(work: () => Promise<unknown>): Promise<SuspensionError> {
  const error = await work().then(
    () => undefined,
    thrown => thrown,
  )
  if (error === undefined) throw new Error('it should have been refused')
  return error
}

const evaluations = (rig: LeasesRig): number =>
  kernelOf(rig).asked.filter(({ method }) => method === 'evaluate').length

test('an error that is to suspend does so for those who are shown a debugger, and for nobody else', async () => {
  const rig = rigOf()
  for (const profile of ['core', 'live', 'full'] as const)
    await rig.call(client(profile, { profile }), 'eval_expr', { expr: '1', on_error: 'suspend' })
  const leaseMs = 600_000
  assert.equal(kernelOf(rig).suspending, [undefined, { leaseMs }, { leaseMs }])
})

test('whoever asked for it owns it, also on a new connection, and the journal says so', async () => {
  const rig = await stopped(rigOf(STOPS))
  const again = client('claude-code', { connection: 'second' })
  assert.is(resultOf(await rig.call(again, 'debug_restart', LEAVES)).value_repr, null)
  assert.equal(
    rig.noted.map(({ what, who, holder, by, why }) => [what, who, holder, by, why]),
    [
      ['suspended', 'test', 'claude-code', null, 'ValueError: no stock'],
      ['left', 'test', 'claude-code', 'claude-code', 'It was left.'],
    ],
  )
  assert.equal(
    [rig.noted[0]?.suspension, rig.noted[0]?.kernel, typeof rig.noted[0]?.call],
    [S1, 'main', 'string'],
  )
})

test('all shells of one project are one owner, and those of another project are not', async () => {
  const rig = rigOf(STOPS)
  const at = (root: string, connection: string) => {
    const { origin: _, ...command } = client('imago call', { kind: 'cli', profile: 'full', root, connection })
    return command
  }
  await rig.call(at('/shop', 'first'), 'eval_expr', { expr: 'boom' })
  assert.is(errorOf(await rig.call(at('/bank', 'second'), 'debug_restart', LEAVES)).code, 'held_by_other')
  assert.ok((await rig.call(at('/shop', 'third'), 'debug_restart', LEAVES)).ok)
})

test('a person who sits owns theirs on that one connection, whatever else calls from the project', async () => {
  const rig = rigOf(STOPS)
  await rig.call(ADA.caller, 'eval_expr', { expr: 'boom' })
  const { seat: _, ...command } = { ...ADA.caller, id: 'client-10', who: 'imago call' }
  const { message } = errorOf(await rig.call(command, 'debug_restart', LEAVES))
  assert.match(message, /seat-1, terminal of client-9, a person/)
  assert.ok((await rig.call(ADA.caller, 'debug_restart', LEAVES)).ok)
})

test('another caller may look and not act, and nothing of that reaches the image', async () => {
  const rig = await stopped(rigOf(STOPS))
  const before = evaluations(rig)
  for (const [tool, args] of [
    ['debug_restart', LEAVES],
    ['debug_eval', { suspension: S1, expr: '1' }],
  ] as const) {
    const { code, message } = errorOf(await rig.call(CODEX, tool, args))
    assert.is(code, 'held_by_other')
    assert.match(message, /claude-code/)
  }
  assert.is(evaluations(rig), before)
  await rig.call(CODEX, 'debug_state', { suspension: S1 })
  assert.ok(kernelOf(rig).asked.some(({ method }) => method === 'suspension'))
})

test('what this daemon has not seen stop is looked at, and nobody acts on it, whatever the image lists', async () => {
  const { suspension } = suspendedAs(S1, { who: 'claude-code' })
  const rig = rigOf({ looks: { suspensions: { type: 'found', value: { suspensions: [suspension] } } } })
  rig.leases.lives({ name: 'main', root: ROOT, kernel: kernelOf(rig) })
  for (const caller of [CLAUDE, ADA.caller])
    assert.is(errorOf(await rig.call(caller, 'debug_restart', LEAVES)).code, 'not_found')
  assert.is(evaluations(rig), 0)
  assert.is((await refusedBy(() => rig.desk.take(ADA, NAMED))).code, 'no_such_suspension')
  assert.match(errorOf(await rig.call(CODEX, 'debug_eval', { expr: '1' })).message, /owned by nobody here/)
})

test('what was resumed and stops again is owned by whoever resumed it', async () => {
  const rig = await stopped(
    rigOf({
      evaluate: {
        boom: stops(S1),
        [`${S1} {"type":"again","frame":0}`]: stops(S2, { call: 'older' as never }),
      },
    }),
  )
  await rig.desk.take(ADA, NAMED)
  await rig.call(ADA.caller, 'debug_restart', { suspension: S1, restart_frame: 0 })
  assert.equal(await owners(rig, ADA.caller), [[S2, 'you']])
})

test('ids are those of one kernel: the same id in another one is another owner’s', async () => {
  const rig = await stopped(rigOf(STOPS))
  rig.kernels.set('other', new (kernelOf(rig).constructor as new (script: Script) => never)(STOPS))
  await rig.call(CODEX, 'eval_expr', { expr: 'boom', kernel: 'other' })
  assert.is(errorOf(await rig.call(CODEX, 'debug_restart', LEAVES)).code, 'held_by_other')
  assert.ok((await rig.call(CODEX, 'debug_restart', { ...LEAVES, kernel: 'other' })).ok)
})

test('a person takes over what a model owns, who can only look from then on', async () => {
  const rig = await stopped(rigOf(STOPS))
  const row = await rig.desk.take(ADA, NAMED)
  assert.equal([row.holder, row.expires_in_ms], [{ type: 'you' }, 1_800_000])
  assert.equal(kernelOf(rig).leases, [{ suspension: S1, lease_ms: 1_800_000 }])
  const { code, details } = errorOf(await rig.call(CLAUDE, 'debug_restart', LEAVES))
  assert.equal([code, details.person], ['held_by_other', true])
  assert.ok((await rig.call(ADA.caller, 'debug_restart', LEAVES)).ok)
  assert.equal(
    rig.noted.map(({ what, holder, by }) => [what, holder, by]),
    [
      ['suspended', 'claude-code', null],
      ['taken', ADA.who, ADA.who],
      ['left', ADA.who, ADA.who],
    ],
  )
})

test('what a person puts before the agents is owned by all who call from the project, and by nobody else', async () => {
  const rig = await stopped(rigOf(STOPS))
  const handed = await rig.desk.hand(ADA, NAMED)
  assert.equal([handed.holder, handed.expires_in_ms], [{ type: 'anyone' }, 600_000])
  assert.equal(await owners(rig), [[S1, 'anyone']])
  assert.equal(await owners(rig, client('far', { root: '/bank' })), [[S1, 'the agents of /shop']])
  const far = await rig.call(client('far', { root: '/bank' }), 'debug_restart', LEAVES)
  assert.is(errorOf(far).code, 'held_by_other')
  for (const caller of [CODEX, CLAUDE])
    assert.ok((await rig.call(caller, 'debug_eval', { suspension: S1, expr: '1' })).ok)
  assert.ok((await rig.call(CODEX, 'debug_restart', LEAVES)).ok)
  assert.equal(
    rig.noted.map(({ what, holder, by }) => [what, holder, by]),
    [
      ['suspended', 'claude-code', null],
      ['handed', null, ADA.who],
      ['left', null, 'codex'],
    ],
  )
})

test('what stands on another one has the same owner, moves with it, and ends with it', async () => {
  const rig = await stopped(rigOf(NESTED))
  await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: 'deeper' })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'bang' })
  const inner = { suspension: S2, leave: true }
  assert.is(errorOf(await rig.call(CODEX, 'debug_restart', inner)).code, 'held_by_other')
  await rig.desk.take(ADA, { kernel: 'main', suspension: S2 })
  assert.equal(await owners(rig, CLAUDE), [
    ['s3@ab12', 'you'],
    [S2, ADA.who],
    [S1, ADA.who],
  ])
  await rig.call(ADA.caller, 'debug_restart', LEAVES)
  assert.equal(
    rig.noted.slice(3).map(({ what, suspension }) => `${suspension} ${what}`),
    [`${S1} taken`, `${S2} taken`, `${S2} within`, `${S1} left`],
  )
})

test('what has ended can neither be taken nor handed, also where it ends in that moment', async () => {
  const rig = await stopped(rigOf(STOPS))
  kernelOf(rig).suspended.end(S1, 'expired')
  for (const work of [() => rig.desk.take(ADA, NAMED), () => rig.desk.hand(ADA, NAMED)])
    assert.is((await refusedBy(work)).code, 'no_such_suspension')
  assert.is(
    (await refusedBy(() => rig.desk.take(ADA, { ...NAMED, kernel: 'nowhere' }))).code as string,
    'no_such_kernel',
  )
  const gone = { type: 'not_found', what: S1, nearest: [] } as const
  const late = await stopped(rigOf({ ...STOPS, looks: { lease: () => gone } }))
  assert.is((await refusedBy(() => late.desk.take(ADA, NAMED))).code, 'no_such_suspension')
})

test('an error of a person’s own is seen by them, and put before the agents when they say so', async () => {
  const { suspension } = suspendedAs('s7@ab12', { how: 'post_mortem', message: "'x'", who: 'you' })
  const { type, message } = suspension
  const error = { id: 'last_exc', where: 'sys.last_exc', type, message }
  const rig: LeasesRig = rigOf({
    looks: {
      theirs: { type: 'found', value: { errors: [error] } },
      adopt({ id }) {
        if (id !== error.id) return { type: 'not_found', what: id, nearest: [error.id] }
        kernelOf(rig).tell({ type: 'suspended', suspension })
        return { type: 'found', value: suspension }
      },
    },
  })
  rig.leases.lives({ name: 'main', root: ROOT, kernel: kernelOf(rig) })
  assert.equal(await rig.desk.theirs('main'), { errors: [error] })
  const wrong = await refusedBy(() => rig.desk.adopt(ADA, { kernel: 'main', id: 'nothing' }))
  assert.is(wrong.code, 'no_such_suspension')
  const row = await rig.desk.adopt(ADA, { kernel: 'main', id: error.id })
  assert.equal([row.id, row.holder], ['s7@ab12', { type: 'anyone' }])
  assert.equal(
    rig.noted.map(({ what, by, holder }) => [what, by, holder]),
    [
      ['suspended', null, 'you'],
      ['adopted', ADA.who, null],
    ],
  )
  // A look that is not answered is no empty list.
  const lives = (script: Script) => {
    const other = rigOf(script)
    other.leases.lives({ name: 'main', root: ROOT, kernel: kernelOf(other) })
    return refusedBy(() => other.desk.theirs('main'))
  }
  assert.is((await lives({ abilities: ['evaluate'] })).details.reason, 'no_ability')
  const silent = { theirs: () => ({ type: 'timed_out', deadline_ms: 5 }) as const }
  assert.is((await lives({ looks: silent })).details.reason, 'timed_out')
})

test('an owner that has been gone for a while loses what it owns, with all that stands on it', async () => {
  const clock = new HandClock()
  for (const [caller, own] of [
    [CLAUDE, 'claude-code'],
    [ADA.caller, ADA.who],
  ] as const) {
    const rig = rigOf(NESTED, { clock })
    const [one, other] = [rig.leases.came(caller), rig.leases.came({ ...caller })]
    await rig.call(caller, 'eval_expr', { expr: 'boom' })
    await rig.call(caller, 'debug_eval', { suspension: S1, expr: 'deeper' })
    one()
    await clock.pass(GONE_MS)
    assert.is((await owners(rig)).length, 2)
    other()
    await clock.pass(GONE_MS - 1)
    assert.is((await owners(rig)).length, 2)
    await clock.pass(1)
    await until(() => rig.noted.length === 4)
    assert.equal(await owners(rig), [])
    assert.equal([rig.noted.at(-1)?.what, rig.noted.at(-1)?.by], ['left', own])
  }
})

test('an owner that connects again in time still owns it; shells and agents are never gone', async () => {
  const clock = new HandClock()
  const rig = await stopped(rigOf(NESTED, { clock }))
  const first = rig.leases.came(CLAUDE)
  first()
  await clock.pass(GONE_MS - 1)
  const again = rig.leases.came({ ...CLAUDE, id: 'another' })
  await clock.pass(GONE_MS)
  assert.equal(await owners(rig), [[S1, 'claude-code']])
  await rig.desk.hand(ADA, NAMED)
  again()
  const shell = client('imago call', { kind: 'cli', origin: undefined })
  const left = rig.leases.came(shell)
  await rig.call(shell, 'eval_expr', { expr: 'bang' })
  left()
  await clock.pass(GONE_MS)
  assert.equal(await owners(rig), [
    ['s3@ab12', 'imago call'],
    [S1, 'anyone'],
  ])
})

test('what stops after its owner has gone ends as well', async () => {
  const clock = new HandClock()
  const rig = rigOf(STOPS, { clock })
  const gone = rig.leases.came(CLAUDE)
  gone()
  await clock.pass(GONE_MS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await clock.pass(GONE_MS)
  await until(() => rig.noted.at(-1)?.what === 'left')
})

/** What looks of that name were to have it wait for longer, one for each. */
const renewals = (rig: LeasesRig, name: LookName): readonly boolean[] =>
  kernelOf(rig).asked.flatMap(asked =>
    asked.method === name && 'query' in asked ? [Reflect.get(asked.query, 'renew') === true] : [],
  )

test('it waits for longer after looks of its owner and of a person, not of others nor of calls that fail', async () => {
  const { suspension } = suspendedAs(S1)
  const frame = { number: 0, function: 'price', call: null, file: null, line: null, source: null }
  const rest = { locals: [], locals_omitted: 0, around: null, can: [], notes: [] } as const
  const state = { suspension, restarts: [], frames: [frame], next: null, frames_total: 1 }
  const rig = await stopped(
    rigOf({
      ...STOPS,
      looks: {
        suspension: { type: 'found', value: state },
        frame: { type: 'found', value: { ...frame, ...rest } },
      },
    }),
  )
  const look = async (caller = CLAUDE) => {
    await rig.call(caller, 'debug_state', { suspension: S1 })
    await rig.call(caller, 'debug_frame', { suspension: S1 })
  }
  for (const caller of [CLAUDE, CODEX, ADA.caller]) await look(caller)
  await rig.desk.take(ADA, NAMED)
  await look()
  await rig.desk.hand(ADA, NAMED)
  await look(CODEX)
  const expected = [true, false, true, false, true]
  assert.equal(renewals(rig, 'frame'), expected)
  assert.equal(renewals(rig, 'suspension'), expected)
  const gone = await rig.call(CLAUDE, 'debug_restart', { suspension: S1, restart: 'continue' })
  assert.is(errorOf(gone).code, 'not_found')
  assert.equal(renewals(rig, 'suspension'), [...expected, false])
})
