import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener, until } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('evaluating in a Lisp image')
let swank: RealSwank
let lisp: LispListener

test.before(async () => {
  swank = await startSwank()
  lisp = await openListener(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
})

test('all values of the last form are told, and a form may have none', async () => {
  assert.equal(await lisp.values('(values 1 "two" :three)'), ['1', '"two"', ':three'])
  assert.equal(await lisp.values('1 2 (values)'), [])
  assert.equal(await lisp.values('  ; nothing but a comment #| and ( another |#'), [])
  assert.equal(await lisp.values('#| one |# (+ 1 2) ; three'), ['3'])
})

test('a definition has its name for a value', async () => {
  assert.equal(await lisp.values('(defun twice (x) (* 2 x))'), ['twice'])
  assert.equal(await lisp.values('(defvar *once* 1)'), ['*once*'])
  assert.equal(await lisp.values('(twice *once*)'), ['2'])
})

test('what a form sees at the top level is there for the next form of the same source', async () => {
  assert.equal(
    await lisp.values(
      `(defpackage #:later (:use #:cl))
       (in-package #:later)
       (progn (defmacro five () 5) (list (five)))
       (eval-when (:execute) (defun six () (1+ (five))))
       (eval-when (:compile-toplevel) (defun seven () 7))
       (macrolet ((eight () 8)) (defun ate () (eight)))
       (list (six) (ate) (fboundp 'seven))`,
    ),
    ['(6 8 nil)'],
  )
  assert.equal(await lisp.values('(package-name *package*)'), ['"LATER"'])
  assert.equal(await lisp.values('(cl:in-package #:cl-user)'), ['#<package "COMMON-LISP-USER">'])
})

test('the package in force stays ours, and is told', async () => {
  const ended = await lisp.run('(defpackage #:ours (:use #:cl)) (in-package #:ours)')
  assert.is(ended.type === 'done' && ended.package, 'OURS')
  assert.equal(await lisp.values("(package-name (symbol-package 'fresh-name))"), ['"OURS"'])
  const other = await openListener(swank)
  assert.equal(await other.values('(package-name *package*)'), ['"COMMON-LISP-USER"'])
  other.end()
  assert.equal(await lisp.values('(sb-ext:symbol-global-value (quote *package*))'), [
    '#<package "COMMON-LISP-USER">',
  ])
  await lisp.run('(in-package #:cl-user)')
})

test('a package can be named for one evaluation, by any of its names', async () => {
  await lisp.run('(defpackage #:named-once (:use #:cl) (:nicknames #:once))')
  assert.equal(await lisp.values('(package-name *package*)', { package: 'once' }), ['"NAMED-ONCE"'])
  assert.equal(await lisp.values('(package-name *package*)'), ['"COMMON-LISP-USER"'])
  const { message, nearest } = await lisp.refused('1', { package: 'sb-exx' })
  assert.is(message, 'There is no package sb-exx.')
  assert.ok(nearest?.includes('SB-EXT'))
})

test('a package that was deleted is in force no longer', async () => {
  await lisp.run('(make-package "BRIEF") (setf *package* (find-package "BRIEF"))')
  const ended = await lisp.run('(cl:let ((cl:*package* (cl:find-package "CL"))) (cl:delete-package "BRIEF"))')
  assert.is(ended.type === 'done' && ended.package, 'COMMON-LISP-USER')
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
})

test('the variables of a listener are our own', async () => {
  await lisp.values('(+ 1 1)')
  assert.equal(await lisp.values('(list * + -)'), ['(2 (+ 1 1) (list * + -))'])
  await lisp.values('(values 7 8)')
  assert.equal(await lisp.values('(list / **)'), ['((7 8) (2 (+ 1 1) (list * + -)))'])
  assert.equal(await lisp.values("(mapcar #'sb-ext:symbol-global-value '(* / +))"), ['(nil nil nil)'])
})

test('what is in force is told, and which of it the call itself has changed', async () => {
  const told = async (source: string, more = {}) => {
    const ended = await lisp.run(source, more)
    return ended.type === 'done' && [ended.package, ended.changed]
  }
  await lisp.run('(defpackage :moved-to (:use :cl)) (setf *readtable* (copy-readtable nil))')
  assert.equal(await told('1', { package: 'moved-to' }), ['COMMON-LISP-USER', undefined])
  assert.equal(await told('(in-package :moved-to)'), ['MOVED-TO', ['package']])
  assert.equal(await told('1'), ['MOVED-TO', undefined])
  assert.equal(await told('(in-package :cl-user)'), ['COMMON-LISP-USER', ['package']])
  assert.equal(await told("(set-macro-character #\\! #'identity)"), ['COMMON-LISP-USER', ['readtable']])
  assert.equal(await told('(setf *readtable* (copy-readtable nil))'), ['COMMON-LISP-USER', ['readtable']])
})

test('a readtable that a source takes up stays ours, and is told', async () => {
  const ended = await lisp.run(
    `(setf *readtable* (copy-readtable nil))
     (set-macro-character #\\! (lambda (stream char) (declare (ignore char)) (list 'not (read stream t nil t))))`,
  )
  assert.is(ended.type === 'done' && ended.readtable, 'with !')
  assert.equal(await lisp.values('(list !t !nil)'), ['(nil t)'])
  const other = await openListener(swank)
  const elsewhere = await other.run('1')
  assert.is(elsewhere.type === 'done' && elsewhere.readtable, 'standard')
  other.end()
  await lisp.run('(setf *readtable* (copy-readtable nil))')
})

test('of a text that is no code, nothing runs', async () => {
  for (const [source, message] of [
    ['(print 1) (foo', 'The text ends within the form that begins at line 1, column 11.'],
    ['(print 1)\n (foo "bar)', 'The text ends within the form that begins at line 2, column 2.'],
    ['(print 1) #| never', 'The text ends'],
    ['(print 1) (foo))', 'unmatched close parenthesis'],
    ['(print 1) #<unreadable>', 'line 1, column 11 cannot be read'],
  ] as const) {
    const run = lisp.begin(source)
    const ended = await run.result
    assert.is(ended.type, 'raised', source)
    assert.ok(ended.type === 'raised' && ended.exception.message.includes(message), source)
    assert.equal(ended.type === 'raised' && ended.exception.frames, [])
    assert.is(run.text(), '')
  }
})

test('a name of a package that is not there is told with its place', async () => {
  const { message, type } = await lisp.raised('(list 1\n  (nowhere:thing 2))')
  assert.is(
    message,
    'The form that begins at line 1, column 1 cannot be read: Package NOWHERE does not exist.',
  )
  assert.is(type.name, 'simple-reader-package-error')
})

test('checking a text before it runs interns nothing, and evaluates nothing', async () => {
  await lisp.raised('(list interned-by-check #.(setf (get :checked :ran) t)) (')
  assert.equal(await lisp.values('(list (find-symbol "INTERNED-BY-CHECK") (get :checked :ran))'), [
    '(nil nil)',
  ])
  assert.equal(await lisp.values('(list #.(+ 1 2))'), ['(3)'])
})

test('a syntax that the source itself sets up is no mistake', async () => {
  assert.equal(
    await lisp.values(
      `(setf *readtable* (copy-readtable nil))
       (set-macro-character #\\} (get-macro-character #\\)))
       (set-macro-character #\\{ (lambda (stream char) (declare (ignore char)) (read-delimited-list #\\} stream t)))
       (set-dispatch-macro-character #\\# #\\< (lambda (s c n) (declare (ignore c n)) (list 'quote (read s))))
       {list 1 #<x }`,
    ),
    ['(1 x)'],
  )
  await lisp.run('(setf *readtable* (copy-readtable nil))')
})

test('warnings are told beside the values, and printed as ever', async () => {
  const run = lisp.begin('(defun warns () (warn "it is ~a" :late) 5)\n(list (warns))')
  const ended = await run.result
  assert.equal(ended.type === 'done' && ended.diagnostics, [
    { severity: 'warning', message: 'it is LATE', file: null, line: 2, column: null, source: null },
  ])
  assert.match(run.text('stderr'), 'WARNING: it is LATE')
  const muffled = await lisp.run('(handler-bind ((warning #\'muffle-warning)) (warn "unheard"))')
  assert.is(muffled.type === 'done' && muffled.diagnostics, undefined)
})

test('what the compiler says of a definition is told with its line', async () => {
  const ended = await lisp.run('(list 1)\n\n(defun refers () (nowhere-defined))')
  const [diagnostic] = (ended.type === 'done' && ended.diagnostics) || []
  assert.is(diagnostic?.severity, 'style_warning')
  assert.match(diagnostic?.message ?? '', /undefined function: .*NOWHERE-DEFINED/i)
  assert.is(diagnostic?.line, 3)
})

test('what the compiler says of what is evaluated is told, and not printed a second time', async () => {
  const run = lisp.begin('(defun once-told (x) (nowhere-defined-2))\n(defun once-told (x) (list x))')
  const ended = await run.result
  assert.equal(ended.type === 'done' && ended.diagnostics?.map(({ severity }) => severity), [
    'style_warning',
    'style_warning',
    'redefinition',
  ])
  assert.is(run.text(), '')
})

test('time goes by in milliseconds', async () => {
  const ended = await lisp.run('(sleep 0.05)')
  assert.ok(ended.type === 'done' && ended.elapsed_ms >= 50)
})

test('an interrupt ends what runs, and tells where it stood', async () => {
  const run = lisp.begin(
    '(defun spins (n)\n  (loop (sleep 0.001) (incf n)))\n(print :spins)\n(list (spins 1))',
  )
  await until(() => run.text().includes('SPINS'))
  await lisp.values('1')
  lisp.interrupt(run)
  const ended = await run.result
  if (ended.type !== 'interrupted') throw new Error(ended.type)
  const frame = ended.exception?.frames[0]
  assert.equal([frame?.function, frame?.line, frame?.source], ['spins', 2, '(loop (sleep 0.001) (incf n)))'])
})

test('an interrupt reaches code that sleeps, that waits for a line, and that handles all conditions', async () => {
  for (const source of [
    '(sleep 1000)',
    '(progn (print :asked) (sb-thread:join-thread (sb-thread:make-thread (lambda () (sleep 1000)))))',
    '(handler-case (loop) (serious-condition () :swallowed))',
    '(ignore-errors (loop (ignore-errors (loop))))',
  ]) {
    const run = lisp.begin(source)
    await until(() => run.thread !== undefined)
    assert.is(((await lisp.peer.call('interrupt', { call: run.call })) as { running: boolean }).running, true)
    assert.is((await run.result).type, 'interrupted', source)
  }
})

test('cleanup forms run when an evaluation is left, and what goes wrong in them does not keep it', async () => {
  const run = lisp.begin(
    '(progn (print :runs) (unwind-protect (loop) (print :cleaned) (error "in cleanup")))',
  )
  await until(() => run.text().includes('RUNS'))
  lisp.interrupt(run)
  const ended = await run.result
  if (ended.type !== 'interrupted') throw new Error(ended.type)
  assert.match(run.text(), 'CLEANED')
  assert.is(ended.exception?.message, 'in cleanup')
  assert.is(ended.exception?.cause?.exception.message, 'Interrupt from Emacs')
})

test('an interrupt that comes too late does nothing, to nobody', async () => {
  for (let turn = 0; turn < 40; turn++) {
    const run = lisp.begin('(values (list 1 2))')
    await until(() => run.thread !== undefined)
    const [ended] = await Promise.all([run.result, lisp.peer.call('interrupt', { call: run.call })])
    assert.ok(['done', 'interrupted'].includes(ended.type))
    assert.equal(await lisp.values('(+ 2 2)'), ['4'])
  }
  const debuggers = lisp.messages.filter(message => JSON.stringify(message).includes('":debug'))
  assert.equal(debuggers, [])
})
