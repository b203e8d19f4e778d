import { TOOLS } from '../../tools/index.ts'
import { showEnvelope } from '../../tools/show.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('a suspended evaluation in a real Lisp, by its tools', { limitMs: 60_000 })

const PROGRAM = `
(defpackage :shop (:use :cl))
(in-package :shop)
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
const BUY = { expr: '(shop::checkout (list :tea :milk))' }

let lisp: AttachedLisp

test.before(async () => {
  lisp = await openAttachedLisp()
  resultOf(await lisp.run('load_file', { path: lisp.put('shop.lisp', PROGRAM) }))
})
test.after(() => lisp?.close())

interface State {
  readonly suspension: { readonly id: string; readonly how: string; readonly level: number }
  readonly restarts: readonly { readonly number: number; readonly name: string }[]
  readonly frames: readonly { readonly number: number; readonly function: string }[]
}

async function said(name: string, args: object = {}): Promise<string> {
  return showEnvelope(
    await lisp.run(name, args),
    TOOLS.find(tool => tool.name === name),
  )
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
  await stopped()
  const text = await said('debug_state')
  assert.match(text, /\d: \[GIVE-AWAY\] Take another amount\./)
  assert.match(text, /^ +\d+: \(shop::total \(:tea :milk\)\) at .*shop\.lisp:\d+$/m)
  const frame = await frameOf(/^shop::total$/)
  assert.match(await said('debug_frame', { frame }), / items \(argument\) = \(:tea :milk\)/i)
  assert.is(await value('debug_eval', { frame, expr: '(list sum (length items))' }), '(3 2)')
  resultOf(
    await lisp.run('compile_form', {
      form: '(defun price (item) (ecase item (:tea 3) (:milk 1)))',
      package: 'SHOP',
    }),
  )
  assert.is(await value('debug_restart', { restart_frame: await frameOf(/^shop::price$/) }), '(:paid 4)')
  assert.is(errorOf(await lisp.run('debug_state')).code, 'not_found')
  resultOf(
    await lisp.run('compile_form', { form: '(defun price (item) (ecase item (:tea 3)))', package: 'SHOP' }),
  )
})

test('wrong numbers, names, frames and values are told, and the evaluation waits on unharmed', async () => {
  const id = await stopped()
  const before = await state()
  for (const [tool, args, code] of [
    ['debug_restart', { restart: '99' }, 'not_found'],
    ['debug_restart', { restart: 'no-such' }, 'not_found'],
    ['debug_restart', { return_from: 99_999, value: '1' }, 'invalid_args'],
    ['debug_restart', { restart_frame: 99_999 }, 'invalid_args'],
    ['debug_frame', { frame: 99_999 }, 'invalid_args'],
    ['debug_eval', { frame: 99_999, expr: '1' }, 'invalid_args'],
    ['debug_restart', { restart: 'give-away', value: '(' }, 'invalid_args'],
    ['debug_state', { suspension: 's99@zz' }, 'not_found'],
  ] as const) {
    const error = errorOf(await lisp.run(tool, args))
    assert.is(error.code, code, `${tool} ${JSON.stringify(args)}: ${error.message}`)
    assert.ok(error.next, `${tool} ${JSON.stringify(args)} was told no next step`)
  }
  const { suspension, restarts, frames } = await state()
  assert.equal([suspension.id, restarts, frames], [id, before.restarts, before.frames])
  resultOf(await lisp.run('debug_restart', { leave: true }))
})

test('on_error end suspends nothing, and hold is what a Lisp does anyhow', async () => {
  assert.is(errorOf(await lisp.run('eval_expr', { ...BUY, on_error: 'end' })).details.suspension, undefined)
  const { details } = errorOf(await lisp.run('eval_expr', { ...BUY, on_error: 'hold' }))
  assert.is((details.suspension as { how: string }).how, 'held')
  resultOf(await lisp.run('debug_restart', { leave: true }))
})
