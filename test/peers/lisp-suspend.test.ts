import { assert, suite } from '../support/harness.ts'
import { lispImage, textsOf } from '../support/lisp-image.ts'

const test = suite('errors that suspend a Lisp evaluation', { limitMs: 100_000 })
const lisp = lispImage(test, { suspends: true })
test.before(() =>
  lisp.define(`
    (defun inner (a b)
      (let ((pair (list a b)))
        (list (restart-case (error "no ~a" pair)
                (use-value (value) :report "Use another." value)
                (skip () :report "Leave it out."))
              pair)))
    (defun outer (x) (list (inner x 3)))`),
)

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
  assert.equal(
    exception.frames.map(frame => frame.function),
    ['outer', 'inner'],
  )
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

test('a variable that the frame has not kept is not set, and no global variable is made of its name', async () => {
  // What follows an error is never reached, so nothing needs `pct` any more.
  await lisp.define('(defun owed (order pct) (list (error "no rate for ~a" order) pct))')
  const { suspension } = await lisp.suspended('(list (owed "tea" 7))')
  for (const source of [
    '(setf pct 5)',
    '(when t (incf pct))',
    '(let ((other 1)) (setq other 2 pct other))',
  ]) {
    const refused = await lisp.inFrame(suspension.id, 0, source)
    assert.is(refused.type, 'refused', JSON.stringify(refused))
    assert.match(refused.type === 'refused' ? refused.message : '', 'cl-user::pct cannot be set: this frame')
  }
  assert.equal(textsOf(await lisp.inFrame(suspension.id, 0, "(boundp 'pct)")), ['nil'])
  await lisp.define('(defvar *kept-open* 1)')
  const fine = '(let ((pct 1)) (setf pct 2 *kept-open* 3 order "coffee") (list pct *kept-open* order))'
  assert.equal(textsOf(await lisp.inFrame(suspension.id, 0, fine)), ['(2 3 "coffee")'])
  await leave(suspension.id)
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
  assert.is(lisp.printed(), 'said\nwarned\n')
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
      (eval (read-from-string "(defun total (order) (list (cerror \\"on\\" \\"no\\") order))")))`)
  const { suspension } = await lisp.suspended('(list (till::total 5))')
  assert.equal(textsOf(await lisp.inFrame(suspension.id, 0, '(setf order 9) (* 2 order)')), ['18'])
  await leave(suspension.id)
})

test('an error in a frame suspends one level deeper, and handlers of the program do not hear of it', async () => {
  const outer = await lisp.suspended('(handler-case (list (outer 1)) (type-error () :handled))')
  const inner = await lisp.inFrame(outer.suspension.id, 0, '(car b)')
  if (inner.type !== 'suspended') throw new Error(inner.type)
  assert.equal([inner.suspension.level, inner.suspension.within], [2, outer.suspension.id])
  assert.not.ok(inner.exception.frames.map(frame => frame.function).includes('inner'))
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

test('the history tells what was suspended and what came of it, and the last error is that', async () => {
  const { suspension } = await lisp.suspended('(list (outer :kept))')
  const newest = async () => (await lisp.found('history', { limit: 1 })).entries[0]
  assert.equal([(await newest())?.outcome, (await newest())?.result], ['suspended', 'no (KEPT 3)'])
  assert.is((await lisp.found('last_error', {})).error?.message, 'no (KEPT 3)')
  await lisp.resume(suspension.id, { way: 'restart', restart: 1 })
  assert.equal([(await newest())?.outcome, (await newest())?.result], ['done', '(((nil (:kept 3))))'])
})

const suspend = async (source: string) => (await lisp.suspended(source)).suspension.id
const page = (suspension: string, from: number, count: number) =>
  lisp.found('suspension', { suspension, from, count })
const frame = (suspension: string, number: number) => lisp.found('frame', { suspension, frame: number })

test('a stack of ten thousand frames is told by pages, and walked no further than somebody looks', async () => {
  await lisp.run('(defun deep (n) (if (zerop n) (error "at the end") (list (deep (- n 1)))))')
  const { suspension, exception } = await lisp.suspended('(list (deep 10000))')
  assert.is(exception.frames.length, 12)
  assert.is(exception.frames.filter(({ locals }) => locals.length > 0).length, 3)
  assert.match(exception.traceback, /\.\.\. and more/)
  const first = await page(suspension.id, 0, 20)
  assert.equal(
    first.frames.map(({ number, call }) => [number, call]),
    Array.from({ length: 20 }, (_, number) => [number, `(deep ${number})`]),
  )
  assert.equal([first.next, first.frames_total], [20, null])
  const middle = await page(suspension.id, 5_000, 3)
  assert.equal(
    middle.frames.map(({ call }) => call),
    ['(deep 5000)', '(deep 5001)', '(deep 5002)'],
  )
  assert.equal([middle.next, middle.frames_total], [5_003, null])
  const last = await page(suspension.id, 9_999, 20)
  assert.equal(
    last.frames.slice(0, 2).map(({ call }) => call),
    ['(deep 9999)', '(deep 10000)'],
  )
  assert.is(last.next, null)
  assert.is(last.frames_total, 9_999 + last.frames.length)
  assert.is((await page(suspension.id, 0, 1)).frames_total, last.frames_total)
  assert.equal((await page(suspension.id, 99_999, 5)).frames, [])
  assert.equal(textsOf(await lisp.inFrame(suspension.id, 9_990, 'n')), ['9990'])
  const back = await lisp.resume(suspension.id, { way: 'return', frame: 9_998, value: ':back' })
  assert.equal(textsOf(back), ['(((:back)))'])
})

test('a frame has its arguments and other variables, with handles that lead to them', async () => {
  await lisp.run(`
    (defun place (order &optional (fee 3) &key note &allow-other-keys)
      (declare (optimize (debug 2)))
      (let ((sum (list order fee)))
        (list (restart-case (error "no place") (on () 1)) sum order fee note)))`)
  const id = await suspend('(list (place (list 1 2) 4 :note "n"))')
  const told = await frame(id, 0)
  assert.equal(told.locals.map(({ name, argument, value }) => [name, argument, value.repr.text]).sort(), [
    ['fee', true, '4'],
    ['note', true, '"n"'],
    ['order', true, '(1 2)'],
    ['sum', false, '((1 2) 4)'],
  ])
  const { handle } = told.locals.find(({ name }) => name === 'order')?.value ?? {}
  const more = await lisp.found('more', { handle: handle ?? '', from: 0, count: 5 })
  assert.equal(more.type === 'items' && more.items, ['1', '2'])
  assert.equal(told.can, ['evaluate', 'return', 'again'])
  assert.equal(told.notes, [])
  await leave(id)
})

test('what a frame keeps on the stack is shown, without a handle that would outlive it', async () => {
  await lisp.run(`
    (defun brief (n)
      (declare (optimize (debug 2)))
      (let ((kept (list n 2)))
        (declare (dynamic-extent kept))
        (list (restart-case (error "x") (on () 1)) (first kept))))`)
  const id = await suspend('(list (brief 1))')
  const kept = (await frame(id, 0)).locals.find(({ name }) => name === 'kept')
  assert.equal([kept?.value.repr.text, kept?.value.handle], ['(1 2)', undefined])
  const given = await lisp.inFrame(id, 0, 'kept')
  assert.is(given.type, 'done')
  await leave(id)
  assert.equal(await lisp.values('(progn (sb-ext:gc :full t) (atom *))'), ['t'])
})

test('a frame shows the lines around its place, as they stood where it was loaded from', async () => {
  const lines = [
    ...Array.from({ length: 20 }, (_, count) => `; line ${count + 1}`),
    '(defun shop-total (order)',
    '  (let ((sum 0))',
    '    (dolist (item order)',
    '      (incf sum (list (error "no price of ~a" item))))',
    '    sum))',
    '; the end',
  ]
  const file = lisp.write('shop.lisp', `${lines.join('\n')}\n`)
  await lisp.run('', { work: 'load', file })
  const id = await suspend("(list (shop-total '(tea)))")
  const told = await frame(id, 0)
  assert.equal([told.function, told.file, told.line], ['shop-total', file, 24])
  assert.equal(told.around, { first_line: 19, lines: lines.slice(18, 26) })
  await leave(id)
  const typed = await suspend('(let ((a 1))\n  (setf a (list a))\n  (list (error "x") a))')
  const { around, file: none } = await frame(typed, 0)
  assert.is(none, null)
  assert.equal(around, {
    first_line: 1,
    lines: ['(let ((a 1))', '  (setf a (list a))', '  (list (error "x") a))'],
  })
  await leave(typed)
})

test('code without debug information says what cannot be done there, and a frame of the implementation that it is one', async () => {
  await lisp.run(`
    (defun opaque (x) (declare (optimize (debug 0))) (list (error "opaque ~a" x)))
    (defun sorting (list) (list (sort list (lambda (a b) (list (error "no order of ~a and ~a" a b))))))`)
  const opaque = await suspend('(list (opaque 1))')
  const told = await frame(opaque, 0)
  assert.equal([told.function, told.can], ['opaque', ['evaluate']])
  assert.match(told.notes.join(), 'compiled with (debug 0)')
  assert.equal(textsOf(await lisp.inFrame(opaque, 0, '(+ 1 2)')), ['3'])
  await leave(opaque)
  const sorting = await suspend('(list (sorting (list 2 1)))')
  const { frames } = await page(sorting, 0, 20)
  assert.ok(frames.some(({ implementation }) => implementation))
  assert.ok(frames.find(frame => frame.function === 'sorting')?.implementation === undefined)
  await leave(sorting)
})

test('an error of what has no frame of its own is evaluated at, too', async () => {
  const id = await suspend('no-such-variable')
  assert.equal((await page(id, 0, 5)).frames, [])
  const looked = await lisp.look('frame', { suspension: id, frame: 0 })
  assert.match(looked.type === 'malformed' ? looked.message : '', 'none of the program')
  assert.equal(textsOf(await lisp.inFrame(id, 0, '(list 1 2)')), ['(1 2)'])
  assert.equal(textsOf(await lisp.resume(id, { way: 'restart', restart: 1, value: ':used' })), [':used'])
})
