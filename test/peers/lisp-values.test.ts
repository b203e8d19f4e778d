import type { Looked } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { contents, lispImage } from '../support/lisp-image.ts'

const test = suite('values of a Lisp image', { limitMs: 100_000 })
const lisp = lispImage(test)

/** Some of each kind of thing that a Lisp holds. */
const ORDERS = `
    (defclass order ()
      ((customer :initarg :customer :initform "Ada") (lines :initform (list :tea :milk)) (total))
      (:documentation "What one customer wants."))
    (defstruct point x (y 2))
    (define-condition refused (error) ((by :initarg :by :initform :us)))
    (defun area (width height &key (unit :m))
      "Multiplies them."
      (list (* width height) unit))
    (defparameter *order* (make-instance 'order))
    (defparameter *point* (make-point :x nil))
    (defparameter *numbers* (loop for i below 100 collect i))
    (defparameter *table* (make-hash-table :test 'equal))
    (loop for i below 30 do (setf (gethash (format nil "key ~D" i) *table*) (list i (* i i))))
    (setf (gethash :other *table*) *order*)
    (defparameter *grid* (make-array '(2 3) :initial-contents '((1 2 3) (4 5 6))))
    (defparameter *plist* (list :a 1 :b *point*))
    (setf (get 'order :colour) :green)
    (define-symbol-macro here (first *numbers*))
    (defparameter order-count 3)
    (defun both () :function)
    (defparameter both :value)`

test.before(() => lisp.define(ORDERS))

const why = (looked: Looked<unknown>) =>
  looked.type === 'not_found'
    ? looked.what
    : looked.type === 'needs_evaluation'
      ? looked.because
      : JSON.stringify(looked)

test('each value has its kind, and the sections that make sense for it', async () => {
  const kinds: Record<string, [kind: string, sections: string]> = {
    nil: ['none', ''],
    t: ['bool', ''],
    '3/4': ['number', ''],
    '"text"': ['string', 'size'],
    ':key': ['other', ''],
    '#\\a': ['other', ''],
    '*numbers*': ['sequence', 'size sample handle'],
    '*grid*': ['sequence', 'size sample handle'],
    '*table*': ['mapping', 'size sample handle'],
    '*order*': ['object', 'sample members doc handle'],
    '*point*': ['object', 'sample members handle'],
    "#'area": ['callable', 'doc callable handle'],
    order: ['class', 'sample members doc handle'],
    '(find-package "CL-USER")': ['module', 'sample doc handle'],
    '*standard-output*': ['object', 'sample members handle'],
  }
  for (const [expr, [kind, sections]] of Object.entries(kinds)) {
    const value = await lisp.inspect(expr)
    assert.is(value.kind, kind, expr)
    const always = ['type', 'kind', 'repr', 'limits']
    assert.equal(
      Object.keys(value).filter(section => !always.includes(section)),
      sections.split(' ').filter(Boolean),
      expr,
    )
  }
})

test('a name is a value before it is a function, a class or a package', async () => {
  assert.is(await lisp.text('both'), ':value')
  assert.is(await lisp.text("#'both"), '#<function both>')
  assert.is(await lisp.text('area'), '#<function area>')
  assert.is(await lisp.text('order'), '#<standard-class order>')
  assert.is(await lisp.text('cl-user'), '#<package "COMMON-LISP-USER">')
  assert.is(await lisp.text('swank:'), '#<package "SWANK">')
  assert.is(await lisp.text('cl:car'), '#<function car>')
  assert.is(await lisp.text('when'), '#<function (macro-function when)>')
  assert.is(await lisp.text('*package*'), '#<package "COMMON-LISP-USER">')
  assert.is(await lisp.text("'order"), 'order')
  assert.is(await lisp.text('\'(order "a" 1)'), '(order "a" 1)')
})

test('what is stored is reached in the words of Lisp, without running anything', async () => {
  const places: Record<string, string> = {
    '(car *numbers*)': '0',
    '(caddr *numbers*)': '2',
    '(tenth *numbers*)': '9',
    '(nth 42 *numbers*)': '42',
    '(nth 1000 *numbers*)': 'nil',
    '(nthcdr 98 *numbers*)': '(98 99)',
    '(elt *numbers* 7)': '7',
    '(aref *grid* 1 2)': '6',
    '(row-major-aref *grid* 3)': '4',
    '(char "abc" 1)': '#\\b',
    '(gethash "key 3" *table*)': '(3 9)',
    '(second (gethash "key 5" *table*))': '25',
    "(slot-value *order* 'customer)": '"Ada"',
    "(first (slot-value (gethash :other *table*) 'lines))": ':tea',
    '(point-x *point*)': 'nil',
    '(point-y *point*)': '2',
    '(point-y (getf *plist* :b))': '2',
    "(get 'order :colour)": ':green',
    "(symbol-value '*point*)": '#S(point :x nil :y 2)',
    "(symbol-function 'area)": '#<function area>',
    "(find-class 'order)": '#<standard-class order>',
    '(class-of *order*)': '#<standard-class order>',
    '(find-package :swank)': '#<package "SWANK">',
    '; the first\n  (car #|of|# *numbers*) ': '0',
    '#xFF': '255',
    '-1.5d3': '-1500.0d0',
  }
  for (const [expr, shown] of Object.entries(places)) assert.is(await lisp.text(expr), shown, expr)
})

test('what is missing is named, with what is nearest', async () => {
  const misses: Record<string, [what: RegExp, nearest: string]> = {
    '*nummers*': [/^\*nummers\*$/, 'cl-user::*numbers*'],
    '(car *nummers*)': [/^\*nummers\*$/, 'cl-user::*numbers*'],
    '(gethash "key 333" *table*)': [/an entry of .* under "key 333"/, '"key 3"'],
    "(slot-value *order* 'customers)": [/a slot customers of #<order/, 'customer'],
    "(slot-value *order* 'area)": [/a slot area of #<order/, ''],
    "(slot-value *order* 'total)": [/slot total, which is unbound/, ''],
    '(car 3)': [/car of 3, which is not a list/, ''],
    '(car)': [/car does not take 0 arguments/, ''],
    '(aref *grid* 2 0)': [/aref \(2 0\) of #2A.*no such element/, ''],
    '(elt *numbers* 100)': [/elt 100 of .*no such element/, ''],
    '(point-x *order*)': [/point-x of #<order.*not such a structure/, ''],
    'nowhere::x': [/package nowhere/i, ''],
    'sb-impl:%random-double-float': [/sb-impl:%random-double-float/, ''],
  }
  for (const [expr, [what, nearest]] of Object.entries(misses)) {
    const looked = await lisp.inspected(expr)
    assert.is(looked.type, 'not_found', `${expr}: ${JSON.stringify(looked)}`)
    assert.match(why(looked), what, expr)
    if (nearest !== '') assert.ok(looked.type === 'not_found' && looked.nearest.includes(nearest), expr)
  }
})

test('what would run is left to evaluation, and says why', async () => {
  const runs: Record<string, RegExp> = {
    '(area 1 2)': /area is not known to read only what is stored/,
    '(car (area 1 2))': /area is not known/,
    '(let ((x 1)) x)': /let is not known/,
    here: /symbol macro/,
    '(lambda (x) x)': /lambda is not known/,
    '#.(area 1 2)': /#\./,
    '#+sbcl 1': /#\+/,
    '#(1 2)': /#\(/,
    '`(a ,b)': /quasiquoted/,
    '1 2': /several forms/,
    '((lambda (x) x) 1)': /no name/,
  }
  for (const [expr, because] of Object.entries(runs)) {
    const looked = await lisp.inspected(expr)
    assert.is(looked.type, 'needs_evaluation', `${expr}: ${JSON.stringify(looked)}`)
    assert.match(why(looked), because, expr)
  }
})

test('what is no expression is refused with its place', async () => {
  const wrong: Record<string, [message: RegExp, line: number, column: number]> = {
    '': [/nothing here/, 1, 1],
    '(car\n  (cdr x)': [/not closed/, 1, 1],
    '(car\n  "x)': [/string is not closed/, 2, 3],
    '(car x))': [/closes nothing/, 1, 8],
    ' |x': [/bar/, 1, 2],
    '#<order>': [/cannot be read/, 1, 1],
    '#\\Nonsense': [/no character named Nonsense/, 1, 1],
    '#|x': [/comment is not closed/, 1, 1],
  }
  for (const [expr, [message, line, column]] of Object.entries(wrong)) {
    const looked = await lisp.inspected(expr)
    if (looked.type !== 'malformed') throw new Error(`${expr}: ${JSON.stringify(looked)}`)
    assert.match(looked.message, message)
    assert.equal([looked.line, looked.column], [line, column], expr)
  }
})

test('what is evaluated is shown by its own printer', async () => {
  await lisp.define(`
    (defmethod print-object ((point point) stream) (format stream "<~A>" (point-y point)))
    (defclass broken () ((id :initform 7)))
    (defmethod print-object ((broken broken) stream) (error "no ~A" :print))
    (defclass endless () ((id :initform 8)))
    (defmethod print-object ((endless endless) stream) (loop))
    (defclass talkative () ((id :initform 9)))
    (defmethod print-object ((talkative talkative) stream) (loop (write-string "and so on, " stream)))
    (+ 40 2)`)
  const evaluated = async (expr: string) => {
    const ended = await lisp.run(expr)
    if (ended.type !== 'done' || ended.values[0] === undefined) throw new Error(JSON.stringify(ended))
    return ended.values[0].repr
  }
  assert.is((await evaluated('(list *point* (area 1 2))')).text, '(<2> (2 :m))')
  assert.is(await lisp.text('*point*'), '#S(point :x nil :y 2)')
  const broken = await evaluated("(make-instance 'broken)")
  assert.is(broken.text, '#<broken :id 7>')
  assert.match(broken.error ?? '', /printer of broken failed: .*no ~A/)
  const endless = await evaluated("(make-instance 'endless)")
  assert.is(endless.text, '#<endless :id 8>')
  assert.match(endless.error ?? '', /took longer/)
  assert.ok((await evaluated("(make-instance 'talkative)")).truncated)
})

test('a container tells its size and its first items, and where the rest is', async () => {
  const numbers = await lisp.inspect('*numbers*')
  assert.equal(numbers.size, { len: 100 })
  const sample = contents(numbers.sample)
  assert.equal(
    sample.items,
    Array.from({ length: 16 }, (_, at) => String(at)),
  )
  assert.equal([sample.shown, sample.total, sample.truncated], [16, 100, true])
  const rest = await lisp.more(sample.handle ?? '', 16, 1000)
  if (rest.type !== 'found' || rest.value.type !== 'items') throw new Error(JSON.stringify(rest))
  assert.equal([rest.value.items.length, rest.value.items[0], rest.value.next], [84, '16', null])

  const grid = await lisp.inspect('*grid*')
  assert.equal(grid.size, { shape: [2, 3] })
  assert.equal(contents(grid.sample).items, ['1', '2', '3', '4', '5', '6'])

  const table = await lisp.inspect('*table*')
  assert.equal(table.size, { len: 31 })
  assert.is(contents(table.sample).items[0], '"key 0" => (0 0)')
  const more = await lisp.more(contents(table.sample).handle ?? '', 30, 10)
  assert.ok(more.type === 'found' && more.value.type === 'items' && more.value.next === null)
  assert.equal(more.value.items, [':other => #<order :customer "Ada" :lines (:tea :milk) :total #<unbound>>'])
})

test('an instance tells its slots, a class its slots and documentation', async () => {
  const order = await lisp.inspect('*order*')
  assert.equal(order.type, { name: 'order', module: 'COMMON-LISP-USER', qualified: 'cl-user::order' })
  assert.equal(contents(order.sample).items, [
    'customer = "Ada"',
    'lines = (:tea :milk)',
    'total = #<unbound>',
  ])
  assert.equal(contents(order.members).data, ['customer', 'lines', 'total'])
  assert.is(contents(order.doc).text, 'What one customer wants.')
  const cls = await lisp.inspect('order')
  assert.equal(contents(cls.members).data, ['customer', 'lines', 'total'])
  assert.is(contents(cls.doc).text, 'What one customer wants.')
})

test('a function tells how it is called, and a closure what it keeps', async () => {
  const area = contents((await lisp.inspect("#'area")).callable)
  assert.is(area.signature, '(width height &key (unit :m))')
  assert.is(area.module, 'COMMON-LISP-USER')
  assert.is(area.doc, 'Multiplies them.')
  assert.match(area.source_preview ?? '', /^\(defun area \(width/)
  await lisp.define(`
    (defparameter *closure* (let ((count 0) (kept (list :a))) (lambda (x) (incf count x) kept)))
    (funcall *closure* 5)
    (defgeneric price (thing))
    (defmethod price ((thing integer)) thing)`)
  const kept = contents((await lisp.inspect('*closure*')).sample).items
  assert.equal([...kept].sort(), ['(:a)', '5'])
  assert.equal(contents((await lisp.inspect("#'price")).sample).items, ['#<standard-method price (integer)>'])
})

test('a condition tells its slots, and its message only where that runs nothing', async () => {
  await lisp.define(`
    (defparameter *refused* (make-condition 'refused :by :them))
    (defparameter *simple* (make-condition 'simple-error :format-control "no ~A of ~S"
                                           :format-arguments '(1 "two")))
    (defparameter *calling* (make-condition 'simple-error :format-control "~/cl-user::both/"
                                            :format-arguments '(1)))
    (defparameter *holding* (make-condition 'simple-error :format-control "~A"
                                            :format-arguments (list *point*)))
    (defparameter *huge* (make-condition 'simple-error :format-control "~1000000000A"
                                         :format-arguments '(1)))`)
  const facts = async (name: string) => {
    const value = await lisp.inspect(name)
    assert.is(value.kind, 'exception')
    return contents(value.exception)
  }
  assert.equal(await facts('*refused*'), { exc_type: 'refused', message: null, traceback: null })
  assert.equal(contents((await lisp.inspect('*refused*')).sample).items, ['by = :them'])
  assert.is((await facts('*simple*')).message, 'no 1 of "two"')
  for (const name of ['*calling*', '*holding*', '*huge*']) assert.is((await facts(name)).message, null, name)
})

test('lists that have no length are looked at all the same', async () => {
  await lisp.define(`
    (defparameter *circle* (let ((l (list 1 2 3))) (setf (cdddr l) l)))
    (defparameter *dotted* (list* 1 2 3))
    (defparameter *tail* (let ((l (list 1 2 3 4 5))) (setf (cdr (last l)) (cddr l)) l))`)
  const circle = await lisp.inspect('*circle*')
  assert.equal(circle.size, {})
  assert.equal([contents(circle.sample).total, contents(circle.sample).truncated], [null, true])
  const more = await lisp.more(contents(circle.sample).handle ?? '', 1_000_000, 3)
  assert.ok(more.type === 'found' && more.value.type === 'items')
  assert.equal(more.value.items, ['2', '3', '1'])
  const dotted = await lisp.inspect('*dotted*')
  assert.equal(dotted.size, {})
  assert.equal(contents(dotted.sample).items, ['1', '2', '. 3'])
  assert.equal((await lisp.inspect('*tail*')).size, {})
})

test('the rest of a text is read by characters, and of a string by its own', async () => {
  await lisp.define(`
    (defparameter *string* (format nil "~{~36R~}" (loop for i below 5000 collect i)))
    (defparameter *strings* (loop repeat 90 collect (make-string 90 :initial-element #\\y)))`)
  const { handle = '', repr } = await lisp.inspect('*string*')
  const whole = contents(repr).text
  const piece = await lisp.more(handle, 100, 50)
  if (piece.type !== 'found' || piece.value.type !== 'text') throw new Error(JSON.stringify(piece))
  assert.is(piece.value.text, whole.slice(101, 151))
  assert.is(piece.value.next, 150)
  const strings = contents((await lisp.inspect('*strings*')).repr)
  const next = await lisp.more(strings.handle ?? '', 4090, 100)
  if (next.type !== 'found' || next.value.type !== 'text') throw new Error(JSON.stringify(next))
  assert.is(next.value.text.slice(0, 5), strings.text.slice(4090, 4095))
  assert.is(next.value.text.length, 100)
  assert.is(next.value.total, 90 * 93 + 1)
})

test('one value keeps one handle, and the oldest make room', async () => {
  const first = (await lisp.inspect('*order*')).handle ?? ''
  assert.is((await lisp.inspect('*order*')).handle, first)
  assert.is(await lisp.text(first), await lisp.text('*order*'))
  assert.is(await lisp.text(`(slot-value ${first} 'customer)`), '"Ada"')
  await lisp.define("(defparameter *many* (coerce (loop repeat 600 collect (list 1)) 'vector))")
  for (let index = 0; index < 600; index++) await lisp.inspect(`(aref *many* ${index})`)
  const stale = await lisp.inspected(first)
  assert.match(stale.type === 'stale_handle' ? stale.because : '', /made room/)
  const elsewhere = await lisp.inspected('@ffff.1')
  assert.match(elsewhere.type === 'stale_handle' ? elsewhere.because : '', /another connection/)
  assert.is((await lisp.more('nonsense', 0, 1)).type, 'stale_handle')
})

test('of large values those that only handles keep make room for newer ones, and the handle says why', async () => {
  // A heap of 8 GB keeps half a gigabyte for handles; here it is 3 MB.
  await lisp.define(`
    (defparameter *kept* (fdefinition 'imago-peer::most-kept))
    (defparameter *held* (make-array 250000))
    (setf (fdefinition 'imago-peer::most-kept) (constantly 3000000))`)
  const held = (await lisp.inspect('*held*')).handle ?? ''
  await lisp.define('(defparameter *large* (loop repeat 8 collect (make-array 250000)))')
  const handles: string[] = []
  for (let index = 0; index < 8; index++)
    handles.push((await lisp.inspect(`(nth ${index} *large*)`)).handle ?? '')
  await lisp.define('(setf *large* nil)')
  await lisp.define("(progn (sb-ext:gc :full t) (setf (fdefinition 'imago-peer::most-kept) *kept*))")
  const looked = await Promise.all(handles.map(handle => lisp.inspected(handle)))
  const gone = looked.filter(
    one => one.type === 'stale_handle' && /only the handle kept it/.test(one.because),
  )
  // The collector of SBCL may take a word on a stack for a reference.
  assert.ok(gone.length >= 4)
  assert.is(looked.at(-1)?.type, 'found')
  assert.is((await lisp.inspected(held)).type, 'found')
})

/** Each of these is shown as the other, by nothing but what it stores. */
async function shows(table: Readonly<Record<string, string>>): Promise<void> {
  for (const [source, text] of Object.entries(table)) assert.is(await lisp.shown(source), text, source)
}

test('what ASDF and other libraries print of their objects is printed as they do', async () => {
  assert.equal(await lisp.values(`(asdf:find-system :uiop)`), ['#<asdf/system:system "uiop">'])
})

test('numbers are written as they are read', () =>
  shows({
    '-5': '-5',
    '(/ 1 -3)': '-1/3',
    '1.5': '1.5',
    '-0.0': '-0.0',
    '1d0': '1.0d0',
    '1d-10': '1.0d-10',
    '12345678.5d0': '1.23456785d7',
    '1e-3': '0.001',
    '(complex 1 2)': '#C(1 2)',
    '(complex 1.0 -2)': '#C(1.0 -2.0)',
    '(let ((*print-base* 16)) (expt 2 70))': '1180591620717411303424',
    '(- (expt 2 10000))': '#<negative integer of 10000 bits>',
    'sb-ext:double-float-negative-infinity': '#<negative infinity>',
  }))

test('floats of any size are written as Lisp writes them', async () => {
  await lisp.define(`
    (defparameter *floats*
      (loop with state = (sb-ext:seed-random-state 7)
            repeat 45
            collect (* (- (random 2d0 state) 1) (expt 10d0 (- (random 40 state) 20)))
            collect (coerce (* (random 1d0 state) (expt 10d0 (- (random 30 state) 15))) 'single-float)))`)
  const [written = ''] = await lisp.values('(with-standard-io-syntax (prin1-to-string *floats*))')
  assert.is(await lisp.shown('*floats*'), JSON.parse(written))
})

test('characters and strings are written with their escapes', () =>
  shows({
    '#\\a': '#\\a',
    '#\\Space': '#\\Space',
    '(code-char 0)': '#\\Nul',
    '(format nil "a~Sb~C" "x" #\\\\)': '"a\\"x\\"b\\\\"',
    '(coerce "base" (quote simple-base-string))': '"base"',
    '(make-array 5 :element-type (quote character) :fill-pointer 2 :initial-element #\\z)': '"zz"',
    '(make-array 3 :element-type (quote character) :displaced-to "abcdef" :displaced-index-offset 2)':
      '"cde"',
  }))

test('symbols are written as they are read in the package in force', async () => {
  await shows({
    "'car": 'car',
    ':key': ':key',
    "'|a b|": '|a b|',
    "'|Foo|": '|Foo|',
    "'|1+2|": '|1+2|',
    "'|12|": '|12|',
    "'1+": '1+',
    "'||": '||',
    "'|a\\|b|": '|a\\|b|',
    '(make-symbol "LOOSE")': '#:loose',
    "'sb-ext:run-program": 'run-program',
    "'swank::*emacs-connection*": 'swank::*emacs-connection*',
    '(intern "Mixed" :keyword)': ':|Mixed|',
  })
  await lisp.define("(defpackage #:elsewhere (:use)) (defparameter cl-user::*shown* (cl:list 'car :a))")
  await lisp.define('(in-package #:elsewhere)')
  assert.is(contents((await lisp.inspect('cl-user::*shown*')).repr).text, '(common-lisp:car :a)')
  await lisp.define('(cl:in-package #:cl-user)')
})

test('every symbol of the image is written as Lisp writes it', async () => {
  await lisp.define(`
    (defun written (symbols)
      (with-standard-io-syntax
        (let ((*print-case* :downcase) (*print-readably* nil) (*package* (find-package "CL-USER")))
          (format nil "(~{~S~^ ~})" symbols))))
    (defparameter *odd*
      (let ((all '()))
        (do-all-symbols (symbol)
          (when (and (symbol-package symbol)
                     (notevery (lambda (char) (or (upper-case-p char) (char= char #\\-)))
                               (symbol-name symbol)))
            (pushnew symbol all)))
        (subseq (sort all #'string< :key #'symbol-name) 0 1000)))`)
  for (let from = 0; from < 1000; from += 50) {
    const some = `(subseq *odd* ${from} ${from + 50})`
    const [written = ''] = await lisp.values(`(written ${some})`)
    assert.is(await lisp.shown(some), JSON.parse(written))
  }
})

test('lists, quoted forms and dotted ends are written as Lisp writes them', () =>
  shows({
    "'(1 (2 . 3) nil . 4)": '(1 (2 . 3) nil . 4)',
    "''a": "'a",
    "'#'car": "#'car",
    "'(quote a b)": '(quote a b)',
    "'(quote . a)": '(quote . a)',
    "'`(a ,b ,@c)": '`(a ,b ,@c)',
  }))

test('arrays of all kinds are written with their elements', () =>
  shows({
    '(vector 1 "a" nil)': '#(1 "a" nil)',
    '(make-array (quote (2 2)) :initial-contents (quote ((1 2) (3 4))))': '#2A((1 2) (3 4))',
    '(make-array nil :initial-element 3)': '#0A3',
    '#*0101': '#*0101',
    '(make-array 2 :element-type (quote (unsigned-byte 8)))': '#(0 0)',
    '(make-array 5 :fill-pointer 2 :initial-element 1)': '#(1 1)',
    '(make-array (quote (2 0)))': '#2A(() ())',
  }))

test('what refers to itself is written with labels, and ends', () =>
  shows({
    '(let ((l (list 1 2))) (setf (cddr l) l))': '#1=(1 2 . #1#)',
    '(let ((l (list 1 2))) (setf (car l) l (second l) l) l)': '#1=(#1# #1#)',
    '(let ((v (vector 1 2))) (setf (aref v 1) (list v)) v)': '#1=#(1 (#1#))',
    '(let ((h (make-hash-table))) (setf (gethash 1 h) h))': '#<hash-table :test eql :count 1>',
  }))

test('what has slots is written with what is stored in them', async () => {
  await lisp.define(`
    (defclass parcel () ((id :initarg :id) (lines :initform '(1 2)) (open :allocation :class :initform t)))
    (defstruct spot x (y 0 :type fixnum) (z 1.5d0 :type double-float) (w 7 :type (unsigned-byte 64)))
    (defstruct (row (:type list)) a b)
    (define-condition declined (error)
      ((by :initarg :by) (code :initform (list 1)) (how :allocation :class :initform :never)))`)
  await shows({
    "(make-instance 'parcel)": '#<parcel :id #<unbound> :lines (1 2) :open t>',
    '(make-spot :x :left)': '#S(spot :x :left :y 0 :z 1.5d0 :w 7)',
    '(make-row :a 1)': '(1 nil)',
    "(make-condition 'declined :by :us)": '#<declined :by :us :code (1) :how :never>',
    '(make-condition \'simple-error :format-control "no ~A" :format-arguments \'(1))':
      '#<simple-error :format-control "no ~A" :format-arguments (1)>',
  })
})

test('functions, classes, packages and the like are written by name', async () => {
  await lisp.define(`
    (defgeneric cost (thing other))
    (defmethod cost ((thing integer) (other (eql :half))) thing)
    (defmethod cost :around (thing other) (list thing other))
    (defun named (x) (lambda (y) (+ (incf x) y)))`)
  await shows({
    "#'car": '#<function car>',
    "#'named": '#<function named>',
    '(named 1)': '#<closure (lambda (y) :in named)>',
    "(macro-function 'when)": '#<function (macro-function when)>',
    "#'cost": '#<standard-generic-function cost (2)>',
    "(find-method #'cost nil (list (find-class 'integer) (sb-mop:intern-eql-specializer :half)))":
      '#<standard-method cost (integer (eql :half))>',
    "(find-method #'cost '(:around) (list (find-class t) (find-class t)))":
      '#<standard-method cost :around (t t)>',
    "(find-class 'order)": '#<standard-class order>',
    "(find-class 'string)": '#<built-in-class string>',
    '(find-package "CL")': '#<package "COMMON-LISP">',
    '#p"/tmp/a b.lisp"': '#P"/tmp/a b.lisp"',
    '(make-random-state)': '#<random-state>',
    '(copy-readtable nil)': '#<readtable>',
    '(make-broadcast-stream)': '#<broadcast-stream>',
    '(sb-ext:make-weak-pointer :a)': '#<weak-pointer :a>',
    '(sb-thread:make-mutex :name "gate")': '#<sb-thread:mutex "gate">',
    "(make-hash-table :test 'equalp :weakness :key)": '#<hash-table :test equalp :count 0 :weakness :key>',
  })
})

test('a text is no longer than is said, however much there is', async () => {
  await lisp.define(`
    (defparameter *long* (make-list 10000000 :initial-element :item))
    (defparameter *wide* (make-array 10000000 :initial-element 7))
    (defparameter *text* (make-string 10000000 :initial-element #\\x))
    (defparameter *deep* (let (l) (dotimes (i 100000 l) (setf l (list l)))))
    (defparameter *items* (loop repeat 90 collect (make-string 90 :initial-element #\\y)))`)
  for (const name of ['*long*', '*wide*']) {
    const { text, truncated, original_len } = contents((await lisp.inspect(name)).repr)
    assert.ok(text.endsWith(' ...)'), text)
    assert.is(text.split(' ').length, 101)
    assert.ok(truncated && original_len === null)
  }
  assert.is(contents((await lisp.inspect('*deep*')).repr).text, `${'('.repeat(10)}#${')'.repeat(10)}`)
  for (const name of ['*text*', '*items*']) {
    const { text, truncated } = contents((await lisp.inspect(name)).repr)
    assert.is(text.length, 4096)
    assert.ok(truncated && text.endsWith('…'))
  }
})

test('an array is told by its elements’ type, its dimensions and a few of its elements', async () => {
  const grid = '(make-array (list 30 40) :element-type (quote double-float) :initial-element 1d0)'
  await lisp.define(`(defparameter *grid* ${grid})`)
  const { type, repr, size, sample } = await lisp.inspect('*grid*')
  assert.is(type.name, '(simple-array double-float (30 40))')
  assert.is(contents(repr).text, '#<(simple-array double-float (30 40))>')
  assert.equal(size, { shape: [30, 40] })
  const { shown, total, handle } = contents(sample)
  assert.equal([shown, total], [16, 1200])
  const more = await lisp.more(handle ?? '', 1190, 100)
  assert.is(more.type === 'found' && more.value.type === 'items' && more.value.items.length, 10)
  await lisp.define('(defparameter *filled* (make-array 99 :element-type (quote bit) :fill-pointer 40))')
  assert.is((await lisp.inspect('*filled*')).type.name, '(array bit (99))')
})

test('a long array that code comes to ends after an element, with its type and how many elements are left', async () => {
  const shownValue = async (expr: string) => {
    const ended = await lisp.run(expr)
    if (ended.type !== 'done') throw new Error(`${expr} has ended as ${ended.type}`)
    const { repr, type, preview, handle } = contents(ended.values[0])
    return { ...repr, type: type.name, preview, inspect: handle }
  }
  const long = await shownValue('(make-array 1000 :element-type (quote double-float) :initial-element 1d0)')
  assert.is(long.text, `#(${'1.0d0 '.repeat(100)}...)`)
  assert.equal(
    [long.type, long.preview],
    ['(simple-array double-float (1000))', 'the first 100 of 1000 elements'],
  )
  const all = await lisp.more(long.handle ?? '', 0, 10_000)
  assert.is(
    all.type === 'found' && all.value.type === 'text' && all.value.text,
    `#(${'1.0d0 '.repeat(1000).trimEnd()})`,
  )
  const grid = await shownValue('(make-array (list 3 900) :initial-element :a)')
  assert.is(grid.text, `#2A((${':a '.repeat(100)}...))`)
  assert.equal([grid.type, grid.preview], ['(simple-array t (3 900))', 'the first 100 of 2700 elements'])
  const wide = await shownValue('(make-array 90 :initial-element (make-string 90 :initial-element #\\y))')
  assert.is(wide.preview, 'the first 43 of 90 elements')
  assert.ok(wide.text.endsWith('y" ...)') && wide.text.length <= 4096)
  const short = await shownValue('(make-array 300 :element-type (quote double-float) :initial-element 1d0)')
  assert.equal([short.text.length, short.truncated], [1802, false])
  for (const whole of ['(make-string 9000)', '(make-array 9000 :element-type (quote bit))'])
    assert.is((await shownValue(whole)).text.length, 4096)
})

test('a package shows its exported names with what they are, and the rest a page at a time', async () => {
  await lisp.define(`(defpackage #:wide (:use) (:export #:offer))
    (dotimes (i 70) (export (intern (format nil "NAME-~2,'0D" i) :wide) :wide))
    (defun wide::name-00 () 1) (defvar wide::name-01 1)`)
  const { sample } = await lisp.inspect('(find-package "WIDE")')
  const { items, shown, total, handle } = contents(sample)
  assert.equal([shown, total], [50, 71])
  assert.equal(items.slice(0, 3), ['name-00  function', 'name-01  variable', 'name-02'])
  const rest = await lisp.more(handle ?? '', 50, 100)
  if (rest.type !== 'found' || rest.value.type !== 'items') throw new Error(JSON.stringify(rest))
  assert.equal([rest.value.items.length, rest.value.items.at(-1), rest.value.next], [21, 'offer', null])
})
