import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { lives, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import {
  codeOf,
  evaluating,
  noSeat,
  openAsking,
  openSeatRigs,
  openSeatScreen,
  plansWait,
} from '../support/watching.ts'

/** The real screen of `imago watch` when something goes wrong, or comes at the wrong moment. */
const test = suite('watch and faults')
const { withSeatScreen, close } = openSeatRigs()
test.after(close)

const ESC = '\x1b'
const OFFERED = / y approve /
const planOn = (screen: ScreenOf) => /^── (plan-[a-z]{8})/m.exec(screen.text())?.[1] ?? ''

test('what is typed before a plan stood there does not answer it (threat 20)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    screen.type('yyy')
    const pid = Number(/\(process (\d+)\)/.exec(screen.text())?.[1])
    // Stopped, it cannot read what is typed next: that lies in the terminal when the plan comes.
    process.kill(pid, 'SIGSTOP')
    const { answer } = await evaluating(rig, '1')
    await plansWait(rig, 1)
    screen.type('yyy')
    process.kill(pid, 'SIGCONT')
    await screen.shows(OFFERED)
    assert.match((await rig.imago(['approvals'])).stdout, /^plan-/m)
    screen.type('n\r')
    assert.is(codeOf(await answer), 'denied')
  }))

test('a plan that is settled under the cursor takes the keys that were meant for it with it (threat 20)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const cancel = new AbortController()
    const first = await evaluating(rig, '1001', cancel.signal)
    await screen.shows(OFFERED)
    const second = await evaluating(rig, '1002')
    await screen.shows('2 wait')
    screen.type('nbecau')
    await screen.shows('Why not? becau')
    cancel.abort()
    assert.is(codeOf(await first.answer), 'withdrawn')
    await screen.shows(/plan-\w+ needs no answer any more\.\n Its caller gave up\./)
    screen.type('se yes\ry')
    await screen.shows('| 1002')
    await screen.shows(OFFERED)
    assert.match((await rig.imago(['approvals'])).stdout, /^plan-/m)
    screen.type('y')
    assert.is(codeOf(await second.answer), 'ok')
  }))

test('over a link that stands still, a y for what stands there yet hits nothing that came since (threat 20)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const cancel = new AbortController()
    const first = await evaluating(rig, '1001', cancel.signal)
    await screen.shows(OFFERED)
    const second = await evaluating(rig, '1002')
    await screen.shows('2 wait')
    let answered = false
    const told = second.answer.finally(() => {
      answered = true
    })
    screen.holds(true)
    cancel.abort()
    assert.is(codeOf(await first.answer), 'withdrawn')
    screen.type('yy')
    screen.holds(false)
    await screen.shows(/plan-\w+ needs no answer any more\./)
    screen.type('y\r')
    await screen.shows('| 1002')
    await screen.shows(OFFERED)
    assert.is(answered, false)
    screen.type('y')
    assert.is(codeOf(await told), 'ok')
  }))

test('of two seats that answer one plan at once one counts, and the other is told which (fault 27)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const other = openScreen(rig, { args: ['watch'] })
    await screen.shows('Somebody else wants to approve, too.')
    await other.shows('There is a seat already.')
    await other.shows(
      /seat-\d+, terminal \/dev\/pts\/\d+ \(process \d+\), in \/[\s\S]*, started with:[\s\S]*watch\n/,
    )
    await other.shows('In that terminal press y (at the console Ctrl-T first).')
    await screen.shows(/ y let it /)
    screen.type('y')
    await other.shows(/seat-\d+ · /)
    for (let round = 0; round < 2; round++) {
      const { answer } = await evaluating(rig, `${round}`)
      await Promise.all([screen.shows(OFFERED), other.shows(OFFERED)])
      const id = planOn(screen)
      assert.is(planOn(other), id)
      screen.type('y')
      other.type('y')
      assert.is(codeOf(await answer), 'ok')
      // One of them has its answer, the other a reason to go on from.
      const settled = new RegExp(`${id} (?:approved|needs no answer any more)`)
      await Promise.all([screen.shows(settled), other.shows(settled)])
      screen.type('\r')
      other.type('\r')
      await Promise.all([screen.shows('Nothing waits'), other.shows('Nothing waits')])
      const entered = [screen, other].map(({ text }) => text().includes(`${id} approved: `))
      assert.equal(entered.sort(), [false, true])
    }
    other.close()
  }))

test('a terminal that is closed with a plan open ends the seat and leaves the plan to the next one (fault 26)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, '1')
    await screen.shows(OFFERED)
    const id = planOn(screen)
    const pid = Number(/\(process (\d+)\)/.exec((await rig.imago(['approvals'])).stdout)?.[1])
    // The master's end goes, as when a window is closed.
    screen.child.kill('SIGKILL')
    await noSeat(rig)
    await until(() => !lives(pid), 'the end of the seat')
    assert.match((await rig.imago(['approvals'])).stdout, new RegExp(id))
    const next = await openSeatScreen(rig)
    await next.shows(OFFERED)
    assert.is(planOn(next), id)
    next.type('y')
    assert.is(codeOf(await answer), 'ok')
    next.close()
  }))

test('Ctrl-Z gives the shell its terminal, and fg brings the plan back, which has to stand again', async () => {
  const rig = openAsking()
  await rig.serve()
  const main = join(import.meta.dirname, '../../dist/src/main.cjs')
  const screen = openScreen(rig, { command: ['bash', '--norc', '--noprofile', '-i'] })
  await screen.shows(/^bash-.*[$#]$/m)
  screen.type(`${process.execPath} ${main} watch\r`)
  await screen.shows('Nothing waits for you.')
  const { answer } = await evaluating(rig, '4004')
  await screen.shows(OFFERED)
  screen.type('\x1a')
  await screen.shows('Stopped')
  assert.not.match(screen.text(), '4004')
  screen.type('echo "still here"\r')
  await screen.shows(/^still here$/m)
  screen.type('fg\r')
  await screen.shows('| 4004')
  await screen.shows(OFFERED)
  screen.type('y')
  assert.is(codeOf(await answer), 'ok')
  screen.type('q')
  await screen.shows(/plan-\w+ approved: Run this code\nThe seat was left/)
  screen.close()
  await rig.close()
})

test('it ends with exit code 1 when the daemon does, with the terminal as it was, and says what to do', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    await rig.imago(['shutdown', '--force'])
    assert.is(await screen.ended, 1)
    await until(
      () => /The seat is lost: The daemon has ended\. To start again: imago watch/.test(screen.written),
      screen.written.slice(-300),
    )
    assert.is(screen.marksPastes, false)
    assert.ok(screen.written.indexOf(`${ESC}[?1049l`) < screen.written.indexOf('The seat is lost'))
  }))

test('somebody who is turned away has the terminal back, and is told who sits', () =>
  withSeatScreen({}, async ({ screen, rig }) => {
    const other = openScreen(rig, { args: ['watch'], columns: 200 })
    await screen.shows(/ n turn it away /)
    await other.shows('Waiting up to a minute to be let in by:')
    screen.type('n')
    assert.is(await other.ended, 3)
    await until(() => /turned away by seat-\d+/.test(other.written), other.written.slice(-400))
    assert.ok(other.written.lastIndexOf(`${ESC}[?1049l`) < other.written.indexOf('turned away'))
    other.close()
  }))
