import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  attachBeside,
  type Beside,
  DIALOG,
  REMEMBERED,
  type Seen,
  seenIn,
  withoutAddresses,
} from '../support/beside-slime.ts'
import { assert, suite } from '../support/harness.ts'
import { openSlimeEmacs, type SlimeEmacs } from '../support/slime-emacs.ts'
import { LOOK, SuspendingKernel, shownIn, suspensionIn } from '../support/suspended.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/**
 * A person works in SLIME, in a real Emacs. Errors of Imago's wait in the same image meanwhile, one in a frame of the
 * other, and she does not notice; then an error of her own is put before Imago.
 */
const test = suite('SLIME while Imago is suspended', { limitMs: 55_000 })

const FILE = join(mkdtempSync(join(tmpdir(), 'pots-')), 'pots.lisp')
writeFileSync(FILE, '(defun kettle (x)\n  (* 2 x))\n\n(defun teapot (x)\n  (1+ (kettle x)))\n')

const FORMS = [
  '(defun cl-user::shop (x) (* 2 x))',
  '(defun cl-user::till (x) (+ 1 x))',
  '(defun cl-user::brew (x) (list x x))',
  `(defun cl-user::dose (pots)
    (restart-case (error "No tea for ~D." pots)
      (use-value (value) :report "Use another dose." (* 2 value))))`,
  `(load ${JSON.stringify(FILE)})`,
]

let swank: RealSwank
let emacs: SlimeEmacs
let seen: Seen
let imago: Beside
let image: SuspendingKernel
/** What the person has before anybody has attached to her image. */
let hers: {
  readonly remembered: string
  readonly inspected: string
  readonly dialog: string
  readonly threads: readonly string[]
}
/** An error of Imago's, and one that happened in a frame of it. */
let outer: string
let inner: string

async function attach() {
  imago = await attachBeside(swank)
  image = new SuspendingKernel(imago.kernel)
}

test.before(async () => {
  ;[swank, emacs] = await Promise.all([startSwank({ forms: FORMS, debugger: true }), openSlimeEmacs()])
  seen = seenIn(emacs)
  await emacs.connect(swank.port)
  await emacs.repl('(trace shop)')
  await emacs.eval(
    '(slime-eval \'(swank-trace-dialog:dialog-toggle-trace (swank::from-string "cl-user::till")))',
  )
  await emacs.eval('(progn (slime-inspect "(list :hers 1 2)") t)')
  await emacs.until('(with-current-buffer (slime-inspector-buffer) (> (point-max) 1))')
  const [inspected, dialog, threads] = [
    await seen.inspector(),
    await emacs.eval(DIALOG),
    await seen.threads(),
  ]
  await emacs.repl('(list :hers 1)')
  hers = { remembered: withoutAddresses(await emacs.repl(REMEMBERED)), inspected, dialog, threads }
  await attach()
  outer = (await image.suspend('(list (cl-user::dose 3))')).id
  inner = suspensionIn(await image.inFrame(outer, 0, '(error "deeper")').result).id
})
test.after(async () => {
  await emacs?.kill()
  swank?.kill()
})
test.after.each(() => {
  assert.equal(imago.debuggersOffered(), [])
})

/** The buffer of her file, with point at the text. */
const atText = (text: string) =>
  emacs.eval(
    `(progn (switch-to-buffer (find-file-noselect ${JSON.stringify(FILE)})) (goto-char (point-min)) (search-forward ${JSON.stringify(text)}) (goto-char (match-beginning 0)) t)`,
  )
const idle = () => emacs.until('(null (slime-rex-continuations))')
const theirs = async () => {
  const found = await imago.kernel.look('theirs', {}, LOOK)
  if (found.type !== 'found') throw new Error(JSON.stringify(found))
  return found.value.errors
}
/** Puts her error before Imago, as a person at a seat does it. */
async function handOver() {
  const [error, ...others] = await theirs()
  assert.equal(others, [])
  const found = await imago.kernel.look('adopt', { id: error?.id ?? '', lease_ms: 600_000 }, LOOK)
  if (found.type !== 'found') throw new Error(JSON.stringify(found))
  return found.value
}

test('her REPL evaluates, and remembers what it did', async () => {
  assert.equal(await image.live(), [inner, outer])
  await emacs.repl('(list :hers 1)')
  assert.is(withoutAddresses(await emacs.repl(REMEMBERED)), hers.remembered)
})

test('C-c C-c compiles the definition at point', async () => {
  await atText('(* 2 x)')
  await emacs.eval('(progn (delete-char 7) (insert "(* 3 x)") t)')
  emacs.type('\x03\x03')
  await emacs.until('(equal (slime-eval \'(cl:funcall (swank::from-string "cl-user::teapot") 2)) 7)')
  await idle()
})

test('M-. goes to a definition', async () => {
  await atText('kettle x)))')
  emacs.type('\x1b.')
  await emacs.until('(looking-at-p "(defun kettle")')
})

test('her inspector shows what it showed, and goes on from there', async () => {
  // What is shown then is selected: keys that were typed before would go there.
  await emacs.eval(
    '(progn (switch-to-buffer (slime-inspector-buffer)) (let ((inhibit-read-only t)) (insert "of before")) t)',
  )
  emacs.type('g')
  await emacs.until(
    '(not (string-match-p "of before" (with-current-buffer (slime-inspector-buffer) (buffer-string))))',
  )
  await idle()
  assert.is(await seen.inspector(), hers.inspected)
  assert.match(hers.inspected, ':HERS')
})

test('an error of hers opens her debugger with her restarts, and has nothing of ours; q leaves it', async () => {
  await emacs.enter('(dose 7)')
  const shown = await seen.debuggerOpens()
  assert.match(shown, /^No tea for 7\.[\s\S]*0: \[USE-VALUE\][\s\S]*1: \[RETRY\][\s\S]*2: \[\*ABORT\]/)
  assert.not.match(shown, /imago|deeper|No tea for 3/i)
  assert.is(await seen.debuggers(), '(1)')
  const [error, ...others] = await theirs()
  assert.equal(others, [])
  assert.match(error?.message ?? '', 'No tea')
  await seen.leaveDebugger()
  assert.match(await emacs.repl('(+ 1 2)'), /^\s*3$/)
})

test('her list of threads says of the one that waits whose it is', async () => {
  emacs.type('\x03\x18t')
  await emacs.until('(get-buffer slime-threads-buffer-name)')
  const listed = `(with-current-buffer slime-threads-buffer-name (string-match-p "imago: ${inner} is suspended" (buffer-string)))`
  await emacs.until(listed)
  await emacs.eval('(progn (select-window (get-buffer-window slime-threads-buffer-name)) t)')
  emacs.type('q')
  await emacs.until('(null (get-buffer-window slime-threads-buffer-name))')
  await idle()
})

test('tracepoints of ours are in neither of her tables, and leave the functions as they were', async () => {
  const names = ['shop', 'till', 'brew']
  const functions =
    "(mapcar (lambda (name) (sb-kernel:fdefn-fun (sb-int:find-fdefn name))) '(shop till brew))"
  await emacs.repl(`(progn (setf (get :hers :functions) ${functions}) nil)`)
  const shopped = await emacs.repl('(shop 4)')
  assert.match(shopped, /\(SHOP 4\)[\s\S]*SHOP returned 8/)
  for (const name of names) {
    const query = { name: `cl-user::${name}`, calls: 1, expires_ms: 600_000, who: 'a model' }
    assert.is((await imago.kernel.look('trace', query, LOOK)).type, 'found')
  }
  assert.is(await emacs.repl('(trace)'), '(SHOP)')
  assert.is(await emacs.eval(DIALOG), hers.dialog)
  assert.is(await emacs.repl('(shop 4)'), shopped)
  assert.is(await emacs.repl('(list (till 4) (brew 5))'), '(5 (5 5))')
  const traces = await imago.kernel.look('traces', { from: 1, count: 9 }, LOOK)
  assert.equal(
    traces.type === 'found' && traces.value.tracepoints.map(({ state, seen: calls }) => [state, calls]),
    names.map(() => ['full', 1]),
  )
  assert.is(await emacs.repl('(trace)'), '(SHOP)')
  assert.is(await emacs.eval(DIALOG), hers.dialog)
  assert.is(await emacs.repl(`(equal ${functions} (get :hers :functions))`), 'T')
})

test('ours still wait after all that, and go on', async () => {
  assert.equal(await image.live(), [inner, outer])
  assert.is((await image.leave(inner)).type, 'left')
  assert.equal(shownIn(await (await image.restart(outer, 'use-value', '21')).result), ['(42)'])
  assert.equal(await image.live(), [])
})

test('an error that she hands over goes on with a value of Imago’s, in her REPL', async () => {
  const answered = emacs.repl('(list (dose 8))')
  await seen.debuggerOpens()
  const { id } = await handOver()
  await (await image.restart(id, 'use-value', '21')).result
  assert.is(await answered, '(42)')
  await emacs.until('(null (sldb-buffers))')
})

test('a key in her debugger takes back what she has handed over', async () => {
  await emacs.enter('(dose 9)')
  const shown = await seen.debuggerOpens()
  const { id } = await handOver()
  await emacs.eval(
    '(progn (select-window (get-buffer-window (sldb-get-default-buffer))) (goto-char sldb-backtrace-start-marker) t)',
  )
  emacs.type('t')
  assert.equal(await image.end(id), ['left'])
  await emacs.until('(string-match-p "Locals:\\\\|No locals" (buffer-string))')
  assert.equal(shown.split('\n').slice(0, 8), (await seen.debugger()).split('\n').slice(0, 8))
  await seen.leaveDebugger()
  assert.equal(await theirs(), [])
  assert.is(await emacs.repl('(+ 1 2)'), '3')
})

test('we leave with three suspended, and her threads, REPL and debugger are those of before', async () => {
  for (const name of ['one', 'two', 'three']) await image.suspend(`(error "${name}")`)
  assert.is((await image.live()).length, 3)
  await imago.kernel.close()
  await seen.threadsAre(hers.threads)
  await emacs.repl('(list :hers 1)')
  assert.is(withoutAddresses(await emacs.repl(REMEMBERED)), hers.remembered)
  assert.is(await seen.debuggers(), 'nil')
})

test('her Emacs is killed, and an evaluation of ours that waits goes on', async () => {
  await attach()
  const { id } = await image.suspend('(cl-user::dose 1)')
  await emacs.kill()
  assert.equal(shownIn(await image.run('(+ 1 2)').result), ['3'])
  assert.equal(shownIn(await (await image.restart(id, 'use-value', '21')).result), ['42'])
})
