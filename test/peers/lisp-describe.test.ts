import { assert, suite } from '../support/harness.ts'
import { lispLooks, missing } from '../support/lisp-looks.ts'

const test = suite('descriptions in a Lisp image')

const image = lispLooks(
  test,
  `(defvar *ran* '())
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
   (setf *ran* '())`,
)

const facts = async (name: string) => (await image.found('describe', { name })).facts.join('; ')

test('a function tells kind, signature, documentation, home and facts', async () => {
  const found = await image.found('describe', { name: 'd-total' })
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
  assert.equal((await image.found('describe', { name: 'd-mine:it' })).also, ['d-theirs:it'])
})

const KINDS = [
  ['d-with', 'macro', 'Runs BODY.', ''],
  ['if', 'macro', null, 'special operator'],
  ['d-area', 'generic_function', 'How large.', '2 methods'],
  ['d-shape', 'class', 'What has an area.', '2 subclasses'],
  ['d-point', 'class', 'Where.', 'structure'],
  ['d-oops', 'class', 'It failed.', 'condition'],
  ['d-small', 'class', 'Small numbers.', 'deftype'],
  ['*d-limit*', 'variable', 'How many.', 'special'],
  ['*d-open*', 'variable', null, 'unbound'],
  ['d-alias', 'variable', null, 'symbol macro for *d-limit*'],
  ['+d-most+', 'constant', 'At most.', ''],
  [':test', 'keyword', null, ''],
  ['d-mine', 'module', 'Mine alone.', 'locked package'],
] as const

for (const [name, kind, doc, fact] of KINDS)
  test(`${name} is a ${kind}`, async () => {
    const found = await image.found('describe', { name })
    assert.is(found.kind, kind)
    if (doc !== null) assert.is(found.doc?.text, doc)
    assert.match(found.facts.join('; '), fact)
  })

test('a variable shows its value, and a keyword none', async () => {
  assert.is((await image.found('describe', { name: '*d-limit*' })).value?.text, '3')
  assert.is((await image.found('describe', { name: '*d-open*' })).value, undefined)
  assert.is((await image.found('describe', { name: ':test' })).value, undefined)
})

test('a name that is several things says so', async () => {
  const found = await image.found('describe', { name: 'd-list' })
  assert.is(found.kind, 'function')
  assert.is(found.value?.text, '2')
  assert.match(found.facts.join('; '), /also names a class.*also names a variable/)
})

test('a value that only some thread has bound is not shown as the value', async () => {
  assert.is(await image.run("(let ((*d-limit* 99)) (symbol-value '*d-limit*))"), '99')
  assert.is((await image.found('describe', { name: '*d-limit*' })).value?.text, '3')
})

const parameters = async (name: string) =>
  (await image.found('arglist', { name })).parameters.map(one => [one.name, one.kind, one.default])

test('an argument list has each parameter with its kind and default', async () => {
  assert.equal(await parameters('d-total'), [
    ['orders', 'positional', null],
    ['rate', 'optional', '19'],
    ['round', 'keyword', 'nil'],
    ['as', 'keyword', "'list"],
    ['&allow-other-keys', 'keyword_rest', null],
  ])
  assert.is((await image.found('arglist', { name: 'd-total' })).doc, 'Adds up.')
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
  assert.is((await image.found('arglist', { name: 'd-typed' })).returns, 'fixnum')
})

test('what cannot be called is not found as something to call', async () => {
  assert.match(missing(await image.look('arglist', { name: '*d-limit*' })).what, 'variable')
  assert.match(missing(await image.look('arglist', { name: 'd-mine:' })).what, 'package')
})

test('a lambda list that was not kept is said to be unknown', async () => {
  await image.run('(defun d-bare (x y) (declare (optimize (debug 0))) (list x y))')
  const { signature, because, parameters } = await image.found('arglist', { name: 'd-bare' })
  assert.equal([signature, parameters], [null, []])
  assert.match(because ?? '', 'without keeping its lambda list')
})

/** Without the package that all of these are in. */
const bare = (name: string) => name.replace(/^cl-user::/, '')

test('a slot tells where it comes from, with type and default; a structure and a condition have them, too', async () => {
  const slots = async (name: string) =>
    (await image.found('slots', { name })).slots.map(one => [
      bare(one.name),
      one.kind,
      bare(one.from),
      one.annotation,
      one.default,
    ])
  await image.run(
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
  assert.is((await image.found('slots', { name: '*loud*' })).class.name, 'loud')
  assert.match(missing(await image.look('slots', { name: 'd-small' })).what, 'deftype')
})

test('a class tells what it inherits from, in order, and what inherits from it', async () => {
  const found = await image.found('hierarchy', { name: 'd-shape' })
  assert.equal(
    found.subclasses.map(({ type, depth }) => [type.name, depth]),
    [
      ['d-circle', 1],
      ['d-round', 2],
    ],
  )
  assert.is(found.metaclass?.name, 'standard-class')
  const below = await image.found('hierarchy', { name: 'd-round' })
  assert.equal(below.ancestors.map(({ name }) => name).slice(0, 3), [
    'd-circle',
    'd-shape',
    'standard-object',
  ])
  assert.equal((await image.found('hierarchy', { name: 't', limit: 5 })).subclasses.length, 5)
})

test('documentation of any length and with any characters is cut and stays text', async () => {
  await image.run(
    `(defun d-huge () (list 1)) (setf (documentation #'d-huge t) (make-string 1000000 :initial-element #\\x))
     (defun d-wild () (list 1))
     (setf (documentation #'d-wild t)
           (map 'string #'code-char '(27 91 51 49 109 114 101 100 0 8238 10 10 34 113 34 32 92 32 127 60 47 98 62)))`,
  )
  const { doc } = await image.found('describe', { name: 'd-huge' })
  assert.equal([doc?.text.length, doc?.truncated, doc?.original_len], [4_096, true, 1_000_000])
  const short = (await image.found('arglist', { name: 'd-huge' })).doc ?? ''
  assert.ok(short.length > 0 && short.length <= 200)
  const wild = (await image.found('describe', { name: 'd-wild' })).doc?.text ?? ''
  assert.is(wild, '\u001b[31mred\u0000\u202e\n\n"q" \\ \u007f</b>')
  assert.is((await image.found('apropos', { pattern: 'd-wild' })).matches.length, 1)
})

test('no look at a name runs what the program has put in its way (threat 25)', async () => {
  for (const name of ['loud', '*loud*', 'd-loud', 'd-area', 'loud-class', '*d-limit*'])
    for (const look of ['describe', 'arglist', 'definition', 'slots', 'hierarchy', 'references'] as const)
      await image.look(look, { name })
  await image.look('apropos', { pattern: 'loud' })
  await image.look('globals', {})
  await image.look('symbols', { module: 'cl-user', internal: true })
  await image.look('complete', { text: '(d-loud ', cursor: 8 })
  assert.is(await image.run('*ran*'), 'NIL')
})

test('names come with their package, whatever package is in force; printed values do not', async () => {
  await image.run(
    '(defpackage :d-shop (:use :cl) (:export #:order))' +
      '(defclass d-shop:order () ((d-shop::lines :initform nil)))' +
      "(defgeneric d-shop::price (order)) (defmethod d-shop::price ((order d-shop:order)) 'd-shop::free)" +
      "(defvar *d-held* 'd-shop::free)",
  )
  const all = async () => {
    const described = await image.found('describe', { name: 'd-shop:order' })
    const { class: of, slots } = await image.found('slots', { name: 'd-shop:order' })
    const user = await image.found('describe', { name: 'cl-user::*d-held*' })
    const { parts } = await image.found('definition', { name: 'd-shop::price' })
    const { matches } = await image.found('apropos', { pattern: 'order', module: 'd-shop' })
    return [
      ...[described.qualified, of.qualified, user.qualified],
      ...[...slots, ...(parts ?? []), ...matches].map(one => one.name),
      ...missing(await image.look('describe', { name: 'd-shop:ordre' })).nearest,
    ]
  }
  const expected = [
    ...['d-shop:order', 'd-shop:order', 'cl-user::*d-held*'],
    ...['d-shop::lines', 'd-shop::price ((order d-shop:order))', 'd-shop:order', 'd-shop:order'],
  ]
  assert.equal(await all(), expected)
  const held = async () => (await image.found('describe', { name: 'cl-user::*d-held*' })).value?.text
  assert.is(await held(), 'd-shop::free')
  await image.evaluate('(in-package :d-shop)')
  assert.equal(await all(), expected)
  assert.is(await held(), 'free')
  await image.evaluate('(in-package :cl-user)')
})

test('a name of which only the setf function is there is not said to be a function', async () => {
  await image.run('(defun (setf d-tax) (new thing &optional rate) (list new thing rate))')
  const found = await image.found('describe', { name: 'd-tax' })
  assert.is(found.qualified, '(setf cl-user::d-tax)')
  assert.ok(found.facts.includes('only (setf cl-user::d-tax) is a function, and not cl-user::d-tax'))
  const { matches } = await image.found('apropos', { pattern: 'd-tax' })
  assert.equal(
    matches.map(one => one.name),
    ['(setf cl-user::d-tax)'],
  )
  const { globals } = await image.found('globals', { filter: 'd-tax' })
  assert.equal(
    globals.map(one => one.name),
    ['(setf d-tax)'],
  )
  assert.is(
    (await image.found('arglist', { name: 'd-tax' })).call,
    '(setf (cl-user::d-tax thing &optional rate) new)',
  )
})

test('a call is written as Lisp writes it: of functions, classes, conditions, constructors and methods', async () => {
  await image.run(
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
    assert.is((await image.found('arglist', { name })).call, call)
})

test('a slot tells its initargs, readers, writers, allocation and documentation, those it inherits included', async () => {
  await image.run(
    '(defclass d-kept () ((lines :initarg :lines :accessor d-lines :initform nil :documentation "Lines.")' +
      ' (id :reader d-id :writer d-set-id) (all :allocation :class)))' +
      '(defclass d-kept-below (d-kept) ((lines :initarg :rows))) (defstruct d-held (left 1) (fixed 2 :read-only t))',
  )
  const { slots } = await image.found('slots', { name: 'd-kept' })
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
  const [below] = (await image.found('slots', { name: 'd-kept-below' })).slots
  assert.equal(
    [below?.initargs, below?.readers, below?.doc],
    [[':rows', ':lines'], ['cl-user::d-lines'], 'Lines.'],
  )
  const held = (await image.found('slots', { name: 'd-held' })).slots
  assert.equal(
    held.map(({ readers, writers }) => [readers, writers]),
    [
      [['cl-user::d-held-left'], ['(setf cl-user::d-held-left)']],
      [['cl-user::d-held-fixed'], []],
    ],
  )
})
