import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig } from '../support/rig.ts'
import { openSeatTerminal, type SeatTerminal, seatLines } from '../support/watching.ts'

const test = suite('grants at the command line')

/** A daemon, and a person at a terminal. */
async function withSeat(use: (parts: { rig: Rig; seat: SeatTerminal }) => Promise<void>) {
  const rig = openRig()
  let seat: SeatTerminal | undefined
  try {
    await rig.serve()
    seat = await openSeatTerminal(rig)
    await seat.says('sit')
    await use({ rig, seat })
  } finally {
    seat?.screen.close()
    await rig.close()
  }
}

interface Told {
  readonly plan: { readonly id: string; readonly hash: string; readonly grants: readonly string[] }
}

const write = (rig: Rig, path: string, content: string) =>
  rig.imago(['call', 'write_file', JSON.stringify({ path, content })])

test('a person grants a pattern with an approval, sees what it lets through, and anybody revokes it', () =>
  withSeat(async ({ rig, seat }) => {
    const first = write(rig, 'a.txt', 'one\n')
    const { plan } = (await seat.hears('type', 'plan')) as unknown as Told
    assert.equal(plan.grants, ['a.txt', '*.txt'])
    const given = { plan: plan.id, hash: plan.hash, decision: 'approve' }
    const unfit = await seat.says('answer', { ...given, grant: '**' })
    assert.match(JSON.stringify(unfit.answer), /"unfit".*a\.txt, \*\.txt/)
    assert.equal((await seat.says('answer', { ...given, grant: '*.txt' })).answer, { type: 'taken' })
    assert.is((await first).code, 0)

    assert.is((await write(rig, 'b.txt', 'two\n')).code, 0)
    assert.is(readFileSync(join(rig.project, 'b.txt'), 'utf8'), 'two\n')
    const notice = seat.told().findLast(one => one.type === 'notice')
    assert.match(
      String(notice?.text),
      /^grant-1, write_file on \*\.txt .* imago undo plan-\w+.* imago revoke grant-1$/,
    )

    const listed = await rig.imago(['approvals'])
    assert.match(
      listed.stdout,
      /^GRANT .*\ngrant-1 +write_file +once +7 h 59 min +seat-1 +\*\.txt +imago call +\/\S+$/m,
    )
    const { result } = JSON.parse((await rig.imago(['approvals', '--json'])).stdout)
    assert.equal([result.grants.length, result.grants[0].pattern, result.grants[0].used], [1, '*.txt', 1])
    assert.match((await rig.imago(['log'])).stdout, /\[plan-\w+, approved by grant-1 of seat-1\]/)

    const revoked = await rig.imago(['revoke', 'grant-1', '--json'])
    assert.equal([revoked.code, JSON.parse(revoked.stdout)], [0, { ok: true, result: { grant: 'grant-1' } }])
    const again = await rig.imago(['revoke', 'grant-1'])
    assert.is(again.code, 1)
    assert.match(again.stderr, /There is no grant "grant-1"[\s\S]*imago approvals/)
    assert.is((await rig.imago(['revoke'])).code, 2)
    assert.not.match((await rig.imago(['approvals'])).stdout, /grant-1/)

    await seat.says('leave')
    assert.is((await write(rig, 'b.txt', 'three\n')).code, 3)
    assert.is(readFileSync(join(rig.project, 'b.txt'), 'utf8'), 'two\n')
    const whats = seatLines(rig).map(line => JSON.parse(line).what)
    assert.equal(whats, ['taken', 'granted', 'revoked', 'left'])
    const log = (await rig.imago(['log'])).stdout
    const words = String.raw`grant-1, write_file on \*\.txt for imago call`
    assert.match(log, new RegExp(`seat-1, terminal .*, lets through without asking: ${words}`))
    assert.match(log, new RegExp(`imago revoke \\(.+\\) ended what was let through: ${words}`))
  }))
