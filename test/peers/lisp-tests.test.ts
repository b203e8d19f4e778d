import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Arguments } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder, removeFolder } from '../support/temporary.ts'

const test = suite('running tests in a Lisp image', { limitMs: 50_000 })
const folder = makeFolder()
let swank: RealSwank
let lisp: LispListener

const FILES: Readonly<Record<string, string>> = {
  'shop-t.asd': `(defsystem "shop-t" :components ((:file "orders"))
    :in-order-to ((test-op (test-op "shop-t/tests"))))
  (defsystem "shop-t/tests" :depends-on ("shop-t" "fiveam") :components ((:file "tests"))
    :perform (test-op (o c) (uiop:symbol-call :shop-tests :run-them)))`,
  'untested-t.asd': '(defsystem "untested-t" :components ((:file "orders")))',
  'passing-t.asd': `(defsystem "passing-t" :perform (test-op (o c) (format t "all is well~%")))`,
  'silent-t.asd': `(defsystem "silent-t")
    (defmethod perform ((o test-op) (c (eql (find-system "silent-t")))) nil)`,
  'pointing-t.asd': '(defsystem "pointing-t" :in-order-to ((test-op (test-op "untested-t"))))',
  // As most systems are tested: what fails is only printed.
  'printing-t.asd': `(defsystem "printing-t" :in-order-to ((test-op (test-op "printing-t/tests"))))
  (defsystem "printing-t/tests" :depends-on ("fiveam") :components ((:file "printing"))
    :perform (test-op (o c) (uiop:symbol-call :fiveam '#:run! (uiop:find-symbol* '#:checks :printing-tests))))`,
  'printing.lisp': `(defpackage :printing-tests (:use :cl :fiveam))
(in-package :printing-tests)
(def-suite checks)
(in-suite checks)
(test x (is (= 1 1)))
(test nothing)
(test both (is (= 2 3)) (skip "not today") (is (= 2 2)) (is (= 2 4)))
(test erring (is (= 1 1)) (error "unexpected"))
(test drawn (for-all ((n (gen-integer :min 1 :max 2))) (is (plusp n))))`,
  'para-t.asd': `(defsystem "para-t"
    :perform (test-op (o c) (uiop:symbol-call :parachute '#:test (find-package "P-TESTS") :report (uiop:find-symbol* '#:plain :parachute) :output *standard-output*)))`,
  'orders.lisp':
    '(defpackage :shop (:use :cl) (:export #:total))\n(in-package :shop)\n(defun total (l) (reduce (function +) l))',
  'tests.lisp': `(defpackage :shop-tests (:use :cl :fiveam) (:export #:totals #:run-them))
(in-package :shop-tests)
(def-suite totals)
(in-suite totals)
(test adds-up
  (is (= 3 (shop:total '(1 2))))
  (is (= 4 (shop:total '(1 2)))))
(test errs (is (= 1 (error "unexpected"))))
(test fine (is-true t) (skip "not today"))
(def-suite empty-suite)
(defun run-them () (unless (run! 'totals) (error "Tests failed.")))`,
}

/** Stands for Parachute: only the functions and classes of its public API that are used, as its documentation has them. */
const STAND_IN = `
(defpackage :parachute (:nicknames :org.shirakumo.parachute) (:use :cl)
  (:export #:test #:find-test #:package-tests #:test-packages #:plain #:results #:status #:expression #:description
           #:format-result #:home #:name #:tests #:test-result #:parent-result))
(in-package :parachute)
(defclass a-test () ((name :initarg :name :reader name) (home :initarg :home :reader home) (tests :initform () :reader tests)
  (checks :initarg :checks :reader checks)))
(defclass result () ((status :initarg :status :reader status) (expression :initarg :expression :reader expression)
  (description :initarg :description :initform nil :reader description)))
(defclass parent-result (result) ((results :initarg :results :initform () :accessor results)))
(defclass test-result (parent-result) ())
(defclass report (parent-result) ())
(defclass plain (report) ())
(defvar *parent* nil)
(defmethod initialize-instance :after ((result result) &key)
  (when *parent* (setf (results *parent*) (concatenate 'vector (results *parent*) (list result)))))
(defvar *tests* ())
(defun find-test (name &optional package)
  (find-if (lambda (test) (and (string= (name test) (string name)) (or (null package) (eq (home test) (find-package package))))) *tests*))
(defun package-tests (package) (remove (find-package package) *tests* :key (function home) :test-not (function eq)))
(defun test-packages () (remove-duplicates (mapcar (function home) *tests*)))
(defmethod format-result ((result result) type) (format nil "~a was ~(~a~)" (expression result) (status result)))
(defun test (designator &key report output)
  (assert (and (eq report 'plain) (output-stream-p output)))
  (assert (not (and (boundp 'cl-user::*exit-on-test-failures*) (symbol-value 'cl-user::*exit-on-test-failures*))))
  (let ((all ()))
    (dolist (test (if (packagep designator) (package-tests designator) (list designator)))
      (let ((checks (loop for (expression status) in (checks test)
                          collect (make-instance 'result :expression expression :status status))))
        (push (make-instance 'test-result :expression test :results checks
                             :status (if (find :failed checks :key (function status)) :failed :passed)) all)
        (setf all (append checks all))))
    (make-instance 'plain :results (coerce all 'vector) :status :passed :expression designator)))
(defpackage :p-tests (:use :cl))
(defparameter cl-user::*exit-on-test-failures* t)
(push (make-instance 'a-test :name "SUMS" :home (find-package :p-tests)
        :checks '(((is = 3 (+ 1 2)) :passed) ((is = 4 (+ 1 2)) :failed) ((is = 5 5) :skipped))) *tests*)
(push (make-instance 'a-test :name "FINE" :home (find-package :p-tests) :checks '(((true t) :passed))) *tests*)`

test.before(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'stand-in.lisp'), STAND_IN)
  swank = await startSwank({
    forms: [`(push ${JSON.stringify(`${folder}/`)} asdf:*central-registry*)`],
  })
  lisp = await openListener(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
  removeFolder(folder)
})

async function report(target: string, more: Arguments = {}) {
  const begun = lisp.begin('', { work: 'tests', target, ...more })
  const ended = await begun.result
  if (ended.type !== 'done' || ended.tests === undefined) throw new Error(JSON.stringify(ended))
  return { ...ended.tests, printed: begun.text() }
}

const refused = async (target: string, more: Arguments = {}) => {
  const { message, nearest = [], next = '' } = await lisp.refused('', { work: 'tests', target, ...more })
  return `${message} Nearest: ${nearest.join(', ')}. ${next}`
}

test('before anything is loaded, no suite is known, and a framework that is missing is named', async () => {
  assert.match(await refused('shop-tests:totals'), /No test, suite.*load_system first/)
  assert.match(await refused('totals', { framework: 'fiveam' }), /fiveam is not loaded.*load_system/)
})

test('a test operation that nobody counts checks in has not passed: it ran, and what it printed is told', async () => {
  const { framework, ok, passed, failed, failures, printed } = await report('passing-t')
  assert.equal(
    { framework, ok, passed, failed, failures, printed },
    { framework: 'asdf', ok: null, passed: null, failed: null, failures: [], printed: 'all is well\n' },
  )
  const silent = await report('silent-t')
  assert.equal([silent.ok, silent.passed, silent.printed], [null, null, ''])
})

test('the test operation of a system tells what FiveAM counted in it, what it printed, and that it failed', async () => {
  const { framework, ok, passed, failed, skipped, failures, printed } = await report('shop-t')
  assert.equal(
    { framework, ok, passed, failed, skipped },
    { framework: 'asdf', ok: false, passed: 2, failed: 2, skipped: 1 },
  )
  assert.equal(
    failures.map(({ test }) => test),
    ['shop-tests::adds-up', 'shop-tests::errs', 'shop-t'],
  )
  assert.is(failures[2]?.reason, 'Tests failed.')
  assert.match(printed, /Did 5 checks/)
})

test('tests that fail in a test operation that only prints have failed, each by its name', async () => {
  const { framework, ok, passed, failed, skipped, failures, printed } = await report('printing-t')
  assert.equal(
    { framework, ok, passed, failed, skipped },
    { framework: 'asdf', ok: false, passed: 4, failed: 3, skipped: 1 },
  )
  assert.equal(
    failures.map(({ test, expression }) => [test, expression]),
    [
      ['printing-tests::both', '(= 2 3)'],
      ['printing-tests::both', null],
      ['printing-tests::erring', null],
    ],
  )
  assert.match(failures[0]?.reason ?? '', /evaluated to\s+3/)
  assert.match(failures[1]?.reason ?? '', /A check failed/)
  assert.match(failures[2]?.reason ?? '', /signalled an error/)
  // What FiveAM prints is there as ever.
  assert.match(printed, /Running test (\S*)X \./)
  assert.match(printed, /Did 8 checks[\s\S]*Fail: 3/)
  assert.equal(await lisp.values('(eq fiveam:*test-dribble* t)'), ['t'])
})

test('a system without a test operation, or that points to such a one, is no system whose tests pass', async () => {
  for (const target of ['untested-t', 'pointing-t'])
    assert.match(await refused(target), /no test operation: there is nothing to test it by/)
})

test('a suite of FiveAM is read into failures: the test, the reason and the check', async () => {
  const { framework, ok, passed, failed, skipped, failures, printed } = await report('shop-tests:totals')
  assert.equal(
    { framework, ok, passed, failed, skipped },
    { framework: 'fiveam', ok: false, passed: 2, failed: 2, skipped: 1 },
  )
  assert.equal(
    failures.map(({ test, expression }) => [test, expression]),
    [
      ['shop-tests::adds-up', "(= 4 (SHOP:TOTAL '(1 2)))"],
      ['shop-tests::errs', null],
    ],
  )
  assert.match(failures[0]?.reason ?? '', /evaluated to\s+3\s+which is not\s+=\s+to\s+4/)
  assert.match(failures[1]?.reason ?? '', /unexpected/)
  assert.is(printed, '')
})

test('one test, a package, and a name in another case are targets too', async () => {
  assert.equal((await report('SHOP-TESTS::fine')).failures, [])
  const whole = await report('shop-tests')
  assert.equal([whole.framework, whole.passed, whole.failed], ['fiveam', 2, 2])
  const empty = await report('shop-tests::empty-suite')
  assert.equal([empty.ok, empty.passed, empty.failed], [null, 0, 0])
})

test('how a person wants to debug their tests does not hold up ours, and stays as it was', async () => {
  await lisp.run('(setf fiveam:*on-error* :debug fiveam:*on-failure* :debug)')
  const last = await lisp.values('(list fiveam::*!* fiveam::*!!*)')
  assert.is((await report('shop-tests:totals')).failed, 2)
  assert.equal(await lisp.values('(list fiveam:*on-error* fiveam:*on-failure*)'), ['(:debug :debug)'])
  assert.equal(await lisp.values('(list fiveam::*!* fiveam::*!!*)'), last)
  await lisp.run('(setf fiveam:*on-error* nil fiveam:*on-failure* nil)')
})

test('an unknown target is refused with the nearest suites, systems included', async () => {
  assert.match(await refused('shop-tests::totlas'), /Nearest: shop-tests:totals/)
  assert.match(await refused('shop-tt'), /Nearest:.*shop-t\b/)
  assert.match(await refused('shop-t', { framework: 'fiveam' }), /No test, suite/)
})

test('a stand-in for Parachute, with the API that it documents: its report is read into failures', async () => {
  await lisp.run(`(load ${JSON.stringify(join(folder, 'stand-in.lisp'))})`)
  const { framework, ok, passed, failed, skipped, failures } = await report('p-tests')
  assert.equal(
    { framework, ok, passed, failed, skipped },
    { framework: 'parachute', ok: false, passed: 2, failed: 1, skipped: 1 },
  )
  assert.equal(
    failures.map(({ test, expression }) => [test, expression]),
    [['p-tests::sums', '(PARACHUTE::IS = 4 (+ 1 2))']],
  )
  assert.match(failures[0]?.reason ?? '', /was failed/)
  const one = await report('p-tests::fine')
  assert.equal([one.ok, one.passed, one.failed], [true, 1, 0])
  assert.match(await refused('p-tests::smus'), /Nearest: p-tests::sums/)
  const within = await report('para-t')
  assert.equal(
    [within.framework, within.ok, within.passed, within.failed, within.skipped],
    ['asdf', false, 2, 1, 1],
  )
  assert.equal(within.failures, failures)
})

test('a target that two frameworks know is refused until one is named', async () => {
  await lisp.run('(in-package :p-tests) (fiveam:test in-both (fiveam:is-true t)) (in-package :cl-user)')
  assert.match(await refused('p-tests'), /known to fiveam and parachute/)
  assert.is((await report('p-tests', { framework: 'parachute' })).failed, 1)
  assert.is((await report('p-tests', { framework: 'fiveam' })).passed, 1)
})

test('hostile targets are names', async () => {
  for (const target of [
    '") (setf cl-user::*hit* t) ("',
    '#.(setf cl-user::*hit* t)',
    '|',
    'a:b:c',
    ':',
    '  ',
  ])
    for (const framework of [undefined, 'fiveam', 'parachute', 'asdf'])
      await lisp.run('', { work: 'tests', target, framework })
  assert.equal(await lisp.values("(boundp 'cl-user::*hit*)"), ['nil'])
})
