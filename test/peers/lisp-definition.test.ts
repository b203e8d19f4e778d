import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import type { Definition } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { lispLooks, missing } from '../support/lisp-looks.ts'

const test = suite('definitions in a Lisp image')
const image = lispLooks(test)

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
(defun both () 1) (defvar both 2) (defclass both () ())
`

let shop = ''
const define = (name: string, more = {}): Promise<Definition> => image.found('definition', { name, ...more })
const lineOf = (text: string) => SHOP.slice(0, SHOP.indexOf(text)).split('\n').length

test.before(async () => {
  shop = image.write('shop.lisp', SHOP)
  // A second that has passed tells an edit apart.
  utimesSync(shop, 1_700_000_000, 1_700_000_000)
  await image.run(`(load "${shop}")`)
})

/** Each name, and how its text begins and ends. */
const TEXTS: readonly (readonly [name: string, kind: string, begins: string, ends?: string])[] = [
  ['def-shop::total', 'function', '(defun total (orders) ;', '#-no-such-feature 1))'],
  ['def-shop::*rate*', 'variable', '(defvar *rate* 19 "Percent.")'],
  ['def-shop::+most+', 'constant', '(defconstant +most+ 10)'],
  ['def-shop::rate-alias', 'variable', '(define-symbol-macro rate-alias *rate*)'],
  ['def-shop::small', 'class', "(deftype small () '(integer 0 9))"],
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

for (const way of ['load', 'compile'])
  test(`after ${way}, each kind of definition has its text, its file and its lines`, async () => {
    if (way === 'compile') await image.run(`(load (compile-file "${shop}"))`)
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
  await image.run('(trace def-shop::within)')
  const traced = await define('def-shop::within')
  await image.run('(untrace def-shop::within)')
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
  await image.run("(defvar *def-list* (list 1)) (defvar *def-function* #'def-shop::total)")
  const handle = async (name: string) => (await image.found('describe', { name })).handle ?? ''
  assert.match((await define(await handle('*def-function*'))).source?.text ?? '', '(defun total')
  const name = await handle('*def-list*')
  assert.match(missing(await image.look('definition', { name })).what, 'a value, an instance of cons')
})

test('a file that was edited after it was loaded is not said to be what runs', async () => {
  const edited = image.write(
    'edited.lisp',
    '(defun ed-one () 1)\n\n(defun ed-two () 2)\n(defun ed-gone () 3)\n',
  )
  utimesSync(edited, 1_700_000_000, 1_700_000_000)
  await image.run(`(load "${edited}")`)
  writeFileSync(edited, ';;; new\n(defvar *ed-new* 1)\n(defun ed-one () 1)\n(defun ed-two () 22)\n')
  utimesSync(edited, 1_700_000_100, 1_700_000_100)
  const two = await define('ed-two')
  assert.equal([two.current, two.line, two.source?.text], [false, 4, '(defun ed-two () 22)'])
  const gone = await define('ed-gone')
  assert.equal([gone.source, gone.current], [null, false])
  assert.match(gone.because ?? '', 'changed')
})

test('a file that is gone, is a pipe, or is too long is not read, and that is said', async () => {
  const text = '(defun un-read () 1)\n'
  const because = async (spoil: (file: string) => void) => {
    const file = image.write('spoiled.lisp', text)
    await image.run(`(load "${file}")`)
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
  await image.compileString(';; a piece\n(defun typed-one (x)\n  (list x)) (defvar *typed* 1)')
  const one = await define('typed-one')
  assert.equal(
    [one.source?.text, one.origin, one.file, one.current],
    ['(defun typed-one (x)\n  (list x))', 'typed', null, true],
  )
  assert.is((await define('*typed*')).source?.text, '(defvar *typed* 1)')
  await image.run("(defun typed-two (x) (list x 'y `(,x ,@x)))")
  const two = await define('typed-two')
  assert.is(two.origin, 'typed')
  assert.match(two.source?.text ?? '', "(list x 'y `(,x ,@x))")
  assert.match(two.notes.join(), 'evaluated')
})

test('what was compiled in an editor leads to the file of its buffer', async () => {
  const file = image.write('buffer.lisp', ';;; one\n\n(defun from-buffer ()\n  1)\n')
  const text = '(defun from-buffer ()\n  1)'
  await image.compileString(text, { buffer: 'buffer.lisp', position: 10, file })
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

test('a name without a definition says so', async () => {
  assert.match(missing(await image.look('definition', { name: ':test' })).what, 'definition')
})

test('a text that is read as source is never read as code (threat 25)', async () => {
  const evil = '(defvar *def-evil* nil)\n(defun evil-one () 1)\n'
  const file = image.write('evil.lisp', evil)
  await image.run(`(load "${file}")`)
  writeFileSync(
    file,
    `(defvar *def-evil* nil) #.(setq cl-user::*def-evil* t) #.(intern "DEF-EVIL-NEW")\n(defun evil-one () 1)\n${'('.repeat(100_000)}`,
  )
  await image.look('definition', { name: 'evil-one' })
  await image.look('describe', { name: 'evil-one' })
  assert.is(await image.run('(list *def-evil* (find-symbol "DEF-EVIL-NEW"))'), '(NIL NIL)')
})
