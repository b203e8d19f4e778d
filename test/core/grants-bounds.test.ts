import { book, MINUTE } from '../support/book.ts'
import { ask, granted, HOUR, isLetThrough, noticesOf } from '../support/granted.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

/** When they end by themselves, for which connections they hold, and that what they let through can be undone. */
const test = suite('what bounds grants')

for (const slept of [false, true])
  test(`whoever sits and the journal are told that it was 8 hours${slept ? ', which the machine slept' : ''} (fault 25)`, async () => {
    const made = await granted('src/**')
    if (slept) {
      made.wall.ahead = 8 * HOUR
      await made.clock.pass(MINUTE)
    } else await made.clock.pass(8 * HOUR)
    const words = 'grant-1, write_file on src/** for a test'
    assert.is(
      noticesOf(made.person).at(-1),
      `${words}: over, because it was given 8 hours ago. It is asked about again.`,
    )
    const why = `${words}, because it was given 8 hours ago`
    assert.equal(
      made.journal.filter(entry => entry.type === 'seat' && entry.what === 'ended'),
      [{ type: 'seat', what: 'ended', seat: 'seat-1', who: 'a scripted seat', why }],
    )
    assert.equal([made.approvals.revoke('grant-1', 'somebody'), made.clock.waiting], [false, 0])
  })

test('nothing looks after grants once none is left, or the daemon ends', async () => {
  const [left, closed] = [await granted('src/**'), await granted('src/**')]
  assert.equal([left.clock.waiting, closed.clock.waiting], [1, 1])
  left.person.leave()
  closed.approvals.close()
  assert.equal([left.clock.waiting, closed.clock.waiting], [0, 0])
})

const UNKNOWN = 'mcp /project'
for (const [what, origin, serves] of [
  ['of a program that is known', 'host 4711 99', true],
  ['by the client protocol, where each imago call is one', 'cli /project', true],
  ['of a program that is not known', UNKNOWN, false],
] as const)
  test(`a grant for a connection ${what} ${serves ? 'serves' : 'does not serve'} the next one (threat 22)`, async () => {
    const made = await granted('src/**', 'src/shop.py', { origin, caller: 'client-1 claude' })
    const same = somePlanOn('src/a.py', { origin, caller: 'client-1 claude' })
    const anew = somePlanOn('src/a.py', { origin, caller: 'client-2 claude' })
    assert.equal([await isLetThrough(made, same), await isLetThrough(made, anew)], [true, serves])
  })

/** A book in which `src/**` is granted, and so many bytes are left to keep what is replaced. */
async function grantedWith(room: { left: number }) {
  const made = book({ roomToUndo: bytes => bytes <= room.left })
  const person = takeSeat(made.approvals)
  const plan = somePlanOn('src/shop.py')
  void ask(made, plan)
  person.answer({ grant: 'src/**' }, plan.id)
  return { ...made, person }
}
const replacing = (bytes: number, path = 'src/a.py') =>
  somePlanOn(path, {
    changes: [
      { path: `/project/${path}`, shown: path, before: Buffer.alloc(bytes), after: Buffer.from('x') },
    ],
  })

test('where there is no room to undo it, a person is asked whatever was granted, and told why', async () => {
  const made = await grantedWith({ left: 100_000 })
  assert.is(await isLetThrough(made, replacing(80_000)), true)
  const answer = ask(made, replacing(80_000))
  assert.match(
    made.person.plans.at(-1)?.warnings.join() ?? '',
    /^grant-1 would let it through, and you are asked/,
  )
  made.person.answer('approve')
  assert.equal(await answer, { type: 'approved', by: 'seat-1' })
  assert.is(made.approvals.grants()[0]?.used, 1)
})

test('what is let through takes room at once, before any of it is on the disk, until it must be', async () => {
  const made = await grantedWith({ left: 300_000 })
  const through: boolean[] = []
  for (let n = 0; n < 5; n++) through.push(await isLetThrough(made, replacing(80_000)))
  assert.equal(through, [true, true, true, false, false])
  await made.clock.pass(30 * MINUTE)
  assert.is(await isLetThrough(made, replacing(80_000)), false)
  await made.clock.pass(MINUTE)
  assert.is(await isLetThrough(made, replacing(80_000)), true)
})

test('changes that replace nothing take room as well, and counting them takes none', async () => {
  const made = await grantedWith({ left: 1_000_000 })
  const kept = made.approvals.kept()
  for (let n = 0; n < 122; n++) assert.is(await isLetThrough(made, somePlanOn(`src/${n}.py`)), true)
  assert.is(made.approvals.kept(), kept + 1)
  assert.is(await isLetThrough(made, somePlanOn('src/more.py')), false)
})

test('what waits when something is granted, and has no room, goes on waiting', async () => {
  const made = book({ roomToUndo: bytes => bytes < 50_000 })
  const person = takeSeat(made.approvals)
  const plans = [replacing(10), replacing(90_000), replacing(20)]
  const answers = plans.map(plan => ask(made, plan))
  person.answer({ grant: 'src/**' }, plans[0]?.id)
  assert.is((await answers[2])?.type, 'approved')
  assert.equal(
    made.approvals.waiting().map(({ id }) => id),
    [plans[1]?.id],
  )
})
