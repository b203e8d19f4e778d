import { execFileSync } from 'node:child_process'
import type { Evaluated } from '../../wire/kernel.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { lispImage } from '../support/lisp-image.ts'

const test = suite('Lisp programs that harm whoever looks at them', { limitMs: 100_000 })
const lisp = lispImage(test)
test.before(() => lisp.define(KEYS))

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

test('a key that is nested too deeply to be compared ends no image, however often it is looked for (threat 25)', async () => {
  for (let times = 0; times < 5; times++)
    assert.is((await lisp.inspected('(gethash *deep* *deep-table*)')).type, 'needs_evaluation')
  assert.is(await lisp.text('*print-base*'), '10')
})

test('a key that goes round in a circle is not compared for ever (threat 25)', async () => {
  assert.is((await lisp.inspected('(gethash *round* *round-table*)')).type, 'needs_evaluation')
})

test('a property is not looked for in a circle for ever (threat 25)', async () => {
  assert.is(await lisp.text("(get 'circle 'nowhere)"), 'nil')
  assert.is(await lisp.text("(get 'circle 1)"), '1')
})

test('a key that holds a hash table is not compared by the test and hash function of the program (threat 25)', async () => {
  const looked = await lisp.inspected('(gethash *own* *own-table*)')
  assert.is(looked.type, 'needs_evaluation')
  assert.match(looked.type === 'needs_evaluation' ? looked.because : '', 'hash table')
  assert.is(await lisp.text('*ran*'), 'nil')
})

test('keys are found as the tables themselves would find them', async () => {
  assert.is(await lisp.text('(gethash *point* *plain*)'), ':point')
  assert.is(await lisp.text('(gethash *array* *plain*)'), ':array')
  for (const missing of ['*other-point*', '*flat*', "'(1 2)", '"x"'])
    assert.is((await lisp.inspected(`(gethash ${missing} *plain*)`)).type, 'not_found', missing)
  await lisp.define('(defparameter *list* (list 1.0 "tWO" #\\C #p"a/b"))')
  assert.is(await lisp.text('(gethash *list* *plain*)'), ':list')
  await lisp.define(`(defparameter *equal* (one-entry 'equal (list 1 "Two" #*101 (list :a))))
    (defparameter *same* (list 1 "Two" #*101 (list :a)))
    (defparameter *unlike* (list 1.0 "Two" #*101 (list :a)))
    (defparameter *longer* (list 1 "Two" #*101 (list :a) 5))`)
  assert.is(await lisp.text('(gethash *same* *equal*)'), ':found')
  for (const missing of ['*unlike*', '*longer*'])
    assert.is((await lisp.inspected(`(gethash ${missing} *equal*)`)).type, 'not_found', missing)
})

/** Evaluates to a list of an object and 2, where the printer of the object runs `body`. */
const shown = (body: string) =>
  lisp.run(`(progn (defclass tricky () ((a :initform 1)))
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
    // Endless, and no work for the processor.
    '(unwind-protect (loop (sleep 1/100)) (loop (sleep 1/100)))',
  ]) {
    const repr = first(await shown(body))
    assert.is(repr?.text, '(#<tricky :a 1> 2)', body)
    assert.match(repr?.error ?? '', 'rinter', body)
  }
})

test('printers and reports that use up the stack end no image, however many there are (threat 26)', async () => {
  const deep = '(labels ((deeper (n) (1+ (deeper n)))) (deeper 1))'
  await lisp.define(
    `(progn (define-condition endless (error) () (:report (lambda (condition stream) ${deep}))) nil)`,
  )
  for (let times = 0; times < 4; times++) {
    const repr = first(await shown(`(progn ${deep} stream)`))
    assert.match(repr?.error ?? '', 'exhausted')
    const raised = await lisp.run("(error 'endless)")
    assert.is(raised.type, 'raised')
  }
  const both = await lisp.run(
    `(restart-bind ((odd #'identity :report-function (lambda (stream) ${deep}))) ${deep})`,
  )
  assert.is(both.type, 'raised')
  assert.match(both.type === 'raised' ? both.exception.type.name : '', 'stack-exhausted')
  assert.is(first(await lisp.run('(+ 1 2)'))?.text, '3')
})

test('the report of an error that leaves by a restart or ends its thread loses no error (threat 26)', async () => {
  for (const body of ["(invoke-restart 'abort)", '(sb-thread:abort-thread)']) {
    await lisp.define(`(progn (define-condition leaving (error) () (:report (lambda (c s) ${body}))) nil)`)
    const ended = await lisp.run("(error 'leaving)")
    assert.is(ended.type === 'raised' && ended.exception.type.name, 'leaving', body)
    assert.match(ended.type === 'raised' ? ended.exception.message : '', 'could not be had')
  }
})

test('an error is told although what tests its restarts fails or never ends (threat 26)', async () => {
  for (const body of ['(error "No restart.")', '(loop (sleep 1/100))']) {
    const ended = await lisp.run(
      `(restart-bind ((odd #'identity :test-function (lambda (condition) condition ${body}))) (error "The first."))`,
    )
    assert.is(ended.type === 'raised' && ended.exception.message, 'The first.', body)
  }
})

test('thousands of long values are told in an answer that the connection can carry (threat 26)', async () => {
  const ended = await lisp.run(
    '(values-list (make-list 5000 :initial-element (make-string 5000 :initial-element #\\")))',
  )
  const values = ended.type === 'done' ? ended.values : []
  assert.is(values.length, 101)
  assert.match(values[100]?.preview ?? '', '4900 values')
  assert.is(first(await lisp.run('(+ 1 2)'))?.text, '3')
})

test('a number of a million digits is not read by a look (threat 25)', async () => {
  for (const digits of ['9'.repeat(1_000_000), `#x${'f'.repeat(1_000_000)}`, `1.${'1'.repeat(100_000)}`]) {
    const looked = await lisp.inspected(digits)
    assert.is(looked.type, 'needs_evaluation')
    assert.match(looked.type === 'needs_evaluation' ? looked.because : '', 'digits')
  }
  assert.is((await lisp.text('9'.repeat(1000))).length, 1000)
  assert.is((await lisp.inspected(`#\\${'x'.repeat(1_000_000)}`)).type, 'malformed')
})

test('where a source file has become a pipe, an error in its code is told all the same (threat 26)', async () => {
  const file = lisp.write(
    'source.lisp',
    '(in-package :cl-user)\n(defun from-file (x) (error "In a file: ~A." x))\n',
  )
  await lisp.define(`(load (compile-file ${JSON.stringify(file)}))`)
  execFileSync('rm', [file])
  execFileSync('mkfifo', [file])
  const raised = await lisp.run('(from-file 1)')
  assert.match(raised.type === 'raised' ? raised.exception.message : '', 'In a file: 1.')
  const placed = await lisp.run('(error "In a pipe.")', { file, line: 1 })
  assert.match(placed.type === 'raised' ? placed.exception.message : '', 'In a pipe.')
})

test('names and lambda lists that go round in a circle are told as far as they are worth it (threat 25)', async () => {
  await lisp.define(`(progn
    (defun odd (function) (compile nil function))
    (defparameter *odd-name* (odd '(lambda (x) x)))
    (setf (sb-kernel:%simple-fun-name *odd-name*) '#1=(flet #1# :in #1#))
    (defparameter *odd-list* (odd '(lambda (y) y)))
    (setf (sb-kernel:%simple-fun-arglist *odd-list*) '#2=(a . #2#))
    (defparameter *odd-default* (odd '(lambda (z) z)))
    (setf (sb-kernel:%simple-fun-arglist *odd-default*) '(&optional (a #3=(b #3#)) #4=(c #4#))))`)
  assert.match(await lisp.text('*odd-name*'), '#<function')
  assert.match(await lisp.text('*odd-list*'), '#<function')
  assert.match(await lisp.text('*odd-default*'), '#<function')
})

test('of a name of twenty million characters only the beginning is written (threat 25)', async () => {
  await lisp.define(`(progn
    (defparameter *long* (make-symbol (make-string 20000000 :initial-element #\\X)))
    (defparameter *many* (make-list 50 :initial-element *long*)))`)
  assert.match(await lisp.text('*long*'), /^#:x{4000,}…$/)
  assert.match(await lisp.text('*many*'), /^\(#:x{4000,}…$/)
})

/** Bytes that the image uses after everything that nobody keeps was collected. */
const used = async () => {
  const [bytes = ''] = await lisp.values('(progn (sb-ext:gc :full t) (sb-kernel:dynamic-usage))')
  return Number(bytes)
}
const MB = 2 ** 20

test('what is kept of large results and sources is bounded by its size, not only by its number (threat 26)', async () => {
  const before = await used()
  for (let times = 0; times < (isLong ? 20 : 8); times++) await lisp.run(`;${'x'.repeat(2 * MB)}\n 1`)
  const ended = await lisp.run('(make-list 600000)')
  const first = ended.type === 'done' ? (ended.values[0]?.handle ?? '') : ''
  await lisp.define('(defparameter *mine* (make-list 600000))')
  const kept = (await lisp.inspect('*mine*')).handle ?? ''
  for (let times = 0; times < (isLong ? 60 : 32); times++) await lisp.run('(make-list 600000)')
  assert.ok((await used()) - before < 250 * MB)
  assert.is((await lisp.inspected(first)).type, 'stale_handle')
  assert.is((await lisp.inspected(kept)).type, 'found')
})

test('a package of very many symbols is listed, completed and searched without sorting all of them (threat 25)', async () => {
  await lisp.define(`(progn
    (make-package "BIG" :use '())
    (dotimes (number 200000)
      (let ((symbol (intern (format nil "SYM-~6,'0D" number) "BIG")))
        (setf (symbol-value symbol) number)
        (export symbol "BIG"))))`)
  const ask = async (name: string, query: object) => {
    const answer = await lisp.peer.call(name, { limit: 3, deadline_ms: 40_000, ...query })
    return JSON.stringify(answer)
  }
  const globals = await ask('globals', { module: 'BIG', after: 'big:sym-000009', modules: false })
  assert.match(globals, /sym-000010.*sym-000011.*sym-000012.*"total":200000/)
  const symbols = await ask('symbols', { module: 'BIG', internal: true })
  assert.match(symbols, /sym-000000.*sym-000001.*sym-000002.*"total":200000/)
  const completed = await ask('complete', { text: 'big:sym-1', cursor: 9 })
  assert.match(completed, /big:sym-100000.*big:sym-100001.*big:sym-100002.*"total":100000/)
  const missing = await ask('describe', { name: 'big:sym-01234' })
  assert.match(missing, /not_found.*sym-0/)
  const { sample } = await lisp.inspect('(find-package "BIG")')
  assert.match(JSON.stringify(sample), /sym-000000.*sym-000001.*"total":200000,"truncated":true/)
})

const small = lispImage(test, { heap: 300 })

test('code that uses up the heap is told how its memory is freed, and doing so frees it', async () => {
  const { type, notes } = await small.raised('(let ((kept ())) (loop (push (make-array 1000000) kept)))')
  assert.is(type.name, 'heap-exhausted-error')
  assert.match(notes?.join() ?? '', /stays in memory until.*evaluate \(sb-ext:gc :full t\)/)
  await small.define('(sb-ext:gc :full t)')
  const [used] = await small.values('(sb-kernel:dynamic-usage)')
  assert.ok(Number(used) < 150_000_000, used)
  assert.equal((await small.raised('(error "other")')).notes, undefined)
})
