import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TopicChange } from '../../src/front/subscriptions.ts'
import { changesIn } from '../../src/front/topic-news.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { WireError } from '../../wire/errors.ts'
import { assert, suite } from '../support/harness.ts'
import { until, within } from '../support/rig.ts'
import { openScreen, type ScreenOptions } from '../support/screen.ts'
import {
  APPROVE,
  asks,
  codeOf,
  evaluating,
  noSeat,
  openAsking,
  openSeatTerminal,
  openWatch,
  plansWait,
  type SeatTerminal,
  seatLines,
  type Watch,
} from '../support/watching.ts'

/** A person at a real terminal that prints lines, and one daemon for all of them. */
const test = suite('seat', { limitMs: 60_000 })
const rig = openAsking()
test.before(async () => void (await rig.serve()))
test.after(() => rig.close())

/** Somebody sits down, and leaves afterwards. */
async function sitting(use: (watch: Watch) => Promise<void>, options: ScreenOptions = {}) {
  const watch = await openWatch(rig, options)
  try {
    await use(watch)
  } finally {
    watch.screen.close()
    await noSeat(rig)
  }
}

/** The same with a client that says what a test has it say. */
async function bySeat(use: (seat: SeatTerminal) => Promise<void>) {
  const seat = await openSeatTerminal(rig)
  try {
    assert.match(String((await seat.says('sit')).seated), /^seat-\d+$/)
    await use(seat)
  } finally {
    seat.screen.close()
    await noSeat(rig)
  }
}

const planOf = ({ screen }: Watch) => /plan-[a-z]{8}/.exec(screen.text())?.[0] ?? ''
const codeShown = ({ screen }: Watch) => /--code ([0-9a-z-]{19})/.exec(screen.text())?.[1] ?? ''
const approvals = async () => (await rig.imago(['approvals'])).stdout
const listed = async () => JSON.parse((await rig.imago(['approvals', '--json'])).stdout).result
const textOf = (path: string) => readFileSync(join(rig.project, path), 'utf8')

test('a plan is shown whole at a terminal that can only print lines, and y approves it', () =>
  sitting(
    async ({ screen }) => {
      const { answer } = await evaluating(rig, 'x = 40\nx + 2')
      await screen.shows(APPROVE)
      const text = screen.text()
      for (const part of ['plan-', '| x = 40\n| x + 2\n', 'eval_expr', '2 lines', 'imago test', rig.project])
        assert.ok(text.includes(part), part)
      assert.match(text, /sha256 {3}[0-9a-f]{64}\n/)
      screen.type('y\n')
      assert.is(codeOf(await answer), 'ok')
      await screen.shows(': approved')
    },
    { env: { TERM: 'dumb' }, args: ['watch'] },
  ))

test('n denies it, with a reason on the same line or on the next, and the next plan is asked about', () =>
  sitting(async ({ screen }) => {
    const first = await evaluating(rig, '1001')
    await screen.shows(/\| 1001\n[\s\S]*Approve\?/)
    const second = await evaluating(rig, '1002')
    await plansWait(rig, 2)
    assert.not.match(screen.text(), /1002/)
    screen.type('n not today\n')
    const denied = await first.answer
    assert.is(codeOf(denied), 'denied')
    assert.match(JSON.stringify(denied), /not today/)
    await screen.shows(/\| 1002\n[\s\S]*Approve\?/)
    screen.type('no\n')
    await screen.shows('Why?')
    screen.type('because\n')
    assert.match(JSON.stringify(await second.answer), /because/)
  }))

test('what is typed before a question stands there does not answer it', () =>
  sitting(async watch => {
    const { screen, pid } = watch
    screen.type('y\ny\n')
    // Stopped, it cannot read what is typed next: that lies in the terminal when the question comes.
    process.kill(pid, 'SIGSTOP')
    const { answer } = await evaluating(rig, '1')
    await plansWait(rig, 1)
    screen.type('y\ny\n')
    process.kill(pid, 'SIGCONT')
    await screen.shows(APPROVE)
    assert.match((await rig.imago(['approvals'])).stdout, /^plan-/m)
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.is(codeOf(await answer), 'denied')
  }))

test('a question is withdrawn with the cause when its caller gives up', () =>
  sitting(async ({ screen }) => {
    const cancel = new AbortController()
    const { answer } = await evaluating(rig, '1', cancel.signal)
    await screen.shows(APPROVE)
    screen.type('y')
    cancel.abort()
    assert.is(codeOf(await answer), 'withdrawn')
    await screen.shows(/needs no answer any more: .*gave up/)
    const next = await evaluating(rig, '3003')
    await screen.shows(/\| 3003\n[\s\S]*Approve\?/)
    screen.type('\n')
    await asks(screen, 3)
    screen.type('y\n')
    assert.is(codeOf(await next.answer), 'ok')
  }))

test('Ctrl-C, Ctrl-D and q leave the seat, and what waits goes on waiting for the next one', async () => {
  const empty = await openWatch(rig)
  empty.screen.type('\x04')
  assert.is(await empty.screen.ended, 0)
  assert.match(empty.screen.text(), /The seat was left/)
  const first = await openWatch(rig)
  const { answer } = await evaluating(rig, '1')
  await first.screen.shows(APPROVE)
  first.screen.type('\x03')
  assert.is(await first.screen.ended, 0)
  for (const leave of ['\x04', 'q\n']) {
    const { screen } = await openWatch(rig)
    await screen.shows(APPROVE)
    screen.type(leave)
    assert.is(await screen.ended, 0)
  }
  await sitting(async ({ screen }) => {
    await screen.shows(APPROVE)
    screen.type('y\n')
    assert.is(codeOf(await answer), 'ok')
  })
})

test('a script answers with the code that a seat shows, once, and lists what waits without it', () =>
  sitting(async watch => {
    const { screen } = watch
    const { answer } = await evaluating(rig, '"hidden from lists"')
    await screen.shows(APPROVE)
    const [plan, code] = [planOf(watch), codeShown(watch)]
    const listed = await rig.imago(['approvals', '--json'])
    assert.not.match(listed.stdout, new RegExp(`${code}|hidden from lists`))
    const { result } = JSON.parse(listed.stdout)
    assert.is(result.approvals[0].id, plan)
    assert.match(result.approvals[0].hash, /^[0-9a-f]{64}$/)
    assert.match(result.seats[0].who, /^terminal \/dev\/pts\/\d+ \(process \d+\)$/)
    assert.is((await rig.imago(['approve', plan])).code, 2)
    const approved = await rig.imago(['approve', plan, '--code', code, '--json'])
    assert.equal(JSON.parse(approved.stdout), { ok: true, result: { plan, decision: 'approve' } })
    assert.is(codeOf(await answer), 'ok')
    await screen.shows(/needs no answer any more/)
    const again = await rig.imago(['approve', plan, '--code', code])
    assert.is(again.code, 1)
    assert.match(again.stderr, /too late/)
  }))

test('a connection has one seat, however often it asks for another', async () => {
  const { screen, says } = await openSeatTerminal(rig)
  assert.match(String((await says('sit')).seated), /^seat-\d+$/)
  for (let n = 0; n < 3; n++) {
    const again = await says('sit')
    assert.match(`${again.failed}: ${again.said}`, /^seat_refused: .*This connection has a seat already\.$/)
  }
  const { result } = JSON.parse((await rig.imago(['approvals', '--json'])).stdout)
  assert.is(result.seats.length, 1)
  // Who has no seat is told who sits, and nothing of what is for those who do.
  const client = await rig.connect()
  const rows = new Promise<readonly TopicChange[]>(resolve => {
    const signal = new AbortController().signal
    void client.subscribe({ topics: ['seats'], signal, heard: event => resolve(changesIn(event)) })
  })
  const [row, ...others] = await rows
  assert.match(String(row?.key), /^seat-\d+$/)
  assert.equal(others, [])
  await client.close()
  screen.close()
  await noSeat(rig)
})

test('somebody who sits is asked before another one may, and silence or no is no', () =>
  sitting(async ({ screen }) => {
    const other = await openSeatTerminal(rig)
    other.type('sit')
    await screen.shows(
      /Somebody else wants to approve, too: terminal[\s\S]*seat-terminal\.ts[\s\S]*\[y\]es \[n\]o/,
    )
    assert.match(JSON.stringify(await other.hears('type', 'asked')), /seat-\d+/)
    screen.type('n\n')
    const refused = await other.hears('failed')
    assert.is(refused.failed, 'seat_refused')
    assert.match(String(refused.said), /turned away by seat-\d+/)
    await screen.shows(/wanted a seat and did not get it/)
    other.type('sit')
    await screen.shows(/wants to approve, too[\s\S]*wants to approve, too[\s\S]*\[y\]es \[n\]o$/m)
    screen.type('y\n')
    assert.is(typeof (await other.hears('seated')).seated, 'string')
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
    await screen.shows(/! seat-\d+, terminal .* has left/)
  }))

test('a script denies with a reason', () =>
  sitting(async watch => {
    const { answer } = await evaluating(rig, '1')
    await watch.screen.shows(APPROVE)
    const args = ['deny', planOf(watch), '--code', codeShown(watch), '--reason', 'no, thanks']
    assert.is((await rig.imago(args)).code, 0)
    assert.match(JSON.stringify(await answer), /no, thanks/)
  }))

test('what goes out of date goes from the terminal with the cause, and what is typed then answers nothing (fault 28)', () =>
  sitting(async ({ screen }) => {
    writeFileSync(join(rig.project, 'shop.py'), 'return 1\n')
    const client = await rig.connect({ name: 'a model' })
    const args = { path: 'shop.py', old_str: 'return 1', new_str: 'return 2' }
    const answer = within<Envelope>(client.call({ tool: 'edit_file', args }), 'the answer to an edit')
    await screen.shows(APPROVE)
    writeFileSync(join(rig.project, 'shop.py'), 'return 7\n')
    await screen.shows(/^plan-\w+ needs no answer any more: It is out of date: shop\.py was changed/m)
    screen.type('y\n')
    const envelope = await answer
    assert.is(codeOf(envelope), 'stale_plan')
    assert.match(JSON.stringify(envelope), 'shop.py was changed')
    assert.is(textOf('shop.py'), 'return 7\n')
    assert.is(screen.text().split(APPROVE).length, 2)
    await client.close()
  }))

const write = (path: string, content: string) =>
  rig.imago(['call', 'write_file', JSON.stringify({ path, content })])

interface PlanNews {
  readonly plan: { readonly id: string; readonly hash: string; readonly grants: readonly string[] }
}

/** The plan that the seat is told of after so many others, as it is answered. */
async function planAt(seat: SeatTerminal, before: number) {
  const told = () => seat.told().filter(({ type }) => type === 'plan')
  await until(() => told().length > before, 'a plan')
  const { plan } = told()[before] as unknown as PlanNews
  return { grants: plan.grants, given: { plan: plan.id, hash: plan.hash } }
}

test('a person grants a pattern with an approval, sees what it lets through, and anybody revokes it', () =>
  bySeat(async seat => {
    const first = write('a.txt', 'one\n')
    const { grants, given } = await planAt(seat, 0)
    assert.equal(grants, ['a.txt', '*.txt'])
    const granting = { ...given, decision: 'approve', grant: '*.txt' }
    assert.match(JSON.stringify(await seat.says('answer', { ...granting, grant: '**' })), /"unfit"/)
    assert.equal((await seat.says('answer', granting)).answer, { type: 'taken' })
    assert.is((await first).code, 0)

    assert.is((await write('b.txt', 'two\n')).code, 0)
    assert.is(textOf('b.txt'), 'two\n')
    const letThrough = /^grant-1, write_file on \*\.txt .* imago undo plan-\w+.* imago revoke grant-1$/
    await until(
      () => seat.told().some(({ type, text }) => type === 'notice' && letThrough.test(String(text))),
      'a notice of what was let through',
    )
    assert.match(
      await approvals(),
      /^GRANT .*\ngrant-1 +write_file +once +7 h 59 min +seat-\d+ +\*\.txt +imago call +\/\S+$/m,
    )
    assert.match((await rig.imago(['log'])).stdout, /\[plan-\w+, approved by grant-1 of seat-\d+\]/)

    const revoked = await rig.imago(['revoke', 'grant-1', '--json'])
    assert.equal([revoked.code, JSON.parse(revoked.stdout)], [0, { ok: true, result: { grant: 'grant-1' } }])
    const again = await rig.imago(['revoke', 'grant-1'])
    assert.is(again.code, 1)
    assert.match(again.stderr, /There is no grant "grant-1"[\s\S]*imago approvals/)
    assert.is((await rig.imago(['revoke'])).code, 2)
    const asked = write('b.txt', 'three\n')
    const { given: next } = await planAt(seat, 1)
    await seat.says('answer', { ...next, decision: 'deny', reason: 'no' })
    assert.is((await asked).code, 3)
    assert.is(textOf('b.txt'), 'two\n')
    const log = (await rig.imago(['log'])).stdout
    const words = String.raw`grant-1, write_file on \*\.txt for imago call`
    assert.match(log, new RegExp(`seat-\\d+, terminal .*, lets through without asking: ${words}`))
    assert.match(log, new RegExp(`imago revoke \\(.+\\) ended what was let through: ${words}`))
  }))

test('after three refusals a caller is not put before a person, until one at a seat lifts it, and nobody else (threat 36)', () =>
  bySeat(async seat => {
    const refused = async (n: number) => {
      const call = write(`${n}.md`, 'x\n')
      await seat.says('answer', { ...(await planAt(seat, n)).given, decision: 'deny' })
      assert.is((await call).code, 3)
    }
    for (const n of [0, 1, 2]) await refused(n)
    const unasked = await write('3.md', 'x\n')
    assert.match(unasked.stderr, /A person has refused 3 plans of yours in a row[\s\S]*Stop here/)
    assert.match(
      await approvals(),
      /^NOT ASKED FOR +REFUSED IN A ROW +WHOSE PLANS\n\d.* s +3 +those of imago call$/m,
    )
    const { pauses, ends } = await listed()
    assert.equal([pauses.length, pauses[0].who, pauses[0].refusals], [1, 'imago call', 3])
    assert.is(ends.at(-1).outcome, 'denied')

    const other = await rig.connect({ name: 'no seat' })
    const failed = await other.request('lift', {}).catch((error: unknown) => error)
    assert.ok(failed instanceof WireError && failed.remote?.code === 'no_seat', String(failed))
    await other.close()

    assert.equal((await seat.says('lift', {})).lift, { lifted: 1 })
    assert.equal((await seat.says('lift', {})).lift, { lifted: 0 })
    assert.not.match(await approvals(), /NOT ASKED FOR/)
    await refused(3)
    const log = (await rig.imago(['log'])).stdout
    assert.match(log, /imago call is paused: 3 plans of imago call were refused in a row/)
    assert.match(log, /no seat \(.+\).*: It tried to end a pause, and has no seat\./)
    assert.match(log, /seat-\d+, terminal .*, wants to be asked again: all pauses have ended/)
  }))

test('imago undo asks whoever runs it at a terminal, where nobody has a seat, for as long as they take', async () => {
  const args = JSON.stringify({ path: 'made.txt', content: 'made\n' })
  let undo = ''
  await sitting(async ({ screen }) => {
    const written = rig.imago(['call', 'write_file', args, '--json'])
    await screen.shows(APPROVE)
    screen.type('y\n')
    undo = JSON.parse((await written).stdout).result.undo
  })
  for (const keys of ['\x03', 'q\n', 'y\n']) {
    const screen = openScreen(rig, { args: ['undo', undo], columns: 100, rows: 60 })
    await asks(screen, 1)
    assert.match(await approvals(), /seat-\d+ {2}terminal/)
    screen.type(keys)
    assert.is(await screen.ended, keys === 'y\n' ? 0 : 1)
    assert.match(await approvals(), /No plan waits[\s\S]*Nobody has a seat/)
    assert.is(existsSync(join(rig.project, 'made.txt')), keys !== 'y\n')
  }
})

test('a prompt that can only print lines takes no seat: it says who answers, once, and runs when they did', async () => {
  const prompt = openScreen(rig, { columns: 160, env: { TERM: 'dumb' } })
  await prompt.shows(/^>>>/m)
  prompt.type(':approvals\n')
  await prompt.shows('Nobody has a seat. A person takes one with: imago watch')
  prompt.type(':kernels\n')
  await prompt.shows('has one command: :approvals')
  prompt.type('6 * 7\n')
  await prompt.shows(/^approval_unavailable: [\s\S]*imago watch/m)
  await sitting(async ({ screen }) => {
    prompt.type('6 * 7\n')
    await prompt.shows(/^plan-\w+ is before a person; nothing ran yet\. .* with: imago watch$/m)
    await screen.shows(APPROVE)
    screen.type('y\n')
    await prompt.shows(/^42$/m)
    assert.is(prompt.text().split('is before a person').length, 2)
    prompt.type(':ap\n')
    await prompt.shows('A person answers in another terminal, with: imago watch')
  })
  prompt.close()
})

test('a seat that was left can answer nothing (threat 8)', async () => {
  const seat = await openSeatTerminal(rig)
  await seat.says('sit')
  const asked = await evaluating(rig, '1')
  const { plan } = (await seat.hears('type', 'plan')) as { plan: { id: string; hash: string; code: string } }
  await seat.says('leave')
  const given = { plan: plan.id, hash: plan.hash, decision: 'approve' }
  assert.is((await seat.says('answer', given)).failed, 'no_seat')
  assert.is((await seat.says('plan', { plan: plan.id })).failed, 'no_seat')
  asked.answer.catch(() => {})
  await asked.client.close()
  seat.screen.close()
})

test('imago watch ends with exit code 1 when the daemon does, and says what to do; all of its seats are in the journal', async () => {
  const { screen } = await openWatch(rig)
  await rig.imago(['shutdown', '--force'])
  assert.is(await screen.ended, 1)
  assert.match(screen.text(), /The seat is lost: [\s\S]*imago watch/)
  const [taken, left] = seatLines(rig).map(line => JSON.parse(line))
  assert.equal([taken.what, taken.seat, left.what, left.seat], ['taken', 'seat-1', 'left', 'seat-1'])
})
