import { TOOLS } from '../../tools/index.ts'
import { showEnvelope } from '../../tools/show.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('what the tools say of a real Lisp, in the words of Lisp', { limitMs: 60_000 })

const PROGRAM = `
(defpackage :shop (:use :cl) (:export #:order #:order-lines #:ship #:total))
(in-package :shop)
(defclass thing () ())
(defclass order (thing)
  ((lines :initarg :lines :accessor order-lines :initform '() :documentation "Lines.")
   (id :initarg :id :reader order-id :type integer)))
(defvar *orders* (make-hash-table))
(defvar *order* (make-instance 'order :id 3))
(define-condition out-of-stock (error) ((item :initarg :item)))
(defvar *stuck* (make-condition 'out-of-stock :item 1))
(defgeneric total (order))
(defmethod total ((order order)) (list (* (order-id order) (car (order-lines order)))))
(defun ship (order &optional (where "here") &key fast) (list order where fast))
`

let lisp: AttachedLisp

test.before(async () => {
  lisp = await openAttachedLisp()
  resultOf(await lisp.run('load_file', { path: lisp.put('program.lisp', PROGRAM) }))
})
test.after(() => lisp?.close())

async function said(name: string, args: object): Promise<string> {
  return showEnvelope(
    await lisp.run(name, args),
    TOOLS.find(tool => tool.name === name),
  )
}

test('an empty top level names the packages that have names, and how to ask for one', async () => {
  const text = await said('list_globals', {})
  assert.match(text, /^no names in COMMON-LISP-USER; packages that have names: SHOP\n/)
  assert.match(text, '\nnext: list_globals {"package":"SHOP"}')
  assert.match(await said('list_globals', { package: 'shop' }), '\nshop::*orders*: hash-table\n')
  assert.match(await said('list_globals', { modules: true, filter: 'shop' }), '\nshop: package')
})

test('a class is told as a Lisp programmer asks for it', async () => {
  assert.is(
    await said('class_slots', { name: 'shop:order' }),
    [
      'shop:order · 2 slots',
      'from shop:order:',
      "  shop::lines  :initarg :lines  :accessor shop:order-lines  :initform 'nil",
      '    Lines.',
      '  shop::id  :initarg :id  :reader shop::order-id  :type integer',
    ].join('\n'),
  )
  const hierarchy = await said('class_hierarchy', { name: 'shop:order' })
  assert.match(hierarchy, '\ndirect superclasses: shop::thing\n')
  assert.match(hierarchy, '\nclass precedence list: shop::thing → standard-object')
})

test('a call is told with its operator within the brackets', async () => {
  const ship = '(shop:ship order &optional (where "here") &key fast)'
  assert.match(await said('function_arglist', { name: 'shop:ship' }), ship)
  assert.match(await said('complete', { text: '(shop:ship 1 ' }), `in ${ship}, at parameter 2`)
  assert.match(
    await said('function_arglist', { name: 'shop:order' }),
    "(make-instance 'shop:order &key (lines 'nil) id)",
  )
})

test('packages, tables, conditions and slots are called that', async () => {
  assert.match(await said('describe_symbol', { name: 'shop:' }), /^SHOP · package/)
  assert.match(await said('describe_symbol', { name: 'shop:ship' }), '\npackage: SHOP\n')
  assert.match(
    await said('apropos_search', { pattern: 'order-lines' }),
    'packages searched\nshop:order-lines  generic function',
  )
  assert.match(await said('inspect', { expr: 'shop::*orders*' }), 'hash-table · table')
  assert.match(
    await said('inspect', { expr: 'shop::*stuck*' }),
    /shop::out-of-stock · condition[\s\S]*\ncondition: /,
  )
  assert.match(await said('inspect', { expr: 'shop::*order*' }), '\nslots: id, lines')
  assert.match(await said('symbol_definition', { symbols: ['shop:total'] }), '\ngeneric function · ')
})

test('names are read in the package that inspect and symbol_definition are given', async () => {
  assert.match(await said('symbol_definition', { symbols: ['ship'], package: 'shop' }), '(defun ship (order')
  assert.match(await said('inspect', { expr: '*orders*', package: 'shop' }), /^hash-table · table/)
  assert.match(
    await said('inspect', { expr: "(slot-value *order* 'id)", package: 'shop' }),
    /^fixnum · number\nrepr: 3$/m,
  )
})

test('what to do next is said in the words of Lisp', async () => {
  for (const [tool, args] of [
    ['describe_symbol', { name: 'shop:oder' }],
    ['symbol_definition', { symbols: ['shop:oder'] }],
  ] as const) {
    const text = await said(tool, args)
    assert.match(text, 'Nearest: shop:order.')
    assert.match(text, '\nnext: A name has its package, such as `shop:total`')
  }
  assert.not.match(await said('describe_symbol', { name: 'shop:(' }), 'shop.Order')
})

test('an error is said once: its message in the first line, then the restarts and the frames', async () => {
  const text = await said('eval_expr', { expr: '(list (shop:total shop::*order*))' })
  assert.match(text, /^exception: type-error: The value/)
  assert.is(text.split('is not of type').length, 2, text)
  assert.not.match(text, 'Condition of type')
  assert.match(text, /\(in \(method (shop:)?total [\s\S]*program\.lisp:13\)/)
  assert.match(text, /\n {2}Backtrace:\n {4}0: \(sb-kernel:two-arg-\*/)
  assert.match(text, /\nlocals of \(method (shop:)?total /)
})

test('a search for the empty text gives all names, a page at a time', async () => {
  const text = await said('apropos_search', { pattern: '', package: 'shop', limit: 3 })
  assert.match(text, /^3 of \d+ names; for more: after/)
})

test('the threads of a Lisp are told without tasks and frames that it has none of', async () => {
  const text = await said('threads', {})
  assert.match(text, /^\d+ threads?(\n|$)/)
  assert.not.match(text, 'no frames')
})
