import { assert, suite } from '../support/harness.ts'
import {
  APPROVE,
  codeOf,
  evaluating,
  openAsking,
  openSeatTerminal,
  seatLines,
  withWatch,
} from '../support/watching.ts'

const test = suite('several seats')

test('a connection has one seat, however often it asks for another', async () => {
  const rig = openAsking()
  try {
    await rig.serve()
    const { screen, says } = await openSeatTerminal(rig)
    assert.is((await says('sit')).seated, 'seat-1')
    for (let n = 0; n < 3; n++) {
      const again = await says('sit')
      assert.match(`${again.failed}: ${again.said}`, /^seat_refused: .*This connection has a seat already\.$/)
    }
    const { result } = JSON.parse((await rig.imago(['approvals', '--json'])).stdout)
    assert.is(result.seats.length, 1)
    screen.close()
  } finally {
    await rig.close()
  }
})

test('somebody who sits is asked before another one may, and silence or no is no', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    const other = await openSeatTerminal(rig)
    other.type('sit')
    await screen.shows(
      /Somebody else wants to approve, too: terminal[\s\S]*seat-terminal\.ts[\s\S]*\[y\]es \[n\]o/,
    )
    assert.match(JSON.stringify(await other.hears('type', 'asked')), /seat-1/)
    screen.type('n\n')
    const refused = await other.hears('failed')
    assert.is(refused.failed, 'seat_refused')
    assert.match(String(refused.said), /turned away by seat-1/)
    await screen.shows(/wanted a seat and did not get it/)
    other.type('sit')
    await screen.shows(/wants to approve, too[\s\S]*wants to approve, too[\s\S]*\[y\]es \[n\]o$/m)
    screen.type('y\n')
    assert.is((await other.hears('seated')).seated, 'seat-2')
    const { answer } = await evaluating(rig, '7007')
    await screen.shows(APPROVE)
    const { plan } = (await other.hears('type', 'plan')) as {
      plan: { id: string; hash: string; body: string }
    }
    assert.match(plan.body, '7007')
    const given = { plan: plan.id, hash: plan.hash, decision: 'approve' }
    const wrong = await other.says('answer', { ...given, hash: 'f'.repeat(64) })
    assert.equal(wrong.answer, { type: 'wrong_hash' })
    assert.equal((await other.says('answer', given)).answer, { type: 'taken' })
    assert.is(codeOf(await answer), 'ok')
    await screen.shows(/needs no answer any more: .*approved it/)
    other.screen.close()
    await screen.shows(/! seat-2, terminal .* has left/)
  }))

test('a seat that was left, and one of a daemon that has ended, can answer nothing, nor can its codes (threat 8)', async () => {
  const rig = openAsking()
  try {
    await rig.serve()
    const seat = await openSeatTerminal(rig)
    assert.is((await seat.says('sit')).seated, 'seat-1')
    const { client, answer } = await evaluating(rig, '1')
    const { plan } = (await seat.hears('type', 'plan')) as {
      plan: { id: string; hash: string; code: string }
    }
    await seat.says('leave')
    const given = { plan: plan.id, hash: plan.hash, decision: 'approve' }
    assert.is((await seat.says('answer', given)).failed, 'no_seat')
    assert.is((await seat.says('plan', { plan: plan.id })).failed, 'no_seat')
    assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    await answer.catch(() => {})
    await client.close()
    await rig.serve()
    const { code } = await rig.imago(['approve', plan.id, '--code', plan.code])
    assert.is(code, 1)
    assert.match(JSON.stringify(await seat.says('answer', given)), /failed/)
    assert.match((await rig.imago(['approvals'])).stdout, /Nobody has a seat/)
    seat.screen.close()
  } finally {
    await rig.close()
  }
})

test('grants, leavings and refusals are in the journal', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    screen.type('\x03')
    await screen.ended
    await rig.imago(['shutdown', '--force'])
    assert.equal(
      seatLines(rig)
        .map(line => JSON.parse(line))
        .map(({ what, seat }) => [what, seat]),
      [
        ['taken', 'seat-1'],
        ['left', 'seat-1'],
      ],
    )
  }))
