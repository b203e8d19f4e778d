import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programFrame } from '../../tools/text.ts'
import type { Raised } from '../../wire/contract/values.ts'
import { symbol } from '../../wire/swank/sexp.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { type Asked, type Lisp, lispImage, until } from '../support/lisp-image.ts'
import { openSlime, type Slime } from '../support/slime.ts'

const test = suite('evaluating in a Lisp image', { limitMs: 100_000 })
const lisp = lispImage(test)
test.before(() =>
  lisp.define(`
    (defun inner (a b)
      (let ((pair (list a b)))
        (list (restart-case (error "no ~a" pair)
                (use-value (value) :report "Use another." value)
                (skip () :report "Leave it out."))
              pair)))
    (defun outer (x) (list (inner x 3)))`),
)

test('all values of the last form are told, and a form may have none', async () => {
  assert.equal(await lisp.values('(values 1 "two" :three)'), ['1', '"two"', ':three'])
  assert.equal(await lisp.values('1 2 (values)'), [])
  assert.equal(await lisp.values('  ; nothing but a comment #| and ( another |#'), [])
  assert.equal(await lisp.values('#| one |# (+ 1 2) ; three'), ['3'])
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
  const other = await lisp.join()
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

test('an interrupt ends what runs, and tells where it stood', async () => {
  await lisp.run('(defvar *spun* 0)')
  const run = lisp.begin('(defun spins ()\n  (loop (sleep 0.001) (incf *spun*)))\n(list (spins))')
  await until(async () => (await lisp.values('*spun*'))[0] !== '0')
  lisp.interrupt(run)
  const ended = await run.result
  if (ended.type !== 'interrupted') throw new Error(ended.type)
  const frame = ended.exception?.frames[0]
  assert.equal(
    [frame?.function, frame?.line, frame?.source],
    ['spins', 2, '(loop (sleep 0.001) (incf *spun*)))'],
  )
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

const functions = ({ frames }: Raised) => frames.map(frame => frame.function)

test('get_last_error shows the backtrace, with the frame that failed and its locals as they stood', async () => {
  await lisp.raised('(list (outer "text"))')
  const { error, who, seen } = await lisp.found('last_error', {})
  assert.is(who, 'test')
  assert.ok(seen.length > 0)
  if (error === null) throw new Error('there is none')
  assert.equal(functions(error), ['outer', 'inner'])
  assert.equal(error.frames.at(-1)?.locals, [
    { name: 'a', type_name: error.frames[0]?.locals[0]?.type_name ?? '', repr: '"text"' },
    { name: 'b', type_name: 'fixnum', repr: '3' },
    { name: 'pair', type_name: 'cons', repr: '("text" 3)' },
  ])
  assert.match(error.traceback, /0: \(inner "text" 3\)\n *1: \(outer "text"\)/)
})

test('an error has its restarts, innermost first, and none of ours or of Swank', async () => {
  const error = await lisp.raised('(with-simple-restart (carry-on "Carry on.") (outer 1))')
  assert.equal(error.restarts, [
    { name: 'use-value', description: 'Use another.' },
    { name: 'skip', description: 'Leave it out.' },
    { name: 'carry-on', description: 'Carry on.' },
  ])
  assert.match(error.traceback, ' 1: [SKIP] Leave it out.')
})

test('handlers of the user come first, and what they decline enters no debugger', async () => {
  assert.equal(await lisp.values('(handler-case (outer 1) (error (c) (princ-to-string c)))'), ['"no (1 3)"'])
  assert.equal(await lisp.values('(ignore-errors (outer 1))').then(values => values[0]), 'nil')
  assert.equal(await lisp.values('(handler-bind ((error (lambda (c) (use-value 7 c)))) (outer 1))'), [
    '((7 (1 3)))',
  ])
  assert.equal(await lisp.values("(list (signal 'error) (signal 'warning))"), ['(nil nil)'])
})

test('what would enter the debugger in another way is told, too', async () => {
  assert.is((await lisp.raised('(break "stop ~a" 1)')).message, 'stop 1')
  assert.is(
    (await lisp.raised('(invoke-debugger (make-condition \'simple-error :format-control "by hand"))'))
      .message,
    'by hand',
  )
  assert.match((await lisp.raised("(throw 'nobody 1)")).message, 'NOBODY')
  assert.is((await lisp.raised('(car 1)')).type.name, 'type-error')
  assert.match((await lisp.raised('(no-such-function 1)')).message, 'NO-SUCH-FUNCTION is undefined')
  assert.match((await lisp.raised('no-such-variable')).message, 'NO-SUCH-VARIABLE is unbound')
  assert.equal(await lisp.values('(step (+ 1 2))'), ['3'])
  assert.equal(await lisp.values('(let ((*debugger-hook* nil)) (list 1))'), ['(1)'])
  assert.is((await lisp.raised('(let ((*debugger-hook* nil)) (outer 1))')).message, 'no (1 3)')
})

test('an error in a handler, and one in a cleanup form, tell what they came of', async () => {
  const handler = await lisp.raised('(handler-bind ((error (lambda (c) c (error "again")))) (outer 1))')
  assert.is(handler.message, 'again')
  assert.ok(functions(handler).includes('inner'))
  const cleanup = await lisp.raised('(unwind-protect (outer 1) (error "in cleanup"))')
  assert.is(cleanup.message, 'in cleanup')
  assert.is(cleanup.cause?.how, 'context')
  assert.is(cleanup.cause?.exception.message, 'no (1 3)')
})

test('a report that fails, and one that never ends, are told as far as they go', async () => {
  await lisp.run(`
    (define-condition fails (error) () (:report (lambda (c s) c s (error "in the report"))))
    (define-condition hangs (error) () (:report (lambda (c s) c s (loop))))
    (define-condition breaks (error) () (:report (lambda (c s) c s (break))))`)
  for (const name of ['fails', 'hangs', 'breaks'] as const) {
    const error = await lisp.raised(`(error '${name})`)
    assert.is(error.type.name, name)
    const why = {
      fails: ': it signals simple-error: in the report',
      hangs: '',
      breaks: ': it signals simple-condition: break',
    }[name]
    assert.is(error.message, `cl-user::${name}, whose report could not be had${why}`)
  }
  await lisp.run(`(define-condition unset (error) ((item :initarg :item :reader item))
    (:report (lambda (c s) (format s "no ~a" (item c)))))`)
  assert.match(
    (await lisp.raised("(error 'unset)")).message,
    /could not be had: it signals .*unbound.* slot.*ITEM$/i,
  )
  const restart = await lisp.raised(
    '(restart-case (error "x") (odd () :report (lambda (s) s (error "in the restart")) 1))',
  )
  assert.equal(restart.restarts, [{ name: 'odd', description: '' }])
})

test('a stack that overflows is told by its ends, and the next evaluation runs', async () => {
  const error = await lisp.raised('(defun deep (n) (+ 1 (deep (+ n 1))))\n(list (deep 0))')
  assert.is(error.type.name, 'control-stack-exhausted')
  assert.ok(error.frames_omitted > 1_000)
  assert.ok(error.frames.length <= 60)
  assert.is(error.frames[0]?.function, 'deep')
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
  assert.is((await lisp.raised('(list (deep 0))')).type.name, 'control-stack-exhausted')
})

test('printing a local runs no code of the user', async () => {
  const error = await lisp.raised(`
    (defclass loud () ((name :initform 1)))
    (defmethod print-object ((it loud) stream) (setf (get :loud :printed) t) (write-string "LOUD" stream))
    (defun shouts (it) (list (with-simple-restart (go-on "Go on.") (error "quietly")) it))
    (list (shouts (make-instance 'loud)))`)
  assert.match(error.frames.at(-1)?.locals[0]?.repr ?? '', /loud/)
  assert.equal(await lisp.values('(get :loud :printed)'), ['nil'])
})

test('errors in threads of the program are not ours, and our debugger is nowhere but in our threads', async () => {
  const values = await lisp.values(`
    (flet ((global-p (symbol) (eq (symbol-value symbol) (sb-ext:symbol-global-value symbol))))
      (list (sb-thread:join-thread
              (sb-thread:make-thread
                (lambda () (mapcar #'global-p '(*debugger-hook* sb-ext:*invoke-debugger-hook* *standard-output*)))))
            (mapcar #'global-p '(*debugger-hook* sb-ext:*invoke-debugger-hook* *standard-output*))))`)
  assert.equal(values, ['((t t t) (nil nil nil))'])
})

test('methods, local functions and setf functions are named as Lisp names them', async () => {
  const error = await lisp.raised(`
    (defgeneric area (shape))
    (defmethod area ((shape integer)) (list (error "no area")))
    (defun (setf edge) (value thing) (list (area thing) value))
    (list (setf (edge 3) 4))`)
  assert.equal(functions(error).slice(-2), ['(setf edge)', '(method area (integer))'])
})

test('frames of the implementation are told apart from those of the program, with the file of its sources', async () => {
  const error = await lisp.raised(`
    (defgeneric price (thing))
    (defmethod price ((thing cons)) (list (* (car thing) (cdr thing))))
    (list (price (cons 2 nil)))`)
  assert.match(error.frames.at(-1)?.function ?? '', /two-arg-\*/)
  assert.is(error.frames.at(-1)?.implementation, true)
  assert.is(programFrame(error.frames)?.function, '(method price (cons))')
  const sources = await lisp.values(
    '(not (null (probe-file (translate-logical-pathname "SYS:SRC;CODE;NUMBERS.LISP"))))',
  )
  const file = error.frames.at(-1)?.file ?? ''
  assert.match(file, sources[0] === 't' ? /\/src\/code\/numbers\.lisp$/ : /^SYS:/)
})

test('an error while the form is compiled has the frames of the macro, and none of the compiler', async () => {
  const error = await lisp.raised(`
    (defmacro breaks-off (x) (list (expand-it x)))
    (defun expand-it (x) (list (error "cannot expand ~a" x)))
    (list (breaks-off 1))`)
  assert.match(error.message, 'cannot expand 1')
})

test('a thread that is ended from outside leaves no evaluation that runs', async () => {
  const run = lisp.begin(
    '(progn (print :here) (setf (get :victim :thread) sb-thread:*current-thread*) (loop (sleep 0.01)))',
  )
  await until(() => run.text().includes('HERE'))
  await lisp.values('(loop until (get :victim :thread) do (sleep 0.01))')
  await lisp.values('(sb-thread:terminate-thread (get :victim :thread))')
  await run.result.then(
    () => assert.unreachable(),
    error => assert.match(String(error), 'was aborted in the image'),
  )
  const { entries } = await lisp.found('history', { limit: 5 })
  assert.is(entries.find(entry => entry.call === run.call)?.outcome, 'left')
})

test('what is written to both streams comes in its order, and all of it before the answer', async () => {
  const run = lisp.begin(
    `(progn (write-string "one") (write-string "two" *error-output*) (terpri) (write-line "three" *trace-output*)
            (format *query-io* "four~%") (format *terminal-io* "five~%") (format *debug-io* "six~%") (princ "seven"))`,
  )
  await run.result
  assert.is(run.text(), 'onetwo\nthree\nfour\nfive\nsix\nseven')
  assert.is(run.text('stderr'), 'two')
  const before = run.events.length
  await lisp.values('1')
  assert.is(run.events.length, before)
})

test('a line that code prints before it goes on is heard while it runs, and so is one without an end', async () => {
  const run = lisp.begin(
    '(progn (write-line "first") (write-line "second") (write-string "third") (loop (sleep 0.01)))',
  )
  await until(() => run.text() === 'first\nsecond\nthird')
  lisp.interrupt(run)
  assert.is((await run.result).type, 'interrupted')
})

test('fresh-line and columns go by what stands there', async () => {
  const run = lisp.begin('(progn (princ "a") (fresh-line) (fresh-line) (princ "b") (format t "~10tc~&d~&"))')
  await run.result
  assert.is(run.text(), 'a\nb         c\nd\n')
})

test('every character arrives as it was written', async () => {
  const text = '\u0001\t"\\ é → 𝒳 \u2028 ﻿'
  const run = lisp.begin(
    `(write-string ${JSON.stringify(text)
      .replace(/\\u0001/, '\u0001')
      .replace(/\\t/, '\t')})`,
  )
  await run.result
  assert.is(run.text(), text)
  const odd = lisp.begin(
    '(progn (write-char (code-char 0)) (write-char (code-char #xD800)) (write-char (code-char 127)))',
  )
  await odd.result
  assert.is(odd.text(), '\u0000\uFFFD\u007F')
})

// A hundred in the long run.
const MEGABYTES = isLong ? 100 : 20
test('many megabytes arrive whole, in pieces, and cost the image no memory', async () => {
  const line = '0123456789'.repeat(10)
  const used = async () =>
    Number((await lisp.values('(progn (sb-ext:gc :full t) (sb-kernel:dynamic-usage))'))[0])
  const before = await used()
  const run = lisp.begin(`(loop repeat ${MEGABYTES * 10_000} do (write-line "${line}"))`)
  assert.is((await run.result).type, 'done')
  let characters = 0
  let longest = 0
  for (const event of run.events) {
    if (event.type !== 'output') throw new Error(event.type)
    characters += event.text.length
    longest = Math.max(longest, event.text.length)
  }
  run.events.length = 0
  assert.is(characters, MEGABYTES * 1_010_000)
  assert.ok(longest <= 8_192)
  assert.ok((await used()) - before < 16_000_000)
})

test('what is written to our streams after the end goes nowhere, and harms nobody', async () => {
  const run = lisp.begin(`
    (let ((out *standard-output*) (err *error-output*) (in *standard-input*))
      (setf (get :late :write) (lambda () (write-line "late" out) (finish-output out) (write-line "late" err)
                                 (list (read-line in nil :end) (y-or-n-p-late in))))
      (defun y-or-n-p-late (in) (read-char in nil :none))
      (write-line "in time"))`)
  await run.result
  assert.equal(await lisp.values('(funcall (get :late :write))'), ['(:end :none)'])
  assert.is(run.text(), 'in time\n')
})

test('a thread that an evaluation leaves behind goes on without its streams', async () => {
  const run = lisp.begin(`
    (let ((out *standard-output*))
      (setf (get :left :thread)
            (sb-thread:make-thread (lambda () (loop repeat 2000 do (write-line "left behind" out)) :wrote))))`)
  await run.result
  assert.equal(await lisp.values('(sb-thread:join-thread (get :left :thread))'), [':wrote'])
})

test('two threads that write at once lose nothing', async () => {
  const run = lisp.begin(`
    (let* ((out *standard-output*) (err *error-output*)
           (one (sb-thread:make-thread (lambda () (loop repeat 500 do (write-line "o" out)))))
           (two (sb-thread:make-thread (lambda () (loop repeat 500 do (write-line "e" err))))))
      (sb-thread:join-thread one) (sb-thread:join-thread two))`)
  await run.result
  assert.is(run.text('stdout'), 'o\n'.repeat(500))
  assert.is(run.text('stderr'), 'e\n'.repeat(500))
})

test('a line is asked for with the prompt that stands there, and read as it was given', async () => {
  const asked: Asked[] = []
  const answer = (question: Asked) => {
    asked.push(question)
    return asked.length === 1 ? 'Ada "L" \\\n' : '42\n'
  }
  const run = lisp.begin(
    '(progn (format t "hello~%who? ") (list (read-line) (progn (format *query-io* "how many? ") (read))))',
    {},
    answer,
  )
  const ended = await run.result
  assert.is(ended.type === 'done' && ended.values[0]?.repr.text, '("Ada \\"L\\" \\\\" 42)')
  assert.equal(
    asked.map(({ prompt }) => prompt),
    ['who? ', 'how many? '],
  )
})

test('a line that is refused is the end of the input', async () => {
  assert.is((await lisp.raised('(read-line)')).type.name, 'end-of-file')
  assert.equal(
    await lisp.values('(list (read-line nil nil :none) (read-char *query-io* nil :none) (listen))'),
    ['(:none :none nil)'],
  )
})

test('an evaluation whose connection ends runs to its end all the same', async () => {
  const other = await lisp.join()
  const run = other.begin(`
    (progn (write-line "runs")
           (loop repeat 30000 do (write-line "a flood that nobody hears any more, line by line"))
           (setf (get :alone :reached) (read-line nil nil :the-end)))`)
  await until(() => run.text().includes('runs'))
  other.end()
  assert.equal(
    await lisp.values('(loop (let ((it (get :alone :reached))) (when it (return it)) (sleep 0.01)))'),
    [':the-end'],
  )
})

/** Each connection has a history of its own. */
let own: Lisp
let person: Slime
test('nothing was evaluated, and nothing raised, before anything was', async () => {
  person = await openSlime(lisp.swank)
  await person.ask('(defvar *before* 1)')
  own = await lisp.join()
  assert.equal(await own.found('history', { limit: 10 }), { entries: [], total: 0 })
  const { error, who, call, at } = await own.found('last_error', {})
  assert.equal([error, who, call, at], [null, null, null, null])
})
test.after(async () => {
  own?.end()
  await person?.close()
})

test('what was evaluated is remembered, the newest first, with who asked and what it came to', async () => {
  await own.run('(+ 1 2)', { who: 'a person' })
  await own.run('(list\n 1)', { file: '/nowhere/app.lisp', line: 7 })
  await own.run('(values)')
  await own.run('(error "not today")')
  const { entries, total } = await own.found('history', { limit: 10 })
  assert.is(total, 4)
  assert.equal(
    entries.map(({ number, who, source, place, outcome, result }) => [
      number,
      who,
      source,
      place,
      outcome,
      result,
    ]),
    [
      [4, 'test', '(error "not today")', null, 'raised', 'not today'],
      [3, 'test', '(values)', null, 'done', null],
      [2, 'test', '(list\n 1)', { file: '/nowhere/app.lisp', line: 7 }, 'done', '(1)'],
      [1, 'a person', '(+ 1 2)', null, 'done', '3'],
    ],
  )
  for (const { at, elapsed_ms } of entries) {
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000)
    assert.ok(elapsed_ms !== null && elapsed_ms >= 0)
  }
})

test('what runs is told as running, and what was interrupted as that', async () => {
  const run = own.begin('(loop (sleep 0.01))')
  await until(() => run.thread !== undefined)
  const running = await own.found('history', { limit: 1 })
  assert.equal([running.entries[0]?.outcome, running.entries[0]?.elapsed_ms], ['running', null])
  own.interrupt(run)
  await run.result
  assert.is((await own.found('history', { limit: 1 })).entries[0]?.outcome, 'interrupted')
})

test('a long source is cut, and old entries make room', async () => {
  await own.run(`(length "${'x'.repeat(5_000)}")`)
  const [entry] = (await own.found('history', { limit: 1 })).entries
  assert.is(entry?.truncated, true)
  assert.ok((entry?.source.length ?? 0) <= 2_000)
  for (let turn = 0; turn < 210; turn++) await own.run('1')
  const { entries, total } = await own.found('history', { limit: 1_000 })
  assert.is(entries.length, 200)
  assert.is(total, 216)
})

test('the last error stays with its frames, whatever is evaluated after it', async () => {
  await own.run('(defun failing (x) (list (error "it was ~a" x)))\n(list (failing 1))')
  await own.run('(ignore-errors (error "handled"))')
  const { error, at, seen } = await own.found('last_error', {})
  assert.is(error?.message, 'it was 1')
  assert.equal(
    error?.frames.map(frame => frame.function),
    ['failing'],
  )
  assert.match(at ?? '', /Z$/)
  assert.match(seen.join(' '), 'through Imago')
})

test('what was refused before it ran is neither the last error nor remembered', async () => {
  await own.run('(error "mine")')
  const before = await own.found('history', { limit: 1 })
  await own.refused('1', { package: 'no-such-package' })
  await own.refused('', { work: 'load', file: '/no/such/file.lisp' })
  assert.is((await own.found('last_error', {})).error?.message, 'mine')
  assert.equal(await own.found('history', { limit: 1 }), before)
  await own.run('1')
  assert.is((await own.found('history', { limit: 1 })).entries[0]?.number, before.total + 1)
})

test('threads are told by name and role, and none is stopped to be looked at', async () => {
  await own.run('(sb-thread:make-thread (lambda () (sleep 1000)) :name "waits for ever")')
  const run = own.begin('(loop (sleep 0.01))')
  await until(() => run.thread !== undefined)
  const { threads, threads_total, notes, tasks } = await own.found('threads', {
    limit: 50,
    frames: 10,
    locals: false,
  })
  const roles = (role: string) =>
    threads.filter(thread => thread.role === role).flatMap(thread => thread.names)
  assert.equal(roles('main'), ['main thread'])
  assert.equal(roles('evaluating'), ['worker'])
  assert.ok(roles('user').includes('waits for ever'))
  assert.ok(roles('imago').includes('control-thread'))
  assert.ok(threads.every(thread => thread.frames.length === 0 && thread.count === 1))
  assert.match(notes.join(' '), 'a look stops nothing')
  assert.is(threads_total, threads.length - roles('imago').length)
  assert.equal(tasks, [])
  own.interrupt(run)
  await run.result
})

test('the threads of another connection are the user’s', async () => {
  const other = await lisp.join()
  const { threads } = await own.found('threads', {
    limit: 50,
    frames: 10,
    locals: false,
    filter: 'reader-thread',
  })
  assert.is(threads.filter(({ role }) => role === 'imago').length, 1)
  assert.ok(threads.some(({ role }) => role === 'user'))
  other.end()
})

const newest = async (limit = 1) => (await own.found('history', { limit })).entries

test('what somebody evaluates in an editor is in the history as theirs, and in the order in which it came', async () => {
  await own.run('(+ 1 2)', { who: 'a model' })
  await person.ask('(setf *before* (list "a \\" quote" 2))')
  const [theirs, ours] = await newest(2)
  assert.equal(
    [theirs?.who, theirs?.source, theirs?.outcome, theirs?.call],
    ['another client of Swank', '(setf *before* (list "a \\" quote" 2))', 'done', null],
  )
  assert.equal([ours?.who, ours?.number], ['a model', (theirs?.number ?? 0) - 1])
  assert.is((await newest())[0]?.number, theirs?.number, 'it is told once')
})

test('what somebody compiles or loads in an editor is told, too', async () => {
  const file = join(lisp.folder, 'theirs.lisp')
  writeFileSync(file, '(defvar *loaded* 1)')
  const compiled = [
    symbol('swank:compile-string-for-emacs'),
    '(defun theirs () 1)',
    'theirs',
    null,
    null,
    null,
  ]
  await person.request(compiled)
  await person.request([symbol('swank:load-file'), file])
  assert.equal(
    (await newest(2)).map(({ who, source, outcome }) => [who, source, outcome]),
    [
      ['another client of Swank', `load-file ${file}`, 'done'],
      ['another client of Swank', '(defun theirs () 1)', 'done'],
    ],
  )
})

test('an error of theirs shows as code that left, and nothing of it is ours', async () => {
  await person.ask('(error "mine, as a person")').catch(() => {})
  const [theirs] = await newest()
  assert.equal([theirs?.source, theirs?.outcome], ['(error "mine, as a person")', 'left'])
  assert.is.not((await own.found('last_error', {})).error?.message, 'mine, as a person')
})

test('a flood of theirs is told as far as Swank remembers it, and costs no more than that', async () => {
  for (let number = 0; number < 60; number++) await person.ask(`(list ${number})`)
  const entries = (await newest(100)).filter(({ who }) => who === 'another client of Swank')
  assert.is(entries[0]?.source, '(list 59)')
  assert.ok(entries.length < 60, `${entries.length} entries`)
})
