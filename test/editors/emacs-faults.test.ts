import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { type EmacsPlugin, openEmacsPlugin } from '../support/emacs-plugin.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openSeatTerminal, type SeatTerminal } from '../support/watching.ts'

/** What may go wrong while a plan is before a person in Emacs. */
const test = suite('Emacs plugin, faults', { limitMs: 120_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const MANY = Array.from({ length: 100 }, (_, n) => `many${n}.txt`)
/** Its error has half a character, as no UTF-8 can hold. */
const SOURCE = `import threading
def fail(): raise ValueError('half \\ud800 of it')`

let rig: Rig
let client: DaemonClient
let emacs: EmacsPlugin
let other: SeatTerminal
let program: Program

test.before(async () => {
  const many = Object.fromEntries(MANY.map(name => [name, 'old\n']))
  rig = openRig({ files: { ...many, 'orders.py': ORDERS, 'imago.toml': '' } })
  await rig.serve()
  client = await rig.connect()
  const { project: folder, paths } = rig
  program = await startProgram({ folder, runtimeDir: paths.runtimeDir, name: 'shop', source: SOURCE })
  emacs = await openEmacsPlugin(rig, 'orders.py')
})
test.after(async () => {
  await emacs?.kill().catch(() => {})
  other?.screen.close()
  program?.signal('SIGKILL')
  await program?.ended
  await rig?.close()
})

const file = () => readFileSync(join(rig.project, 'orders.py'), 'utf8')
const at = (line: number, put: string) => ({
  path: 'orders.py',
  old_str: `line${line} = ${line}\n`,
  new_str: put,
})
const propose = (...edits: object[]) => client.call({ tool: 'propose_file_edit', args: { edits } })
/** The person at the terminal answers the only plan that waits. */
async function otherAnswers(decision: string) {
  const [plan] = (await client.request('approvals', {})).approvals
  const given = { plan: plan?.id, hash: plan?.hash, decision }
  assert.equal((await other.says('answer', given)).answer, { type: 'taken' })
}
const open = async () => {
  await emacs.signed(1)
  emacs.command('imago-plans')
  await emacs.shows('━ ')
}

test('somebody at a terminal is let in from Emacs, and what they approved is taken back there', async () => {
  other = await openSeatTerminal(rig)
  const sits = other.says('sit')
  await emacs.until('(string-match-p "1 for a seat" (format-mode-line mode-line-misc-info))')
  emacs.command('imago-admit')
  await emacs.until('(active-minibuffer-window)')
  emacs.type('yes\r')
  assert.match(JSON.stringify(await sits), /seated/)
  const answer = propose(at(3, 'line3 = 33\n'))
  await open()
  await otherAnswers('approve')
  await answer
  await emacs.shows('It ended: ok. u takes it back.')
  emacs.type('u')
  await emacs.shows('+line3 = 3\n')
  await emacs.eval('(progn (delete-other-windows) t)')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('y')
  await emacs.shows('What will be applied')
  emacs.type('y')
  await until(() => file() === ORDERS, 'the old text')
  await emacs.shows('It ended: ok.')
})

test('keys that were typed before a plan was shown decide nothing, nor does one more send it', async () => {
  await emacs.visit('orders.py')
  const answer = propose(at(4, 'line4 = 44\n'))
  await emacs.signed(1)
  emacs.type('\u001bximago-plans\ryy')
  const plan = '(car (imago-buffers (imago-project) (quote imago-plan-mode)))'
  await emacs.until(plan)
  assert.is(await emacs.eval(`(buffer-local-value 'imago-plan--stage ${plan})`), 'choose')
  assert.is(await emacs.eval('(buffer-name)'), '"orders.py"')
  await emacs.eval(`(progn (set-buffer-modified-p nil) (switch-to-buffer ${plan}) t)`)
  emacs.type('nyy')
  await emacs.shows('What will be applied: 1 of 1')
  assert.is(await emacs.eval('imago-plan--stage'), 'confirm')
  await otherAnswers('deny')
  await answer
  await emacs.shows('● ')
})

test('an Emacs that hangs with a plan open comes too late, and says so', async () => {
  await emacs.visit('orders.py')
  const answer = propose(at(5, 'line5 = 55\n'))
  await open()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  process.kill(emacs.pid, 'SIGSTOP')
  emacs.type('y')
  await otherAnswers('deny')
  await answer
  process.kill(emacs.pid, 'SIGCONT')
  await emacs.shows('denied it')
  await emacs.signed(0)
  assert.is(file(), ORDERS)
})

test('a file that changes while its plan is shown is left as it is, and the plan says so', async () => {
  await emacs.visit('orders.py')
  const answer = propose(at(6, 'line6 = 66\n'))
  await open()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  writeFileSync(join(rig.project, 'orders.py'), `${ORDERS}# new\n`)
  emacs.type('y')
  assert.match(JSON.stringify(await answer), /stale_plan/)
  await emacs.shows('stale')
  assert.is(file(), `${ORDERS}# new\n`)
})

test('a plan of 100 files, the most that one may have, is shown, and all of it taken at its end', async () => {
  await emacs.visit('orders.py')
  const answer = propose(...MANY.map(path => ({ path, old_str: 'old\n', new_str: 'new\n' })))
  await open()
  await emacs.shows('━ hunk 100 of 100 · many99.txt:1 · undecided')
  emacs.type('A')
  await emacs.echoes('imago: there is more below; A again at its end')
  assert.is(await emacs.eval('imago-plan--stage'), 'choose')
  emacs.type('\u001b>')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('A')
  await emacs.shows('What will be applied: 100 of 100')
  emacs.type('y')
  await answer
  assert.is(readFileSync(join(rig.project, 'many99.txt'), 'utf8'), 'new\n')
  await emacs.shows('It ended: ok.')
})

test('half a character in an error and in a plan hides neither them nor what comes with them', async () => {
  await emacs.visit('orders.py')
  const expr = "threading.Thread(target=fail, name='half').start()"
  await client.call({ tool: 'eval_expr', args: { kernel: 'shop', expr } })
  const answer = propose({ ...at(7, 'line7 = 77\n'), why: 'half \ud800 of it' })
  await emacs.until('(imago-rows (imago-project) "errors")')
  await open()
  await emacs.shows('half ')
  await otherAnswers('deny')
  await answer
})

test('an Emacs that is killed with a plan open leaves it waiting for others', async () => {
  await emacs.visit('orders.py')
  const answer = propose(at(8, 'line8 = 88\n'))
  await open()
  await emacs.kill()
  await until(async () => (await client.request('approvals', {})).seats.length === 1, 'its seat to be left')
  await otherAnswers('approve')
  await answer
  assert.match(file(), /^line8 = 88$/m)
})
