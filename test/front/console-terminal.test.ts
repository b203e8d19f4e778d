import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { lives, openRig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

/** The console below a shell, which has the terminal before and after it. */
const test = suite('console terminal', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

const CTRL_Z = '\x1a'
const MAIN = join(PACKAGE_ROOT, 'dist/src/main.js')

interface Below extends ScreenOf {
  /** The process of the console. */
  readonly pid: number
}

async function belowShell(node: string, use: (screen: Below) => Promise<void>): Promise<void> {
  const screen = openScreen(rig, { command: ['bash', '--norc', '--noprofile', '-i'] })
  try {
    await screen.shows(/^bash-.*[$#]$/m)
    writeFileSync(
      join(rig.project, 'begin.sh'),
      `echo "process $$"; exec ${process.execPath} ${node} ${MAIN}`,
    )
    screen.type('sh begin.sh; echo "code $?"\r')
    await screen.shows(/^>>>/m)
    const pid = Number(/^process (\d+)/m.exec(screen.text())?.[1])
    await use(Object.create(screen, { pid: { value: pid } }))
  } finally {
    screen.close()
  }
}

/** The shell finds its terminal as it was: lines, echo, signals, and nothing that marks pastes for a program. */
async function isSane(screen: ScreenOf) {
  screen.type('clear; stty -a | tr -d ";" | tr " " "\\n" | grep -c -x -e echo -e icanon -e isig -e opost\r')
  await screen.shows(/^4$/m)
}

test('Ctrl-Z gives the shell its terminal, and fg brings back the line that was being written', () =>
  belowShell('', async screen => {
    screen.type('half typed')
    await screen.shows('>>> half typed')
    screen.type(CTRL_Z)
    await screen.shows('Stopped')
    await isSane(screen)
    screen.type('fg\r')
    await screen.shows(/^>>> half typed$/m)
    assert.ok(screen.marksPastes)
    screen.type('\x15"al" + "ive"\r')
    await screen.shows("'alive'")
    screen.type(CTRL_D)
    await screen.shows('The image stays.')
    await isSane(screen)
  }))

test('what runs goes on while the console is stopped, and is shown when it is back', () =>
  belowShell('', async screen => {
    screen.type('import time; time.sleep(1); print("done" + "!")\r')
    await screen.shows(/^>>> import/m)
    screen.type(CTRL_Z)
    await screen.shows('Stopped')
    screen.type('sleep 1; fg\r')
    await screen.shows(/^done!\n>>>$/m)
  }))

test('where no shell could wake it, Ctrl-Z does not stop it', async () => {
  const screen = openScreen(rig)
  try {
    await screen.shows(/^>>>/m)
    screen.type(`1 + ${CTRL_Z}`)
    const begun = () => screen.written.split('\x1b[?2004h').length - 1
    await until(() => begun() === 2, 'it to take the terminal again')
    await screen.shows(/^>>> 1 \+$/m)
    screen.type('1\r')
    await screen.shows(/^2$/m)
  } finally {
    screen.close()
  }
})

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  test(`${signal} ends it, and the terminal is as it was`, () =>
    belowShell('', async screen => {
      screen.type('half typed')
      await screen.shows('half typed')
      process.kill(screen.pid, signal)
      await screen.shows(`code ${code}`)
      await isSane(screen)
    }))

test('SIGINT from outside does what Ctrl-C does', () =>
  belowShell('', async screen => {
    screen.type('half typed')
    await screen.shows('half typed')
    process.kill(screen.pid, 'SIGINT')
    await screen.shows(/half typed\^C\n>>>/)
    screen.type(CTRL_D)
    await screen.shows('code 0')
  }))

test('an error of our own is reported on a terminal that is as it was', () => {
  writeFileSync(join(rig.project, 'boom.mjs'), "process.once('SIGUSR2', () => { throw new Error('boom') })\n")
  return belowShell(`--import ${join(rig.project, 'boom.mjs')}`, async screen => {
    screen.type('half typed')
    await screen.shows('half typed')
    process.kill(screen.pid, 'SIGUSR2')
    await screen.shows('Error: boom')
    await screen.shows(/code \d+/)
    await isSane(screen)
  })
})

test('it ends with its terminal', async () => {
  const screen = openScreen(rig, {
    command: ['sh', '-c', `echo "process $$"; exec ${process.execPath} ${MAIN}`],
  })
  await screen.shows(/^>>>/m)
  const pid = Number(/^process (\d+)/m.exec(screen.text())?.[1])
  assert.ok(lives(pid))
  screen.close()
  await until(() => !lives(pid), 'the console to end')
})

test('the pager leaves nothing behind, and comes back after Ctrl-Z', () =>
  belowShell('', async screen => {
    screen.type(':help\r')
    await screen.shows('Commands')
    screen.type(CTRL_Z)
    await screen.shows('Stopped')
    screen.type('fg\r')
    await screen.shows('Commands')
    screen.type(CTRL_C)
    await screen.hides('Commands')
    screen.type(`${CTRL_D}`)
    await screen.shows('The image stays.')
    await isSane(screen)
  }))

test('a terminal that is closed ends it with the code of a hang-up', async () => {
  const code = join(rig.project, 'code')
  // Whoever waits for the console outlives the terminal.
  const command = ['sh', '-c', `trap '' HUP; ${process.execPath} ${MAIN}; echo "$?" > ${code}`]
  const screen = openScreen(rig, { command })
  await screen.shows(/^>>>/m)
  screen.close()
  const written = () => existsSync(code) && readFileSync(code, 'utf8').endsWith('\n')
  await until(written, 'the console to end')
  assert.is(readFileSync(code, 'utf8'), '129\n')
})
