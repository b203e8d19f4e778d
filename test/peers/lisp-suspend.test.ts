import { assert, suite } from '../support/harness.ts'
import { functionsOf, openSuspending, type Suspending, textsOf } from '../support/lisp-suspending.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('errors that suspend a Lisp evaluation', { limitMs: 50_000 })
let swank: RealSwank
let lisp: Suspending

test.before(async () => {
  swank = await startSwank()
  lisp = await openSuspending(swank)
  await lisp.run(`
    (defun inner (a b)
      (let ((pair (list a b)))
        (list (restart-case (error "no ~a" pair)
                (use-value (value) :report "Use another." value)
                (skip () :report "Leave it out."))
              pair)))
    (defun outer (x) (list (inner x 3)))`)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
})

const leave = (id: string) => lisp.resume(id, { way: 'leave' })
const live = async () => (await lisp.found('suspensions', {})).suspensions.map(({ id }) => id)
const endOf = (id: string) => lisp.ended.filter(ended => ended.id === id).map(({ how }) => how)

test('an error keeps its stack, and says what it was and what can be done', async () => {
  const { suspension, exception } = await lisp.suspended('(list (outer "text"))')
  assert.match(suspension.id, /^s\d+@[0-9a-f]{4}$/)
  assert.is(suspension.call, lisp.lastCall())
  assert.equal(
    [suspension.who, suspension.how, suspension.level, suspension.within, suspension.busy],
    ['test', 'held', 1, null, false],
  )
  assert.is(suspension.message, 'no (text 3)')
  assert.ok(suspension.expires_in_ms > 0 && suspension.expires_in_ms <= 600_000)
  assert.equal(functionsOf(exception), ['outer', 'inner'])
  assert.equal(
    exception.frames.at(-1)?.locals.map(({ name, repr }) => [name, repr]),
    [
      ['a', '"text"'],
      ['b', '3'],
      ['pair', '("text" 3)'],
    ],
  )
  assert.equal(exception.restarts, [
    { name: 'use-value', description: 'Use another.' },
    { name: 'skip', description: 'Leave it out.' },
  ])
  assert.match(exception.traceback, /0: \(inner "text" 3\)\n *1: \(outer "text"\)/)
  assert.equal(await live(), [suspension.id])
  assert.is((await leave(suspension.id)).type, 'left')
  assert.equal(endOf(suspension.id), ['left'])
  assert.equal(await live(), [])
})

test('other evaluations run while one is suspended, and the package in force stays as they leave it', async () => {
  const { suspension } = await lisp.suspended('(list (outer 1))')
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
  await lisp.run('(defpackage :shop (:use :cl)) (in-package :shop)')
  const done = await lisp.resume(suspension.id, { way: 'restart', restart: 1 })
  assert.is(done.type === 'done' && done.package, 'SHOP')
  await lisp.run('(cl:in-package :cl-user)')
})

test('code in a frame sees its variables, sets them, and is an evaluation of its own', async () => {
  const { suspension } = await lisp.suspended('(list (outer 1))')
  const { id } = suspension
  assert.equal(textsOf(await lisp.inFrame(id, 0, '(setf pair (list a :new)) (list a b pair)')), [
    '(1 3 (1 :new))',
  ])
  assert.equal(textsOf(await lisp.inFrame(id, 1, '(values x (boundp (quote pair)))')), ['1', 'nil'])
  await lisp.inFrame(id, 0, '(progn (write-line "said") (write-line "warned" *error-output*))')
  assert.is(lisp.printed(lisp.lastCall()), 'said\nwarned\n')
  const { entries } = await lisp.found('history', { limit: 2 })
  assert.equal(
    entries.map(({ source, outcome }) => [source.slice(0, 6), outcome]),
    [
      ['(progn', 'done'],
      ['(value', 'done'],
    ],
  )
  assert.equal(textsOf(await lisp.resume(id, { way: 'restart', restart: 0, value: '(length pair)' })), [
    '(((2 (1 :new))))',
  ])
})

test('code in a frame is read in the package of its function, as its variables were', async () => {
  await lisp.run(`
    (defpackage :till (:use :cl))
    (let ((*package* (find-package :till)))
      (eval (read-from-string "(defun total (order) (list (error \\"no\\") order))")))`)
  const { suspension } = await lisp.suspended('(list (till::total 5))')
  assert.equal(textsOf(await lisp.inFrame(suspension.id, 0, '(setf order 9) (* 2 order)')), ['18'])
  await leave(suspension.id)
})

test('an error in a frame suspends one level deeper, and handlers of the program do not hear of it', async () => {
  const outer = await lisp.suspended('(handler-case (list (outer 1)) (type-error () :handled))')
  const inner = await lisp.inFrame(outer.suspension.id, 0, '(car b)')
  if (inner.type !== 'suspended') throw new Error(inner.type)
  assert.equal([inner.suspension.level, inner.suspension.within], [2, outer.suspension.id])
  assert.not.ok(functionsOf(inner.exception).includes('inner'))
  const deepest = await lisp.inFrame(inner.suspension.id, 0, '(error "third")')
  if (deepest.type !== 'suspended') throw new Error(deepest.type)
  assert.is(deepest.suspension.level, 3)
  // What is left is what was evaluated there, and nothing below.
  assert.is((await leave(deepest.suspension.id)).type, 'left')
  assert.equal(await live(), [inner.suspension.id, outer.suspension.id])
  assert.is((await lisp.inFrame(outer.suspension.id, 1, 'x')).type, 'done')
  assert.equal(textsOf(await lisp.resume(outer.suspension.id, { way: 'restart', restart: 1 })), [
    '(((nil (1 3))))',
  ])
  assert.equal(
    [endOf(deepest.suspension.id), endOf(inner.suspension.id), endOf(outer.suspension.id)],
    [['left'], ['within'], ['resumed']],
  )
})

test('the ninth error ends its evaluation, and says why', async () => {
  const ids: string[] = []
  for (let count = 0; count < 8; count++) ids.push((await lisp.suspended('(outer 1)')).suspension.id)
  const ninth = await lisp.run('(outer 1)')
  if (ninth.type !== 'raised') throw new Error(ninth.type)
  assert.match(ninth.exception.notes?.[0] ?? '', '8 suspended evaluations are the most')
  for (const id of ids) await leave(id)
  assert.equal(await live(), [])
})

/** Recurs until 200 kB are left of its stack, of which an error keeps 256 free, and raises there. */
const NEARLY_DEEP = `
  (progn
    (defun left-of-stack ()
      (- (sb-sys:sap-int (sb-kernel:current-sp))
         (sb-kernel:get-lisp-obj-address sb-vm::*control-stack-start*)))
    (defun nearly-deep (n)
      (if (< (left-of-stack) (* 200 1024)) (error "nearly") (+ 1 (nearly-deep (+ n 1)))))
    (nearly-deep 0))`

test('where there is no room to look around, an error ends its evaluation, and says why', async () => {
  for (const [source, why] of [
    ['(progn (defun deep (n) (+ 1 (deep (+ n 1)))) (deep 0))', /the stack or the memory was used up/],
    ['(length (make-array 100000000000))', /the stack or the memory was used up/],
    [NEARLY_DEEP, /too little of its stack is left/],
    ['(sb-sys:without-interrupts (outer 1))', /it happened where interrupts are off/],
    ['(sb-kernel::with-world-lock () (outer 1))', /it holds a lock of the Lisp's own/],
  ] as const) {
    const raised = await lisp.run(source)
    if (raised.type !== 'raised') throw new Error(`${source} has ended as ${raised.type}`)
    assert.match(raised.exception.notes?.[0] ?? '', /^This error was not kept suspended: /)
    assert.match(raised.exception.notes?.[0] ?? '', why)
  }
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
})

test('without a lease, and where tests run, an error ends its evaluation as ever', async () => {
  const raised = await lisp.run('(outer 1)', { suspend: null })
  assert.is(raised.type, 'raised')
  assert.is(raised.type === 'raised' && raised.exception.notes, undefined)
  assert.is((await lisp.run('ignored', { work: 'tests', target: 'no-such' })).type, 'refused')
})

test('break, invoke-debugger and an error in a handler suspend; steps do not', async () => {
  const stop = await lisp.suspended('(progn (break "stop ~a" 1) 5)')
  assert.is(stop.suspension.message, 'stop 1')
  assert.equal(stop.exception.restarts?.[0]?.name, 'continue')
  assert.equal(textsOf(await lisp.resume(stop.suspension.id, { way: 'restart', restart: 0 })), ['5'])
  const entered = await lisp.suspended(
    '(list (restart-case (invoke-debugger (make-condition \'simple-error :format-control "by hand")) (go-on () 2)))',
  )
  assert.is(entered.suspension.message, 'by hand')
  assert.equal(textsOf(await lisp.resume(entered.suspension.id, { way: 'restart', restart: 0 })), ['(2)'])
  const again = await lisp.suspended('(handler-bind ((error (lambda (c) c (error "again")))) (outer 1))')
  assert.is(again.suspension.message, 'again')
  await leave(again.suspension.id)
  assert.equal(await lisp.values('(step (+ 1 2))'), ['3'])
  assert.equal(await lisp.values('(handler-case (outer 1) (error () :handled))'), [':handled'])
})

test('what signals again while a suspended evaluation is left ends it', async () => {
  const { suspension } = await lisp.suspended(
    '(unwind-protect (unwind-protect (outer 1) (error "in cleanup")) (setf (get :cleaned :up) t))',
  )
  const left = await leave(suspension.id)
  assert.is(left.type === 'raised' && left.exception.message, 'in cleanup')
  assert.equal(await live(), [])
  assert.equal(await lisp.values('(get :cleaned :up)'), ['t'])
})

test('code that runs in a suspension can be interrupted, and is told to be busy meanwhile', async () => {
  const { suspension } = await lisp.suspended('(restart-case (outer 1) (spin () (loop (sleep 0.01))))')
  const { id } = suspension
  const spins = lisp.begin('(loop (sleep 0.01))', { work: 'frame', suspension: id, frame: 0 })
  let looked = await lisp.look('suspension', { suspension: id, from: 0, count: 5 })
  while (looked.type !== 'busy') looked = await lisp.look('suspension', { suspension: id, from: 0, count: 5 })
  assert.is(looked.call, spins.call)
  const { suspensions } = await lisp.found('suspensions', {})
  assert.equal(
    suspensions.map(({ busy }) => busy),
    [true],
  )
  assert.is((await leave(id)).type, 'refused')
  assert.is((await lisp.inFrame(id, 0, '1')).type, 'refused')
  while (
    !((await lisp.peer.call('interrupt', { call: spins.call, how: 'ask' })) as { running: boolean }).running
  )
    await lisp.values('1')
  assert.is((await spins.result).type, 'interrupted')
  assert.equal(await live(), [id])
  const resumed = lisp.resume(id, { way: 'restart', restart: 2 })
  const call = lisp.lastCall()
  while (!((await lisp.peer.call('interrupt', { call, how: 'ask' })) as { running: boolean }).running)
    await lisp.values('1')
  assert.is((await resumed).type, 'interrupted')
  assert.equal(endOf(id), ['resumed'])
})

test('a suspended call is not interrupted: nothing of it runs', async () => {
  const { suspension } = await lisp.suspended('(outer 1)')
  const call = lisp.lastCall()
  const seen = (await lisp.peer.call('interrupt', { call, how: 'ask' })) as { running: boolean }
  assert.is(seen.running, false)
  assert.equal(textsOf(await lisp.resume(suspension.id, { way: 'restart', restart: 1 })), ['((nil (1 3)))'])
})

test('the history tells what was suspended and what came of it, and the last error is that', async () => {
  const { suspension } = await lisp.suspended('(list (outer :kept))')
  const newest = async () => (await lisp.found('history', { limit: 1 })).entries[0]
  assert.equal([(await newest())?.outcome, (await newest())?.result], ['suspended', 'no (KEPT 3)'])
  assert.is((await lisp.found('last_error', {})).error?.message, 'no (KEPT 3)')
  await lisp.resume(suspension.id, { way: 'restart', restart: 1 })
  assert.equal([(await newest())?.outcome, (await newest())?.result], ['done', '(((nil (:kept 3))))'])
})

test('what is not there is refused by what there is', async () => {
  const { suspension } = await lisp.suspended('(outer 1)')
  const missing = await lisp.look('suspension', { suspension: 's0@none', from: 0, count: 5 })
  assert.equal(missing, { type: 'not_found', what: 's0@none', nearest: [suspension.id] })
  const refused = await lisp.inFrame('s0@none', 0, '1')
  assert.equal(refused.type === 'refused' && [refused.reason, refused.what, refused.nearest], [
    'not_found',
    's0@none',
    [suspension.id],
  ])
  const frame = await lisp.look('frame', { suspension: suspension.id, frame: 7 })
  assert.match(frame.type === 'malformed' ? frame.message : '', 'no frame 7: its frames are 0 to 1')
  assert.is((await lisp.inFrame(suspension.id, -1, '1')).type, 'refused')
  await leave(suspension.id)
  assert.is((await leave(suspension.id)).type, 'refused')
})
