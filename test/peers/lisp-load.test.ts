import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Loaded } from '../../wire/kernel.ts'
import type { Arguments } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { lispImage } from '../support/lisp-image.ts'
import { openSlime, type Slime } from '../support/slime.ts'

const test = suite('loading files and systems into a Lisp image, and running tests there', {
  limitMs: 100_000,
})
const lisp = lispImage(test)
const { folder } = lisp
const file = (name: string, text: string) => lisp.write(name, text)
let person: Slime
test.before(async () => {
  for (const [name, text] of Object.entries({ ...SYSTEMS, ...TESTED })) file(name, text)
  await lisp.define(
    `(progn (defvar *count* 0) (push ${JSON.stringify(`${folder}/`)} asdf:*central-registry*))`,
  )
  person = await openSlime(lisp.swank)
})
test.after(() => person?.close())

const SHOP = `;;; A shop, with ü in it.
(defpackage :shop (:use :cl) (:export #:total))
(in-package :shop)
(defvar *rate* 19)
(defparameter *limit* 3)
(defclass order () ((lines :initarg :lines :accessor lines)))
(defstruct (gift (:conc-name g-)) name)
#+no-such-feature (defun absent () 1)
#-no-such-feature
(defun total (order) (reduce #'+ (lines order)))
(defun (setf total) (new order) (setf (lines order) (list new)))
(defmacro twice (x) \`(+ ,x ,x))
(defgeneric area (shape))
(defmethod area ((shape order)) 1)
(defmethod area :around ((shape (eql 3))) 1)
(when nil (defun never-defined () 1))
(defparameter *evil* (progn (incf cl-user::*count*) nil))
`

async function load(path: string, more: Arguments = {}) {
  const ended = await lisp.run('', { work: 'load', file: path, ...more })
  if (ended.type !== 'done' || ended.loaded === undefined) throw new Error(JSON.stringify(ended))
  return { ...ended.loaded, diagnostics: ended.diagnostics ?? [], package: ended.package }
}

const refused = async (path: string, more: Arguments = {}) =>
  await lisp.refused('', { work: 'load', file: path, ...more })

test('what a file defines is told by name: what is new, and what takes the place of another', async () => {
  const path = file('shop.lisp', SHOP)
  const first = await load(path)
  assert.equal([first.module, first.file, first.replaced], ['SHOP', path, []])
  assert.equal(first.added, [
    'package SHOP',
    'shop::*rate*',
    'shop::*limit*',
    'shop::order',
    'shop::gift',
    'shop:total',
    '(setf shop:total)',
    'shop::twice',
    'shop::area',
    'shop::area (shop::order)',
    'shop::area :around ((eql 3))',
    'shop::*evil*',
  ])
  const again = await load(path)
  assert.equal(again.added, [])
  // A variable that is bound is left alone by defvar.
  assert.equal(
    again.replaced,
    first.added.filter(name => name !== 'shop::*rate*'),
  )
})

test('the file’s in-package holds for the file: the package in force stays as it was', async () => {
  assert.is(
    (await load(file('packaged.lisp', '(in-package :shop)\n(defun p () 1)'))).package,
    'COMMON-LISP-USER',
  )
  assert.equal(await lisp.values('(package-name *package*)'), ['"COMMON-LISP-USER"'])
})

test('only the definitions that are named are loaded, in their package, and each keeps its place', async () => {
  const text = SHOP.replace("(reduce #'+ (lines order))", ':changed')
  const path = file('shop.lisp', text)
  const before = await lisp.values('cl-user::*count*')
  const loaded: Loaded = await load(path, { names: ['total', '(SETF total)', 'shop::area'] })
  assert.is(loaded.module, 'SHOP')
  assert.equal(loaded.replaced, [
    'shop:total',
    '(setf shop:total)',
    'shop::area',
    'shop::area (shop::order)',
    'shop::area :around ((eql 3))',
  ])
  assert.equal(await lisp.values('(shop:total nil)'), [':changed'])
  assert.equal(await lisp.values('cl-user::*count*'), before)
  const found = await person.ask('(swank:find-definitions-for-emacs "shop:total")')
  assert.match(found, new RegExp(`:offset ${text.indexOf('(defun total') + 1} 0`, 'i'))
})

const ALIKE = `(defpackage :alike (:use :cl) (:export #:area))
(in-package :alike)
(defun area () :area)
(defun |Area| () :cased)
(defun |x:area| () :colon)
(defun cl-user::area () :user)
(defun alike::side () :side)
`

for (const [name, taken] of [
  ['#:alike', ['package ALIKE']],
  [':alike', ['package ALIKE']],
  ['"ALIKE"', ['package ALIKE']],
  ['area', ['alike:area']],
  ['AREA', ['alike:area']],
  ['alike::area', ['alike:area']],
  ['|Area|', ['alike::|Area|']],
  ['|x:area|', ['alike::|x:area|']],
  ['x\\:area', []],
  ['cl-user::area', ['area']],
  ['cl-user::side', []],
  ['side', ['alike::side']],
] as const)
  test(`of a file that has names like it, ${name} loads ${taken.join() || 'nothing'}, as the reader reads it`, async () => {
    const path = file('alike.lisp', ALIKE)
    if (taken.length === 0) {
      assert.is((await refused(path, { names: [name] })).reason, 'not_found')
      return
    }
    const { added, replaced } = await load(path, { names: [name] })
    assert.equal([...added, ...replaced], [...taken])
  })

for (const name of ['a:b:c', '|open', '(setf', '#.(setf cl-user::*count* 99)', ''])
  test(`${JSON.stringify(name)} names no definition of a file, and nothing of it runs`, async () => {
    const before = await lisp.values('cl-user::*count*')
    const { reason } = await refused(file('alike.lisp', ALIKE), { names: [name] })
    assert.is(reason, 'not_found')
    assert.equal(await lisp.values('cl-user::*count*'), before)
  })

test('of names that the file does not define nothing is loaded, and the answer says what is like them', async () => {
  const path = file('two.lisp', '(defun one-1 () :new)\n(defun two-2 () :new)')
  const { reason, message, nearest } = await refused(path, { names: ['one-1', 'tow-2'] })
  assert.match(message, /does not define tow-2 at its top level/)
  assert.equal([reason, nearest?.[0]], ['not_found', 'two-2'])
  assert.equal(await lisp.values("(fboundp 'one-1)"), ['nil'])
})

test('a definition that is taken from its own file again is no redefinition, however it is loaded', async () => {
  const said = (loaded: { diagnostics: readonly { severity: string }[] }) =>
    loaded.diagnostics.map(({ severity }) => severity)
  await lisp.run('(defun redefined () :typed)')
  const path = file('redefined.lisp', '(in-package :cl-user)\n(defun redefined () :filed)')
  assert.equal(said(await load(path)), ['redefinition'])
  assert.equal(said(await load(path)), [])
  const loaded = await load(path, { names: ['redefined'] })
  assert.equal([loaded.replaced, said(loaded)], [['redefined'], []])
  assert.equal(said(await load(path, { names: ['redefined'] })), [])
  await lisp.run('(defun redefined () :typed)')
  assert.equal(said(await load(path, { names: ['redefined'] })), ['redefinition'])
})

test('what is not asked for is not even read: neither its packages nor its code for the reader', async () => {
  const path = file(
    'unreadable.lisp',
    '(defun wanted-3 () 3)\n(defun f () (nowhere:g #.(setf cl-user::*hit* t)))\n(print #.(setf cl-user::*hit* t))',
  )
  assert.equal((await load(path, { names: ['wanted-3'] })).added, ['wanted-3'])
  assert.equal(await lisp.values("(boundp 'cl-user::*hit*)"), ['nil'])
})

test('what the compiler says of a file comes with its place there', async () => {
  const path = file('noted.lisp', '(in-package :cl-user)\n\n(defun noted (x)\n  (+ yy 1))\n')
  const { diagnostics } = await load(path)
  assert.equal(
    diagnostics.map(one => [one.severity, one.file, one.line, one.column]),
    [
      ['style_warning', path, 3, 1],
      ['warning', path, 4, 3],
    ],
  )
})

test('a file that breaks off, or raises, says where; what ran before stays done', async () => {
  const cut = file('broken.lisp', '(defun fine-4 () 4)\n\n(defun broken (')
  const broken = await lisp.raised('', { work: 'load', file: cut })
  assert.match(broken.message, /end of file.*line: 3/is)
  assert.equal(await lisp.values('(fine-4)'), ['4'])
  const path = file('deep.lisp', '(defun shallow () 1)\n\n(defun deep (x)\n  (car x))\n(deep 7)\n')
  const begun = lisp.begin('', { work: 'load', file: path })
  const ended = await begun.result
  if (ended.type !== 'raised') throw new Error('it has not raised')
  const [frame] = ended.exception.frames.slice(-1)
  assert.equal([frame?.function, frame?.file, frame?.line], ['deep', path, 4])
  assert.match(begun.text('stderr'), /line 5/)
})

test('a relative path, a missing file and a folder are refused in plain words', async () => {
  const told = async (path: string) => {
    const { reason, message } = await refused(path)
    return `${reason}: ${message}`
  }
  assert.match(await told('shop.lisp'), /malformed: .*no absolute path/)
  assert.match(await told(join(folder, 'none.lisp')), /not_found: There is no file .*none\.lisp/)
  mkdirSync(join(folder, 'a folder'))
  assert.match(await told(join(folder, 'a folder')), /malformed: .*is a folder/)
  for (const hostile of ['', '#.(setf cl-user::*hit* t)', '/tmp/*.lisp', '/tmp/[', '/"'])
    assert.match(await told(hostile), /absolute|no file/, hostile)
})

test('a name that Lisp would take for a pattern is the name of a file', async () => {
  assert.equal((await load(file('star * [1].lisp', '(defun starred () 1)'))).added, ['starred'])
})

test('compiled code is loaded, and what it defines cannot be told, which is said', async () => {
  const source = file('compiled.lisp', '(defun from-fasl () :compiled)')
  execFileSync('sbcl', [
    '--noinform',
    '--non-interactive',
    '--eval',
    `(compile-file ${JSON.stringify(source)})`,
  ])
  const path = join(folder, 'compiled.fasl')
  const loaded = await load(path)
  assert.equal(loaded.added, [])
  assert.match(loaded.diagnostics[0]?.message ?? '', /what it defines cannot be told/)
  assert.equal(await lisp.values('(from-fasl)'), [':compiled'])
  assert.match((await refused(path, { names: ['from-fasl'] })).next ?? '', /Give its source/)
})

test('a macro of the user’s that defines something is seen through', async () => {
  await lisp.run(
    '(defmacro define-handler (name) `(progn (defun ,name () :handled) (defvar ,(intern "*H*"))))',
  )
  const { added } = await load(file('handlers.lisp', '(in-package :cl-user)\n(define-handler on-click)'))
  assert.equal(added, ['on-click'])
})

test('the user’s own macroexpand hook is called all the same, and is theirs again afterwards', async () => {
  await lisp.run(
    '(defvar *hooked* 0) (setf *macroexpand-hook* (lambda (e f env) (incf *hooked*) (funcall e f env)))',
  )
  await load(file('hooked.lisp', '(defun hooked () 1)'))
  assert.equal(await lisp.values('(list (plusp *hooked*) (hooked))'), ['(t 1)'])
  assert.equal(await lisp.values("(progn (setf *macroexpand-hook* 'funcall) 1)"), ['1'])
})

const SYSTEMS: Readonly<Record<string, string>> = {
  'shop-e.asd': '(defsystem "shop-e" :depends-on ("base-e") :components ((:file "orders") (:file "prices")))',
  'base-e.asd': '(defsystem "base-e" :components ((:file "base")))',
  'wrong-e.asd': '(defsystem "wrong-e" :components ((:file "wrong")))',
  'lacking-e.asd': '(defsystem "lacking-e" :depends-on ("no-such-dependency"))',
  'absent-e.asd': '(defsystem "absent-e" :components ((:file "no-such-file")))',
  'raising-e.asd': '(defsystem "raising-e" :components ((:file "raising")))',
  'base.lisp': '(cl:in-package :cl-user)\n(format t "loading base~%")\n(defmacro base-macro () 1)',
  'orders.lisp': '(cl:in-package :cl-user)\n\n(defun total (lines unused) (reduce (function +) lines))',
  'prices.lisp': '(cl:in-package :cl-user)\n(defparameter *prices* (list (base-macro)))',
  'wrong.lisp': '(cl:in-package :cl-user)\n\n(defun fails () (let ((x)) (if)))',
  'raising.lisp': '(cl:in-package :cl-user)\n(defun raise-it () (error "at load"))\n(raise-it)',
}

const loadSystem = async (system: string, more: Arguments = {}) => {
  const begun = lisp.begin('', { work: 'system', system, force: false, ...more })
  const ended = await begun.result
  if (ended.type !== 'done' || ended.loaded === undefined) throw new Error(JSON.stringify(ended))
  return { ...ended.loaded, diagnostics: ended.diagnostics ?? [], printed: begun.text() }
}

test('a system is loaded with what it depends on, and the answer says which systems came in', async () => {
  const loaded = await loadSystem('shop-e')
  assert.equal([loaded.module, loaded.file], ['shop-e', join(folder, 'shop-e.asd')])
  assert.equal(loaded.added, ['base-e', 'shop-e'])
  assert.match(loaded.printed, /^loading base\n/)
  assert.equal(
    loaded.diagnostics.map(one => [one.severity, one.file, one.line, one.source]),
    [
      [
        'style_warning',
        join(folder, 'orders.lisp'),
        3,
        '(defun total (lines unused) (reduce (function +) lines))',
      ],
    ],
  )
  assert.equal(await lisp.values('(total *prices* nil)'), ['1'])
})

test('what is loaded and unchanged is let be, unless that is forced', async () => {
  const again = await loadSystem('shop-e')
  assert.equal([again.added, again.diagnostics], [[], []])
  const forced = await loadSystem('SHOP-E', { force: true })
  assert.equal(forced.added, [])
  assert.is(forced.diagnostics.length, 1)
  // Only of the system itself: what it depends on is not made again.
  assert.not.match(forced.printed, /loading base/)
})

test('a system that ASDF cannot find is refused with the nearest names', async () => {
  const refused = await lisp.refused('', { work: 'system', system: 'shpo-e', force: false })
  assert.match(refused.message, /no system shpo-e that ASDF can find/)
  assert.equal([refused.reason, refused.what, refused.nearest?.[0]], ['not_found', 'shpo-e', 'shop-e'])
})

test('a component that cannot be compiled fails, and says where and why', async () => {
  const ended = await lisp.run('', { work: 'system', system: 'wrong-e', force: false })
  if (ended.type !== 'raised') throw new Error('it has not raised')
  assert.is(ended.exception.type.name, 'compile-file-error')
  const [error] = (ended.diagnostics ?? []).filter(one => one.severity === 'error')
  assert.equal([error?.file, error?.line, error?.source], [join(folder, 'wrong.lisp'), 3, '(if)'])
  assert.ok((ended.exception.restarts ?? []).some(({ name }) => name === 'retry'))
})

test('a component that raises, a missing file and a missing dependency are raised as ASDF says it', async () => {
  const raised = await lisp.raised('', { work: 'system', system: 'raising-e', force: false })
  assert.match(raised.message, /at load/)
  const absent = await lisp.raised('', { work: 'system', system: 'absent-e', force: false })
  assert.match(absent.message, /no-such-file/)
  const lacking = await lisp.raised('', { work: 'system', system: 'lacking-e', force: false })
  assert.match(lacking.message, /"no-such-dependency" not found, required by/)
})

const TESTED: Readonly<Record<string, string>> = {
  'shop-t.asd': `(defsystem "shop-t" :components ((:file "shop-orders"))
    :in-order-to ((test-op (test-op "shop-t/tests"))))
  (defsystem "shop-t/tests" :depends-on ("shop-t" "fiveam") :components ((:file "tests"))
    :perform (test-op (o c) (uiop:symbol-call :shop-tests :run-them)))`,
  'untested-t.asd': '(defsystem "untested-t" :components ((:file "shop-orders")))',
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
  'shop-orders.lisp':
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

async function report(target: string, more: Arguments = {}) {
  const begun = lisp.begin('', { work: 'tests', target, ...more })
  const ended = await begun.result
  if (ended.type !== 'done' || ended.tests === undefined) throw new Error(JSON.stringify(ended))
  return { ...ended.tests, printed: begun.text() }
}

const refusal = async (target: string, more: Arguments = {}) => {
  const { message, nearest = [], next = '' } = await lisp.refused('', { work: 'tests', target, ...more })
  return `${message} Nearest: ${nearest.join(', ')}. ${next}`
}

test('before anything is loaded, no suite is known, and a framework that is missing is named', async () => {
  assert.match(await refusal('shop-tests:totals'), /No test, suite.*load_system first/)
  assert.match(await refusal('totals', { framework: 'fiveam' }), /fiveam is not loaded.*load_system/)
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
    assert.match(await refusal(target), /no test operation: there is nothing to test it by/)
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

test('a failure of FiveAM has the line of its test, in a file that was loaded by itself', async () => {
  const file = lisp.write(
    'lines.lisp',
    '(defpackage :lines-tests (:use :cl :fiveam))\n(in-package :lines-tests)\n\n(test adds\n  (is (= 2 (+ 1 1))))\n\n' +
      '(test (fails)\n  (is (= 3 (+ 1 1))))\n',
  )
  assert.is((await lisp.run('', { work: 'load', file })).type, 'done')
  const { failures } = await report('lines-tests')
  assert.equal(
    failures.map(one => [one.file, one.line]),
    [[file, 7]],
  )
})

test('a system is loaded with the notes of its own files, and not of those that it needs', async () => {
  mkdirSync(join(lisp.folder, 'needed'))
  mkdirSync(join(lisp.folder, 'needing'))
  lisp.write('needed/needed-n.asd', '(defsystem "needed-n" :components ((:file "needed")))')
  lisp.write('needed/needed.lisp', '(defun needed-n (unused) 1)')
  lisp.write(
    'needing/needing-n.asd',
    '(defsystem "needing-n" :depends-on ("needed-n") :components ((:file "needing")))',
  )
  const own = lisp.write('needing/needing.lisp', '(defun needing-n (unused) 1)')
  const folders = ['needed', 'needing'].map(
    name => `(push #p"${lisp.folder}/${name}/" asdf:*central-registry*)`,
  )
  await lisp.define(`(progn ${folders.join(' ')})`)
  const done = await lisp.run('', { work: 'system', system: 'needing-n', force: false })
  const said = done.type === 'done' ? (done.diagnostics ?? []) : []
  assert.equal(
    said.map(({ severity, file }) => [severity, file]),
    [['style_warning', own]],
    JSON.stringify(done),
  )
})

test('a framework whose tests are not known is named, and what runs them', async () => {
  await lisp.define('(progn (defpackage :rove (:use)) (intern "RUN" :rove))')
  assert.match(await refusal('nothing-of-it'), /Loaded: ROVE, whose tests run_tests knows only/)
  await lisp.define('(delete-package :rove)')
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
  assert.match(await refusal('shop-tests::totlas'), /Nearest: shop-tests:totals/)
  assert.match(await refusal('shop-tt'), /Nearest:.*shop-t\b/)
  assert.match(await refusal('shop-t', { framework: 'fiveam' }), /No test, suite/)
})

test('a stand-in for Parachute, with the API that it documents: its report is read into failures', async () => {
  await lisp.run(`(load ${JSON.stringify(file('stand-in.lisp', STAND_IN))})`)
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
  assert.match(await refusal('p-tests::smus'), /Nearest: p-tests::sums/)
  const within = await report('para-t')
  assert.equal(
    [within.framework, within.ok, within.passed, within.failed, within.skipped],
    ['asdf', false, 2, 1, 1],
  )
  assert.equal(within.failures, failures)
})

test('a target that two frameworks know is refused until one is named', async () => {
  await lisp.run('(in-package :p-tests) (fiveam:test in-both (fiveam:is-true t)) (in-package :cl-user)')
  assert.match(await refusal('p-tests'), /known to fiveam and parachute/)
  assert.is((await report('p-tests', { framework: 'parachute' })).failed, 1)
  assert.is((await report('p-tests', { framework: 'fiveam' })).passed, 1)
})
