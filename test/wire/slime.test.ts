import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SwankKernel, swankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { isAtom } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { openSlimeEmacs, type SlimeEmacs } from '../support/slime-emacs.ts'
import { LOOK, SuspendingKernel, shownIn, suspensionIn } from '../support/suspended.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/**
 * A person works in SLIME, in a real Emacs at a terminal of its own, and types at its keyboard. Imago is attached to
 * the same image and at work there, with errors that wait suspended, and she does not notice. Then an error of her own
 * is put before Imago.
 */
const test = suite('SLIME beside Imago', { limitMs: 55_000 })

/** Imago, attached to the image of a person who works there in SLIME. */
interface Beside {
  readonly kernel: SwankKernel
  /** Messages over our connection that are for editors, of debuggers and indentation: there are to be none. */
  toldAsEditor(): readonly Sexp[]
}

async function attachBeside({ port }: { readonly port: number }): Promise<Beside> {
  const { connection, info } = await connectSwank({ host: '127.0.0.1', port, secret: null })
  const heard: Sexp[] = []
  const listen = connection.listen.bind(connection)
  connection.listen = (hear, options) =>
    listen(message => {
      heard.push(message)
      hear(message)
    }, options)
  const kernel = await swankKernel({ name: 'lisp', connection, info, attached: true })
  return { kernel, toldAsEditor: () => heard.filter(isForEditors) }
}

/** An editor that is told of a debugger is the debugger of its thread. */
function isForEditors(message: Sexp): boolean {
  const [tag] = Array.isArray(message) ? (message as readonly Sexp[]) : []
  return isAtom(tag) && /^:(debug|indentation-update)/.test(tag.atom)
}

/** A form that has the values of a REPL, its package and the hooks of its thread. */
const REMEMBERED = '(list * + / (package-name *package*) *debugger-hook* sb-ext:*invoke-debugger-hook*)'

/** What is traced in the dialog of SLIME, as Emacs is told of it. */
const DIALOG = "(slime-eval '(swank-trace-dialog:report-specs))"

const INSPECTED =
  '(with-current-buffer (slime-inspector-buffer) (buffer-substring-no-properties 1 (point-max)))'

/** Addresses change with every collection. */
const withoutAddresses = (text: string) => text.replace(/\{\w+\}/g, '{}')

/** What a person sees at their Emacs. */
interface Seen {
  /** What the debugger shows, or nil. */
  debugger(): Promise<string>
  /** The levels of all that are open, as a list. */
  debuggers(): Promise<string>
  /** Resolves once the debugger shows what matches. */
  debuggerOpens(): Promise<string>
  /** Takes its last restart as a person does it, and waits until nothing is left of it. */
  leaveDebugger(): Promise<void>
  inspector(): Promise<string>
  /** Names of threads, as SLIME lists them, but for those that serve one request. */
  threads(): Promise<string[]>
  /** Waits until it is those: the threads of who has left end a moment later. */
  threadsAre(expected: readonly string[]): Promise<void>
}

function seenIn(emacs: SlimeEmacs): Seen {
  const shown = () =>
    emacs.text(
      '(let ((sldb (sldb-get-default-buffer))) (and sldb (with-current-buffer sldb (buffer-substring-no-properties 1 (point-max)))))',
    )
  const threads = async () => {
    const rows = await emacs.eval("(mapcar #'cadr (cdr (slime-eval '(swank:list-threads))))")
    return [...rows.matchAll(/"([^"]*)"/g)]
      .map(([, name = '']) => name)
      .filter(name => name !== 'worker')
      .sort()
  }
  return {
    debugger: shown,
    debuggers: () => emacs.eval('(mapcar (lambda (b) (with-current-buffer b sldb-level)) (sldb-buffers))'),
    async debuggerOpens() {
      await emacs.until('(sldb-get-default-buffer)')
      return shown()
    },
    async leaveDebugger() {
      await emacs.eval('(progn (select-window (get-buffer-window (sldb-get-default-buffer))) t)')
      emacs.type('q')
      await emacs.until('(and (null (sldb-buffers)) (null (slime-rex-continuations)))')
    },
    inspector: async () => withoutAddresses(await emacs.text(INSPECTED)),
    threads,
    async threadsAre(expected) {
      while ((await threads()).join() !== expected.toSorted().join())
        await new Promise(resolve => setTimeout(resolve, 20))
    },
  }
}

const FILE = join(mkdtempSync(join(tmpdir(), 'pots-')), 'pots.lisp')
writeFileSync(FILE, '(defun kettle (x)\n  (* 2 x))\n\n(defun teapot (x)\n  (1+ (kettle x)))\n')

const FORMS = [
  '(defvar cl-user::*orders* (list 1 2 3))',
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

async function attach() {
  imago = await attachBeside(swank)
  image = new SuspendingKernel(imago.kernel)
}

test.before(async () => {
  ;[swank, emacs] = await Promise.all([startSwank({ forms: FORMS, debugger: true }), openSlimeEmacs()])
  seen = seenIn(emacs)
  await emacs.connect(swank.port)
  await emacs.eval(
    "(progn (defvar imago-updates nil) (advice-add 'slime-handle-indentation-update :before (lambda (info) (push info imago-updates))) t)",
  )
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
  await attach()
})
test.after(async () => {
  await emacs?.kill()
  swank?.kill()
})
test.after.each(() => {
  assert.equal(imago.toldAsEditor(), [])
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
  assert.is((await kernel.look('inspect', { expr: 'cl-user::*orders*' }, look)).type, 'found')
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

test('a macro that Imago defines is told to her Emacs when she next asks something, as any other, and not before', async () => {
  await emacs.eval('(progn (setq imago-updates nil) t)')
  assert.is(
    await value('(defmacro cl-user::with-ours ((name) &body body) `(let ((,name 1)) ,@body))'),
    'with-ours',
  )
  assert.is((await imago.kernel.look('describe', { name: 'cl-user::with-ours' }, LOOK)).type, 'found')
  assert.is(await emacs.eval('imago-updates'), 'nil')
  assert.is(await emacs.repl('(with-ours (one) one)'), '1')
  await emacs.until('(string-match-p "with-ours" (format "%S" imago-updates))')
})

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
  const found = await imago.kernel.look('adopt', { id: error?.id ?? '' }, LOOK)
  if (found.type !== 'found') throw new Error(JSON.stringify(found))
  return found.value
}

/** An error of Imago's, and one that happened in a frame of it. */
let outer: string
let inner: string
test('two errors of ours wait, one in a frame of the other', async () => {
  await imago.kernel.close()
  await attach()
  outer = (await image.suspend('(list (cl-user::dose 3))')).id
  inner = suspensionIn(await image.inFrame(outer, 0, '(error "deeper")').result).id
  assert.equal(await image.live(), [inner, outer])
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
  const waiting = await imago.kernel.look('errors', { count: 5 }, LOOK)
  if (waiting.type !== 'found') throw new Error(JSON.stringify(waiting))
  const [last] = waiting.value.errors
  assert.match(last?.error.message ?? '', 'No tea for 8')
  assert.ok(last?.where?.endsWith(`in SLIME, handed over as ${id}`), last?.where ?? '')
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
