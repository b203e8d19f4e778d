import { assert, suite } from '../support/harness.ts'
import { contents, type Inspecting, openInspecting } from '../support/lisp-inspecting.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('Lisp values as text')
let swank: RealSwank
let at: Inspecting

test.before(async () => {
  swank = await startSwank()
  at = await openInspecting(swank)
})
test.after(() => {
  at?.lisp.end()
  swank?.kill()
})

/** Each of these is shown as the other, by nothing but what it stores. */
async function shows(table: Readonly<Record<string, string>>): Promise<void> {
  for (const [source, text] of Object.entries(table)) assert.is(await at.printed(source), text, source)
}

test('what ASDF and other libraries print of their objects is printed as they do', async () => {
  assert.equal(await at.lisp.values(`(asdf:find-system :uiop)`), ['#<asdf/system:system "uiop">'])
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
  await at.define(`
    (defparameter *floats*
      (loop with state = (sb-ext:seed-random-state 7)
            repeat 45
            collect (* (- (random 2d0 state) 1) (expt 10d0 (- (random 40 state) 20)))
            collect (coerce (* (random 1d0 state) (expt 10d0 (- (random 30 state) 15))) 'single-float)))`)
  const [written = ''] = await at.lisp.values('(with-standard-io-syntax (prin1-to-string *floats*))')
  assert.is(await at.printed('*floats*'), JSON.parse(written))
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
  await at.define("(defpackage #:elsewhere (:use)) (defparameter cl-user::*printed* (cl:list 'car :a))")
  await at.define('(in-package #:elsewhere)')
  assert.is(contents((await at.inspect('cl-user::*printed*')).repr).text, '(common-lisp:car :a)')
  await at.define('(cl:in-package #:cl-user)')
})

test('every symbol of the image is written as Lisp writes it', async () => {
  await at.define(`
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
    const [written = ''] = await at.lisp.values(`(written ${some})`)
    assert.is(await at.printed(some), JSON.parse(written))
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
  await at.define(`
    (defclass order () ((id :initarg :id) (lines :initform '(1 2)) (open :allocation :class :initform t)))
    (defstruct point x (y 0 :type fixnum) (z 1.5d0 :type double-float) (w 7 :type (unsigned-byte 64)))
    (defstruct (row (:type list)) a b)
    (define-condition refused (error)
      ((by :initarg :by) (code :initform (list 1)) (how :allocation :class :initform :never)))`)
  await shows({
    "(make-instance 'order)": '#<order :id #<unbound> :lines (1 2) :open t>',
    '(make-point :x :left)': '#S(point :x :left :y 0 :z 1.5d0 :w 7)',
    '(make-row :a 1)': '(1 nil)',
    "(make-condition 'refused :by :us)": '#<refused :by :us :code (1) :how :never>',
    '(make-condition \'simple-error :format-control "no ~A" :format-arguments \'(1))':
      '#<simple-error :format-control "no ~A" :format-arguments (1)>',
  })
})

test('functions, classes, packages and the like are written by name', async () => {
  await at.define(`
    (defgeneric price (thing other))
    (defmethod price ((thing integer) (other (eql :half))) thing)
    (defmethod price :around (thing other) (list thing other))
    (defun named (x) (lambda (y) (+ (incf x) y)))`)
  await shows({
    "#'car": '#<function car>',
    "#'named": '#<function named>',
    '(named 1)': '#<closure (lambda (y) :in named)>',
    "(macro-function 'when)": '#<function (macro-function when)>',
    "#'price": '#<standard-generic-function price (2)>',
    "(find-method #'price nil (list (find-class 'integer) (sb-mop:intern-eql-specializer :half)))":
      '#<standard-method price (integer (eql :half))>',
    "(find-method #'price '(:around) (list (find-class t) (find-class t)))":
      '#<standard-method price :around (t t)>',
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
  await at.define(`
    (defparameter *long* (make-list 10000000 :initial-element :item))
    (defparameter *wide* (make-array 10000000 :initial-element 7))
    (defparameter *text* (make-string 10000000 :initial-element #\\x))
    (defparameter *deep* (let (l) (dotimes (i 100000 l) (setf l (list l)))))
    (defparameter *items* (loop repeat 90 collect (make-string 90 :initial-element #\\y)))`)
  for (const name of ['*long*', '*wide*']) {
    const { text, truncated, original_len } = contents((await at.inspect(name)).repr)
    assert.ok(text.endsWith(' ...)'), text)
    assert.is(text.split(' ').length, 101)
    assert.ok(truncated && original_len === null)
  }
  assert.is(contents((await at.inspect('*deep*')).repr).text, `${'('.repeat(10)}#${')'.repeat(10)}`)
  for (const name of ['*text*', '*items*']) {
    const { text, truncated } = contents((await at.inspect(name)).repr)
    assert.is(text.length, 4096)
    assert.ok(truncated && text.endsWith('…'))
  }
})
