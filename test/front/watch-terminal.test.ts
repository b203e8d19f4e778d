import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { type Rig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import {
  codeOf,
  evaluating,
  noSeat,
  openAsking,
  openSeatScreen,
  withSeatScreen,
} from '../support/watching.ts'

/** The real screen of `imago watch`, at a real terminal, with a real daemon. */
const test = suite('watch at a terminal', { limitMs: 40_000 })

const OFFERED = / y approve /
const planOn = (screen: ScreenOf) => /^── (plan-[a-z]{8})/m.exec(screen.text())?.[1] ?? ''

/** A plan that nobody answers before the test is over. */
async function asked(rig: Rig, expr: string) {
  const { answer } = await evaluating(rig, expr)
  answer.catch(() => {})
}

test('y approves what is shown, and it says so', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, 'x = 40\nx + 2')
    await screen.shows(OFFERED)
    for (const part of ['| x = 40\n| x + 2\n', 'eval_expr', 'imago test', rig.project])
      assert.ok(screen.text().includes(part), part)
    assert.match(screen.text(), /sha256 {3}[0-9a-f]{64}$/m)
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
    await screen.shows(/plan-\w+ approved/)
    await screen.shows('Nothing waits for you.')
  }))

test('n denies it with the reason that is typed', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, '1')
    await screen.shows(OFFERED)
    screen.type('n')
    await screen.shows('Why not?')
    screen.type('not tody\x1b[Da\r')
    const denied = await answer
    assert.is(codeOf(denied), 'denied')
    assert.match(JSON.stringify(denied), 'not today')
    await screen.shows(/plan-\w+ denied/)
  }))

test('at 40×10 and without colours, too', () =>
  withSeatScreen({ columns: 40, rows: 10, env: { NO_COLOR: '1' } }, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, Array.from({ length: 30 }, (_, n) => `a${n} = ${n}`).join('\n'))
    await screen.shows(/ G end, then y /)
    screen.type('G')
    await screen.shows(OFFERED)
    assert.ok(
      screen.cells().every(row => row.every(({ looks }) => looks.every(look => !/^[fb]g:/.test(look)))),
    )
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
  }))

test('what is typed before a plan stood there does not answer it (threat 20)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    screen.type('yyy')
    const pid = Number(/\(process (\d+)\)/.exec(screen.text())?.[1])
    // Stopped, it cannot read what is typed next: that lies in the terminal when the plan comes.
    process.kill(pid, 'SIGSTOP')
    const { answer } = await evaluating(rig, '1')
    await until(async () => (await rig.imago(['approvals'])).stdout.includes('plan-'), 'the plan')
    screen.type('yyy')
    process.kill(pid, 'SIGCONT')
    await screen.shows(OFFERED)
    assert.match((await rig.imago(['approvals'])).stdout, /^plan-/)
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
    assert.match((await rig.imago(['approvals'])).stdout, /^plan-/)
    screen.type('y')
    assert.is(codeOf(await second.answer), 'ok')
  }))

test('of two seats that answer one plan at once one counts, and the other is told which (fault 27)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const other = openScreen(rig, { args: ['watch'] })
    await screen.shows('Somebody else wants to approve, too.')
    await other.shows('There is a seat already.')
    await screen.shows(/ y let it /)
    screen.type('y')
    await other.shows(/seat-2 · /)
    for (let round = 0; round < 4; round++) {
      const { answer } = await evaluating(rig, `${round}`)
      await Promise.all([screen.shows(OFFERED), other.shows(OFFERED)])
      const id = planOn(screen)
      assert.is(planOn(other), id)
      screen.type('y')
      other.type('y')
      assert.is(codeOf(await answer), 'ok')
      // One of them has its answer, the other a reason to go on from.
      const settled = /plan-\w+ approved|needs no answer any more/
      await Promise.all([screen.shows(settled), other.shows(settled)])
      screen.type('\r')
      other.type('\r')
      await Promise.all([screen.shows('Nothing waits'), other.shows('Nothing waits')])
      const entered = [screen, other].map(({ text }) => text().includes(`${id}  approved`))
      assert.equal(entered.sort(), [false, true])
    }
    other.close()
  }))

test('a seat that is killed with a plan open leaves it to the next one (fault 26)', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, '1')
    await screen.shows(OFFERED)
    const id = planOn(screen)
    screen.child.kill('SIGKILL')
    await noSeat(rig)
    assert.match((await rig.imago(['approvals'])).stdout, new RegExp(id))
    const next = await openSeatScreen(rig)
    await next.shows(OFFERED)
    assert.is(planOn(next), id)
    next.type('y')
    assert.is(codeOf(await answer), 'ok')
    next.close()
  }))

test('a terminal that is closed ends the seat, and the plan goes on waiting', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, '1')
    await screen.shows(OFFERED)
    const pid = Number(/\(process (\d+)\)/.exec((await rig.imago(['approvals'])).stdout)?.[1])
    // The master's end goes, as when a window is closed.
    screen.child.kill('SIGTERM')
    await noSeat(rig)
    await until(() => !isAlive(pid), 'the end of the seat')
    const next = await openSeatScreen(rig)
    await next.shows(OFFERED)
    next.type('y')
    assert.is(codeOf(await answer), 'ok')
    next.close()
  }))

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('it fits a terminal that gets another size in the middle of a text, and shows the same place', () =>
  withSeatScreen({ columns: 100, rows: 30 }, async ({ rig, screen }) => {
    const code = Array.from({ length: 300 }, (_, n) => `name_${n} = "${'word '.repeat(12)}"`).join('\n')
    await asked(rig, code)
    await screen.shows(/ G shows the end/)
    screen.type('/name_150\r')
    await screen.shows(/^\| name_150 /m)
    await screen.resize(50, 16)
    await screen.shows(/^\| name_150 = .*\n\+ /m)
    assert.ok(screen.rows().every(row => row.length <= 50))
    await screen.resize(140, 40)
    await screen.shows(/^\| name_150 = .*\n\| name_151/m)
    assert.is(screen.rows().length, 40)
  }))

test('Ctrl-Z gives the shell its terminal, and fg brings the plan back, which has to stand again', async () => {
  const rig = openAsking()
  await rig.serve()
  const main = join(import.meta.dirname, '../../dist/src/main.js')
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
  await screen.shows(/plan-\w+ {2}approved {2}Run this code\nThe seat was left/)
  screen.close()
  await rig.close()
})

test('nothing of a hostile text reaches the terminal as a control, nor does anything else (threat 16)', () =>
  withSeatScreen({ rows: 40 }, async ({ rig, screen }) => {
    const hostile = `x = 1 # \x1b]0;owned\x07 \x1b[2J\x1b[31m \x9b31m \u202e evil \u200b \x1b]8;;http://a\x07b\r| y\n`
    await asked(rig, hostile)
    await screen.shows(/LOOK/)
    await screen.shows(OFFERED)
    assert.match(screen.text(), /⟦U\+001B⟧\]0;owned⟦U\+0007⟧/)
    const rest = OURS.reduce((text, ours) => text.replaceAll(ours, ''), screen.written)
    // What is left of all that was written is text: and the bell, once.
    assert.is(rest.replace('\x07', '').match(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu), null)
  }))

const ESC = '\x1b'
/** All that this screen ever sends besides text. */
const OURS = [
  new RegExp(`${ESC}\\[\\?(?:1049|2004|25|7)[hl]`, 'g'),
  new RegExp(`${ESC}\\[\\d+;\\d+[Hr]`, 'g'),
  new RegExp(`${ESC}\\[\\d+[ST]`, 'g'),
  new RegExp(`${ESC}\\[[rKJ]`, 'g'),
  new RegExp(`${ESC}\\[2J`, 'g'),
  new RegExp(`${ESC}\\[(?:[0-47]|3[0-6]|43|;)*m`, 'g'),
]

test('it rings once for a turn of plans', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const bells = () => screen.written.split('\x07').length - 1
    assert.is(bells(), 0)
    await asked(rig, '1')
    await screen.shows(OFFERED)
    assert.is(bells(), 1)
  }))

test('the person’s own editor gets the arguments, and what it writes comes back as another plan', () =>
  withSeatScreen({ env: { EDITOR: 'sed -i s/41/42/' } }, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, 'print(41)')
    await screen.shows(OFFERED)
    const first = planOn(screen)
    screen.type('e')
    await screen.shows('| print(42)')
    assert.is.not(planOn(screen), first)
    await screen.shows(OFFERED)
    screen.type('y')
    assert.match(JSON.stringify(await answer), /42/)
  }))

test('a diff of 10,000 lines is gone through to its end, and only rows that change are written', () =>
  withSeatScreen({ columns: 100, rows: 30 }, async ({ rig, screen }) => {
    const before = Array.from({ length: 10_000 }, (_, n) => `line ${n} as it was\n`).join('')
    writeFileSync(join(rig.project, 'long.txt'), before)
    const client = await rig.connect()
    const content = before.replaceAll('as it was', 'as it is now')
    const answer = client.call({ tool: 'write_file', args: { path: 'long.txt', content } })
    await screen.shows(/ G shows the end/)
    assert.match(screen.text(), /line \d+ of 20,00\d/)
    screen.type('\x1b[B\x1b[B')
    await screen.shows(/line \d+ of 20,00\d/)
    const written = screen.written.length
    const top = screen.rows()[3]
    screen.type('\x1b[B')
    await until(() => screen.rows()[3] !== top, 'the next row')
    assert.ok(screen.written.length - written < 1_000, `${screen.written.length - written} characters`)
    screen.type('G')
    await screen.shows(/100% · line 20,00\d of/)
    assert.match(screen.text(), /^\| \+line 9999 as it is now$/m)
    screen.type('n\r')
    assert.is(codeOf(await answer), 'denied')
  }))

test('it ends with exit code 1 when the daemon does, with the terminal as it was, and says what to do', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    await rig.imago(['shutdown', '--force'])
    assert.is(await screen.ended, 1)
    await until(() => /The seat is lost: .*imago watch/.test(screen.written), screen.written.slice(-300))
    assert.is(screen.marksPastes, false)
    assert.ok(screen.written.indexOf(`${ESC}[?1049l`) < screen.written.indexOf('The seat is lost'))
  }))

for (const [what, options] of [
  ['TERM=dumb', { args: ['watch'], env: { TERM: 'dumb' } }],
  ['--plain', { args: ['watch', '--plain'] }],
] as const)
  test(`with ${what} it goes line by line`, () =>
    withPlain(options, async ({ rig, screen }) => {
      const { answer } = await evaluating(rig, '1')
      await screen.shows('Approve? [y]es [n]o')
      assert.not.match(screen.written, ESC)
      screen.type('y\n')
      assert.is(codeOf(await answer), 'ok')
    }))

async function withPlain(
  options: Parameters<typeof openScreen>[1],
  use: (parts: { rig: ReturnType<typeof openAsking>; screen: ScreenOf }) => Promise<void>,
) {
  const rig = openAsking()
  await rig.serve()
  const screen = openScreen(rig, options)
  try {
    await screen.shows(/seat-1, terminal/)
    await use({ rig, screen })
  } finally {
    screen.close()
    await rig.close()
  }
}
