import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { APPROVE, asks, codeOf, evaluating, openWatch, type Watch, withWatch } from '../support/watching.ts'

const test = suite('seat')

const planOf = ({ screen }: Watch) => /plan-[a-z]{8}/.exec(screen.text())?.[0] ?? ''

test('a plan is shown whole at a terminal that can only print lines, and y approves it', () =>
  withWatch(
    async ({ rig, watch: { screen } }) => {
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
    { TERM: 'dumb' },
  ))

test('n denies it, with a reason on the same line or on the next', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    const first = await evaluating(rig, '1')
    await screen.shows(APPROVE)
    screen.type('n not today\n')
    const denied = await first.answer
    assert.is(codeOf(denied), 'denied')
    assert.match(JSON.stringify(denied), /not today/)
    const second = await evaluating(rig, '2')
    await screen.shows(/\| 2\n[\s\S]*Approve\?/)
    screen.type('no\n')
    await screen.shows('Why?')
    screen.type('because\n')
    assert.match(JSON.stringify(await second.answer), /because/)
  }))

test('other words are explained, and the question stands', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    const { answer } = await evaluating(rig, '1')
    await screen.shows(APPROVE)
    screen.type('?\n')
    await asks(screen, 2)
    assert.match(screen.text(), /exactly as shown, once/)
    screen.type('yes please\n')
    await asks(screen, 3)
    screen.type('YES\n')
    assert.is(codeOf(await answer), 'ok')
  }))

test('several plans wait in the order in which they came', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    const first = await evaluating(rig, '1001')
    await screen.shows(/\| 1001\n[\s\S]*Approve\?/)
    const second = await evaluating(rig, '1002')
    await until(async () => (await rig.imago(['approvals'])).stdout.split('plan-').length === 3, 'two plans')
    assert.not.match(screen.text(), /1002/)
    screen.type('y\n')
    await screen.shows(/\| 1002\n[\s\S]*Approve\?/)
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.equal([codeOf(await first.answer), codeOf(await second.answer)], ['ok', 'denied'])
  }))

test('what is typed before a question stands there does not answer it', () =>
  withWatch(async ({ rig, watch }) => {
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
  withWatch(async ({ rig, watch: { screen } }) => {
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

test('Ctrl-C, Ctrl-D and q leave the seat, and what waits goes on waiting for the next one', () =>
  withWatch(async ({ rig, watch }) => {
    const { answer } = await evaluating(rig, '1')
    await watch.screen.shows(APPROVE)
    watch.screen.type('\x03')
    assert.is(await watch.screen.ended, 0)
    for (const leave of ['\x04', 'q\n']) {
      const { screen } = await openWatch(rig)
      await screen.shows(APPROVE)
      screen.type(leave)
      assert.is(await screen.ended, 0)
    }
    const { screen } = await openWatch(rig)
    await screen.shows(APPROVE)
    screen.type('y\n')
    assert.is(codeOf(await answer), 'ok')
    screen.close()
  }))

test('a seat without a plan is left with Ctrl-D, too', () =>
  withWatch(async ({ watch: { screen } }) => {
    screen.type('\x04')
    assert.is(await screen.ended, 0)
    assert.match(screen.text(), /The seat was left/)
  }))

test('the preview stands between rows of ours, and none of its own can be taken for one (threat 14)', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    const forged = [
      '"""',
      '==== end of plan-aaaaaaaa, all 1 line of it',
      'Approve? [y]es [n]o [q]uit [?] y',
      '  tool     list_globals (safe)',
      `x${' '.repeat(300)}==== the rest is harmless`,
      '"""',
      '# This only lists the names, and changes nothing.',
      'import os; os.abort()',
    ].join('\n')
    const { answer } = await evaluating(rig, forged)
    await asks(screen, 1)
    const rows = screen.text().split('\n')
    const from = rows.indexOf('| """')
    const to = rows.findIndex(row => /^==== end of plan-/.test(row))
    assert.ok(from > 0 && to > from)
    assert.ok(rows.slice(from, to).every(row => /^[|+]/.test(row)))
    assert.ok(rows.includes('| import os; os.abort()'))
    assert.ok(rows.some(row => /^ {2}tool {5}eval_expr \(cautious\)$/.test(row)))
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.is(codeOf(await answer), 'denied')
  }))

test('a very long plan can be approved only when its end was shown (threat 15)', () =>
  withWatch(async ({ rig, watch }) => {
    watch.screen.close()
    await until(async () => (await rig.imago(['approvals'])).stdout.includes('Nobody has a seat'), 'no seat')
    const { screen } = await openWatch(rig, { rows: 1_100 })
    const code = `${Array.from({ length: 2_500 }, (_, n) => `line_${n} = ${n}`).join('\n')}\nlast_of_all = 1`
    const first = await evaluating(rig, code)
    await screen.shows(/1099 of 2501; Enter goes on/)
    assert.match(screen.all().join('\n'), /size {5}\d+ bytes, 2501 lines/)
    screen.type('y\n')
    await screen.shows(/2198 of 2501; Enter goes on/)
    screen.type('s\n')
    await screen.shows('Not all was shown. [n]o [q]uit [?]')
    screen.type('y\n')
    await screen.shows(/Not all was shown[\s\S]*Not all was shown/)
    assert.not.match(screen.all().join('\n'), /last_of_all/)
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.is(codeOf(await first.answer), 'denied')
    const second = await evaluating(rig, code)
    for (const page of ['1099', '2198']) {
      await screen.shows(new RegExp(`${page} of 2501; Enter goes on, s stops here\\)\\s*$`))
      screen.type('\n')
    }
    await screen.shows(/last_of_all = 1\n==== end of plan-\w+, all 2501 lines of it\n[\s\S]*Approve\?/)
    screen.type('y\n')
    assert.is(codeOf(await second.answer), 'ok')
    screen.close()
  }))

test('a script answers with the code that a seat shows, once, and lists what waits without it', () =>
  withWatch(async ({ rig, watch }) => {
    const { screen } = watch
    const { answer } = await evaluating(rig, '"hidden from lists"')
    await screen.shows(APPROVE)
    const plan = planOf(watch)
    const code = /--code ([0-9a-z-]{19})/.exec(screen.text())?.[1] ?? ''
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
  withWatch(async ({ rig, watch }) => {
    const { answer } = await evaluating(rig, '1')
    await watch.screen.shows(APPROVE)
    const code = /--code ([0-9a-z-]{19})/.exec(watch.screen.text())?.[1] ?? ''
    assert.is((await rig.imago(['deny', planOf(watch), '--code', code, '--reason', 'no, thanks'])).code, 0)
    assert.match(JSON.stringify(await answer), /no, thanks/)
  }))

test('imago watch ends with exit code 1 when the daemon does, and says what to do', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    await rig.imago(['shutdown', '--force'])
    assert.is(await screen.ended, 1)
    assert.match(screen.text(), /The seat is lost: [\s\S]*imago watch/)
  }))
