import type { Looked } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { contents, type Inspecting, openInspecting } from '../support/lisp-inspecting.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('looking at Lisp values', { limitMs: 40_000 })
let swank: RealSwank
let at: Inspecting

test.before(async () => {
  swank = await startSwank()
  at = await openInspecting(swank)
  await at.define(`
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
    (defparameter both :value)`)
})
test.after(() => {
  at?.lisp.end()
  swank?.kill()
})

const text = async (expr: string) => contents((await at.inspect(expr)).repr).text
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
    order: ['class', 'members doc handle'],
    '(find-package "CL-USER")': ['module', 'members doc handle'],
    '*standard-output*': ['object', 'sample members handle'],
  }
  for (const [expr, [kind, sections]] of Object.entries(kinds)) {
    const value = await at.inspect(expr)
    assert.is(value.kind, kind, expr)
    assert.is(value.read, 'static')
    const always = ['type', 'kind', 'read', 'repr', 'limits']
    assert.equal(
      Object.keys(value).filter(section => !always.includes(section)),
      sections.split(' ').filter(Boolean),
      expr,
    )
  }
})

test('a name is a value before it is a function, a class or a package', async () => {
  assert.is(await text('both'), ':value')
  assert.is(await text("#'both"), '#<function both>')
  assert.is(await text('area'), '#<function area>')
  assert.is(await text('order'), '#<standard-class order>')
  assert.is(await text('cl-user'), '#<package "COMMON-LISP-USER">')
  assert.is(await text('swank:'), '#<package "SWANK">')
  assert.is(await text('cl:car'), '#<function car>')
  assert.is(await text('when'), '#<function (macro-function when)>')
  assert.is(await text('*package*'), '#<package "COMMON-LISP-USER">')
  assert.is(await text("'order"), 'order')
  assert.is(await text('\'(order "a" 1)'), '(order "a" 1)')
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
  for (const [expr, shown] of Object.entries(places)) assert.is(await text(expr), shown, expr)
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
    const looked = await at.looked(expr)
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
    const looked = await at.looked(expr)
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
    const looked = await at.looked(expr)
    if (looked.type !== 'malformed') throw new Error(`${expr}: ${JSON.stringify(looked)}`)
    assert.match(looked.message, message)
    assert.equal([looked.line, looked.column], [line, column], expr)
    assert.is((await at.looked(expr || '(', true)).type, 'malformed', expr)
  }
})

test('what is evaluated is shown by its own printer, and a listener’s variables stay as they are', async () => {
  await at.define(`
    (defmethod print-object ((point point) stream) (format stream "<~A>" (point-y point)))
    (defclass broken () ((id :initform 7)))
    (defmethod print-object ((broken broken) stream) (error "no ~A" :print))
    (defclass endless () ((id :initform 8)))
    (defmethod print-object ((endless endless) stream) (loop))
    (defclass talkative () ((id :initform 9)))
    (defmethod print-object ((talkative talkative) stream) (loop (write-string "and so on, " stream)))
    (+ 40 2)`)
  const evaluated = async (expr: string) => {
    const looked = await at.looked(expr, true)
    if (looked.type !== 'found') throw new Error(JSON.stringify(looked))
    assert.is(looked.value.read, 'evaluated')
    return contents(looked.value.repr)
  }
  assert.is((await evaluated('(list *point* (area 1 2))')).text, '(<2> (2 :m))')
  assert.is(await text('*point*'), '#S(point :x nil :y 2)')
  const broken = await evaluated("(make-instance 'broken)")
  assert.is(broken.text, '#<broken :id 7>')
  assert.match(broken.error ?? '', /printer of broken failed: .*no ~A/)
  const endless = await evaluated("(make-instance 'endless)")
  assert.is(endless.text, '#<endless :id 8>')
  assert.match(endless.error ?? '', /took longer/)
  assert.ok((await evaluated("(make-instance 'talkative)")).truncated)
  assert.is(await text('*'), '42')
  const raised = await at.looked('(error "not ~A" 1)', true)
  assert.is(raised.type === 'raised' && raised.exception.message, 'not 1')
})

test('an expression that does not end ends with its time', async () => {
  const query = { expr: '(loop)', evaluate: true, call: 'look-loop', deadline_ms: 300 }
  assert.equal(await at.lisp.peer.call('inspect', query), { type: 'timed_out', deadline_ms: 300 })
  assert.is(await text('(car *numbers*)'), '0')
})

test('a container tells its size and its first items, and where the rest is', async () => {
  const numbers = await at.inspect('*numbers*')
  assert.equal(numbers.size, { len: 100 })
  const sample = contents(numbers.sample)
  assert.equal(sample.items, [
    '0',
    '1',
    '2',
    '3',
    '4',
    '5',
    '6',
    '7',
    '8',
    '9',
    '10',
    '11',
    '12',
    '13',
    '14',
    '15',
  ])
  assert.equal([sample.shown, sample.total, sample.truncated], [16, 100, true])
  const rest = await at.more(sample.handle ?? '', 16, 1000)
  if (rest.type !== 'found' || rest.value.type !== 'items') throw new Error(JSON.stringify(rest))
  assert.equal([rest.value.items.length, rest.value.items[0], rest.value.next], [84, '16', null])

  const grid = await at.inspect('*grid*')
  assert.equal(grid.size, { shape: [2, 3] })
  assert.equal(contents(grid.sample).items, ['1', '2', '3', '4', '5', '6'])

  const table = await at.inspect('*table*')
  assert.equal(table.size, { len: 31 })
  assert.is(contents(table.sample).items[0], '"key 0" => (0 0)')
  const more = await at.more(contents(table.sample).handle ?? '', 30, 10)
  assert.ok(more.type === 'found' && more.value.type === 'items' && more.value.next === null)
  assert.equal(more.value.items, [':other => #<order :customer "Ada" :lines (:tea :milk) :total #<unbound>>'])
})

test('an instance tells its slots, a class its slots and documentation', async () => {
  const order = await at.inspect('*order*')
  assert.equal(order.type, { name: 'order', module: 'COMMON-LISP-USER', qualified: 'cl-user::order' })
  assert.equal(contents(order.sample).items, [
    'customer = "Ada"',
    'lines = (:tea :milk)',
    'total = #<unbound>',
  ])
  assert.equal(contents(order.members).data, ['customer', 'lines', 'total'])
  assert.is(contents(order.doc).text, 'What one customer wants.')
  const cls = await at.inspect('order')
  assert.equal(contents(cls.members).data, ['customer', 'lines', 'total'])
  assert.is(contents(cls.doc).text, 'What one customer wants.')
})

test('a function tells how it is called, and a closure what it keeps', async () => {
  const area = contents((await at.inspect("#'area")).callable)
  assert.is(area.signature, '(width height &key (unit :m))')
  assert.is(area.module, 'COMMON-LISP-USER')
  assert.is(area.doc, 'Multiplies them.')
  assert.match(area.source_preview ?? '', /^\(defun area \(width/)
  await at.define(`
    (defparameter *closure* (let ((count 0) (kept (list :a))) (lambda (x) (incf count x) kept)))
    (funcall *closure* 5)
    (defgeneric price (thing))
    (defmethod price ((thing integer)) thing)`)
  const kept = contents((await at.inspect('*closure*')).sample).items
  assert.equal([...kept].sort(), ['(:a)', '5'])
  assert.equal(contents((await at.inspect("#'price")).sample).items, ['#<standard-method price (integer)>'])
})

test('a condition tells its slots, and its message only where that runs nothing', async () => {
  await at.define(`
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
    const value = await at.inspect(name)
    assert.is(value.kind, 'exception')
    return contents(value.exception)
  }
  assert.equal(await facts('*refused*'), { exc_type: 'refused', message: null, traceback: null })
  assert.equal(contents((await at.inspect('*refused*')).sample).items, ['by = :them'])
  assert.is((await facts('*simple*')).message, 'no 1 of "two"')
  for (const name of ['*calling*', '*holding*', '*huge*']) assert.is((await facts(name)).message, null, name)
})

test('lists that have no length are looked at all the same', async () => {
  await at.define(`
    (defparameter *circle* (let ((l (list 1 2 3))) (setf (cdddr l) l)))
    (defparameter *dotted* (list* 1 2 3))
    (defparameter *tail* (let ((l (list 1 2 3 4 5))) (setf (cdr (last l)) (cddr l)) l))`)
  const circle = await at.inspect('*circle*')
  assert.equal(circle.size, {})
  assert.equal([contents(circle.sample).total, contents(circle.sample).truncated], [null, true])
  const more = await at.more(contents(circle.sample).handle ?? '', 1_000_000, 3)
  assert.ok(more.type === 'found' && more.value.type === 'items')
  assert.equal(more.value.items, ['2', '3', '1'])
  const dotted = await at.inspect('*dotted*')
  assert.equal(dotted.size, {})
  assert.equal(contents(dotted.sample).items, ['1', '2', '. 3'])
  assert.equal((await at.inspect('*tail*')).size, {})
})

test('the rest of a text is read by characters, and of a string by its own', async () => {
  await at.define(`
    (defparameter *string* (format nil "~{~36R~}" (loop for i below 5000 collect i)))
    (defparameter *strings* (loop repeat 90 collect (make-string 90 :initial-element #\\y)))`)
  const { handle = '', repr } = await at.inspect('*string*')
  const whole = contents(repr).text
  const piece = await at.more(handle, 100, 50)
  if (piece.type !== 'found' || piece.value.type !== 'text') throw new Error(JSON.stringify(piece))
  assert.is(piece.value.text, whole.slice(101, 151))
  assert.is(piece.value.next, 150)
  const strings = contents((await at.inspect('*strings*')).repr)
  const next = await at.more(strings.handle ?? '', 4090, 100)
  if (next.type !== 'found' || next.value.type !== 'text') throw new Error(JSON.stringify(next))
  assert.is(next.value.text.slice(0, 5), strings.text.slice(4090, 4095))
  assert.is(next.value.text.length, 100)
  assert.is(next.value.total, 90 * 93 + 1)
})

test('one value keeps one handle, and the oldest make room', async () => {
  const first = (await at.inspect('*order*')).handle ?? ''
  assert.is((await at.inspect('*order*')).handle, first)
  assert.is(await text(first), await text('*order*'))
  assert.is(await text(`(slot-value ${first} 'customer)`), '"Ada"')
  await at.define("(defparameter *many* (coerce (loop repeat 600 collect (list 1)) 'vector))")
  for (let index = 0; index < 600; index++) await at.inspect(`(aref *many* ${index})`)
  const stale = await at.looked(first)
  assert.match(stale.type === 'stale_handle' ? stale.because : '', /made room/)
  assert.is((await at.looked('@ffff.1')).type, 'stale_handle')
  assert.is((await at.more('nonsense', 0, 1)).type, 'stale_handle')
})
