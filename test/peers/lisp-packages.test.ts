import { assert, suite } from '../support/harness.ts'
import { lispImage } from '../support/lisp-image.ts'

const test = suite('packages with names and a syntax of their own', { limitMs: 100_000 })

const CODE = `(defpackage #:far (:use #:cl) (:export #:start #:stop #:place))
   (defun far:start (&optional (speed 1)) "Begins." speed)
   (defclass far:place () ((name :initarg :name)))
   (defpackage #:near (:use #:cl) (:local-nicknames (#:f #:far)))
   (defun near::go-on () (far:start))
   (defpackage #:bracket (:use #:cl))
   (defvar bracket::*ran* 0)
   (defun bracket::table (reader)
     (let ((table (copy-readtable nil)))
       (set-macro-character #\\[ reader nil table)
       (set-macro-character #\\] (get-macro-character #\\)) nil table)
       table))
   (push (cons "BRACKET"
               (bracket::table (lambda (stream char)
                                 (declare (ignore char))
                                 (incf bracket::*ran*)
                                 \`(list ,@(read-delimited-list #\\] stream t)))))
         swank:*readtable-alist*)
   (defpackage #:broken (:use #:cl))
   (push (cons "BROKEN" (bracket::table (lambda (stream char)
                                          (declare (ignore stream char))
                                          (incf bracket::*ran*)
                                          (error "This macro raises."))))
         swank:*readtable-alist*)
   (defpackage #:modern (:use #:cl))
   (defvar modern::|lowerCase| 5)
   (let ((table (copy-readtable nil)))
     (setf (readtable-case table) :preserve)
     (push (cons "MODERN" table) swank:*readtable-alist*))`
const lisp = lispImage(test, { code: CODE })
const suspending = lispImage(test, { code: CODE, suspends: true })

test('each look that takes a package reads the nicknames that only this package has', async () => {
  const near = { package: 'NEAR' }
  const definition = await lisp.found('definition', { name: 'f:start', ...near })
  assert.match(JSON.stringify(definition), 'far:start')
  assert.is((await lisp.found('describe', { name: 'f:start', ...near })).qualified, 'far:start')
  assert.match((await lisp.found('arglist', { name: 'f:start', ...near })).signature ?? '', '&optional')
  assert.is((await lisp.found('slots', { name: 'f:place', ...near })).total, 1)
  assert.match((await lisp.found('hierarchy', { name: 'f:place', ...near })).class.name, 'place')
  assert.ok((await lisp.found('references', { name: 'f:start', ...near })).total >= 1)
  const inspected = await lisp.found('inspect', { expr: "#'f:start", ...near })
  assert.is(inspected.kind, 'callable')
  const completed = await lisp.found('complete', { text: '(f:sta', cursor: 6, ...near })
  assert.equal(
    completed.completions.map(one => one.text),
    ['f:start'],
  )
  const traced = await lisp.found('trace', {
    name: 'f:start',
    calls: 3,
    expires_ms: 60_000,
    who: 'test',
    ...near,
  })
  await lisp.found('untrace', { tracepoint: traced.id })
  for (const written of ['near', ':near', '#:near', '|NEAR|'])
    assert.equal(await lisp.values('(f:start 7)', { package: written }), ['7'], written)
})

test('without the package, such a nickname is not found, and the package that is missing is named', async () => {
  const looked = await lisp.look('describe', { name: 'f:start' })
  assert.is(looked.type, 'not_found')
})

test('code is read by the readtable that SLIME knows the package by', async () => {
  const compiled = await lisp.run('(defun five () [1 2 3])', { work: 'compile', package: 'BRACKET' })
  assert.is(compiled.type, 'done', JSON.stringify(compiled))
  assert.equal(await lisp.values('(bracket::five)'), ['(1 2 3)'])
  assert.equal(await lisp.values('[4 5]', { package: 'BRACKET' }), ['(4 5)'])
  assert.equal(await lisp.values('[6 7]', { work: 'expand', package: 'BRACKET' }), ['(LIST 6 7)'])
})

test('a file is loaded by the readtable of its package, whole or in part', async () => {
  const file = lisp.write(
    'bracket.lisp',
    ';; (in-package :modern)\n(in-package :bracket)\n(defun six () [6])\n',
  )
  assert.is((await lisp.run('', { work: 'load', file })).type, 'done')
  assert.equal(await lisp.values('(bracket::six)'), ['(6)'])
  lisp.write('bracket.lisp', '(in-package :bracket)\n(defun six () [6 6])\n(defun seven () [7])\n')
  assert.is((await lisp.run('', { work: 'load', file, names: ['six'] })).type, 'done')
  assert.equal(await lisp.values('(list (bracket::six) (fboundp (quote bracket::seven)))'), ['((6 6) nil)'])
})

test('a package without one, and the readtable that was set for it, are as they were', async () => {
  await lisp.define('(setf *readtable* (bracket::table (lambda (stream char) stream char :mine)))')
  assert.equal(await lisp.values('[ '), [':mine'])
  assert.equal(await lisp.values('[1]', { package: 'BRACKET' }), ['(1)'])
  await lisp.define('(setf *readtable* (copy-readtable nil))')
  assert.match((await lisp.values('[1]'))[0] ?? '', 'unbound')
})

test('what is in force tells the readtable of the package', async () => {
  await lisp.define('(in-package :bracket)')
  const done = await lisp.run('(+ 1 1)')
  assert.is(done.type === 'done' && done.readtable, 'with [ ]')
  await lisp.define('(in-package :cl-user)')
})

test('a macro that raises is told, and no look runs one', async () => {
  assert.match((await lisp.raised('[1]', { package: 'BROKEN' })).message, 'This macro raises.')
  const compiled = await lisp.run('(defun two () [1 2])', { work: 'compile', package: 'BROKEN' })
  const said = compiled.type === 'done' ? (compiled.diagnostics ?? []).map(({ message }) => message) : []
  assert.match(said.join('\n'), 'This macro raises.')
  const [ran] = await lisp.values('bracket::*ran*')
  for (const inside of ['BRACKET', 'BROKEN']) {
    for (const expr of ['[1 2]', "'[1 2]", '(car [1])']) await lisp.look('inspect', { expr, package: inside })
    for (const name of ['[1', '[', 'five']) {
      await lisp.look('describe', { name, package: inside })
      await lisp.look('definition', { name, package: inside })
      await lisp.look('complete', { text: `(list ${name}`, cursor: 7, package: inside })
    }
  }
  assert.equal(await lisp.values('bracket::*ran*'), [ran])
})

test('names in a look have the letters that the readtable of the package makes of them', async () => {
  const looked = await lisp.found('inspect', { expr: 'lowerCase', package: 'MODERN' })
  assert.match(JSON.stringify(looked.repr), '"5"')
})

test('code in a frame is read by the readtable of its function', async () => {
  await suspending.run('(defun fails (x) (error "No ~A" x))', { package: 'BRACKET', work: 'compile' })
  const { suspension } = await suspending.suspended('(bracket::fails 3)')
  assert.equal(
    await suspending.inFrame(suspension.id, 0, '[1 2]').then(done => JSON.stringify(done).includes('(1 2)')),
    true,
  )
  await suspending.resume(suspension.id, { way: 'leave' })
})
