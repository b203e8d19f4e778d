import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { MAIN, openRig, type Rig, until } from '../support/rig.ts'
import { openSlimeEmacs, type SlimeEmacs } from '../support/slime-emacs.ts'

/** The package in a real Emacs, with a real daemon. */
const test = suite('Emacs plugin', { limitMs: 120_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const PLUGIN = join(PACKAGE_ROOT, 'editors/emacs')

const SOURCE = `import sys
sys.path.insert(0, '.')
LISP = '#("a" 0 1 (display "b")) (kill-emacs) \\x1b[31m'
ORDER = {'id': 8, 'who': {'name': 'Ada'}}`

let rig: Rig
let client: DaemonClient
let emacs: SlimeEmacs
let program: Program

test.before(async () => {
  rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '', 'imago.toml': '' } })
  await rig.serve()
  client = await rig.connect()
  program = await startProgram({
    folder: rig.project,
    runtimeDir: rig.paths.runtimeDir,
    name: 'shop',
    source: SOURCE,
  })
  const command = `(setq imago-command (list ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "lsp"))`
  const words = [
    '-L',
    PLUGIN,
    '-l',
    'imago-plan',
    '-l',
    'imago-value',
    '--eval',
    command,
    '--eval',
    '(global-imago-mode)',
  ]
  emacs = await openSlimeEmacs({ cwd: rig.project, env: rig.env, words })
  await emacs.eval('(progn (find-file "orders.py") (imago-sit (imago-project) (quote ignore)) imago-mode)')
  await emacs.until('(imago-project-seat (imago-project))')
})
test.after(async () => {
  await emacs?.kill()
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
const sign = () => emacs.text('(substring-no-properties (format-mode-line mode-line-misc-info))')
const signed = (expected: RegExp) =>
  until(async () => expected.test(await sign()), `the mode line to say ${expected}`)
/** Waits until the buffer that is being looked at says that. */
const shows = async (expected: string) => {
  const text = () => emacs.text('(buffer-substring-no-properties (point-min) (point-max))')
  await until(async () => (await text()).includes(expected), expected).catch(async (error: Error) => {
    throw new Error(`${error.message}; it shows: ${await text()}`)
  })
}

test('a hunk is taken and one refused with a reason, and the file is read again', async () => {
  await signed(/^(?!.*plan)/)
  const answer = propose({ ...at(3, 'line3 = 33\n'), why: 'odd' }, at(30, ''))
  await signed(/\[imago: 1 plan waits\]/)
  assert.match(await emacs.eval('(buffer-name)'), /orders.py/)
  emacs.type('\u001bximago-plans\r')
  await shows('━ hunk 1 of 2 · orders.py:4: odd · undecided')
  await shows('-line3 = 3\n+line3 = 33')
  emacs.type('ny')
  await shows('━ hunk 2 of 2 · orders.py:31 · undecided')
  await shows(': odd · ✓ taken')
  emacs.type('r')
  await emacs.until('(active-minibuffer-window)')
  emacs.type('keep it\r')
  await shows('What will be applied: 1 of 2')
  await shows('hunk 2 of 2 · orders.py:31 · ✗ refused: keep it')
  emacs.type('y')
  assert.match(JSON.stringify(await answer), /hunk 2.*keep it|keep it/)
  assert.is(file(), ORDERS.replace('line3 = 3\n', 'line3 = 33\n'))
  await shows('It ended: ok.')
  await signed(/^(?!.*plan)/)
  await emacs.until(
    '(with-current-buffer "orders.py" (save-excursion (goto-char 1) (search-forward "line3 = 33" nil t)))',
  )
})

test('the sign goes when somebody else answers, and the plan that is shown says so', async () => {
  const over = new AbortController()
  const answer = client.call({
    tool: 'propose_file_edit',
    args: { edits: [at(5, 'x = 1\n')] },
    signal: over.signal,
  })
  await signed(/\[imago: 1 plan waits\]/)
  emacs.type('\u001bximago-plans\r')
  await shows('━ hunk 1 of 1')
  over.abort()
  await answer.catch(() => {})
  await shows('● ')
  await signed(/^(?!.*plan)/)
})

const source = (line: string) =>
  emacs.eval(
    `(progn (switch-to-buffer "orders.py") (delete-other-windows) (goto-char 1) (insert ${JSON.stringify(`${line}\n`)}) (forward-line -1) t)`,
  )
const behind = () =>
  emacs.text(
    `(mapconcat (lambda (one) (or (overlay-get one 'after-string) "")) (overlays-in 1 (line-end-position)) "|")`,
  )

test('a line is evaluated where it stands, and a text that is Emacs Lisp or a code of a terminal is text', async () => {
  await emacs.until('(imago-rows (imago-project) "kernels")')
  await source("ORDER['who']")
  emacs.type('\u0018\u0005')
  await until(async () => (await behind()).includes("⇒ {'name': 'Ada'}"), 'the value behind its line')
  await source('print(LISP)')
  emacs.type('\u0018\u0005')
  await until(
    async () => (await behind()).includes('(display "b")) (kill-emacs) ⟦U+001B⟧[31m'),
    'the text with its mark',
  )
})

test('a value is looked at, and its parts lead on', async () => {
  await emacs.eval(`(progn (switch-to-buffer "orders.py") (imago-inspect "ORDER") t)`)
  await shows('dict · mapping · len 2')
  emacs.type('\t\t\r')
  await shows("'name': 'Ada'\n")
  await shows('len 1')
  emacs.type('l')
  await shows('len 2')
})
