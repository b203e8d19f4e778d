import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at, type EmacsPlugin, type EmacsScene, ORDERS, openEmacsScene } from '../support/emacs-plugin.ts'
import { assert, suite } from '../support/harness.ts'
import { RawClient } from '../support/raw-client.ts'
import { until } from '../support/rig.ts'
import { openSeatTerminal, type SeatTerminal } from '../support/watching.ts'

/** What may go wrong while a plan is before a person in Emacs. */
const test = suite('Emacs plugin, faults', { limitMs: 120_000 })

const MANY = Array.from({ length: 100 }, (_, n) => `many${n}.txt`)
/** Its error has half a character, as no UTF-8 can hold. */
const SOURCE = `import threading
def fail(): raise ValueError('half \\ud800 of it')`

let scene: EmacsScene
let emacs: EmacsPlugin
let other: SeatTerminal

test.before(async () => {
  const files = Object.fromEntries(MANY.map(name => [name, 'old\n']))
  scene = await openEmacsScene({ files, source: SOURCE, heartbeatMs: 1_000 })
  emacs = scene.emacs
})
test.after(async () => {
  other?.screen.close()
  await scene?.close()
})

/** The person at the terminal answers the only plan that waits. */
async function otherAnswers(decision: string) {
  const [plan] = (await scene.client.request('approvals', {})).approvals
  const given = { plan: plan?.id, hash: plan?.hash, decision }
  assert.equal((await other.says('answer', given)).answer, { type: 'taken' })
}
test('somebody at a terminal is let in from Emacs, and what they approved is taken back there', async () => {
  other = await openSeatTerminal(scene.rig)
  const sits = other.says('sit')
  await emacs.until('(string-match-p "1 for a seat" (format-mode-line mode-line-misc-info))')
  emacs.command('imago-admit')
  await emacs.replies('yes\r')
  assert.match(JSON.stringify(await sits), /seated/)
  const answer = scene.propose(at(3, 'line3 = 33\n'))
  await emacs.opens()
  await otherAnswers('approve')
  await answer
  await emacs.shows('It ended: ok. M-x imago-undo takes it back.')
  emacs.command('imago-undo')
  await emacs.shows('+line3 = 3\n')
  await emacs.eval('(progn (delete-other-windows) t)')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('y')
  await emacs.sends()
  await until(() => scene.file() === ORDERS, 'the old text')
  await emacs.shows('It ended: ok.')
})

test('keys that were typed before a plan was shown decide nothing, nor does one more send it', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(4, 'line4 = 44\n'))
  await emacs.signed(1)
  emacs.type('\u001bximago-plans\ryy')
  const plan = `(seq-find (lambda (one) (string-prefix-p "*imago plan" (buffer-name one))) (buffer-list))`
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
  const answer = scene.propose(at(5, 'line5 = 55\n'))
  await emacs.opens()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  process.kill(emacs.pid, 'SIGSTOP')
  emacs.type('y')
  await otherAnswers('deny')
  await answer
  process.kill(emacs.pid, 'SIGCONT')
  await emacs.shows('denied it')
  await emacs.signed(0)
  assert.is(scene.file(), ORDERS)
})

test('a question of Emacs that is open for longer than a connection may be silent loses neither seat nor plan', async () => {
  await emacs.visit('orders.py')
  const seat = await emacs.eval('(plist-get (imago-project-seat (imago-project)) :seat)')
  const answer = scene.propose(at(9, 'line9 = 99\n'))
  await emacs.opens()
  emacs.type('nr')
  await emacs.until('(active-minibuffer-window)')
  const silent = await RawClient.greeted(scene.rig.paths.socket, scene.rig.project)
  assert.is((await silent.lastWords()).at(-1)?.type, 'bye')
  await emacs.replies('not now\r')
  await emacs.sends()
  assert.match(JSON.stringify(await answer), /not now/)
  assert.is(await emacs.eval('(plist-get (imago-project-seat (imago-project)) :seat)'), seat)
})

test('a file that changes while its plan is shown is left as it is, and the plan says so', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(6, 'line6 = 66\n'))
  await emacs.opens()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  writeFileSync(join(scene.rig.project, 'orders.py'), `${ORDERS}# new\n`)
  emacs.type('y')
  assert.match(JSON.stringify(await answer), /stale_plan/)
  await emacs.shows('stale')
  assert.is(scene.file(), `${ORDERS}# new\n`)
})

test('a plan of 100 files, the most that one may have, is shown, and all of it taken at its end', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(...MANY.map(path => ({ path, old_str: 'old\n', new_str: 'new\n' })))
  await emacs.opens()
  await emacs.shows('━ hunk 100 of 100 · many99.txt:1 · undecided')
  emacs.type('\u0015a')
  await emacs.echoes('imago: there is more below: once more at its end')
  assert.is(await emacs.eval('imago-plan--stage'), 'choose')
  emacs.type('\u001b>')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('\u0015a')
  await emacs.shows('What will be applied: 100 of 100')
  emacs.type('y')
  await answer
  assert.is(readFileSync(join(scene.rig.project, 'many99.txt'), 'utf8'), 'new\n')
  await emacs.shows('It ended: ok.')
})

test('half a character in an error and in a plan hides neither them nor what comes with them', async () => {
  await emacs.visit('orders.py')
  const expr = "threading.Thread(target=fail, name='half').start()"
  await scene.client.call({ tool: 'eval_expr', args: { kernel: 'shop', expr } })
  const answer = scene.propose({ ...at(7, 'line7 = 77\n'), why: 'half \ud800 of it' })
  await emacs.until('(imago-rows (imago-project) "errors")')
  await emacs.opens()
  await emacs.shows('half ')
  await otherAnswers('deny')
  await answer
})

test('an Emacs that is killed with a plan open leaves it waiting for others', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(8, 'line8 = 88\n'))
  await emacs.opens()
  await emacs.kill()
  await until(
    async () => (await scene.client.request('approvals', {})).seats.length === 1,
    'its seat to be left',
  )
  await otherAnswers('approve')
  await answer
  assert.match(scene.file(), /^line8 = 88$/m)
})
