import { assert, suite } from '../support/harness.ts'
import { type Lisp, lispImage, textsOf } from '../support/lisp-image.ts'

const test = suite('how a suspended Lisp evaluation goes on', { limitMs: 100_000 })
const lisp = lispImage(test, { suspends: true })

const suspend = async (source: string) => (await lisp.suspended(source)).suspension.id
const restart = (id: string, number: number, value?: string) =>
  lisp.resume(id, { way: 'restart', restart: number, ...(value !== undefined && { value }) })
const live = async () => (await lisp.found('suspensions', {})).suspensions.map(({ id }) => id)
const messageOf = async (outcome: ReturnType<Lisp['run']>) => {
  const ended = await outcome
  if (ended.type === 'refused') return ended.message
  throw new Error(`it was not refused, but ${ended.type}`)
}

const PRICES = `
  (defun price (item) (if (numberp item) (* 2 item) (error "no price of ~a" item)))
  (defun bill (items) (list :sum (reduce #'+ (mapcar (lambda (item) (list (price item)))
                                                     items) :key #'first)))`

test('a frame further out begins again with the same arguments, or returns what it is told', async () => {
  await lisp.run(PRICES)
  const bill = async (id: string) =>
    (await lisp.found('suspension', { suspension: id, from: 0, count: 20 })).frames.find(
      frame => frame.function === 'bill',
    )?.number ?? -1
  const again = await suspend('(list (bill (list 1 :gift)))')
  await lisp.run('(defun bill (items) (list :counted (length items)))')
  assert.equal(textsOf(await lisp.resume(again, { way: 'again', frame: await bill(again) })), [
    '((:counted 2))',
  ])
  await lisp.run(PRICES)
  const id = await suspend('(multiple-value-list (bill (list :gift)))')
  const frame = await bill(id)
  assert.equal(
    textsOf(await lisp.resume(id, { way: 'return', frame, value: '(values (length items) :of items)' })),
    ['(1 :of (:gift))'],
  )
})

test('a method begins again by its generic function', async () => {
  await lisp.run(`
    (defclass shape () ((side :initarg :side :reader side)))
    (defgeneric area (shape unit))
    (defmethod area ((shape shape) unit)
      (list (restart-case (error "no area in ~a" unit) (on () 1)) shape unit))`)
  const id = await suspend("(list (area (make-instance 'shape :side 3) :mm))")
  await lisp.run('(defmethod area ((shape shape) unit) (list (* (side shape) (side shape)) unit))')
  assert.equal(textsOf(await lisp.resume(id, { way: 'again', frame: 0 })), ['((9 :mm))'])
})

test('what is undefined is defined, and tried again', async () => {
  const id = await suspend('(list (not-there-yet 1) 3)')
  await lisp.run('(defun not-there-yet (x) (list :new x))')
  assert.equal(textsOf(await restart(id, 0)), ['((:new 1) 3)'])
})

test('a restart is given the values of the code, read and evaluated where the error happened', async () => {
  await lisp.run(`
    (defun pick (key table)
      (restart-case (error "no ~a" key)
        (store (value more) (list value more table))
        (skip () :report "Leave it out." :skipped)))`)
  const id = await suspend("(list (pick :a '(1 2)))")
  assert.equal(textsOf(await restart(id, 0, '(values (length table) key)')), ['((2 :a (1 2)))'])
  // The error that comes of too few of them is one of the program.
  const other = await suspend("(list (pick :b '(1 2)))")
  const wrong = await restart(other, 0, '1')
  assert.is(wrong.type === 'suspended' && wrong.suspension.type.name, 'simple-program-error')
  if (wrong.type === 'suspended') await lisp.resume(wrong.suspension.id, { way: 'leave' })
})

test('a restart that reads says so, and asks whoever takes it', async () => {
  const prompts: string[] = []
  lisp.answers = prompt => {
    prompts.push(prompt)
    return '(+ 40 2)\n'
  }
  const { suspension, exception } = await lisp.suspended('(list unbound-so-far)')
  assert.equal(
    exception.restarts?.map(({ name, reads }) => [name, reads]),
    [
      ['continue', undefined],
      ['use-value', true],
      ['store-value', true],
    ],
  )
  assert.equal(textsOf(await restart(suspension.id, 1)), ['(42)'])
  assert.is(prompts.length, 1)
  assert.match(prompts[0] ?? '', 'Enter a form')
})

test('a question that is refused is an error within, and the suspension stays', async () => {
  lisp.answers = () => ''
  const id = await suspend('(list unbound-so-far)')
  const asked = await restart(id, 1)
  if (asked.type !== 'suspended') throw new Error(asked.type)
  assert.equal([asked.suspension.type.name, asked.suspension.within], ['end-of-file', id])
  assert.is((await lisp.resume(asked.suspension.id, { way: 'leave' })).type, 'left')
  assert.equal(await live(), [id])
  assert.equal(textsOf(await restart(id, 1, ':given')), ['(:given)'])
})

test('an error in the code of a value suspends in turn, and can be mended there', async () => {
  const id = await suspend('(restart-case (error "x") (use-value (value) (list value)))')
  const inner = await restart(id, 0, '(list 1 (restart-case (error "y") (use-value (v) v)))')
  if (inner.type !== 'suspended') throw new Error(inner.type)
  assert.is(inner.suspension.within, id)
  // What the value comes to goes to the restart, and that is what it all comes to.
  assert.equal(textsOf(await restart(inner.suspension.id, 0, '2')), ['((1 2))'])
  assert.equal(await live(), [])
})

test('an error in the code of a value that nobody waits for is told, and the suspension stays', async () => {
  const id = await suspend('(restart-case (error "x") (use-value (value) (list value)))')
  const raised = await lisp.resume(id, { way: 'restart', restart: 0, value: '(car 1)', suspend: null })
  assert.is(raised.type === 'raised' && raised.exception.type.name.includes('type-error'), true)
  assert.equal(await live(), [id])
  assert.equal(textsOf(await restart(id, 0, '7')), ['(7)'])
})

test('what cannot be done is refused, nothing of it runs, and the suspension stays', async () => {
  await lisp.run(`
    (defun opaque (x) (declare (optimize (debug 0))) (list (error "opaque ~a" x)))
    (defun local (n) (flet ((inside (k) (declare (notinline inside)) (list (error "in ~a" k) k)))
                       (declare (notinline inside)) (list (inside n) n)))`)
  const id = await suspend('(restart-case (error "x") (use-value (value) (list value)))')
  assert.match(await messageOf(restart(id, 5)), 'has no restart 5')
  assert.match(await messageOf(restart(id, -1)), 'has no restart -1')
  for (const value of ['(list 1', ')', '', '  ', '; nothing', '"open'])
    assert.match(await messageOf(restart(id, 0, value)), 'cannot be read, and nothing was done')
  assert.match(await messageOf(lisp.resume(id, { way: 'return', frame: 40, value: '1' })), 'no frame 40')
  assert.match(await messageOf(lisp.resume(id, { way: 'again', frame: 40 })), 'no frame 40')
  assert.match(await messageOf(lisp.resume('s999@none', { way: 'leave' })), 'no suspended evaluation s999')
  assert.equal(textsOf(await restart(id, 0, ':still-there')), ['(:still-there)'])
  const without = await suspend('(list (opaque 1))')
  assert.match(
    await messageOf(lisp.resume(without, { way: 'return', frame: 0, value: '(setf (get :ran :it) t)' })),
    'compiled with (debug 0)',
  )
  assert.match(await messageOf(lisp.resume(without, { way: 'again', frame: 0 })), 'cannot')
  await lisp.resume(without, { way: 'leave' })
  const local = await suspend('(list (local 1))')
  for (const way of ['return', 'again'] as const)
    assert.match(await messageOf(lisp.resume(local, { way, frame: 0, value: ':out' })), 'local functions')
  assert.equal(textsOf(await lisp.resume(local, { way: 'return', frame: 1, value: ':out' })), ['(:out)'])
  assert.equal(await lisp.values('(get :ran :it)'), ['nil'])
})

test('a restart that returns leaves the evaluation where it was, under another name', async () => {
  const id = await suspend('(restart-bind ((note (lambda () (write-line "noted")))) (error "x"))')
  const still = await restart(id, 0)
  if (still.type !== 'suspended') throw new Error(still.type)
  assert.is(lisp.printed(), 'noted\n')
  assert.not.equal(still.suspension.id, id)
  assert.is(lisp.ended.find(ended => ended.id === id)?.how, 'resumed')
  assert.is((await lisp.resume(still.suspension.id, { way: 'leave' })).type, 'left')
})

test('an error after a restart suspends anew, and one in a function of a restart, too', async () => {
  const id = await suspend('(restart-case (error "x") (on () (error "y")))')
  const next = await restart(id, 0)
  assert.equal(next.type === 'suspended' && [next.suspension.message, next.suspension.level], ['y', 1])
  if (next.type === 'suspended') await lisp.resume(next.suspension.id, { way: 'leave' })
  const bound = await suspend('(restart-bind ((odd (lambda () (error "z")))) (error "x"))')
  const odd = await restart(bound, 0)
  assert.equal(odd.type === 'suspended' && [odd.suspension.message, odd.suspension.level], ['z', 1])
  if (odd.type === 'suspended') await lisp.resume(odd.suspension.id, { way: 'leave' })
  assert.equal(await live(), [])
})

test('what it prints after it went on belongs to the call that resumed it', async () => {
  const id = await suspend(
    '(progn (princ "one") (restart-case (error "x") (on () (princ "two"))) (princ "three") 4)',
  )
  assert.is(lisp.printed(), 'one')
  assert.equal(textsOf(await restart(id, 0)), ['4'])
  assert.is(lisp.printed(), 'twothree')
  const inside = await suspend(`
    (with-output-to-string (*standard-output*)
      (princ "in") (restart-case (error "x") (on (value) (princ value))))`)
  assert.equal(textsOf(await restart(inside, 0, '(progn (princ "aside") "after")')), ['"inafter"'])
  assert.is(lisp.printed(), 'aside')
})

test('the restart ABORT ends what invokes it', async () => {
  assert.is((await lisp.run('(progn (abort) 1)')).type, 'left')
  const id = await suspend('(error "x")')
  assert.is((await lisp.inFrame(id, 0, '(abort)')).type, 'left')
  assert.equal(await live(), [id])
  assert.is((await lisp.resume(id, { way: 'leave' })).type, 'left')
})

test('code in a frame, or that gives a value, does not take what is suspended elsewhere: only a resume does', async () => {
  const { suspension } = await lisp.suspended(
    '(progn (setf (get :kept :ticks) 0) (catch :out (restart-case (error "x") (use-value (value) (incf (get :kept :ticks)) value))))',
  )
  for (const source of ["(invoke-restart 'use-value 9)", '(throw :out 1)']) {
    const kept = await lisp.inFrame(suspension.id, 0, source)
    assert.is(kept.type, 'left', source)
    assert.match(kept.type === 'left' ? kept.message : '', 'all is suspended as before')
  }
  const given = await lisp.resume(suspension.id, { way: 'restart', restart: 0, value: '(throw :out 1)' })
  assert.is(given.type, 'left')
  assert.equal(await lisp.values('(get :kept :ticks)'), ['0'])
  const went = await lisp.resume(suspension.id, { way: 'restart', restart: 0, value: '7' })
  assert.is(went.type === 'done' && went.values[0]?.repr.text, '7')
})

test('a restart that takes a value and is given none is refused, and nothing has run', async () => {
  await lisp.run('(defvar *took* nil)')
  const id = await suspend(`
    (list (restart-case (error "x")
            (one (value) (setf *took* value))
            (two (value &optional more) (setf *took* (list value more)))
            (all (&rest values) values)))`)
  assert.match(
    await messageOf(restart(id, 0)),
    /^The restart one takes 1 value, and was given none\. It was not taken\.$/,
  )
  assert.equal(await live(), [id])
  assert.equal(await lisp.values('*took*'), ['nil'])
  assert.equal(textsOf(await restart(id, 2, '(values 1 2 3)')), ['((1 2 3))'])
})

test('a restart that does not take what the code gives is not taken, and is told as code that has run', async () => {
  await lisp.run('(progn (defvar *took* nil) (defparameter *counted* 0))')
  const id = await suspend(`
    (list (restart-case (error "x")
            (one (value) (setf *took* value))
            (none () (setf *took* :none))))`)
  const given = async (number: number, value: string) => {
    const outcome = await restart(id, number, value)
    return outcome.type === 'raised' ? outcome.exception.message : outcome.type
  }
  const rest = `The code that gave them has run; the restart was not taken, and ${id} waits as before.`
  assert.is(
    await given(0, '(progn (princ :ran) (incf *counted*) (values 1 2))'),
    `The restart one takes 1 value, and was given 2. ${rest}`,
  )
  assert.is(lisp.printed(), 'RAN')
  assert.is(await given(1, '(incf *counted*)'), `The restart none takes no values, and was given 1. ${rest}`)
  assert.equal(await live(), [id])
  assert.equal(await lisp.values('(list *counted* *took*)'), ['(2 nil)'])
  assert.equal(textsOf(await restart(id, 0, '7')), ['(7)'])
})

test('where it is not known what a restart takes, its error is the program’s own', async () => {
  const id = await suspend(`
    (flet ((choose () (restart-case (error "x") (two (value &optional more) (list value more)))))
      (list (choose)))`)
  const outcome = await restart(id, 0)
  if (outcome.type !== 'suspended') throw new Error(outcome.type)
  assert.match(outcome.exception.message, 'invalid number of arguments: 0')
  const { frames } = await lisp.found('suspension', { suspension: outcome.suspension.id, from: 0, count: 20 })
  const names = frames.map(frame => frame.function)
  assert.equal(
    names.filter(name => /restart-with|swank|run-hook/i.test(name)),
    [],
  )
  assert.is((await lisp.resume(outcome.suspension.id, { way: 'leave' })).type, 'left')
})
