import { utimesSync } from 'node:fs'
import { TOOLS } from '../../tools/index.ts'
import { showEnvelope } from '../../tools/show.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('what the tools say of a real Lisp, in the words of Lisp', { limitMs: 60_000 })

const PROGRAM = `
(defpackage :shop (:use :cl) (:export #:order #:order-lines #:ship #:total #:*rate*))
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
(defpackage :shop-web (:use :cl))
(defpackage "My Shop" (:use :cl))
(in-package :cl-user)
(defvar shop:*rate* 3)
(defvar shop::*hidden*)
(defun shop::subtotal (order) order)
(defun shop::|weird name| () 1)
(defun shop::|a:b| () 2)
(defun shop::|Mixed| () 3)
(defun shop::größe () 4)
(defun shop::日本 () 5)
(defun |My Shop|::|open (now)| () 6)
`

let lisp: AttachedLisp
test.before(async () => {
  lisp = await openAttachedLisp()
  resultOf(await lisp.run('load_file', { path: lisp.put('program.lisp', PROGRAM) }))
})
test.after(() => lisp?.close())

async function said(name: string, args: object = {}): Promise<string> {
  return showEnvelope(
    await lisp.run(name, args),
    TOOLS.find(tool => [tool.name, ...tool.aliases].includes(name)),
  )
}

test('an empty top level names the packages that have names, and how to ask for one', async () => {
  const text = await said('list_globals', {})
  assert.match(text, /^no names in COMMON-LISP-USER; packages that have names: .*SHOP\b/)
  assert.match(text, '\nnext: list_globals {"package":')
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
  assert.match(hierarchy, '\nclass precedence list: shop:order → shop::thing → standard-object')
})

test('what a value holds is shown where its text only names it', async () => {
  await lisp.run('eval_expr', {
    expr: `(progn (defvar shop::*prices* (let ((table (make-hash-table))) (setf (gethash :tea table) 3) table))
             (defvar shop::*lock* (sb-thread:make-mutex :name "till"))
             (defvar shop::*count* (let ((count 41)) (lambda () (incf count))))
             (defgeneric shop::weigh (thing)) (defmethod shop::weigh ((thing number)) thing)
             (defstruct shop::crate size) (defvar shop::*crate* (shop::make-crate :size 3)))`,
  })
  const inspected = (expr: string) => said('inspect', { expr })
  assert.match(
    await inspected('shop::*prices*'),
    '\nrepr: #<hash-table :test eql :count 1>\nsample (all 1):\n  :tea => 3',
  )
  assert.match(await inspected('shop::*lock*'), /\nrepr: #<sb-thread:mutex "till">\n[\s\S]* state = 0\n/)
  assert.match(await inspected('shop::*count*'), '\nsample (all 1):\n  41')
  assert.match(
    await inspected("#'shop::weigh"),
    '\nsample (all 1):\n  #<standard-method shop::weigh (number)>',
  )
  assert.match(await inspected('shop:order'), '\nsample (all 1):\n  superclass shop::thing\nslots: id, lines')
  assert.not.match(await inspected('shop::*crate*'), 'sample')
})

test('what is no value is told as what it is', async () => {
  await lisp.run('eval_expr', {
    expr: `(progn (defsetf shop::lid (crate) (new) (list 'list crate new)) (defvar shop::*later*)
             (deftype shop::tiny () 'bit))`,
  })
  const told = async (expr: string) => errorOf(await lisp.run('inspect', { expr })).message
  assert.match(await told('shop::tiny'), 'shop::tiny as a value: it is a type, defined by deftype.')
  assert.match(await told('shop::lid'), 'it is what (setf shop::lid) is for, by a setf expander.')
  assert.match(await told('shop::*later*'), 'it is a variable without a global value.')
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

test('a macro, a type, an array and a package are told as what they are', async () => {
  await lisp.run('eval_expr', {
    expr: `(progn (defmacro shop::twice (x) x) (deftype shop::small () 'integer)
             (defvar shop::*grid* (make-array '(9 9) :element-type 'double-float :initial-element 1d0)))`,
  })
  assert.is(
    await said('who_calls', { name: 'shop::twice' }),
    'shop::twice · a macro: code does not call it, so it has no callers\nnext: who_references {"name":"shop::twice"}',
  )
  assert.match(await said('describe_symbol', { name: 'shop::small' }), 'shop::small · type')
  const grid = await said('inspect', { expr: 'shop::*grid*' })
  assert.match(grid, /^\(simple-array double-float \(9 9\)\) · sequence · shape \(9, 9\)/)
  assert.match(grid, /\nsample \(first 16 of 81; more: read_more @/)
  assert.ok(grid.length < 600, grid)
  const shop = await said('inspect', { expr: 'shop:' })
  assert.match(
    shop,
    /^package · package · @.*\nrepr: #<package "SHOP">\nsample \(all 5\):\n {2}\*rate\* {2}variable\n/,
  )
  assert.match(shop, '\n  order-lines  generic function\n')
  assert.match(await said('complete', { text: '(sub', package: 'shop' }), '\nsubtotal  function')
  assert.match(await said('complete', { text: '(m-v-b' }), '\nmultiple-value-bind  macro')
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

test('the threads of a Lisp are told without tasks and frames that it has none of', async () => {
  const text = await said('threads', {})
  assert.match(text, /^\d+ threads?(\n|$)/)
  assert.not.match(text, 'no frames')
})

/** What went wrong in code that ran, as it is told. */
async function raised(tool: string, args: object) {
  const { code, message, details } = errorOf(await lisp.run(tool, args))
  assert.is(code, 'exception', message)
  const { exception } = details as {
    exception: { notes?: string[]; traceback: string; restarts: { name: string; description: string }[] }
  }
  return { ...exception, message }
}

test('an unbound variable, an undefined function and a missing package are told with what is nearest', async () => {
  for (const [expr, said, nearest] of [
    ['shop::*rat*', /The variable SHOP::\*RAT\* is unbound/, /shop:\*rate\*/],
    ['(shop::totl 1)', /The function SHOP::TOTL is undefined/, /shop:total/],
    ['(shp:total 1)', /Package SHP does not exist/, /SHOP/],
  ] as const) {
    const { message, notes = [], traceback } = await raised('eval_expr', { expr })
    assert.match(message, said)
    assert.match(notes.join(), nearest)
    assert.match(traceback, nearest)
  }
})

test('what a locked package forbids is told as such, with the ways to go on, and is not done', async () => {
  for (const tool of ['eval_expr', 'compile_form']) {
    const { message, restarts } = await raised(tool, {
      [tool === 'eval_expr' ? 'expr' : 'form']: '(defun cl:car (x) x)',
    })
    assert.match(
      message,
      /symbol-package-locked-error: Lock on package COMMON-LISP violated when [\s\S]*\bCAR\b/,
    )
    assert.ok(restarts.some(({ description }) => description === 'Unlock the package.'))
    assert.ok(restarts.some(({ description }) => description === 'Ignore the package lock.'))
  }
  const made = resultOf(await lisp.run('compile_form', { form: '(defvar cl::no-such-variable 1)' }))
  assert.is(made.compiled, false)
  assert.match(
    JSON.stringify(made.diagnostics),
    /Lock on package COMMON-LISP violated when interning NO-SUCH-VARIABLE/,
  )
  assert.is(await lisp.ask("(funcall 'car (list 1 2))"), '1')
  assert.is(await lisp.ask('(not (find-symbol "NO-SUCH-VARIABLE" :cl))'), 'T')
})

const DEBUGGED = `
(defpackage :till (:use :cl))
(in-package :till)
(declaim (optimize (debug 3)))
(defun price (item) (ecase item (:tea 3)))
(defun total (items) (let ((sum 0)) (dolist (item items sum) (incf sum (price item)))))
(defun checkout (items)
  (restart-case (list :paid (total items))
    (give-away (amount)
      :report "Take another amount."
      :interactive (lambda () (list 0))
      (list :given amount))))
`
const BUY = { expr: '(till::checkout (list :tea :milk))' }

interface State {
  readonly suspension: { readonly id: string; readonly how: string; readonly level: number }
  readonly restarts: readonly { readonly number: number; readonly name: string }[]
  readonly frames: readonly { readonly number: number; readonly function: string }[]
}

const value = async (name: string, args: object) => resultOf(await lisp.run(name, args)).value_repr

/** The name of a new suspension, by an error in the shop. */
async function stopped(): Promise<string> {
  const { code, details } = errorOf(await lisp.run('eval_expr', BUY))
  assert.is(code, 'exception')
  return (details.suspension as { id: string }).id
}

const state = async (args: object = {}) => resultOf(await lisp.run('debug_state', args)) as unknown as State

/** The number of the frame in which that function was called. */
async function frameOf(name: RegExp): Promise<number> {
  const { frames } = await state({ count: 100 })
  const found = frames.find(frame => name.test(frame.function))
  assert.ok(found, `no ${name} among ${frames.map(frame => frame.function).join(', ')}`)
  return found.number
}

test('an error is examined, its function defined anew, and the old call goes on with the new one', async () => {
  while ((await lisp.run('debug_restart', { leave: true })).ok);
  resultOf(await lisp.run('load_file', { path: lisp.put('till.lisp', DEBUGGED) }))
  await stopped()
  const text = await said('debug_state')
  assert.match(text, /\d: \[GIVE-AWAY\] Take another amount\./)
  assert.match(text, /^ +\d+: \(till::total \(:tea :milk\)\) at .*till\.lisp:\d+$/m)
  const frame = await frameOf(/^till::total$/)
  assert.match(await said('debug_frame', { frame }), / items \(argument\) = \(:tea :milk\)/i)
  assert.is(await value('debug_eval', { frame, expr: '(list sum (length items))' }), '(3 2)')
  resultOf(
    await lisp.run('compile_form', {
      form: '(defun price (item) (ecase item (:tea 3) (:milk 1)))',
      package: 'TILL',
    }),
  )
  assert.is(await value('debug_restart', { restart_frame: await frameOf(/^till::price$/) }), '(:paid 4)')
  assert.is(errorOf(await lisp.run('debug_state')).code, 'not_found')
  resultOf(
    await lisp.run('compile_form', { form: '(defun price (item) (ecase item (:tea 3)))', package: 'TILL' }),
  )
})

test('on_error end suspends nothing, and hold is what a Lisp does anyhow', async () => {
  assert.is(errorOf(await lisp.run('eval_expr', { ...BUY, on_error: 'end' })).details.suspension, undefined)
  const { details } = errorOf(await lisp.run('eval_expr', { ...BUY, on_error: 'hold' }))
  assert.is((details.suspension as { how: string }).how, 'held')
  resultOf(await lisp.run('debug_restart', { leave: true }))
})

test('a definition is shown as what runs, and a file that says something else by now is told first', async () => {
  const file = lisp.put(
    'prices.lisp',
    '(defun cl-user::price (x) (list x 19))\n(defgeneric cl-user::rate (x))\n',
  )
  await lisp.run('eval_expr', { expr: `(load "${file}")` })
  lisp.put(
    'prices.lisp',
    ';;; new\n(defun cl-user::price (x) (list x 22))\n(defgeneric cl-user::rate (x y))\n',
  )
  utimesSync(file, 1_700_000_000, 1_700_000_000)
  const price = await said('symbol_definition', { symbols: ['cl-user::price'] })
  assert.match(
    price,
    'The file has changed since; another text of that name is on line 2 now. Shown is what runs',
  )
  assert.match(price, '(list x 19)')
  assert.not.match(price, '22')
  const inspected = await said('inspect', { expr: "#'cl-user::price" })
  assert.match(
    inspected,
    /another text of that name is on line 2 now.*\nsource:\n\(defun price \(x\) \(list x 19\)\)/s,
  )
  const rate = await said('symbol_definition', { symbols: ['cl-user::rate'] })
  assert.match(
    rate,
    'Whether this is what runs cannot be told: the file was written after this was loaded from it',
  )
  await lisp.run('eval_expr', { expr: `(load (compile-file "${file}"))` })
  lisp.put('prices.lisp', '(defun cl-user::price (x y) (list x y))')
  utimesSync(file, 1_700_000_100, 1_700_000_100)
  const differs = await said('symbol_definition', { symbols: ['cl-user::price'] })
  assert.match(
    differs,
    /not what runs:\*\* it has changed since this was loaded\.\n.*\nThe image runs one that takes \(x\)\./,
  )
  assert.match(
    await said('inspect', { expr: "#'cl-user::price" }),
    "source: not shown, for the file's text is not what runs. The image runs one that takes (x).",
  )
})

test('a system that fails says file, line and cause first, and neither frames of ASDF nor notes', async () => {
  const failing = async (name: string, tax: string) => {
    const files = '(:file "prices") (:file "tax" :depends-on ("prices"))'
    lisp.put(`${name}/${name}.asd`, `(asdf:defsystem "${name}" :components (${files}))`)
    lisp.put(`${name}/prices.lisp`, '(defun cl-user::price (x) (declare (optimize speed)) (* x 2))')
    const path = lisp.put(`${name}/tax.lisp`, tax)
    resultOf(
      await lisp.run('eval_expr', { expr: `(push #p"${lisp.root}/${name}/" asdf:*central-registry*)` }),
    )
    const text = await said('load_system', { system: name })
    assert.ok(text.length < 2_200, `${text.length} characters`)
    assert.not.match(text, /asdf\/|note:|float|more\./)
    return text.replaceAll(path, 'tax.lisp')
  }
  const read = await failing('unread', '(in-package :cl-user)\n\n(defun tax (x) (foo:bar x))')
  assert.match(read, /^exception: tax\.lisp:3: Package FOO does not exist\.\n.*compile-file-error/)
  const compiled = await failing(
    'uncompiled',
    '(in-package :cl-user)\n(defun unused (x) 3)\n(defun tax (x) (+ x "a"))\n(defun rate () (if))',
  )
  assert.match(compiled, /^exception: tax\.lisp:4: Error while parsing arguments to special operator IF/)
  assert.match(compiled, /\nerror: .*tax\.lisp:4:\d+\n/)
  assert.match(compiled, /\nwarning: Constant "a" conflicts/)
  const raised = await failing('raised', '(in-package :cl-user)\n(defvar *rate* (/ 1 (length (list))))')
  assert.match(raised, /^exception: tax\.lisp:2: division-by-zero: /)
  assert.match(raised, /\n {2}Backtrace:\n {4}1: .* at tax\.lisp:2\nrestarts/)
})
