import { type SwankKernel, swankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { isAtom } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { lispCache } from '../support/runtimes.ts'
import { openSlimeEmacs, type SlimeEmacs } from '../support/slime-emacs.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/**
 * A person works in SLIME, in a real Emacs at a terminal of its own, and types at its keyboard. Imago is attached to
 * the same image and at work there, and she does not notice.
 */
const test = suite('SLIME beside Imago', { limitMs: 55_000 })

process.env.XDG_CACHE_HOME = lispCache

const FORMS = [
  '(defun cl-user::shop (x) (* 2 x))',
  '(defun cl-user::till (x) (+ 1 x))',
  '(defvar cl-user::*orders* (list 1 2 3))',
]

let swank: RealSwank
let emacs: SlimeEmacs
test.before(async () => {
  ;[swank, emacs] = await Promise.all([startSwank({ forms: FORMS, debugger: true }), openSlimeEmacs()])
  await emacs.connect(swank.port)
})
test.after(async () => {
  await emacs?.kill()
  swank?.kill()
})

interface Imago {
  readonly kernel: SwankKernel
  /** What the image has said over our connection that was no answer. */
  readonly heard: readonly Sexp[]
}

async function attach(): Promise<Imago> {
  const { connection, info } = await connectSwank({ host: '127.0.0.1', port: swank.port, secret: null })
  const heard: Sexp[] = []
  const listen = connection.listen.bind(connection)
  connection.listen = (hear, options) =>
    listen(message => {
      heard.push(message)
      hear(message)
    }, options)
  return { heard, kernel: await swankKernel({ name: 'lisp', connection, info, attached: true }) }
}

/** With Imago attached from before to after. */
async function beside(use: (imago: Imago) => Promise<void>): Promise<void> {
  const imago = await attach()
  try {
    await use(imago)
    assert.equal(imago.heard.filter(asksAsDebugger), [])
  } finally {
    await imago.kernel.close()
  }
}

/** An editor that is told so is the debugger of the thread. */
function asksAsDebugger(message: Sexp): boolean {
  const [tag] = Array.isArray(message) ? (message as readonly Sexp[]) : []
  return isAtom(tag) && /^:debug/.test(tag.atom)
}

const value = async ({ kernel }: Imago, source: string) => {
  const ended = await evaluate(kernel, source).result
  return ended.type === 'done' ? ended.values[0]?.repr.text : ended.type
}

/** Whatever of Imago's work could be taken for the person's. */
async function works(imago: Imago): Promise<void> {
  const { kernel } = imago
  const outcome = async (source: string) => (await evaluate(kernel, source).result).type
  assert.is(await outcome('(in-package :sb-ext)'), 'done')
  assert.is(await value(imago, '(list :ours)'), '(:ours)')
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

/** Addresses change with every collection. */
const withoutAddresses = (text: string) => text.replace(/\{\w+\}/g, '{}')

/** What the debugger in Emacs shows, or nil. */
const debuggerShown = () =>
  emacs.text(
    '(let ((sldb (sldb-get-default-buffer))) (and sldb (with-current-buffer sldb (buffer-substring-no-properties 1 (point-max)))))',
  )
const debuggers = () => emacs.eval('(mapcar (lambda (b) (with-current-buffer b sldb-level)) (sldb-buffers))')

/** Opens in Emacs, and its last restart is taken as a person does it. */
async function leaveDebugger(): Promise<void> {
  await emacs.eval('(progn (select-window (get-buffer-window (sldb-get-default-buffer))) t)')
  emacs.type('q')
  await emacs.until('(and (null (sldb-buffers)) (null (slime-rex-continuations)))')
}

test('what her REPL remembers, its package and her hooks are as she left them', async () => {
  const hers = '(list * + / (package-name *package*) *debugger-hook* sb-ext:*invoke-debugger-hook*)'
  await emacs.repl('(list :hers 1)')
  const before = withoutAddresses(await emacs.repl(hers))
  assert.match(before, /^\(\(:HERS 1\) \(LIST :HERS 1\) \(\(:HERS 1\)\)\s"COMMON-LISP-USER"\s/)
  await beside(async imago => {
    await emacs.repl('(list :hers 1)')
    await works(imago)
    assert.is(withoutAddresses(await emacs.repl(hers)), before)
    await emacs.repl('(list :hers 1)')
  })
  assert.is(withoutAddresses(await emacs.repl(hers)), before)
})

test('her inspector shows what it showed, and goes on from there', async () => {
  const shown =
    '(with-current-buffer (slime-inspector-buffer) (buffer-substring-no-properties 1 (point-max)))'
  await emacs.eval('(progn (slime-inspect "(list :hers 1 2)") t)')
  await emacs.until('(with-current-buffer (slime-inspector-buffer) (> (point-max) 1))')
  const before = withoutAddresses(await emacs.text(shown))
  assert.match(before, ':HERS')
  await beside(async imago => {
    await works(imago)
    await emacs.eval('(progn (with-current-buffer (slime-inspector-buffer) (slime-inspector-reinspect)) t)')
    await emacs.until('(null (slime-rex-continuations))')
    assert.is(withoutAddresses(await emacs.text(shown)), before)
    assert.is(await emacs.text('(slime-eval \'(swank:inspector-eval "(first *)"))'), ':HERS')
  })
})

test('what she traces stays traced, in the table of the image and in that of her dialog', async () => {
  const dialog = "(slime-eval '(swank-trace-dialog:report-specs))"
  await emacs.repl('(trace shop)')
  await emacs.eval(
    '(slime-eval \'(swank-trace-dialog:dialog-toggle-trace (swank::from-string "cl-user::till")))',
  )
  const before = await emacs.eval(dialog)
  assert.match(before, 'till')
  await beside(async imago => {
    await works(imago)
    assert.is(await emacs.repl('(trace)'), '(SHOP)')
    assert.is(await emacs.eval(dialog), before)
  })
  assert.is(await emacs.repl('(untrace)'), 'T')
  await emacs.eval("(slime-eval '(swank-trace-dialog:dialog-untrace-all))")
})

test('her list of threads has those of our connection more, and none once we have gone', async () => {
  const names = async () => {
    const rows = await emacs.eval("(mapcar #'cadr (cdr (slime-eval '(swank:list-threads))))")
    return [...rows.matchAll(/"([^"]*)"/g)]
      .map(([, name = '']) => name)
      .filter(name => name !== 'worker')
      .sort()
  }
  const until = async (expected: readonly string[]) => {
    while ((await names()).join() !== expected.join()) await new Promise(resolve => setTimeout(resolve, 20))
  }
  const before = await names()
  const ours = ['control-thread', 'reader-thread', 'swank-indentation-cache-thread']
  await beside(async imago => {
    await works(imago)
    await until([...before, ...ours].sort())
  })
  await until(before)
})

test('an error of hers opens her debugger, with all of its restarts, and none of ours opens one', async () => {
  await beside(async imago => {
    await emacs.enter('(error "of hers")')
    await emacs.until('(sldb-get-default-buffer)')
    const shown = await debuggerShown()
    assert.match(shown, /^of hers/)
    assert.match(shown, /0: \[RETRY\][\s\S]*1: \[\*ABORT\][\s\S]*2: \[ABORT\]/)
    await works(imago)
    assert.is(await debuggers(), '(1)')
    assert.is(await debuggerShown(), shown)
    await leaveDebugger()
    assert.is(await emacs.repl('(+ 1 2)'), '3')
  })
})

test('an error in a thread of hers comes to her, though we have connected since', async () => {
  await beside(async imago => {
    await works(imago)
    await emacs.repl('(progn (sb-thread:make-thread (lambda () (error "in a thread of hers"))) nil)')
    await emacs.until('(sldb-get-default-buffer)')
    assert.match(await debuggerShown(), /^in a thread of hers/)
    await leaveDebugger()
  })
})

test('her interrupt stops what she runs, ours what we run, and neither that of the other', async () => {
  await beside(async imago => {
    const { kernel } = imago
    await emacs.enter('(loop)')
    await emacs.until('(slime-busy-p)')
    const first = await endless(kernel)
    assert.is((await kernel.interrupt(first.call)).outcome, 'stopped')
    assert.is(await debuggers(), 'nil')
    assert.is(await emacs.eval('(and (slime-busy-p) t)'), 't')
    const second = await endless(kernel)
    emacs.type('\x03\x03')
    await emacs.until('(sldb-get-default-buffer)')
    assert.match(await debuggerShown(), /^Interrupt from Emacs/)
    await leaveDebugger()
    assert.equal((await kernel.status({ deadlineMs: 20_000 })).running?.call, second.call)
    assert.is((await kernel.interrupt(second.call)).outcome, 'stopped')
    assert.is(await emacs.repl('(+ 1 2)'), '3')
  })
})

test('either comes and goes, and the other works on', async () => {
  for (let round = 1; round <= 5; round++) {
    await beside(async imago => {
      assert.is(await value(imago, `(* ${round} 2)`), String(round * 2))
      await emacs.disconnect()
      assert.is(await value(imago, `(* ${round} 3)`), String(round * 3))
      await emacs.connect(swank.port)
      assert.is(await emacs.repl(`(* ${round} 4)`), String(round * 4))
    })
    assert.is(await emacs.repl(`(* ${round} 5)`), String(round * 5))
  }
})

test('when her Emacs is killed, we work on', async () => {
  await beside(async imago => {
    await emacs.kill()
    await works(imago)
    assert.is(await value(imago, '(+ 1 2)'), '3')
  })
})
