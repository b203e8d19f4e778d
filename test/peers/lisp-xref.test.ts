import type { Relation } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { lispLooks, missing } from '../support/lisp-looks.ts'

const test = suite('who uses what in a Lisp image')
const image = lispLooks(test)

const SOURCE = `(defpackage #:xr (:use #:cl))
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

let file = ''
test.before(async () => {
  file = image.write('xr.lisp', SOURCE)
  await image.run(`(load (compile-file "${file}"))`)
})

const users = async (name: string, ...relations: Relation[]) => {
  const query = relations.length > 0 ? { relations } : {}
  const { references } = await image.found('references', { name, limit: 500, ...query })
  return references.map(({ kind, from }) => `${kind} ${from}`).sort()
}

test('who_calls works: callers are found, with their place', async () => {
  assert.equal(await users('xr::total', 'calls'), [
    'calls (method xr::area (xr::shape))',
    'calls xr::caller',
    'calls xr::passer',
  ])
  const { references } = await image.found('references', { name: 'xr::total', relations: ['calls'] })
  const caller = references.find(({ from }) => from === 'xr::caller')
  assert.equal(
    [caller?.file, caller?.line],
    [file, SOURCE.slice(0, SOURCE.indexOf('(defun caller ()')).split('\n').length],
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

test('all that can be told is told where nothing is left out, and all uses of code as uses', async () => {
  const all = await users('xr::*rate*')
  for (const one of ['references xr::total', 'sets xr::setter', 'binds xr::binder'])
    assert.ok(all.includes(one), all.join())
  assert.equal(await users('xr::total', 'uses'), await users('xr::total', 'calls'))
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
  const { searched, complete } = await image.found('references', { name: 'xr::total' })
  assert.is(complete, true)
  assert.match(searched.join('; '), /computed at run time.*global variables.*stack/)
  const { searched: calls } = await image.found('references', { name: 'xr::total', relations: ['calls'] })
  assert.not.match(calls.join('; '), 'global variables')
})

test("calls of SBCL's own functions are found in the code itself", async () => {
  const callers = await users('parse-integer', 'calls')
  assert.ok(callers.includes('calls xr::caller-of-parse'), callers.slice(0, 10).join())
})

test('a name that nobody uses has no references, and one that is not there is not found', async () => {
  assert.equal(await users('xr::by-name', 'calls'), [])
  assert.ok(missing(await image.look('references', { name: 'xr::totla' })).nearest.includes('xr::total'))
})

test('as many references are given as were asked for, and all are counted', async () => {
  const { references, total } = await image.found('references', { name: 'xr::total', limit: 2 })
  assert.is(references.length, 2)
  assert.ok(total > 2)
})

test('a traced function has the callers and holders that it had', async () => {
  const before = await users('xr::total')
  await image.run('(trace xr::total)')
  const traced = await users('xr::total')
  await image.run('(untrace xr::total)')
  assert.equal(traced, before)
})
