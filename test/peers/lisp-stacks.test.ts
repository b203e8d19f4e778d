import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openSuspending, type Suspending, textsOf } from '../support/lisp-suspending.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('stacks of suspended Lisp evaluations', { limitMs: 50_000 })
const folder = mkdtempSync(join(tmpdir(), 'imago-stacks-'))
let swank: RealSwank
let lisp: Suspending

test.before(async () => {
  swank = await startSwank()
  lisp = await openSuspending(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
  rmSync(folder, { recursive: true, force: true })
})

const suspend = async (source: string) => (await lisp.suspended(source)).suspension.id
const page = (suspension: string, from: number, count: number) =>
  lisp.found('suspension', { suspension, from, count })
const frame = (suspension: string, number: number) => lisp.found('frame', { suspension, frame: number })
const leave = (id: string) => lisp.resume(id, { way: 'leave' })

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
  const file = join(folder, 'shop.lisp')
  const lines = [
    ...Array.from({ length: 20 }, (_, count) => `; line ${count + 1}`),
    '(defun shop-total (order)',
    '  (let ((sum 0))',
    '    (dolist (item order)',
    '      (incf sum (list (error "no price of ~a" item))))',
    '    sum))',
    '; the end',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
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

test('a local whose printer fails or runs code is shown by what it stores', async () => {
  await lisp.run(`
    (defclass loud () ((name :initform 1)))
    (defmethod print-object ((it loud) stream) (setf (get :loud :printed) t) (error "no"))
    (defun shouts (it) (list (with-simple-restart (go-on "Go on.") (error "quietly")) it))`)
  const id = await suspend("(list (shouts (make-instance 'loud)))")
  assert.match((await frame(id, 0)).locals[0]?.value.repr.text ?? '', /loud/)
  assert.equal(textsOf(await lisp.inFrame(id, 0, '(get :loud :printed)')), ['nil'])
  const shown = await lisp.inFrame(id, 0, 'it')
  assert.match((shown.type === 'done' && shown.values[0]?.repr.error) || '', 'printer of loud failed')
  await leave(id)
})
