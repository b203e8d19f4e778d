import type { SwankKernel } from '../../wire/kernels/swank.ts'
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
import { evaluate, printed } from '../support/heard.ts'
import { openSlimeEmacs, type SlimeEmacs } from '../support/slime-emacs.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/**
 * A person works in SLIME, in a real Emacs at a terminal of its own, and types at its keyboard. Imago is attached to
 * the same image and at work there, and she does not notice.
 */
const test = suite('SLIME beside Imago', { limitMs: 55_000 })

const FORMS = [
  '(defun cl-user::shop (x) (* 2 x))',
  '(defun cl-user::till (x) (+ 1 x))',
  '(defvar cl-user::*orders* (list 1 2 3))',
]

let swank: RealSwank
let emacs: SlimeEmacs
let seen: Seen
let imago: Beside
/** What the person has before anybody has attached to her image. */
let hers: {
  readonly remembered: string
  readonly inspected: string
  readonly dialog: string
  readonly threads: readonly string[]
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
  const inspected = await seen.inspector()
  const dialog = await emacs.eval(DIALOG)
  const threads = await seen.threads()
  await emacs.repl('(list :hers 1)')
  hers = { remembered: withoutAddresses(await emacs.repl(REMEMBERED)), inspected, dialog, threads }
  imago = await attachBeside(swank)
})
test.after(async () => {
  await emacs?.kill()
  swank?.kill()
})
test.after.each(() => {
  assert.equal(imago.debuggersOffered(), [])
})

const value = async (source: string) => {
  const { kernel } = imago
  const ended = await evaluate(kernel, source).result
  return ended.type === 'done' ? ended.values[0]?.repr.text : ended.type
}

/** Whatever of Imago's work could be taken for the person's. */
async function works(): Promise<void> {
  const { kernel } = imago
  const outcome = async (source: string) => (await evaluate(kernel, source).result).type
  assert.is(await outcome('(in-package :sb-ext)'), 'done')
  assert.is(await value('(list :ours)'), '(:ours)')
  assert.is(await outcome('(error "of Imago")'), 'raised')
  assert.is(await outcome('(no-such-function)'), 'raised')
  assert.is(await outcome('(break)'), 'raised')
  assert.is(await outcome('(print (list (cl-user::shop 3) (cl-user::till 3)))'), 'done')
  assert.is(await outcome('(values *package* *readtable* * + -)'), 'done')
  const look = { deadlineMs: 20_000 }
  assert.is(
    (await kernel.look('inspect', { expr: 'cl-user::*orders*', evaluate: false }, look)).type,
    'found',
  )
  assert.is((await kernel.look('threads', { limit: 50, frames: 0, locals: false }, look)).type, 'found')
  const loop = await endless(kernel)
  assert.is((await kernel.interrupt(loop.call)).outcome, 'stopped')
  assert.is(await outcome('(in-package :cl-user)'), 'done')
}

async function endless(kernel: SwankKernel) {
  const loop = evaluate(kernel, '(progn (write-line "begun") (finish-output) (loop))')
  await printed(loop, 'begun')
  return loop
}

test('what her REPL remembers, its package and her hooks are as she left them', async () => {
  assert.match(hers.remembered, /^\(\(:HERS 1\) \(LIST :HERS 1\) \(\(:HERS 1\)\)\s"COMMON-LISP-USER"\s/)
  await emacs.repl('(list :hers 1)')
  await works()
  assert.is(withoutAddresses(await emacs.repl(REMEMBERED)), hers.remembered)
})

test('her inspector shows what it showed, and goes on from there', async () => {
  assert.match(hers.inspected, ':HERS')
  await emacs.eval('(progn (with-current-buffer (slime-inspector-buffer) (slime-inspector-reinspect)) t)')
  await emacs.until('(null (slime-rex-continuations))')
  assert.is(await seen.inspector(), hers.inspected)
  assert.is(await emacs.text('(slime-eval \'(swank:inspector-eval "(first *)"))'), ':HERS')
})

test('what she traces stays traced, in the table of the image and in that of her dialog', async () => {
  assert.match(hers.dialog, 'till')
  assert.is(await emacs.repl('(trace)'), '(SHOP)')
  assert.is(await emacs.eval(DIALOG), hers.dialog)
})

test('her list of threads has the three of our connection more', async () => {
  const ours = ['control-thread', 'reader-thread', 'swank-indentation-cache-thread']
  await seen.threadsAre([...hers.threads, ...ours])
})

test('an error of hers opens her debugger, with all of its restarts, and none of ours opens one', async () => {
  await emacs.enter('(error "of hers")')
  await emacs.until('(sldb-get-default-buffer)')
  const shown = await seen.debugger()
  assert.match(shown, /^of hers/)
  assert.match(shown, /0: \[RETRY\][\s\S]*1: \[\*ABORT\][\s\S]*2: \[ABORT\]/)
  assert.is((await evaluate(imago.kernel, '(error "of Imago")').result).type, 'raised')
  assert.is(await value('(+ 1 2)'), '3')
  assert.is(await seen.debuggers(), '(1)')
  assert.is(await seen.debugger(), shown)
  await seen.leaveDebugger()
  assert.is(await emacs.repl('(+ 1 2)'), '3')
})

test('an error in a thread of hers comes to her, though we have connected since', async () => {
  await emacs.repl('(progn (sb-thread:make-thread (lambda () (error "in a thread of hers"))) nil)')
  await emacs.until('(sldb-get-default-buffer)')
  assert.match(await seen.debugger(), /^in a thread of hers/)
  await seen.leaveDebugger()
})

test('her interrupt stops what she runs, ours what we run, and neither that of the other', async () => {
  const { kernel } = imago
  await emacs.enter('(loop)')
  await emacs.until('(slime-busy-p)')
  const first = await endless(kernel)
  assert.is((await kernel.interrupt(first.call)).outcome, 'stopped')
  assert.is(await seen.debuggers(), 'nil')
  assert.is(await emacs.eval('(and (slime-busy-p) t)'), 't')
  const second = await endless(kernel)
  emacs.type('\x03\x03')
  await emacs.until('(sldb-get-default-buffer)')
  assert.match(await seen.debugger(), /^Interrupt from Emacs/)
  await seen.leaveDebugger()
  assert.equal((await kernel.status({ deadlineMs: 20_000 })).running?.call, second.call)
  assert.is((await kernel.interrupt(second.call)).outcome, 'stopped')
  assert.is(await emacs.repl('(+ 1 2)'), '3')
})

test('either goes and comes again, and the other works on', async () => {
  for (let round = 1; round <= 2; round++) {
    await imago.kernel.close()
    assert.is(await emacs.repl(`(* ${round} 2)`), String(round * 2))
    imago = await attachBeside(swank)
    await emacs.disconnect()
    assert.is(await value(`(* ${round} 3)`), String(round * 3))
    await emacs.connect(swank.port)
    assert.is(await emacs.repl(`(* ${round} 4)`), String(round * 4))
  }
})

test('once we have gone, her threads and her hooks are those of before', async () => {
  await imago.kernel.close()
  await seen.threadsAre(hers.threads)
  await emacs.repl('(list :hers 1)')
  assert.is(withoutAddresses(await emacs.repl(REMEMBERED)), hers.remembered)
})

test('when her Emacs is killed, we work on', async () => {
  imago = await attachBeside(swank)
  await emacs.kill()
  assert.is(await value('(+ 1 2)'), '3')
  assert.is((await evaluate(imago.kernel, '(error "of Imago")').result).type, 'raised')
})
