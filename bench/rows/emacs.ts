import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { emacsPaths } from '../../test/support/runtimes.ts'
import { openSlimeEmacs, type SlimeEmacs } from '../../test/support/slime-emacs.ts'
import { sharedGround } from '../ground.ts'
import { median, type Row, ratio } from '../row.ts'

const LINES = 10_000
const TURNS = 7
const PROJECT = '(cdr (car imago--projects))'
const WAITS = `(car (imago-waiting ${PROJECT} "approvals"))`
const SHOWN = `(get-buffer (format "*imago %s*" (plist-get ${WAITS} :id)))`
const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')

let emacs: SlimeEmacs
/** The package, byte-compiled as Emacs' package manager leaves it. */
let compiled: string

/** Emacs with a seat, and a plan of so many lines that waits. */
const ground = sharedGround(async daemon => {
  const long = Array.from({ length: LINES }, (_, n) => `x${n} = ${n}\n`).join('')
  writeFileSync(join(daemon.folder, 'orders.py'), 'first = 1\n')
  writeFileSync(join(daemon.folder, 'after.py'), long)
  writeFileSync(join(daemon.folder, 'imago.toml'), '')
  compile()
  const command = `(list ${[process.execPath, main, 'lsp'].map(word => JSON.stringify(word)).join(' ')})`
  const words = ['-L', compiled, '-l', 'imago-plan', '--eval', `(setq imago-command ${command})`]
  emacs = await openSlimeEmacs({ cwd: daemon.folder, env: daemon.env, words })
  await emacs.eval('(progn (find-file "orders.py") (python-mode) (imago-mode) t)')
  await emacs.until(`(and ${PROJECT} (consp (imago-project-seat ${PROJECT})))`)
  const edits = [{ path: 'orders.py', old_str: 'first = 1\n', new_str: long }]
  daemon.call('propose_file_edit', { edits }).catch(() => {})
  await emacs.until(WAITS)
  return () => {
    void emacs.kill()
    rmSync(compiled, { recursive: true })
  }
})

function compile(): void {
  compiled = mkdtempSync(join(tmpdir(), 'imago-elc-'))
  cpSync(join(PACKAGE_ROOT, 'editors/emacs'), compiled, { recursive: true })
  const files = ['imago.el', 'imago-plan.el', 'imago-program.el']
  const words = ['-Q', '--batch', '-L', '.', '-f', 'batch-byte-compile', ...files]
  const done = spawnSync(emacsPaths().emacs, words, { cwd: compiled, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(done.stderr)
}

/** Milliseconds that it takes until all of it is done and the screen is drawn. */
const timed = async (forms: string) =>
  1_000 *
  Number(
    await emacs.eval(
      `(let ((began (float-time))) ${forms} (redisplay t) (prog1 (- (float-time) began) (kill-buffer) (delete-other-windows)))`,
    ),
  )

export const emacsPlan: Row = {
  what: 'a plan of 10,000 lines in Emacs, asked for and drawn, against its own diff of the same texts',
  how: '`imago-plan-open` until the plan is on the screen of a terminal, against `diff` of the two files',
  bar: { relation: '≤', limit: 2, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const ours_ms = await timed(`(imago-plan-open ${PROJECT} (plist-get ${WAITS} :id))
      (while (not ${SHOWN}) (sit-for 0.001 t))
      (switch-to-buffer ${SHOWN})`)
    const diff_ms = await timed(`(diff "orders.py" "after.py" nil 'no-async)
      (switch-to-buffer (get-buffer "*Diff*"))`)
    return ratio(ours_ms, diff_ms, { ours_ms, diff_ms })
  },
}

export const emacsStart: Row = {
  what: "Emacs' start on a file of a project with the package, beside without: processor time",
  how: '`emacs -Q -nw FILE` on a terminal until it first waits for a key, with `global-imago-mode` from compiled files and without, in turn; the package connects once Emacs has been idle for a tenth of a second',
  bar: { relation: '≤', limit: 30, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const words = ['-L', compiled, '-l', 'imago', '--eval', '(global-imago-mode)']
    const [ours, bare]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < TURNS; turn++) {
      ours.push(await start(words))
      bare.push(await start([]))
    }
    const [with_ms, without_ms] = [median(ours), median(bare)]
    return { figure: with_ms - without_ms, parts: { with_ms, without_ms } }
  },
}

/** The processor's milliseconds that Emacs took by then. */
async function start(words: readonly string[]): Promise<number> {
  const { folder, env } = ground.daemon
  const said = join(folder, 'took')
  const leaves = `(progn (write-region (format "%f" (float-time (get-internal-run-time))) nil "${said}") (kill-emacs))`
  const idle = ['--eval', `(run-with-idle-timer 0 nil (lambda () ${leaves}))`]
  const relay = join(PACKAGE_ROOT, 'test/support/pty_relay.py')
  const emacsWords = [emacsPaths().emacs, '-Q', '-nw', ...words, join(folder, 'orders.py'), ...idle]
  const child = spawn('python3', [relay, '100', '40', ...emacsWords], {
    env: { ...env, TERM: 'vt100' },
    stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
  })
  await new Promise(resolve => child.once('close', resolve))
  return 1_000 * Number(readFileSync(said, 'utf8'))
}
