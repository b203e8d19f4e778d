import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import type { Definition, Relation } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { lispImage, missing } from '../support/lisp-image.ts'

const test = suite('definitions and descriptions in a Lisp image', { limitMs: 100_000 })

const CODE = `(defvar *ran* '())
   (defun d-total (orders &optional (rate 19 rate-given) &key (round nil) ((:as form) 'list) &allow-other-keys)
     "Adds up.
More of it." (declare (ignore rate-given)) (list orders rate round form))
   (declaim (inline d-fast)) (defun d-fast (x) x)
   (declaim (ftype (function (fixnum) (values fixnum &optional)) d-typed)) (defun d-typed (x) x)
   (defmacro d-with ((name &key (size 3)) &body body &environment environment)
     "Runs BODY." (declare (ignore size environment)) \`(let ((,name 1)) ,@body))
   (defgeneric d-area (shape &key unit) (:documentation "How large."))
   (defclass d-shape () ((name :initarg :name :initform "none") (plain)) (:documentation "What has an area."))
   (defclass d-circle (d-shape) ()) (defclass d-round (d-circle) ())
   (defmethod d-area ((shape d-circle) &key unit digits) "Round." (list unit digits))
   (defstruct (d-point (:constructor make-d-point (x &optional (y 2)))) "Where." x (y 2 :type fixnum))
   (define-condition d-oops (error) ((why :initarg :why)) (:documentation "It failed."))
   (deftype d-small () "Small numbers." '(integer 0 9))
   (defvar *d-limit* 3 "How many.") (defconstant +d-most+ 10 "At most.") (defvar *d-open*)
   (define-symbol-macro d-alias *d-limit*)
   (defun (setf d-total) (new x) (list new x))
   (define-compiler-macro d-fast (x) x)
   (defun d-traced (x) x) (trace d-traced)
   (defpackage #:d-mine (:use #:cl) (:documentation "Mine alone.") (:export #:it))
   (defpackage #:d-theirs (:use #:cl #:d-mine) (:export #:it))
   (defun d-mine:it () 1) (defun d-mine::hidden () 2)
   (sb-ext:lock-package :d-mine)
   (defun d-list () 1) (defvar d-list 2) (defclass d-list () ())
   (defclass loud-class (standard-class) ())
   (defmethod sb-mop:validate-superclass ((a loud-class) (b standard-class)) t)
   (defmethod documentation ((x loud-class) type) (push 'documentation *ran*) "loud")
   (defmethod documentation ((x symbol) (type (eql 'variable))) (push 'documentation *ran*) "loud")
   (defmethod class-name ((x loud-class)) (push 'class-name *ran*) (call-next-method))
   (defmethod sb-mop:class-direct-superclasses ((x loud-class)) (push 'supers *ran*) (call-next-method))
   (defmethod sb-mop:class-precedence-list ((x loud-class)) (push 'cpl *ran*) (call-next-method))
   (defmethod sb-mop:slot-value-using-class ((c loud-class) o s) (push 'slot-value *ran*) (call-next-method))
   (defclass loud () ((a :initarg :a :initform 1)) (:metaclass loud-class))
   (defmethod print-object ((x loud) stream) (push 'print *ran*) (princ "loud" stream))
   (defmethod describe-object ((x loud) stream) (push 'describe *ran*))
   (defvar *loud* (make-instance 'loud))
   (defun d-loud (&optional (x (load-time-value (find-class 'list)))) x)
   (defmethod d-area ((x (eql *loud*)) &key &allow-other-keys) 1)
   (setf *ran* '())`
const lisp = lispImage(test, { code: CODE })

const facts = async (name: string) => (await lisp.found('describe', { name })).facts.join('; ')

test('a function tells kind, signature, documentation, home and facts', async () => {
  const found = await lisp.found('describe', { name: 'd-total' })
  assert.is(found.kind, 'function')
  assert.is(found.type.name, 'function')
  assert.is(found.signature, "(orders &optional (rate 19) &key round ((:as form) 'list) &allow-other-keys)")
  assert.is(found.doc?.text, 'Adds up.\nMore of it.')
  assert.is(found.module, 'COMMON-LISP-USER')
  assert.match(found.facts.join('; '), 'setf function exists')
})

test('what is known of a function besides is told', async () => {
  assert.match(await facts('d-fast'), /inlined.*compiler macro/)
  assert.match(await facts('d-typed'), 'declared type (function (fixnum) (values fixnum &optional))')
  assert.match(await facts('d-traced'), 'traced')
  assert.match(await facts('d-mine:it'), /exported from D-MINE.*D-MINE is locked/)
  assert.match(await facts('d-mine::hidden'), 'internal to D-MINE')
  assert.equal((await lisp.found('describe', { name: 'd-mine:it' })).also, ['d-theirs:it'])
})

const KINDS = [
  ['d-with', 'macro', 'Runs BODY.', ''],
  ['if', 'macro', null, 'special operator'],
  ['d-area', 'generic_function', 'How large.', '2 methods'],
  ['d-shape', 'class', 'What has an area.', '2 subclasses'],
  ['d-point', 'class', 'Where.', 'structure'],
  ['d-oops', 'class', 'It failed.', 'condition'],
  ['d-small', 'type', 'Small numbers.', 'deftype'],
  ['*d-limit*', 'variable', 'How many.', 'special'],
  ['*d-open*', 'variable', null, 'unbound'],
  ['d-alias', 'variable', null, 'symbol macro for *d-limit*'],
  ['+d-most+', 'constant', 'At most.', ''],
  [':test', 'keyword', null, ''],
  ['d-mine', 'module', 'Mine alone.', 'locked package'],
] as const

for (const [name, kind, doc, fact] of KINDS)
  test(`${name} is a ${kind}`, async () => {
    const found = await lisp.found('describe', { name })
    assert.is(found.kind, kind)
    if (doc !== null) assert.is(found.doc?.text, doc)
    assert.match(found.facts.join('; '), fact)
  })

test('a value that only some thread has bound is not shown as the value', async () => {
  assert.is(await lisp.ask("(let ((*d-limit* 99)) (symbol-value '*d-limit*))"), '99')
  assert.is((await lisp.found('describe', { name: '*d-limit*' })).value?.text, '3')
})

const parameters = async (name: string) =>
  (await lisp.found('arglist', { name })).parameters.map(one => [one.name, one.kind, one.default])

test('an argument list has each parameter with its kind and default', async () => {
  assert.equal(await parameters('d-total'), [
    ['orders', 'positional', null],
    ['rate', 'optional', '19'],
    ['round', 'keyword', 'nil'],
    ['as', 'keyword', "'list"],
    ['&allow-other-keys', 'keyword_rest', null],
  ])
  assert.is((await lisp.found('arglist', { name: 'd-total' })).doc, 'Adds up.')
})

test('of a macro the pattern and the body are told, and not the environment', async () => {
  assert.equal(await parameters('d-with'), [
    ['(name &key (size 3))', 'positional', null],
    ['body', 'rest', null],
  ])
})

test('a generic function takes the keywords of its methods, too', async () => {
  assert.equal(await parameters('d-area'), [
    ['shape', 'positional', null],
    ['unit', 'keyword', null],
    ['digits', 'keyword', null],
  ])
})

test('a class is called through make-instance, a special operator as a macro', async () => {
  assert.equal(await parameters('d-round'), [['name', 'keyword', '"none"']])
  assert.equal(
    (await parameters('if')).map(([name]) => name),
    ['test', 'then', 'else'],
  )
  assert.is((await lisp.found('arglist', { name: 'd-typed' })).returns, 'fixnum')
})

test('a lambda list that was not kept is said to be unknown', async () => {
  await lisp.ask('(defun d-bare (x y) (declare (optimize (debug 0))) (list x y))')
  const { signature, because, parameters } = await lisp.found('arglist', { name: 'd-bare' })
  assert.equal([signature, parameters], [null, []])
  assert.match(because ?? '', 'without keeping its lambda list')
})

/** Without the package that all of these are in. */
const bare = (name: string) => name.replace(/^cl-user::/, '')

test('a slot tells where it comes from, with type and default; a structure and a condition have them, too', async () => {
  const slots = async (name: string) =>
    (await lisp.found('slots', { name })).slots.map(one => [
      bare(one.name),
      one.kind,
      bare(one.from),
      one.annotation,
      one.default,
    ])
  await lisp.ask(
    '(defclass d-base () ((a :initform (list 1) :type list) (shared :allocation :class :initform 0)))' +
      '(defclass d-sub (d-base) ((b :type (or null fixnum)) (a)))',
  )
  assert.equal(await slots('d-sub'), [
    ['b', 'field', 'd-sub', '(or null fixnum)', null],
    ['a', 'field', 'd-sub', 'list', '(list 1)'],
    ['shared', 'class', 'd-base', null, '0'],
  ])
  assert.equal(await slots('d-point'), [
    ['x', 'field', 'd-point', null, 'nil'],
    ['y', 'field', 'd-point', 'fixnum', '2'],
  ])
  assert.is((await slots('d-oops'))[0]?.[0], 'why')
  assert.is((await lisp.found('slots', { name: '*loud*' })).class.name, 'loud')
  assert.match(missing(await lisp.look('slots', { name: 'd-small' })).what, 'deftype')
})

test('a class tells what it inherits from, in order, and what inherits from it', async () => {
  const found = await lisp.found('hierarchy', { name: 'd-shape' })
  assert.equal(
    found.subclasses.map(({ type, depth }) => [type.name, depth]),
    [
      ['d-circle', 1],
      ['d-round', 2],
    ],
  )
  assert.is(found.metaclass?.name, 'standard-class')
  const below = await lisp.found('hierarchy', { name: 'd-round' })
  assert.equal(below.ancestors.map(({ name }) => name).slice(0, 3), [
    'd-circle',
    'd-shape',
    'standard-object',
  ])
  assert.equal((await lisp.found('hierarchy', { name: 't', limit: 5 })).subclasses.length, 5)
})

test('documentation of any length and with any characters is cut and stays text', async () => {
  await lisp.ask(
    `(defun d-huge () (list 1)) (setf (documentation #'d-huge t) (make-string 1000000 :initial-element #\\x))
     (defun d-wild () (list 1))
     (setf (documentation #'d-wild t)
           (map 'string #'code-char '(27 91 51 49 109 114 101 100 0 8238 10 10 34 113 34 32 92 32 127 60 47 98 62)))`,
  )
  const { doc } = await lisp.found('describe', { name: 'd-huge' })
  assert.equal([doc?.text.length, doc?.truncated, doc?.original_len], [4_096, true, 1_000_000])
  const short = (await lisp.found('arglist', { name: 'd-huge' })).doc ?? ''
  assert.ok(short.length > 0 && short.length <= 200)
  const wild = (await lisp.found('describe', { name: 'd-wild' })).doc?.text ?? ''
  assert.is(wild, '\u001b[31mred\u0000\u202e\n\n"q" \\ \u007f</b>')
  assert.is((await lisp.found('apropos', { pattern: 'd-wild' })).matches.length, 1)
})

test('no look at a name runs what the program has put in its way (threat 25)', async () => {
  for (const name of ['loud', '*loud*', 'd-loud', 'd-area', 'loud-class', '*d-limit*'])
    for (const look of ['describe', 'arglist', 'definition', 'slots', 'hierarchy', 'references'] as const)
      await lisp.look(look, { name })
  await lisp.look('apropos', { pattern: 'loud' })
  await lisp.look('globals', {})
  await lisp.look('symbols', { module: 'cl-user', internal: true })
  await lisp.look('complete', { text: '(d-loud ', cursor: 8 })
  assert.is(await lisp.ask('*ran*'), 'NIL')
})

test('names come with their package, whatever package is in force; printed values do not', async () => {
  await lisp.ask(
    '(defpackage :d-shop (:use :cl) (:export #:order))' +
      '(defclass d-shop:order () ((d-shop::lines :initform nil)))' +
      "(defgeneric d-shop::price (order)) (defmethod d-shop::price ((order d-shop:order)) 'd-shop::free)" +
      "(defvar *d-held* 'd-shop::free)",
  )
  const all = async () => {
    const described = await lisp.found('describe', { name: 'd-shop:order' })
    const { class: of, slots } = await lisp.found('slots', { name: 'd-shop:order' })
    const user = await lisp.found('describe', { name: 'cl-user::*d-held*' })
    const { parts } = await lisp.found('definition', { name: 'd-shop::price' })
    const { matches } = await lisp.found('apropos', { pattern: 'order', module: 'd-shop' })
    return [
      ...[described.qualified, of.qualified, user.qualified],
      ...[...slots, ...(parts ?? []), ...matches].map(one => one.name),
      ...missing(await lisp.look('describe', { name: 'd-shop:ordre' })).nearest,
    ]
  }
  const expected = [
    ...['d-shop:order', 'd-shop:order', 'cl-user::*d-held*'],
    ...['d-shop::lines', 'd-shop::price ((order d-shop:order))', 'd-shop:order', 'd-shop:order'],
  ]
  assert.equal(await all(), expected)
  const held = async () => (await lisp.found('describe', { name: 'cl-user::*d-held*' })).value?.text
  assert.is(await held(), 'd-shop::free')
  await lisp.define('(in-package :d-shop)')
  assert.equal(await all(), expected)
  assert.is(await held(), 'free')
  await lisp.define('(in-package :cl-user)')
})

test('a name of which only the setf function is there is not said to be a function', async () => {
  await lisp.ask('(defun (setf d-tax) (new thing &optional rate) (list new thing rate))')
  const found = await lisp.found('describe', { name: 'd-tax' })
  assert.is(found.qualified, '(setf cl-user::d-tax)')
  assert.ok(found.facts.includes('only (setf cl-user::d-tax) is a function, and not cl-user::d-tax'))
  const { matches } = await lisp.found('apropos', { pattern: 'd-tax' })
  assert.equal(
    matches.map(one => one.name),
    ['(setf cl-user::d-tax)'],
  )
  const { globals } = await lisp.found('globals', { filter: 'd-tax' })
  assert.equal(
    globals.map(one => one.name),
    ['(setf d-tax)'],
  )
  assert.is(
    (await lisp.found('arglist', { name: 'd-tax' })).call,
    '(setf (cl-user::d-tax thing &optional rate) new)',
  )
})

test('a call is written as Lisp writes it: of functions, classes, conditions, constructors and methods', async () => {
  await lisp.ask(
    '(defun d-ship (order &optional (where "here")) (list order where))' +
      "(defclass d-order () ((lines :initarg :lines :initform '(1)) (id :initarg :id)))" +
      '(define-condition d-stuck (error) ((where :initarg :where)))' +
      '(defstruct d-item name (price 0)) (defun d-none () nil)' +
      '(defgeneric d-cost (thing)) (defmethod d-cost ((thing d-order)) 1)',
  )
  const calls: Record<string, string> = {
    'd-ship': '(cl-user::d-ship order &optional (where "here"))',
    'd-none': '(cl-user::d-none)',
    'd-order': "(make-instance 'cl-user::d-order &key (lines '(1)) id)",
    'd-stuck': "(make-condition 'cl-user::d-stuck &key where)",
    'd-item': '(cl-user::make-d-item &key name (price 0))',
    'make-d-item': '(cl-user::make-d-item &key name (price 0))',
    '(method d-cost (d-order))': '(cl-user::d-cost thing)',
    car: '(car list)',
  }
  for (const [name, call] of Object.entries(calls))
    assert.is((await lisp.found('arglist', { name })).call, call)
})

test('a slot tells its initargs, readers, writers, allocation and documentation, those it inherits included', async () => {
  await lisp.ask(
    '(defclass d-kept () ((lines :initarg :lines :accessor d-lines :initform nil :documentation "Lines.")' +
      ' (id :reader d-id :writer d-set-id) (all :allocation :class)))' +
      '(defclass d-kept-below (d-kept) ((lines :initarg :rows))) (defstruct d-held (left 1) (fixed 2 :read-only t))',
  )
  const { slots } = await lisp.found('slots', { name: 'd-kept' })
  assert.equal(
    slots.map(({ initargs, readers, writers, allocation, doc }) => [
      initargs,
      readers,
      writers,
      allocation,
      doc,
    ]),
    [
      [[':lines'], ['cl-user::d-lines'], ['(setf cl-user::d-lines)'], ':instance', 'Lines.'],
      [[], ['cl-user::d-id'], ['cl-user::d-set-id'], ':instance', null],
      [[], [], [], ':class', null],
    ],
  )
  const [below] = (await lisp.found('slots', { name: 'd-kept-below' })).slots
  assert.equal(
    [below?.initargs, below?.readers, below?.doc],
    [[':rows', ':lines'], ['cl-user::d-lines'], 'Lines.'],
  )
  const held = (await lisp.found('slots', { name: 'd-held' })).slots
  assert.equal(
    held.map(({ readers, writers }) => [readers, writers]),
    [
      [['cl-user::d-held-left'], ['(setf cl-user::d-held-left)']],
      [['cl-user::d-held-fixed'], []],
    ],
  )
})

const SHOP = `;;; Größe and 价格 stand before the first form.
(defpackage #:def-shop (:use #:cl) (:export #:area #:shape))
(in-package #:def-shop)

#+no-such-feature (defun left-out () (list "(" #\\( '|)|))
#| (defun commented () #| twice |# 1) |#
(defun total (orders) ; a ) in a comment
  "Adds \\"up\\" (all of them."
  (list #\\( #\\; orders '|odd )| #-no-such-feature 1))

(defvar *rate* 19 "Percent.")
(defconstant +most+ 10)
(define-symbol-macro rate-alias *rate*)
(deftype small () '(integer 0 9))

(progn
  (defun within (x) (total x))
  (defclass shape () ((name :initarg :name)))
  (defgeneric area (shape))
  (defmethod area ((it shape)) (list it 1))
  (defmethod area ((it (eql 3))) (list it 2)))

(defmethod area :around ((it shape)) (call-next-method))
(defstruct (point (:constructor make-point (x y))) x y)
(define-condition oops (error) ())
(defun (setf total) (new orders) (list new orders))
(defmacro with-rate (rate &body body) \`(let ((*rate* ,rate)) ,@body))
(define-compiler-macro total (&whole form orders) (declare (ignore orders)) form)
(defmacro define-maker (name) \`(defun ,(intern (format nil "MAKE-~A" name)) () ',name))
(define-maker tent)
(declaim (inline fast)) (defun fast (x) x)
(defsetf corner (point) (new) \`(setf (point-x ,point) ,new))
(defsetf middle set-middle)
(define-method-combination most :operator max)
(let ((count 0)) (defun ticket () (incf count)))
(defun both () 1) (defvar both 2) (defclass both () ())
`

let shop = ''
const define = (name: string, more = {}): Promise<Definition> => lisp.found('definition', { name, ...more })
const lineOf = (text: string) => SHOP.slice(0, SHOP.indexOf(text)).split('\n').length

test.before(async () => {
  shop = lisp.write('shop.lisp', SHOP)
  // A second that has passed tells an edit apart.
  utimesSync(shop, 1_700_000_000, 1_700_000_000)
  await lisp.ask(`(load "${shop}")`)
})

/** Each name, and how its text begins and ends. */
const TEXTS: readonly (readonly [name: string, kind: string, begins: string, ends?: string])[] = [
  ['def-shop::total', 'function', '(defun total (orders) ;', '#-no-such-feature 1))'],
  ['def-shop::*rate*', 'variable', '(defvar *rate* 19 "Percent.")'],
  ['def-shop::+most+', 'constant', '(defconstant +most+ 10)'],
  ['def-shop::rate-alias', 'variable', '(define-symbol-macro rate-alias *rate*)'],
  ['def-shop::small', 'type', "(deftype small () '(integer 0 9))"],
  ['def-shop::corner', 'macro', '(defsetf corner (point)', 'new))'],
  ['(setf def-shop::corner)', 'macro', '(defsetf corner (point)', 'new))'],
  ['def-shop::middle', 'macro', '(defsetf middle set-middle)'],
  ['def-shop::most', 'method_combination', '(define-method-combination most :operator max)'],
  ['def-shop::within', 'function', '(defun within (x) (total x))'],
  ['def-shop:shape', 'class', '(defclass shape () ((name :initarg :name)))'],
  ['def-shop:area', 'generic_function', '(defgeneric area (shape))'],
  ['(method def-shop:area :around (def-shop:shape))', 'method', '(defmethod area :around ((it shape))', ')'],
  ['(method def-shop:area ((eql 3)))', 'method', '(defmethod area ((it (eql 3))) (list it 2))'],
  ['(method def-shop:area (def-shop:shape))', 'method', '(defmethod area ((it shape)) (list it 1))'],
  ['def-shop::point', 'class', '(defstruct (point (:constructor', 'x y)'],
  ['def-shop::oops', 'class', '(define-condition oops (error) ())'],
  ['(setf def-shop::total)', 'function', '(defun (setf total) (new orders)', ')'],
  ['def-shop::with-rate', 'macro', '(defmacro with-rate (rate &body body)', ')'],
  ['def-shop:', 'module', '(defpackage #:def-shop', ')'],
]

test('the definition of a closure says what it closes over', async () => {
  const { notes } = await define('def-shop::ticket')
  assert.match(notes.join(), 'It closes over count = 0.')
  assert.not.match((await define('def-shop::total')).notes.join(), 'closes over')
  await lisp.run(
    "(defun def-many (a b c) (lambda () (list a b c)))(setf (fdefinition 'def-three) (def-many 1 2 3))",
  )
  const many = (await define('def-three')).notes.join()
  assert.match(many, 'It closes over a, b, c; in some order: ')
})

for (const way of ['load', 'compile'])
  test(`after ${way}, each kind of definition has its text, its file and its lines`, async () => {
    if (way === 'compile') await lisp.ask(`(load (compile-file "${shop}"))`)
    for (const [name, kind, begins, ends = begins] of TEXTS) {
      const found = await define(name)
      const about = `${name}: ${JSON.stringify(found)}`
      assert.is(found.kind, kind, about)
      assert.ok(found.source?.text.startsWith(begins), about)
      assert.ok(found.source?.text.endsWith(ends), about)
      assert.equal([found.file, found.line, found.origin], [shop, lineOf(begins), 'file'], about)
      assert.is(found.current, true, about)
    }
    const total = await define('def-shop::total')
    assert.is(total.end_line, (total.line ?? 0) + 2)
    assert.is(total.language, 'lisp')
  })

test('all that a name is comes with it, and a generic function with its methods', async () => {
  const parts = async (name: string) => (await define(name)).parts?.map(part => [part.name, part.kind]) ?? []
  assert.equal(await parts('def-shop::both'), [
    ['def-shop::both', 'class'],
    ['def-shop::both', 'variable'],
  ])
  assert.equal(await parts('def-shop::total'), [
    ['(compiler-macro def-shop::total)', 'macro'],
    ['(setf def-shop::total)', 'function'],
  ])
  const { parts: methods = [] } = await define('def-shop:area')
  const texts = methods.map(({ name, source, line }) => [name, source?.text, line])
  assert.equal(texts.sort(), [
    [
      'def-shop:area ((it (eql 3)))',
      '(defmethod area ((it (eql 3))) (list it 2))',
      lineOf('(defmethod area ((it (eql'),
    ],
    [
      'def-shop:area ((it def-shop:shape))',
      '(defmethod area ((it shape)) (list it 1))',
      lineOf('(defmethod area ((it shape)) (list'),
    ],
    [
      'def-shop:area :around ((it def-shop:shape))',
      '(defmethod area :around ((it shape)) (call-next-method))',
      lineOf('(defmethod area :around'),
    ],
  ])
})

test('what a macro made leads to the call that made it, and says so', async () => {
  const made = await define('def-shop::make-tent')
  assert.is(made.source?.text, '(define-maker tent)')
  assert.match(made.notes.join(), 'macro call made it')
  const accessor = await define('def-shop::point-x')
  assert.match(accessor.source?.text ?? '', '(defstruct (point')
})

test('what stands around a function is seen through and named', async () => {
  await lisp.ask('(trace def-shop::within)')
  const traced = await define('def-shop::within')
  await lisp.ask('(untrace def-shop::within)')
  assert.is(traced.source?.text, '(defun within (x) (total x))')
  assert.equal(
    traced.wrappers.map(({ name }) => name),
    ['trace'],
  )
  assert.match((await define('def-shop::fast')).notes.join(), 'inline')
})

test('a definition is cut where it was asked to be, and tells whose names it uses', async () => {
  const cut = await define('def-shop::total', { max_length: 20 })
  assert.equal([cut.source?.text.length, cut.source?.truncated], [20, true])
  assert.ok((cut.source?.original_len ?? 0) > 60)
  const { contexts } = await define('def-shop::within', { contexts: true })
  assert.equal(contexts?.['DEF-SHOP'], ['total'])
})

test('a handle of a function leads to its definition, and one of any other value says that it has none', async () => {
  await lisp.ask("(defvar *def-list* (list 1)) (defvar *def-function* #'def-shop::total)")
  const handle = async (name: string) => (await lisp.found('describe', { name })).handle ?? ''
  assert.match((await define(await handle('*def-function*'))).source?.text ?? '', '(defun total')
  const name = await handle('*def-list*')
  assert.match(missing(await lisp.look('definition', { name })).what, 'a value, an instance of cons')
})

test('a file that was edited after it was loaded is not said to be what runs', async () => {
  const edited = lisp.write(
    'edited.lisp',
    '(defun ed-one () 1)\n\n(defun ed-two () 2)\n(defun ed-gone () 3)\n',
  )
  utimesSync(edited, 1_700_000_000, 1_700_000_000)
  await lisp.ask(`(load "${edited}")`)
  writeFileSync(edited, ';;; new\n(defvar *ed-new* 1)\n(defun ed-one () 1)\n(defun ed-two () 22)\n')
  utimesSync(edited, 1_700_000_100, 1_700_000_100)
  const two = await define('ed-two')
  assert.equal([two.current, two.proof?.line, two.source?.text], [true, 4, '(defun ed-two () 2)'])
  assert.match((await define('ed-gone')).notes.join(), 'changed')
})

test('a file that is gone, is a pipe, or is too long is not read, and that is said', async () => {
  const text = '(defun un-read () 1)\n'
  const because = async (spoil: (file: string) => void) => {
    const file = lisp.write('spoiled.lisp', text)
    await lisp.ask(`(load (compile-file "${file}"))`)
    execFileSync('rm', ['-f', file])
    spoil(file)
    const found = await define('un-read')
    assert.is(found.source, null)
    assert.is(found.file, file)
    execFileSync('rm', ['-rf', file])
    return found.because ?? ''
  }
  assert.match(await because(() => {}), 'no file')
  assert.match(await because(file => execFileSync('mkfifo', [file])), 'no plain file')
  assert.match(await because(file => mkdirSync(file)), 'no plain file')
  assert.match(await because(file => execFileSync('truncate', ['-s', '20M', file])), 'too long')
})

test('what was typed in keeps its text where Swank kept it, and its form where it did not', async () => {
  await lisp.compileString(';; a piece\n(defun typed-one (x)\n  (list x)) (defvar *typed* 1)')
  const one = await define('typed-one')
  assert.equal(
    [one.source?.text, one.origin, one.file, one.current],
    ['(defun typed-one (x)\n  (list x))', 'typed', null, true],
  )
  assert.is((await define('*typed*')).source?.text, '(defvar *typed* 1)')
  await lisp.ask("(defun typed-two (x) (list x 'y `(,x ,@x)))")
  const two = await define('typed-two')
  assert.is(two.origin, 'typed')
  assert.match(two.source?.text ?? '', "(list x 'y `(,x ,@x))")
  assert.match(two.notes.join(), 'evaluated')
})

test('what was compiled in an editor leads to the file of its buffer', async () => {
  const file = lisp.write('buffer.lisp', ';;; one\n\n(defun from-buffer ()\n  1)\n')
  const text = '(defun from-buffer ()\n  1)'
  await lisp.compileString(text, { buffer: 'buffer.lisp', position: 10, file })
  const found = await define('from-buffer')
  assert.equal([found.file, found.line, found.end_line, found.origin], [file, 3, 4, 'file'])
  appendFileSync(file, '\n')
  writeFileSync(file, ';;; one\n;;; two\n\n(defun from-buffer ()\n  1)\n')
  assert.is((await define('from-buffer')).line, 4)
  writeFileSync(file, ';;; nothing\n')
  const other = await define('from-buffer')
  assert.equal([other.source?.text, other.line], [text, null])
  assert.match(other.notes.join(), 'another text')
})

test("SBCL's own functions have a source or say why not", async () => {
  for (const name of ['mapcar', 'if', 'pi', 'print-object', 'package', 'with-open-file']) {
    const { source, because, origin } = await define(name)
    assert.ok(source !== null || (because ?? '').length > 0, name)
    assert.ok(origin === 'file' || origin === 'built_in', `${name}: ${origin}`)
  }
})

test('a text that is read as source is never read as code (threat 25)', async () => {
  const evil = '(defvar *def-evil* nil)\n(defun evil-one () 1)\n'
  const file = lisp.write('evil.lisp', evil)
  await lisp.ask(`(load "${file}")`)
  writeFileSync(
    file,
    `(defvar *def-evil* nil) #.(setq cl-user::*def-evil* t) #.(intern "DEF-EVIL-NEW")\n(defun evil-one () 1)\n${'('.repeat(100_000)}`,
  )
  await lisp.look('definition', { name: 'evil-one' })
  await lisp.look('describe', { name: 'evil-one' })
  assert.is(await lisp.ask('(list *def-evil* (find-symbol "DEF-EVIL-NEW"))'), '(NIL NIL)')
})

const USES = `(defpackage #:xr (:use #:cl))
(in-package #:xr)
(defvar *rate* 1)
(defconstant +most+ 10)
(defmacro with-rate (rate &body body) \`(let ((*rate* ,rate)) ,@body))
(declaim (inline quick))
(defun quick (x) (1+ x))
(defun total (x) (list *rate* x))
(defun (setf total) (new x) (list new x))
(defun caller () (list (total 1)))
(defun passer () (mapcar #'total '(1)))
(defun setter () (setf *rate* 2) (setf (total 1) 2))
(defun binder () (let ((*rate* 3)) (list (caller))))
(defun expander () (with-rate 1 (list 2)))
(defun quicker (x) (list (quick x)))
(defun most () (list +most+))
(defclass shape () ())
(defgeneric area (shape))
(defmethod area ((it shape)) (list (total it)))
(defun by-name (name) (funcall name 1))
(defvar *direct* #'total)
(defvar *listed* (list (cons "a" #'total)))
(defvar *named* '(total))
(defvar *table* (let ((table (make-hash-table :test 'equal))) (setf (gethash "a" table) #'total) table))
(defvar *vector* (vector 1 (vector #'total)))
(defvar *class* (list (find-class 'shape)))
(defclass holder () ((held :initarg :held)))
(defvar *instance* (make-instance 'holder :held #'total))
(defvar *shared* (list 'data))
(defvar *again* (vector *shared*))
(defvar *circle* (let ((list (list 1 2))) (setf (cdr (last list)) list)))
(defvar *long* (make-list 100000 :initial-element 1))
(defun caller-of-parse () (list (parse-integer "1")))
`

let usesFile = ''
test.before(async () => {
  usesFile = lisp.write('xr.lisp', USES)
  await lisp.ask(`(load (compile-file "${usesFile}"))`)
})

const users = async (name: string, ...relations: Relation[]) => {
  const query = relations.length > 0 ? { relations } : {}
  const { references } = await lisp.found('references', { name, limit: 500, ...query })
  return references.map(({ kind, from }) => `${kind} ${from}`).sort()
}

test('who_calls works: callers are found, with their place', async () => {
  assert.equal(await users('xr::total', 'calls'), [
    'calls (method xr::area (xr::shape))',
    'calls xr::caller',
    'calls xr::passer',
  ])
  const { references } = await lisp.found('references', { name: 'xr::total', relations: ['calls'] })
  const caller = references.find(({ from }) => from === 'xr::caller')
  assert.equal(
    [caller?.file, caller?.line],
    [usesFile, USES.slice(0, USES.indexOf('(defun caller ()')).split('\n').length],
  )
})

test('who reads, sets, binds and expands a name is told apart', async () => {
  assert.equal(await users('xr::*rate*', 'references'), ['references xr::total'])
  assert.equal(await users('xr::*rate*', 'sets'), ['sets xr::setter'])
  assert.equal(await users('xr::*rate*', 'binds'), ['binds xr::binder', 'binds xr::expander'])
  assert.equal(await users('xr::with-rate', 'macroexpands'), ['macroexpands xr::expander'])
  assert.equal(await users('xr::+most+', 'references'), ['references xr::most'])
  assert.equal(await users('xr::shape', 'specializes'), ['specializes xr::area ((it xr::shape))'])
  assert.equal(await users('(setf xr::total)', 'calls'), ['calls xr::setter'])
  assert.equal(await users('xr::quick', 'calls'), ['calls xr::quicker'])
})

test('variables that hold a function, its name, a class or the same object are found', async () => {
  assert.equal(await users('xr::total', 'holds'), [
    'holds xr::*direct*',
    'holds xr::*instance* (in a holder)',
    'holds xr::*listed* (in a list)',
    'holds xr::*named* (in a list)',
    'holds xr::*table* (in a hash-table)',
    'holds xr::*vector* (in a simple-vector)',
  ])
  assert.equal(await users('xr::shape', 'holds'), ['holds xr::*class* (in a list)'])
  assert.equal(await users('xr::*shared*', 'holds'), ['holds xr::*again* (in a simple-vector)'])
})

test('what is looked through is said, and where a reference could hide', async () => {
  const { searched, complete } = await lisp.found('references', { name: 'xr::total' })
  assert.is(complete, true)
  assert.match(searched.join('; '), /computed at run time.*global variables.*stack/)
  const { searched: calls } = await lisp.found('references', { name: 'xr::total', relations: ['calls'] })
  assert.not.match(calls.join('; '), 'global variables')
})

test("calls of SBCL's own functions are found in the code itself", async () => {
  const callers = await users('parse-integer', 'calls')
  assert.ok(callers.includes('calls xr::caller-of-parse'), callers.slice(0, 10).join())
})

test('a traced function has the callers and holders that it had', async () => {
  const before = await users('xr::total')
  await lisp.ask('(trace xr::total)')
  const traced = await users('xr::total')
  await lisp.ask('(untrace xr::total)')
  assert.equal(traced, before)
})

test('who calls a macro is answered with what it is', async () => {
  const calls = { relations: ['calls'] } as const
  const asked = await lisp.found('references', { name: 'xr::with-rate', ...calls })
  assert.equal([asked.uncallable, asked.total], ['macro', 0])
  assert.is((await lisp.found('references', { name: 'let', ...calls })).uncallable, 'special operator')
  assert.is((await lisp.found('references', { name: 'xr::total', ...calls })).uncallable, undefined)
  assert.is((await lisp.found('references', { name: 'xr::with-rate' })).uncallable, undefined)
})

test('caches of Swank are not told as holders, and a variable of the program is', async () => {
  await lisp.ask(
    "(progn (defvar swank::*noted* (list 'xr::with-rate)) (defvar xr::*noted* (list 'xr::with-rate)))",
  )
  assert.equal(await users('xr::with-rate', 'holds'), ['holds xr::*noted* (in a list)'])
})
