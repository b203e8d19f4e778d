import { spawnSync } from 'node:child_process'
import type { CallId, EvalEvent, Evaluated, LookName, Looks } from '../../wire/kernel.ts'
import type { SwankKernel } from '../../wire/kernels/swank.ts'
import { assert, suite } from '../support/harness.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

const test = suite('an attached ECL')

let image: RealSwank
let kernel: SwankKernel
let calls = 0

async function evaluate(source: string, heard: EvalEvent[] = []): Promise<Evaluated> {
  const call = `ecl-${++calls}` as CallId
  return kernel.evaluate(
    { call, work: { type: 'source', source }, who: 'test' },
    { on: event => heard.push(event) },
  )
}

async function look<Name extends LookName>(name: Name, query: Looks[Name]['query']) {
  const looked = await kernel.look(name, query, { deadlineMs: 20_000 })
  if (looked.type !== 'found') throw new Error(`${name}: ${JSON.stringify(looked)}`)
  return looked.value
}

if (spawnSync('ecl', ['--version']).status !== 0)
  test.skip('evaluates, inspects and lists', 'there is no ecl here: install the package of that name')
else {
  test.before(async () => {
    image = await startSwank({
      lisp: 'ecl',
      forms: ['(defpackage :shop (:use :cl) (:export :fee))', '(defun shop:fee (order) (* 2 order))'],
    })
    kernel = await openSwankKernel(image)
  })
  test.after(() => image.kill())

  test('says what it is, and what it cannot do is not among what it can', () => {
    assert.match(kernel.identity.implementation, /^ECL \d+\.\d+/)
    assert.ok(kernel.identity.abilities.has('evaluate'))
    assert.not.ok(kernel.identity.abilities.has('callers'))
    // What it is asked for elsewhere is in kernels-ecl.test.ts of the wire.
    assert.not.ok(kernel.identity.abilities.has('definition'))
  })

  test('evaluates: values, output in order, and what was raised', async () => {
    const heard: EvalEvent[] = []
    const done = await evaluate(
      '(progn (write-line "one") (write-line "two" *error-output*) (values 1 "b"))',
      heard,
    )
    assert.is(done.type, 'done')
    if (done.type === 'done')
      assert.equal(
        done.values.map(value => value.repr?.text),
        ['1', '"b"'],
      )
    const output = heard.flatMap(event => (event.type === 'output' ? [event] : []))
    // How much of it comes at once depends on when it was written.
    const text = (stream: string) => output.map(event => (event.stream === stream ? event.text : '')).join('')
    assert.equal([text('stdout'), text('stderr')], ['one\n', 'two\n'])
    assert.is(output.map(event => event.text).join(''), 'one\ntwo\n')
    const raised = await evaluate('(error "no ~A" 7)')
    assert.is(raised.type, 'raised')
    if (raised.type === 'raised') assert.is(raised.exception.message, 'no 7')
  })

  test('inspects a list by its stored parts', async () => {
    await evaluate('(defparameter shop::*orders* (list 1 "two" #\\3))')
    const seen = await look('inspect', { expr: 'shop::*orders*', evaluate: false })
    assert.is(seen.kind, 'sequence')
    assert.is(seen.read, 'static')
  })

  test('lists the names of a package, and finds one among all', async () => {
    const page = await look('symbols', { module: 'SHOP', internal: false, limit: 10 })
    assert.equal(
      page.symbols.map(({ name }) => name.toLowerCase()).filter(name => name.endsWith('fee')).length,
      1,
    )
    const found = await look('apropos', { pattern: 'fee', module: 'SHOP', limit: 10 })
    assert.is(found.matches.length, 1)
  })

  test('documentation is told as it was kept, of whatever has some', async () => {
    await evaluate(`
(defclass shop::order () () (:documentation "What one wants."))
(defstruct shop::parcel "A box." size)
(defvar shop::*rate* 19 "Per cent.")
(defgeneric shop::price (order) (:documentation "What it costs."))
(defmacro shop::with-order (order) "Once." order)
(defmethod documentation ((symbol (eql 'shop::order)) (kind t)) (error "I was asked."))`)
    for (const [name, doc] of [
      ['order', 'What one wants.'],
      ['parcel', 'A box.'],
      ['*rate*', 'Per cent.'],
      ['price', 'What it costs.'],
      ['with-order', 'Once.'],
    ] as const)
      assert.match((await look('describe', { name: `shop::${name}` })).doc?.text ?? '', doc)
  })

  test('its threads are listed, those whose names are symbols among them', async () => {
    const { threads } = await look('threads', { limit: 50, frames: 5, locals: false })
    const names = threads.flatMap(thread => thread.names)
    assert.ok(
      names.some(name => /top-level/i.test(name)),
      names.join(),
    )
    const some = await look('threads', { limit: 50, frames: 5, locals: false, filter: 'TOP-level' })
    assert.is(some.threads.length, 1)
  })

  test('its readtable is told as changed when it is', async () => {
    const told = async (source: string) => {
      const done = await evaluate(source)
      return done.type === 'done' ? done.readtable : done.type
    }
    assert.is(await told('(+ 1 2)'), 'standard')
    assert.is(
      await told("(progn (setf *readtable* (copy-readtable)) (set-macro-character #\\$ 'shop::dollar) 1)"),
      'with $',
    )
    assert.is(await told('(progn (setf *readtable* (copy-readtable nil)) 1)'), 'with #!')
  })

  test('a stack is told by the names of what runs', async () => {
    const raised = await evaluate(
      '(defun shop::fails () (list (error "no")))\n(defun shop::asks () (list (shop::fails)))\n(list (shop::asks))',
    )
    if (raised.type !== 'raised') throw new Error(raised.type)
    assert.equal(
      raised.exception.frames.map(frame => frame.function),
      ['shop::asks', 'shop::fails'],
    )
  })

  test('can be left, and joined again', async () => {
    await kernel.close()
    kernel = await openSwankKernel(image)
    const done = await evaluate('(shop:fee 21)')
    if (done.type !== 'done') throw new Error(JSON.stringify(done))
    assert.is(done.values[0]?.repr?.text, '42')
  })
}
