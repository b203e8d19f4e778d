import type { Answer, Plan } from '../../src/approvals/plan.ts'
import { LightSignal } from '../../wire/signal.ts'
import { MINUTE, sitting } from '../support/book.ts'
import { assert, suite } from '../support/harness.ts'
import { type SomePlan, somePlan, somePlanOn } from '../support/plans.ts'
import { type ScriptedSeat, takeSeat } from '../support/seat.ts'
import { someHunks } from '../support/some-hunks.ts'

/** What may be granted, what it lets through, and what bounds it. */
const test = suite('grants')

const byDefault = { policyFile: '/home/me/.config/imago/policy.toml' }
const HOUR = 60 * MINUTE

type Made = ReturnType<typeof sitting>

/** A plan that no rule wants a person to be asked about. */
const ask = (made: Made, plan: Plan): Promise<Answer> => made.ask(plan, { byDefault })

/** Approvals in which one person has let a pattern through with `src/shop.py`, or the files given. */
async function granted(
  pattern: string,
  files: string | readonly string[] = 'src/shop.py',
  { made = sitting(), ...more }: SomePlan & { readonly made?: Made } = {},
) {
  const plan = somePlanOn(files, more)
  const answer = ask(made, plan)
  assert.is(made.person.answer({ grant: pattern }, plan.id).type, 'taken')
  assert.equal(await answer, { type: 'approved', by: 'seat-1' })
  return made
}

/** Whether nobody is asked about it. */
async function isLetThrough(made: Made, plan: Plan): Promise<boolean> {
  const signal = new LightSignal()
  const before = made.person.plans.length
  const answer = made.approvals.ask(plan, { signal, byDefault })
  signal.abort()
  const { type } = await answer
  assert.is(type === 'approved', made.person.plans.length === before)
  return type === 'approved'
}

const noticesOf = (person: ScriptedSeat) =>
  person.told.flatMap(news => (news.type === 'notice' ? [news.text] : []))

const seatLines = (made: Made, what: string) =>
  made.journal.filter(entry => entry.type === 'seat' && entry.what === what)

/** What is offered with a plan. */
function offered(plan: Plan, how: { readonly byDefault?: typeof byDefault } = { byDefault }) {
  const made = sitting()
  void made.ask(plan, how)
  return made.person.plans[0]?.grants
}

for (const [files, patterns] of [
  ['src/shop.py', ['src/shop.py', 'src/*.py', 'src/**']],
  ['src/deep/er/a.tar.gz', ['src/deep/er/a.tar.gz', 'src/deep/er/*.gz', 'src/deep/er/**']],
  ['setup.py', ['setup.py', '*.py']],
  ['docs/README', ['docs/README', 'docs/**']],
  ['Makefile', ['Makefile']],
  [
    ['src/a.py', 'src/b.py'],
    ['src/a.py, src/b.py', 'src/*.py', 'src/**'],
  ],
  [
    ['src/a.py', 'src/deep/b.py'],
    ['src/a.py, src/deep/b.py', 'src/**'],
  ],
  [['src/a.py', 'test/a.py'], ['src/a.py, test/a.py']],
  [
    ['src/1.py', 'src/2.py', 'src/3.py', 'src/4.py', 'src/5.py'],
    ['src/*.py', 'src/**'],
  ],
] as const)
  test(`with ${files} may be granted, narrowest first: ${patterns.join(' | ')}`, () => {
    assert.equal(offered(somePlanOn(files)), patterns)
  })

const big = (bytes: number) => ({
  path: '/project/src/a.py',
  shown: 'src/a.py',
  before: null,
  after: Buffer.alloc(bytes, 'x'),
})

for (const [what, plan] of [
  ['that changes no file', somePlan({ kernel: null, epoch: null })],
  ['on a kernel', somePlanOn('src/a.py', { kernel: 'main' })],
  ['in an image', somePlanOn('src/a.py', { epoch: 'feedbeef' })],
  ['with a warning', somePlanOn('src/a.py', { body: 'a\u202eb' })],
  ['with a longer preview than anybody looks at', somePlanOn('src/a.py', { body: 'x\n'.repeat(131_073) })],
  ['with more than 256 kB', somePlanOn('src/a.py', { changes: [big(256 * 1024 + 1)] })],
  ['about a hidden file', somePlanOn('src/.env')],
  ['about a file in a hidden folder', somePlanOn('.github/workflows/ci.yml')],
  ['in a hidden root', somePlanOn('config', { root: '/home/me/.ssh' })],
  ['about a policy', somePlanOn('src/imago.toml')],
  ['about a policy in other letters', somePlanOn('src/IMAGO.TOML')],
  ['about a hidden file among others', somePlanOn(['src/a.py', 'src/.b.py'])],
  ['about a name that is a pattern', somePlanOn('src/*.py')],
  ['about a name that is two', somePlanOn('src/a.py, b.py')],
  ['about a name that does not show', somePlanOn('src/a\u200b.py')],
  ['about a path that goes up', somePlanOn('src/../../etc/passwd')],
  [
    'about a file outside of the project',
    somePlan({
      kernel: null,
      epoch: null,
      changes: [{ path: '/lib/a.py', shown: '/lib/a.py', before: null, after: Buffer.from('x') }],
    }),
  ],
] as const)
  test(`with a plan ${what} nothing may be granted (threat 22)`, () => {
    assert.equal(offered(plan), [])
  })

test('up to 256 kB may be granted, and nothing where a rule wants a person to be asked', () => {
  assert.is(offered(somePlanOn('src/a.py', { changes: [big(256 * 1024)] }))?.length, 3)
  assert.equal(offered(somePlanOn('src/a.py'), {}), [])
})

test('what was granted is let through without asking, is counted, told to the seats and in the journal', async () => {
  const made = await granted('src/*.py')
  const other = takeSeat(made.approvals)
  const plan = somePlanOn('src/cart.py', { title: 'Write src/cart.py' })
  assert.equal(await ask(made, plan), { type: 'approved', by: 'grant-1 of seat-1', granted: true })
  assert.equal(made.approvals.grants(), [
    {
      id: 'grant-1',
      tool: 'write_file',
      kernel: null,
      pattern: 'src/*.py',
      root: '/project',
      who: 'a test',
      seat: 'seat-1',
      used: 1,
      ends_ms: 8 * HOUR,
    },
  ])
  const words = 'grant-1, write_file on src/*.py for a test'
  const through = `${words}: let through without asking: Write src/cart.py. To take it back: imago undo ${plan.id}. To be asked again: imago revoke grant-1`
  assert.equal(noticesOf(other), [through])
  assert.match(noticesOf(made.person)[0] ?? '', `${words}: let through without asking from now on`)
  const given = { type: 'seat', what: 'granted', seat: 'seat-1', who: 'a scripted seat', why: words }
  assert.equal(seatLines(made, 'granted'), [given])
})

for (const [pattern, through, asked] of [
  [
    'src/shop.py',
    ['src/shop.py'],
    ['src/shop.pyc', 'src/Shop.py', 'shop.py', 'src/shop.py/x', 'lib/src/shop.py'],
  ],
  [
    'src/*.py',
    ['src/a.py', 'src/b.c.py'],
    ['src/a.PY', 'SRC/a.py', 'src/a.pyc', 'src/deep/a.py', 'src2/a.py', 'a.py', 'src/.a.py', 'src/..py'],
  ],
  [
    'src/**',
    ['src/a.py', 'src/deep/er/b', 'src/Makefile'],
    [
      'src',
      'src2/a.py',
      'src.py',
      'Src/a.py',
      'a.py',
      'src/.git/config',
      'src/deep/imago.toml',
      'lib/src/a.py',
    ],
  ],
] as const)
  test(`${pattern} is compared by whole names, to the letter (threat 22)`, async () => {
    const made = await granted(pattern)
    for (const path of through) assert.is(await isLetThrough(made, somePlanOn(path)), true, path)
    for (const path of asked) assert.is(await isLetThrough(made, somePlanOn(path)), false, path)
    const [first = ''] = through
    assert.is(await isLetThrough(made, somePlanOn([first, asked[0]])), false)
    for (const path of [
      'src/../src/shop.py',
      'src/../../project/src/shop.py',
      'src//shop.py',
      'src/./shop.py',
    ])
      assert.is(await isLetThrough(made, somePlanOn(path)), false, path)
  })

test('several files are let through only if each of them is', async () => {
  const made = await granted('src/a.py, test/a.py', ['src/a.py', 'test/a.py'])
  for (const files of ['src/a.py', 'test/a.py', ['test/a.py', 'src/a.py']])
    assert.is(await isLetThrough(made, somePlanOn(files)), true)
  assert.is(await isLetThrough(made, somePlanOn(['src/a.py', 'test/a.py', 'b.py'])), false)
})

for (const [what, more] of [
  ['another tool', { tool: 'delete_file' }],
  ['the same tool of another build', { toolHash: 'e'.repeat(64) }],
  ['another level', { level: 'cautious' }],
  ['another project', { root: '/other' }],
  ['a project in it', { root: '/project/src' }],
  ['whoever else asks', { origin: 'somebody else' }],
  ['a kernel', { kernel: 'main' }],
  ['a warning', { body: 'a\u202eb' }],
  ['a larger change', { changes: [big(256 * 1024 + 1)] }],
] as const)
  test(`a grant does not hold for ${what} (threat 22)`, async () => {
    const made = await granted('src/**')
    assert.is(await isLetThrough(made, somePlanOn('src/shop.py')), true)
    assert.is(await isLetThrough(made, somePlanOn('src/shop.py', more)), false)
    assert.is(made.approvals.grants()[0]?.used, 1)
  })

test('a grant does not hold where a rule wants a person to be asked', async () => {
  const made = await granted('src/**')
  const answer = made.ask(somePlanOn('src/shop.py'))
  made.person.answer('deny')
  assert.is((await answer).type, 'denied')
})

test('only what was offered can be granted, and only with an approval: else the plan goes on waiting', async () => {
  const made = sitting()
  const plan = somePlanOn('src/shop.py', { hunks: someHunks(1) })
  const answer = ask(made, plan)
  for (const pattern of ['', '**', 'src/', 'src/**/', '/project/src/**', 'src/*', '/etc/**', 'src/../**'])
    assert.is(made.person.answer({ grant: pattern }).type, 'unfit', pattern)
  const seat = made.approvals.sit('by hand')
  const given = { plan: plan.id, hash: plan.hash, grant: 'src/**' }
  const choices = [{ hunk: 1, decision: 'accept' }] as const
  for (const more of [
    { decision: 'deny' },
    { decision: 'edit', args: {} },
    { decision: 'choose', choices },
  ] as const)
    assert.is(seat.answer({ ...given, ...more }).type, 'unfit')
  const crossed = { ...given, hash: '0'.repeat(64), decision: 'approve' } as const
  assert.is(seat.answer(crossed).type, 'wrong_hash')
  assert.equal([made.approvals.waiting().length, made.approvals.grants()], [1, []])
  assert.is(seat.answer({ ...given, decision: 'approve' }).type, 'taken')
  assert.is((await answer).type, 'approved')
})

test('a late answer grants nothing (fault 27)', () => {
  const made = sitting()
  const slow = takeSeat(made.approvals)
  const plan = somePlanOn('src/shop.py')
  void ask(made, plan)
  made.person.answer('deny', plan.id)
  assert.is(slow.answer({ grant: 'src/**' }, plan.id).type, 'late')
  assert.equal(made.approvals.grants(), [])
})

test('what waits and is granted now is let through at once; the rest goes on waiting', async () => {
  const made = sitting()
  const plans = ['src/a.py', 'src/b.py', 'lib/c.py'].map(path => somePlanOn(path))
  const explicit = somePlanOn('src/d.py')
  const answers = plans.map(plan => ask(made, plan))
  void made.ask(explicit)
  made.person.answer({ grant: 'src/*.py' }, plans[0]?.id)
  assert.equal(await answers[1], { type: 'approved', by: 'grant-1 of seat-1', granted: true })
  assert.equal(
    made.approvals.waiting().map(({ id }) => id),
    [plans[2]?.id, explicit.id],
  )
  assert.is(made.person.answer('deny', plans[1]?.id).type, 'late')
})

test('what is let through says nothing of how a person answers: a pause stays, and refusals stay in a row', async () => {
  const made = await granted('src/**')
  const denies = () => {
    void ask(made, somePlanOn('lib/a.py'))
    made.person.answer('deny')
  }
  for (let n = 0; n < 2; n++) denies()
  await ask(made, somePlanOn('src/a.py'))
  denies()
  assert.is(made.approvals.pauses()[0]?.refusals, 3)
})

// How grants end.

for (const slept of [false, true])
  test(`a grant ends after 8 hours${slept ? ', which the machine slept' : ''}, and whoever sits and the journal are told (fault 25)`, async () => {
    const made = await granted('src/**')
    await made.clock.pass(HOUR)
    made.wall.ahead = slept ? 2 * HOUR : 0
    const left = made.approvals.grants().map(({ ends_ms }) => ends_ms)
    assert.equal(
      [left, await isLetThrough(made, somePlanOn('src/a.py'))],
      [[slept ? 5 * HOUR : 7 * HOUR], true],
    )
    if (slept) made.wall.ahead = 7 * HOUR
    await made.clock.pass(slept ? MINUTE : 7 * HOUR)
    const why = 'grant-1, write_file on src/** for a test, because it was given 8 hours ago'
    const ended = { type: 'seat', what: 'ended', seat: 'seat-1', who: 'a scripted seat', why }
    assert.equal(seatLines(made, 'ended'), [ended])
    assert.match(noticesOf(made.person).at(-1) ?? '', 'over, because it was given 8 hours ago.')
    assert.is(made.approvals.revoke('grant-1', 'somebody'), false)
    assert.is(await isLetThrough(made, somePlanOn('src/a.py')), false)
  })

test('a grant ends with the seat that gave it, and no other', async () => {
  const made = await granted('src/**')
  const person = takeSeat(made.approvals)
  const plan = somePlanOn('lib/a.py')
  void ask(made, plan)
  person.answer({ grant: 'lib/**' }, plan.id)
  made.person.leave()
  assert.equal(
    made.approvals.grants().map(({ id }) => id),
    ['grant-2'],
  )
  assert.match(noticesOf(person).at(-1) ?? '', /^grant-1, .*: over, because its seat was left/)
  assert.is(seatLines(made, 'ended').length, 1)
  assert.is(await isLetThrough({ ...made, person }, somePlanOn('src/shop.py')), false)
  assert.is(await isLetThrough({ ...made, person }, somePlanOn('lib/b.py')), true)
})

test('anybody ends a grant, once; what it let through is not carried out any more, and the like is asked about', async () => {
  const made = await granted('src/**')
  const [one, other] = [somePlanOn('src/a.py'), somePlanOn('src/b.py')]
  await ask(made, one)
  assert.is(made.approvals.expired(one), false)
  const revoked = ['grant-2', 'grant-1', 'grant-1'].map(id => made.approvals.revoke(id, 'somebody'))
  assert.equal(revoked, [false, true, false])
  assert.equal([made.approvals.expired(one), made.approvals.expired(other)], [true, false])
  assert.match(noticesOf(made.person).at(-1) ?? '', /^grant-1, .*: revoked by somebody\./)
  assert.is(seatLines(made, 'revoked').length, 1)
  assert.is(await isLetThrough(made, somePlanOn('src/shop.py')), false)
})

test('nothing looks after grants once none is left, or the daemon ends', async () => {
  const [left, closed] = [await granted('src/**'), await granted('src/**')]
  assert.equal([left.clock.waiting, closed.clock.waiting], [1, 1])
  left.person.leave()
  closed.approvals.close()
  assert.equal([left.clock.waiting, closed.clock.waiting], [0, 0])
})

test('grants are bounded: of more than 64 the oldest has ended', async () => {
  const made = sitting()
  for (let n = 0; n < 70; n++) await granted(`folder${n}/**`, `folder${n}/a.py`, { made })
  const ids = made.approvals.grants().map(({ id }) => id)
  assert.equal([ids.length, ids[0], ids.at(-1)], [64, 'grant-7', 'grant-70'])
  const over = noticesOf(made.person).filter(text => text.includes(': over, because there are 64 others'))
  assert.equal([over.length, over[0]?.slice(0, 8)], [6, 'grant-1,'])
})

for (const [what, origin, serves] of [
  ['of a program that is known', 'host 4711 99', true],
  ['by the client protocol, where each imago call is one', 'cli /project', true],
  ['of a program that is not known', 'mcp /project', false],
] as const)
  test(`a grant for a connection ${what} ${serves ? 'serves' : 'does not serve'} the next one (threat 22)`, async () => {
    const made = await granted('src/**', 'src/shop.py', { origin, caller: 'client-1 claude' })
    const same = somePlanOn('src/a.py', { origin, caller: 'client-1 claude' })
    const anew = somePlanOn('src/a.py', { origin, caller: 'client-2 claude' })
    assert.equal([await isLetThrough(made, same), await isLetThrough(made, anew)], [true, serves])
  })

// What is let through can be undone.

/** `src/**` is granted, and so many bytes are left to keep what is replaced. */
const grantedWith = (left: number) =>
  granted('src/**', 'src/shop.py', { made: sitting({ roomToUndo: bytes => bytes <= left }) })

const replacing = (bytes: number, path = 'src/a.py') =>
  somePlanOn(path, {
    changes: [
      { path: `/project/${path}`, shown: path, before: Buffer.alloc(bytes), after: Buffer.from('x') },
    ],
  })

test('where there is no room to undo it, a person is asked whatever was granted, and told why', async () => {
  const made = await grantedWith(100_000)
  assert.is(await isLetThrough(made, replacing(80_000)), true)
  const answer = ask(made, replacing(80_000))
  const warnings = made.person.plans.at(-1)?.warnings.join() ?? ''
  assert.match(warnings, /^grant-1 would let it through, and you are asked/)
  made.person.answer('approve')
  assert.equal(await answer, { type: 'approved', by: 'seat-1' })
  assert.is(made.approvals.grants()[0]?.used, 1)
})

test('what is let through takes room at once, before any of it is on the disk, until it must be', async () => {
  const made = await grantedWith(300_000)
  const through: boolean[] = []
  for (let n = 0; n < 5; n++) through.push(await isLetThrough(made, replacing(80_000)))
  assert.equal(through, [true, true, true, false, false])
  await made.clock.pass(30 * MINUTE)
  assert.is(await isLetThrough(made, replacing(80_000)), false)
  await made.clock.pass(MINUTE)
  assert.is(await isLetThrough(made, replacing(80_000)), true)
})

test('changes that replace nothing take room as well, and counting them takes none', async () => {
  const made = await grantedWith(1_000_000)
  const letThrough = async (from: number, to: number) => {
    for (let n = from; n < to; n++) assert.is(await isLetThrough(made, somePlanOn(`src/${n}.py`)), true)
  }
  // What those who sit are told of them is kept, too, up to a bound.
  await letThrough(0, 40)
  const kept = made.approvals.kept()
  await letThrough(40, 122)
  assert.is(made.approvals.kept(), kept)
  assert.is(await isLetThrough(made, somePlanOn('src/more.py')), false)
})

test('what waits when something is granted, and has no room, goes on waiting', async () => {
  const made = sitting({ roomToUndo: bytes => bytes < 50_000 })
  const plans = [replacing(10), replacing(90_000), replacing(20)]
  const answers = plans.map(plan => ask(made, plan))
  made.person.answer({ grant: 'src/**' }, plans[0]?.id)
  assert.is((await answers[2])?.type, 'approved')
  assert.equal(
    made.approvals.waiting().map(({ id }) => id),
    [plans[1]?.id],
  )
})
