import { WireError } from '../../wire/errors.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openSeatTerminal, type SeatTerminal, seatLines } from '../support/watching.ts'

const test = suite('pauses at the command line')

interface Told {
  readonly plan: { readonly id: string; readonly hash: string }
}

/** A call that the person refuses; how many plans they were shown by then. */
async function refused(rig: Rig, seat: SeatTerminal, path: string): Promise<number> {
  const shown = () => seat.told().filter(({ type }) => type === 'plan')
  const before = shown().length
  const call = rig.imago(['call', 'write_file', JSON.stringify({ path, content: 'x\n' })])
  await until(() => shown().length > before, `a plan about ${path}`)
  const { plan } = shown().at(-1) as unknown as Told
  await seat.says('answer', { plan: plan.id, hash: plan.hash, decision: 'deny' })
  assert.is((await call).code, 3)
  return shown().length
}

test('a pause is listed and in the log, and ends when a person at a seat lifts it, and by nobody else', async () => {
  const rig = openRig()
  let seat: SeatTerminal | undefined
  try {
    await rig.serve()
    seat = await openSeatTerminal(rig)
    await seat.says('sit')
    for (const path of ['a.txt', 'b.txt', 'c.txt']) await refused(rig, seat, path)
    const listed = (await rig.imago(['approvals'])).stdout
    assert.match(listed, /^NOT ASKED FOR +REFUSED IN A ROW +WHOSE PLANS\n\d.* s +3 +those of imago call$/m)
    const { result } = JSON.parse((await rig.imago(['approvals', '--json'])).stdout)
    const [pause] = result.pauses
    assert.equal([result.pauses.length, pause.who, pause.refusals], [1, 'imago call', 3])
    assert.ok(pause.left_ms > 0 && pause.left_ms <= 5 * 60_000)
    assert.equal(
      result.ends.map(({ outcome }: { outcome: string }) => outcome),
      ['denied', 'denied', 'denied'],
    )

    const other = await rig.connect({ name: 'no seat' })
    const failed = await other.request('lift', {}).catch((error: unknown) => error)
    assert.ok(failed instanceof WireError && failed.remote?.code === 'no_seat', String(failed))
    assert.is((await other.request('approvals', {})).pauses.length, 1)
    await other.close()

    assert.equal((await seat.says('lift', {})).lift, { lifted: 1 })
    assert.equal((await seat.says('lift', {})).lift, { lifted: 0 })
    assert.not.match((await rig.imago(['approvals'])).stdout, /NOT ASKED FOR/)
    assert.is(await refused(rig, seat, 'd.txt'), 4)
    assert.equal(
      seatLines(rig).map(line => JSON.parse(line).what),
      ['taken', 'paused', 'refused', 'lifted'],
    )
    const log = (await rig.imago(['log'])).stdout
    assert.match(log, /imago call is let be: 3 plans of imago call were refused in a row/)
    assert.match(log, /no seat \(.+\).*: It tried to end a pause, and has no seat\./)
    assert.match(log, /seat-1, terminal .*, wants to be asked again: all pauses have ended/)
  } finally {
    seat?.screen.close()
    await rig.close()
  }
})
