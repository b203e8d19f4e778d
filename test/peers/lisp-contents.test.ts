import { assert, suite } from '../support/harness.ts'
import { contents, type Inspecting, ORDERS, openInspecting } from '../support/lisp-inspecting.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('what Lisp values hold')
let swank: RealSwank
let at: Inspecting

test.before(async () => {
  swank = await startSwank()
  at = await openInspecting(swank)
  await at.define(ORDERS)
})
test.after(() => {
  at?.lisp.end()
  swank?.kill()
})

const text = async (expr: string) => contents((await at.inspect(expr)).repr).text

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
