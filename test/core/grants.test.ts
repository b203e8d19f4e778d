import type { Plan } from '../../src/approvals/plan.ts'
import { book } from '../support/book.ts'
import { ask, byDefault, granted, HOUR, isLetThrough, noticesOf, still } from '../support/granted.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan, somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'
import { someHunks } from '../support/some-hunks.ts'

const test = suite('grants')

/** What is offered with a plan. */
function offered(plan: Plan, how: { readonly byDefault?: typeof byDefault } = { byDefault }) {
  const { approvals } = book()
  const person = takeSeat(approvals)
  void approvals.ask(plan, { signal: still, ...how })
  return person.plans[0]?.grants
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
  assert.equal(noticesOf(made.person), [
    `${words}: let through without asking from now on, says a scripted seat. To end that: imago revoke grant-1`,
    through,
  ])
  const given = made.journal.filter(entry => entry.type === 'seat' && entry.what === 'granted')
  assert.equal(given, [{ type: 'seat', what: 'granted', seat: 'seat-1', who: 'a scripted seat', why: words }])
  assert.equal(made.approvals.waiting(), [])
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
  const answer = made.approvals.ask(somePlanOn('src/shop.py'), { signal: still })
  made.person.answer('deny')
  assert.is((await answer).type, 'denied')
})

test('only what was offered can be granted, and only with an approval: else the plan goes on waiting', async () => {
  const made = book()
  const person = takeSeat(made.approvals)
  const plan = somePlanOn('src/shop.py', { hunks: someHunks(1) })
  const answer = ask(made, plan)
  for (const pattern of ['', '**', 'src/', 'src/**/', '/project/src/**', 'src/*', '/etc/**', 'src/../**'])
    assert.is(person.answer({ grant: pattern }).type, 'unfit', pattern)
  const seat = made.approvals.sit({ who: 'by hand', tell: () => undefined })
  const given = { plan: plan.id, hash: plan.hash, grant: 'src/**' }
  const choices = [{ hunk: 1, decision: 'accept' }] as const
  assert.is(seat.answer({ ...given, decision: 'deny' }).type, 'unfit')
  assert.is(seat.answer({ ...given, decision: 'edit', args: {} }).type, 'unfit')
  assert.is(seat.answer({ ...given, decision: 'choose', choices }).type, 'unfit')
  assert.equal([made.approvals.waiting().length, made.approvals.grants()], [1, []])
  assert.is(seat.answer({ ...given, decision: 'approve' }).type, 'taken')
  assert.is((await answer).type, 'approved')
})

test('a late answer grants nothing, and neither does one with the hash of another plan (fault 27)', async () => {
  const made = book()
  const [person, slow] = [takeSeat(made.approvals), takeSeat(made.approvals)]
  const plan = somePlanOn('src/shop.py')
  void ask(made, plan)
  person.answer('deny', plan.id)
  assert.is(slow.answer({ grant: 'src/**' }, plan.id).type, 'late')
  const next = somePlanOn('src/shop.py')
  void ask(made, next)
  const seat = made.approvals.sit({ who: 'by hand', tell: () => undefined })
  const crossed = { plan: next.id, hash: '0'.repeat(64), decision: 'approve', grant: 'src/**' } as const
  assert.is(seat.answer(crossed).type, 'wrong_hash')
  assert.equal(made.approvals.grants(), [])
})

test('what waits and is granted now is let through at once; the rest goes on waiting', async () => {
  const made = book()
  const person = takeSeat(made.approvals)
  const plans = ['src/a.py', 'src/b.py', 'lib/c.py'].map(path => somePlanOn(path))
  const explicit = somePlanOn('src/d.py')
  const answers = plans.map(plan => ask(made, plan))
  void made.approvals.ask(explicit, { signal: still })
  person.answer({ grant: 'src/*.py' }, plans[0]?.id)
  assert.equal(await answers[1], { type: 'approved', by: 'grant-1 of seat-1', granted: true })
  assert.equal(
    made.approvals.waiting().map(({ id }) => id),
    [plans[2]?.id, explicit.id],
  )
  assert.is(person.answer('deny', plans[1]?.id).type, 'late')
})

for (const [what, slept] of [
  ['eight hours', false],
  ['eight hours in which the machine slept', true],
] as const)
  test(`a grant ends after ${what} (fault 25)`, async () => {
    const made = await granted('src/**')
    await made.clock.pass(8 * HOUR - 1)
    assert.is(await isLetThrough(made, somePlanOn('src/shop.py')), true)
    if (slept) made.wall.ahead = 8 * HOUR
    else await made.clock.pass(8 * HOUR)
    assert.equal(made.approvals.grants(), [])
    assert.is(await isLetThrough(made, somePlanOn('src/shop.py')), false)
  })

test('what is let through says nothing of how a person answers: a pause stays, and refusals stay in a row', async () => {
  const made = await granted('src/**')
  for (let n = 0; n < 2; n++) {
    void ask(made, somePlanOn('lib/a.py'))
    made.person.answer('deny')
  }
  await ask(made, somePlanOn('src/a.py'))
  void ask(made, somePlanOn('lib/a.py'))
  made.person.answer('deny')
  assert.is(made.approvals.pauses()[0]?.refusals, 3)
})
