import type { SuspensionError } from '../../src/suspensions/desk.ts'
import { GONE_MS } from '../../src/suspensions/owners.ts'
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

async function refusedBy(work: () => unknown): Promise<SuspensionError> {
  const error = await (async () => work())().then(
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
  assert.equal(kernelOf(rig).suspending, [undefined, {}, {}])
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

test('what has ended can neither be taken nor handed', async () => {
  const rig = await stopped(rigOf(STOPS))
  kernelOf(rig).suspended.end(S1, 'lost')
  for (const work of [() => rig.desk.take(ADA, NAMED), () => rig.desk.hand(ADA, NAMED)])
    assert.is((await refusedBy(work)).code, 'no_such_suspension')
  assert.is(
    (await refusedBy(() => rig.desk.take(ADA, { ...NAMED, kernel: 'nowhere' }))).code as string,
    'no_such_kernel',
  )
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

const LEASE_MS = 600_000

const FRAME = { number: 0, function: 'price', call: null, file: null, line: null, source: null }

/** An image whose suspensions can be looked at. */
const LOOKED_AT: Script = {
  ...NESTED,
  looks: {
    suspension: {
      type: 'found',
      value: {
        suspension: suspendedAs(S1).suspension,
        restarts: [],
        frames: [FRAME],
        next: null,
        frames_total: 1,
      },
    },
    frame: {
      type: 'found',
      value: { ...FRAME, locals: [], locals_omitted: 0, around: null, can: [], notes: [] },
    },
  },
}

const expiresIn = ({ desk }: LeasesRig, id = S1) => desk.list(CODEX).find(row => row.id === id)?.expires_in_ms

const whatOf = (rig: LeasesRig) => rig.noted.map(({ what, by }) => [what, by])

test('when its owner does not come in time, its image is told to give it up, and the journal says so', async () => {
  const clock = new HandClock()
  const rig = await stopped(rigOf(STOPS, { clock }))
  await clock.pass(LEASE_MS - 1)
  assert.is(evaluations(rig), 1)
  await clock.pass(1)
  assert.equal(whatOf(rig), [
    ['suspended', null],
    ['expired', null],
  ])
  assert.is(rig.noted.at(-1)?.why, 'Nobody came to it for 10 min 0 s. It was left.')
  const news = rig.heard.at(-1)
  assert.is(news?.type === 'ended' && news.how, 'expired')
  assert.equal([evaluations(rig), await owners(rig), clock.waiting], [2, [], 0])
})

test('it waits for longer after looks of its owner and of a person, not of others nor of calls that fail', async () => {
  const clock = new HandClock()
  const rig = await stopped(rigOf(LOOKED_AT, { clock }))
  async function moves(caller: typeof CLAUDE, tool: string, args: object) {
    await clock.pass(1_000)
    const before = expiresIn(rig) ?? 0
    await rig.call(caller, tool, { suspension: S1, ...args })
    return (expiresIn(rig) ?? 0) > before
  }
  const looks = async (caller: typeof CLAUDE) => [
    await moves(caller, 'debug_state', {}),
    await moves(caller, 'debug_frame', {}),
  ]
  assert.equal(
    [await looks(CLAUDE), await looks(CODEX), await looks(ADA.caller)],
    [
      [true, true],
      [false, false],
      [true, true],
    ],
  )
  rig.desk.take(ADA, NAMED)
  assert.equal(await looks(CLAUDE), [false, false])
  rig.desk.hand(ADA, NAMED)
  assert.equal(await looks(CODEX), [true, true])
  assert.is(await moves(CODEX, 'debug_frame', { suspension: 's9' }), false)
})

test('it waits for as long as code runs in it or in what stands on it, and for a whole lease after that', async () => {
  const clock = new HandClock()
  const rig = await stopped(
    rigOf({ evaluate: { ...NESTED.evaluate, [`${S2} frame 0: long`]: { ends: 'never' } } }, { clock }),
  )
  await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: 'deeper' })
  const running = rig.call(CLAUDE, 'debug_eval', { suspension: S2, expr: 'long' })
  await until(() => evaluations(rig) === 3)
  await clock.pass(10 * LEASE_MS)
  assert.equal(
    rig.desk.list(CODEX).map(({ id, busy }) => [id, busy]),
    [
      [S2, true],
      [S1, true],
    ],
  )
  const asked = kernelOf(rig).asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))
  kernelOf(rig).finish(asked.at(-1) ?? ('' as never))
  await running
  await clock.pass(LEASE_MS - 1)
  assert.is((await owners(rig)).length, 2)
  await clock.pass(1)
  assert.equal(
    rig.noted.slice(2).map(({ suspension, what }) => [suspension, what]),
    [
      [S2, 'within'],
      [S1, 'expired'],
    ],
  )
})

test('an image that runs something else gives it up afterwards, and is asked once', async () => {
  const clock = new HandClock()
  const evaluate = { boom: stops(S1), long: { ends: 'never' } } as const
  const rig = await stopped(rigOf({ ...LOOKED_AT, evaluate }, { clock }))
  const long = rig.call(CODEX, 'eval_expr', { expr: 'long' })
  await until(() => evaluations(rig) === 2)
  await clock.pass(3 * LEASE_MS)
  assert.equal([await owners(rig), expiresIn(rig)], [[[S1, 'claude-code']], 0])
  // Who comes too late changes nothing.
  assert.ok((await rig.call(CLAUDE, 'debug_frame', { suspension: S1 })).ok)
  const asked = kernelOf(rig).asked.flatMap(one => (one.method === 'evaluate' ? [one.call] : []))
  kernelOf(rig).finish(asked.at(-1) ?? ('' as never))
  await long
  await until(() => rig.noted.at(-1)?.what === 'expired')
  assert.is(evaluations(rig), 3)
})

test('where its image does not give it up, it stays, and the image is told again after another lease', async () => {
  const clock = new HandClock()
  const no = { type: 'refused', reason: 'malformed', message: 'Not now.' } as const
  const rig = await stopped(
    rigOf({ evaluate: { boom: stops(S1), [`${S1} {"type":"leave"}`]: { ends: no } } }, { clock }),
  )
  await clock.pass(3 * LEASE_MS)
  assert.equal([evaluations(rig), await owners(rig)], [4, [[S1, 'claude-code']]])
})

test('one of whose end no news came is known as lost when its image does not know it', async () => {
  const clock = new HandClock()
  const none = { type: 'refused', reason: 'not_found', message: 'None.', what: S1 } as const
  const rig = await stopped(
    rigOf({ evaluate: { boom: stops(S1), [`${S1} {"type":"leave"}`]: { ends: none } } }, { clock }),
  )
  await clock.pass(LEASE_MS)
  assert.equal([whatOf(rig).at(-1), await owners(rig)], [['lost', null], []])
})

test('a thousand wait with a clock each, and an image that says that they stand on each other harms nobody', async () => {
  const clock = new HandClock()
  const rig = rigOf({}, { clock, followed: false })
  const kernel = kernelOf(rig)
  rig.leases.lives({ name: 'main', root: ROOT, kernel })
  for (let number = 0; number < 1_000; number++) {
    const within = `s${number === 0 ? 999 : number - 1}@ab12`
    const { suspension } = suspendedAs(`s${number}@ab12`, { within })
    kernel.tell({ type: 'suspended', suspension })
  }
  rig.desk.take(ADA, { kernel: 'main', suspension: 's999@ab12' })
  assert.equal([rig.desk.list(ADA.caller).length, clock.waiting], [1_000, 1_000])
  kernel.die()
  await until(() => clock.waiting === 0)
})
