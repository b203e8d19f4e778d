import type { Evaluated } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { contents, type Inspecting, openInspecting } from '../support/lisp-inspecting.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('values of a Lisp program that harm whoever compares or shows them', { limitMs: 50_000 })

let swank: RealSwank
let at: Inspecting

const KEYS = `(progn
  (defvar *ran* '())
  (defun test-of-program (one other) (push :test *ran*) (eql one other))
  (defun hash-of-program (thing) (push :hash *ran*) (sxhash thing))
  (sb-ext:define-hash-table-test test-of-program hash-of-program)
  (defun deep-list () (let ((list '())) (dotimes (step 3000000 list) (setf list (list list)))))
  (defun circle () (let ((list (list 1))) (setf (cdr list) list)))
  (defun own-table () (let ((table (make-hash-table :test 'test-of-program))) (setf (gethash 1 table) 2) table))
  (defun one-entry (test key) (let ((table (make-hash-table :test test))) (setf (gethash key table) :found) table))
  (defstruct point x y)
  (defparameter *deep* (deep-list))
  (defparameter *deep-table* (one-entry 'equal (deep-list)))
  (defparameter *round* (circle))
  (defparameter *round-table* (one-entry 'equal (circle)))
  (defparameter *own* (own-table))
  (defparameter *own-table* (one-entry 'equalp (own-table)))
  (defparameter *plain* (make-hash-table :test 'equalp))
  (defparameter *point* (make-point :x 1 :y "b"))
  (defparameter *other-point* (make-point :x 1 :y "c"))
  (defparameter *array* (make-array '(2 2) :initial-contents '((1 2) (3 "x"))))
  (defparameter *flat* (make-array 4 :initial-contents '(1 2 3 "x")))
  (setf (gethash (make-point :x 1.0 :y "B") *plain*) :point
        (gethash (make-array '(2 2) :initial-contents '((1 2) (3 "X"))) *plain*) :array
        (gethash (list 1 "Two" #\\c #p"a/b") *plain*) :list
        (symbol-plist 'circle) (circle)
        *ran* '()))`

test.before(async () => {
  swank = await startSwank()
  at = await openInspecting(swank)
  await at.define(KEYS)
})
test.after(() => {
  at?.lisp.end()
  swank?.kill()
})

const text = async (expr: string) => contents((await at.inspect(expr)).repr).text

test('a key that is nested too deeply to be compared ends no image, however often it is looked for (threat 25)', async () => {
  for (let times = 0; times < 5; times++)
    assert.is((await at.looked('(gethash *deep* *deep-table*)')).type, 'needs_evaluation')
  assert.is(await text('*print-base*'), '10')
})

test('a key that goes round in a circle is not compared for ever (threat 25)', async () => {
  assert.is((await at.looked('(gethash *round* *round-table*)')).type, 'needs_evaluation')
})

test('a property is not looked for in a circle for ever (threat 25)', async () => {
  assert.is(await text("(get 'circle 'nowhere)"), 'nil')
  assert.is(await text("(get 'circle 1)"), '1')
})

test('a key that holds a hash table is not compared by the test and hash function of the program (threat 25)', async () => {
  const looked = await at.looked('(gethash *own* *own-table*)')
  assert.is(looked.type, 'needs_evaluation')
  assert.match(looked.type === 'needs_evaluation' ? looked.because : '', 'hash table')
  assert.is(await text('*ran*'), 'nil')
})

test('keys are found as the tables themselves would find them', async () => {
  assert.is(await text('(gethash *point* *plain*)'), ':point')
  assert.is(await text('(gethash *array* *plain*)'), ':array')
  for (const missing of ['*other-point*', '*flat*', "'(1 2)", '"x"'])
    assert.is((await at.looked(`(gethash ${missing} *plain*)`)).type, 'not_found', missing)
  await at.define('(defparameter *list* (list 1.0 "tWO" #\\C #p"a/b"))')
  assert.is(await text('(gethash *list* *plain*)'), ':list')
  await at.define(`(defparameter *equal* (one-entry 'equal (list 1 "Two" #*101 (list :a))))
    (defparameter *same* (list 1 "Two" #*101 (list :a)))
    (defparameter *unlike* (list 1.0 "Two" #*101 (list :a)))
    (defparameter *longer* (list 1 "Two" #*101 (list :a) 5))`)
  assert.is(await text('(gethash *same* *equal*)'), ':found')
  for (const missing of ['*unlike*', '*longer*'])
    assert.is((await at.looked(`(gethash ${missing} *equal*)`)).type, 'not_found', missing)
})

/** Evaluates to a list of an object and 2, where the printer of the object runs `body`. */
const shown = (body: string) =>
  at.lisp.run(`(progn (defclass tricky () ((a :initform 1)))
                      (defmethod print-object ((tricky tricky) stream) ${body})
                      (list (make-instance 'tricky) 2))`)

const first = (ended: Evaluated) => {
  if (ended.type !== 'done') throw new Error(`it has ended as ${JSON.stringify(ended)}`)
  return ended.values[0]?.repr
}

test('a result is told although its printer never comes back to where it was called (threat 26)', async () => {
  for (const body of [
    "(invoke-restart 'abort)",
    '(abort)',
    '(sb-thread:abort-thread)',
    '(error "No.")',
    "(throw 'nowhere 1)",
    '(labels ((deeper (n) (1+ (deeper n)))) (deeper 1))',
    '(loop)',
    '(unwind-protect (loop) (loop))',
  ]) {
    const repr = first(await shown(body))
    assert.is(repr?.text, '(#<tricky :a 1> 2)', body)
    assert.match(repr?.error ?? '', 'rinter', body)
  }
})

test('printers and reports that use up the stack end no image, however many there are (threat 26)', async () => {
  const deep = '(labels ((deeper (n) (1+ (deeper n)))) (deeper 1))'
  await at.define(
    `(progn (define-condition endless (error) () (:report (lambda (condition stream) ${deep}))) nil)`,
  )
  for (let times = 0; times < 4; times++) {
    const repr = first(await shown(`(progn ${deep} stream)`))
    assert.match(repr?.error ?? '', 'exhausted')
    const raised = await at.lisp.run("(error 'endless)")
    assert.is(raised.type, 'raised')
  }
  const both = await at.lisp.run(
    `(restart-bind ((odd #'identity :report-function (lambda (stream) ${deep}))) ${deep})`,
  )
  assert.is(both.type, 'raised')
  assert.match(both.type === 'raised' ? both.exception.type.name : '', 'stack-exhausted')
  assert.is(first(await at.lisp.run('(+ 1 2)'))?.text, '3')
})

test('the report of an error that leaves by a restart or ends its thread loses no error (threat 26)', async () => {
  for (const body of ["(invoke-restart 'abort)", '(sb-thread:abort-thread)']) {
    await at.define(`(progn (define-condition leaving (error) () (:report (lambda (c s) ${body}))) nil)`)
    const ended = await at.lisp.run("(error 'leaving)")
    assert.is(ended.type === 'raised' && ended.exception.type.name, 'leaving', body)
    assert.match(ended.type === 'raised' ? ended.exception.message : '', 'could not be had')
  }
})

test('an error is told although what tests its restarts fails or never ends (threat 26)', async () => {
  for (const body of ['(error "No restart.")', '(loop)']) {
    const ended = await at.lisp.run(
      `(restart-bind ((odd #'identity :test-function (lambda (condition) condition ${body}))) (error "The first."))`,
    )
    assert.is(ended.type === 'raised' && ended.exception.message, 'The first.', body)
  }
})

test('thousands of long values are told in an answer that the connection can carry (threat 26)', async () => {
  const ended = await at.lisp.run(
    '(values-list (make-list 5000 :initial-element (make-string 5000 :initial-element #\\")))',
  )
  const values = ended.type === 'done' ? ended.values : []
  assert.is(values.length, 101)
  assert.match(values[100]?.preview ?? '', '4900 values')
  assert.is(first(await at.lisp.run('(+ 1 2)'))?.text, '3')
})
