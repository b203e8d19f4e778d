import { spawnSync } from 'node:child_process'
import type { Kernel, LookName, Looks } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate } from '../support/heard.ts'
import { ECL } from '../support/snippets-lisp.ts'
import { SUSPENDING_ECL } from '../support/snippets-suspending.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { kernelSuite } from './kernel-suite.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

/** All facts on a real ECL, for what it can do; they share one image. */
const title = 'ECL, attached, Swank'
let started: Promise<RealSwank> | undefined
const open = async (): Promise<Kernel> => {
  started ??= startSwank({ lisp: 'ecl' })
  return openSwankKernel(await started)
}

if (spawnSync('ecl', ['--version']).status === 0) {
  kernelSuite({ title, snippets: ECL, open, descriptors: "the program's" })
  suspensionSuite({ title, snippets: SUSPENDING_ECL, open })
  ownFacts()
} else
  suite(title).skip('the facts of every kernel', 'there is no ecl here: install the package of that name')

/** What ECL keeps otherwise than SBCL. */
function ownFacts(): void {
  const test = suite('ECL, by itself')
  let kernel: Kernel
  test.before(async () => {
    kernel = await open()
    await run('(defpackage :shop (:use :cl) (:export :fee))')
    await run('(defun shop:fee (order) (* 2 order))')
  })
  test.after(() => kernel?.close())
  const run = (source: string) => evaluate(kernel, source).result
  const look = async <Name extends LookName>(name: Name, query: Looks[Name]['query']) => {
    const looked = await kernel.look(name, query, { deadlineMs: 20_000 })
    if (looked.type !== 'found') throw new Error(`${name}: ${JSON.stringify(looked)}`)
    return looked.value
  }

  test('it says which version it is', () => assert.match(kernel.identity.implementation, /^ECL \d+\.\d+/))

  test('documentation is told as it was kept, of whatever has some', async () => {
    await run(`
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
      const done = await run(source)
      return done.type === 'done' ? done.readtable : done.type
    }
    assert.is(await told('(+ 1 2)'), 'standard')
    assert.is(
      await told("(progn (setf *readtable* (copy-readtable)) (set-macro-character #\\$ 'shop::dollar) 1)"),
      'with $',
    )
    assert.is(await told('(progn (setf *readtable* (copy-readtable nil)) 1)'), 'with #!')
  })

  test('can be left, and joined again', async () => {
    await kernel.close()
    kernel = await open()
    const done = await run('(shop:fee 21)')
    if (done.type !== 'done') throw new Error(JSON.stringify(done))
    assert.is(done.values[0]?.repr?.text, '42')
  })
}
