import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { until, within } from '../support/rig.ts'
import type { ScreenOptions } from '../support/screen.ts'
import {
  APPROVE,
  asks,
  codeOf,
  evaluating,
  noSeat,
  openAsking,
  openSeatTerminal,
  openWatch,
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

const planOf = ({ screen }: Watch) => /plan-[a-z]{8}/.exec(screen.text())?.[0] ?? ''
const codeShown = ({ screen }: Watch) => /--code ([0-9a-z-]{19})/.exec(screen.text())?.[1] ?? ''

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
    await until(async () => (await rig.imago(['approvals'])).stdout.split('plan-').length === 3, 'two plans')
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
    await until(async () => (await rig.imago(['approvals'])).stdout.includes('plan-'), 'the plan')
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

test('a very long plan can be approved only when its end was shown (threat 15)', () =>
  sitting(
    async ({ screen }) => {
      const code = `${Array.from({ length: 2_500 }, (_, n) => `line_${n} = ${n}`).join('\n')}\nlast_of_all = 1`
      const { answer } = await evaluating(rig, code)
      for (const page of ['1099', '2198']) {
        await screen.shows(new RegExp(`${page} of 2501; Enter goes on, s stops here\\)\\s*$`))
        assert.not.match(screen.written, 'Approve?')
        screen.type('\n')
      }
      await screen.shows(/last_of_all = 1\n==== end of plan-\w+, all 2501 lines of it\n[\s\S]*Approve\?/)
      screen.type('y\n')
      assert.is(codeOf(await answer), 'ok')
    },
    { rows: 1_100 },
  ))

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

test('a script denies with a reason', () =>
  sitting(async watch => {
    const { answer } = await evaluating(rig, '1')
    await watch.screen.shows(APPROVE)
    const args = ['deny', planOf(watch), '--code', codeShown(watch), '--reason', 'no, thanks']
    assert.is((await rig.imago(args)).code, 0)
    assert.match(JSON.stringify(await answer), /no, thanks/)
  }))

test('a seat says nothing of its own beside the questions, however many there are', async () => {
  const main = join(PACKAGE_ROOT, 'dist/src/main.js')
  const command = ['sh', '-c', `exec ${process.execPath} ${main} watch --plain 2> said.txt`]
  await sitting(
    async ({ screen }) => {
      const first = await evaluating(rig, '0')
      // Twelve times about one plan, and then about twelve plans.
      for (let times = 1; times <= 12; times++) {
        await asks(screen, times)
        screen.type('?\n')
      }
      for (let n = 1; n <= 12; n++) {
        await asks(screen, 12 + n)
        screen.type('y\n')
        if (n === 1) assert.is(codeOf(await first.answer), 'ok')
        const { answer } = await evaluating(rig, `${n}`)
        if (n === 12) {
          await asks(screen, 25)
          screen.type('n because\n')
          assert.is(codeOf(await answer), 'denied')
        }
      }
      screen.type('\x04')
      assert.is(await screen.ended, 0)
      assert.is(readFileSync(join(rig.project, 'said.txt'), 'utf8'), '')
    },
    { command, args: [] },
  )
})

/** The same program connects anew for each call, as others would call themselves. */
async function connectingAnew(n: number) {
  const client = await rig.connect({ name: `client ${n}` })
  const answer = within(client.call({ tool: 'eval_expr', args: { expr: `${n}` } }), `the answer to ${n}`)
  return { answer, over: () => client.close() }
}

test('a program that was refused three times is not put before a person again, however it connects (threat 36)', async () => {
  await sitting(async ({ screen }) => {
    for (let n = 0; n < 3; n++) {
      const { answer, over } = await connectingAnew(n)
      await screen.shows(new RegExp(`\\| ${n}\\n[\\s\\S]*Approve\\?`))
      screen.type('n\n')
      await until(() => screen.written.split('Why?').length > n + 1, 'the question why')
      screen.type('\n')
      assert.is(codeOf(await answer), 'denied')
      await over()
    }
    await screen.shows(/3 plans of client 2 were refused in a row without a reason: none of it/)
    for (let n = 3; n < 10; n++) {
      const { answer, over } = await connectingAnew(n)
      const envelope = await answer
      assert.is(codeOf(envelope), 'busy')
      assert.match(JSON.stringify(envelope), /A person has refused 3 plans of yours in a row.*Stop here/)
      await over()
    }
    assert.is(screen.written.split(APPROVE).length - 1, 3)
  })
  const seat = await openSeatTerminal(rig)
  await seat.says('sit')
  assert.equal((await seat.says('lift', {})).lift, { lifted: 1 })
  seat.screen.close()
  await noSeat(rig)
  await sitting(async ({ screen }) => {
    const { answer, over } = await connectingAnew(10)
    await screen.shows(APPROVE)
    screen.type('y\n')
    assert.is(codeOf(await answer), 'ok')
    await over()
  })
})

test('at the third time the seat and the caller are told the rule by which nobody would be asked (threat 36)', () =>
  sitting(
    async ({ screen }) => {
      const client = await rig.connect({ name: 'a model' })
      const answers: Envelope[] = []
      for (const n of [1, 2, 3]) {
        const args = { path: 'notes.txt', content: `${n}\n` }
        const answer = within<Envelope>(client.call({ tool: 'write_file', args }), `the answer to ${n}`)
        await screen.shows(new RegExp(`\\| \\+${n}\\n[\\s\\S]*Approve\\?`))
        if (n < 3) assert.not.match(screen.text(), 'nobody would be asked')
        screen.type('y\n')
        answers.push(await answer)
      }
      assert.match(screen.text(), 'asked for 3 times by now; with this rule nobody would be asked:')
      const file = `file = "${join(rig.project, 'notes.txt')}"`
      const rule = ['[[rule]]', 'decision = "allow"', 'tool = "write_file"', 'level = "dangerous"', file]
      for (const line of rule) assert.match(screen.text(), `\n           ${line}\n`)
      const [first, second, third] = answers.map(answer => JSON.stringify(answer))
      assert.not.match(`${first}${second}`, 'A person was asked')
      assert.match(third ?? '', 'A person was asked 3 times for write_file on notes.txt by now. Tell them')
      assert.match(third ?? '', JSON.stringify(rule.join('\n')).slice(1, -1))
      assert.is(readFileSync(join(rig.project, 'notes.txt'), 'utf8'), '3\n')
    },
    { columns: 120 },
  ))

test('what goes out of date goes from the terminal with the cause, and what is typed then answers nothing (fault 28)', () =>
  sitting(async ({ screen }) => {
    const path = join(rig.project, 'shop.py')
    writeFileSync(path, 'def price(item):\n    return 1\n')
    const elsewhere = 'def price(item):\n    return 7\n'
    const client = await rig.connect({ name: 'a model' })
    const args = { path: 'shop.py', old_str: 'return 1', new_str: 'return 2' }
    const answer = within<Envelope>(client.call({ tool: 'edit_file', args }), 'the answer to an edit')
    await screen.shows(APPROVE)
    writeFileSync(path, elsewhere)
    await screen.shows(/^plan-\w+ needs no answer any more: It is out of date: shop\.py was changed/m)
    screen.type('y\n')
    const envelope = await answer
    assert.is(codeOf(envelope), 'stale_plan')
    assert.match(JSON.stringify(envelope), 'shop.py was changed')
    assert.is(readFileSync(path, 'utf8'), elsewhere)
    assert.is(screen.text().split(APPROVE).length, 2)
    await client.close()
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

test('imago watch ends with exit code 1 when the daemon does, and says what to do; all of its seats are in the journal', async () => {
  const { screen } = await openWatch(rig)
  await rig.imago(['shutdown', '--force'])
  assert.is(await screen.ended, 1)
  assert.match(screen.text(), /The seat is lost: [\s\S]*imago watch/)
  const [taken, left] = seatLines(rig).map(line => JSON.parse(line))
  assert.equal([taken.what, taken.seat, left.what, left.seat], ['taken', 'seat-1', 'left', 'seat-1'])
})

test('a seat that was left, and one of a daemon that has ended, can answer nothing, nor can its codes (threat 8)', async () => {
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
})
