import { programFrame } from '../../tools/text.ts'
import type { Raised } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener, until } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('errors in a Lisp image')

let swank: RealSwank

let lisp: LispListener

test.before(async () => {
  swank = await startSwank()
  lisp = await openListener(swank)
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

const functions = ({ frames }: Raised) => frames.map(frame => frame.function)

test('get_last_error shows the backtrace, with the frame that failed and its locals as they stood', async () => {
  await lisp.raised('(list (outer "text"))')
  const { error, who, seen } = await lisp.look('last_error', {})
  assert.is(who, 'test')
  assert.ok(seen.length > 0)
  if (error === null) throw new Error('there is none')
  assert.equal(functions(error), ['outer', 'inner'])
  assert.equal(error.frames.at(-1)?.locals, [
    { name: 'a', type_name: error.frames[0]?.locals[0]?.type_name ?? '', repr: '"text"' },
    { name: 'b', type_name: 'fixnum', repr: '3' },
    { name: 'pair', type_name: 'cons', repr: '("text" 3)' },
  ])
  assert.match(error.traceback, /0: \(inner "text" 3\)\n *1: \(outer "text"\)/)
})

test('an error has its restarts, innermost first, and none of ours or of Swank', async () => {
  const error = await lisp.raised('(with-simple-restart (carry-on "Carry on.") (outer 1))')
  assert.equal(error.restarts, [
    { name: 'use-value', description: 'Use another.' },
    { name: 'skip', description: 'Leave it out.' },
    { name: 'carry-on', description: 'Carry on.' },
  ])
  assert.match(error.traceback, ' 1: [SKIP] Leave it out.')
})

test('handlers of the user come first, and what they decline enters no debugger', async () => {
  assert.equal(await lisp.values('(handler-case (outer 1) (error (c) (princ-to-string c)))'), ['"no (1 3)"'])
  assert.equal(await lisp.values('(ignore-errors (outer 1))').then(values => values[0]), 'nil')
  assert.equal(await lisp.values('(handler-bind ((error (lambda (c) (use-value 7 c)))) (outer 1))'), [
    '((7 (1 3)))',
  ])
  assert.equal(await lisp.values("(list (signal 'error) (signal 'warning))"), ['(nil nil)'])
})

test('what would enter the debugger in another way is told, too', async () => {
  assert.is((await lisp.raised('(break "stop ~a" 1)')).message, 'stop 1')
  assert.is(
    (await lisp.raised('(invoke-debugger (make-condition \'simple-error :format-control "by hand"))'))
      .message,
    'by hand',
  )
  assert.match((await lisp.raised("(throw 'nobody 1)")).message, 'NOBODY')
  assert.is((await lisp.raised('(car 1)')).type.name, 'type-error')
  assert.match((await lisp.raised('(no-such-function 1)')).message, 'NO-SUCH-FUNCTION is undefined')
  assert.match((await lisp.raised('no-such-variable')).message, 'NO-SUCH-VARIABLE is unbound')
  assert.equal(await lisp.values('(step (+ 1 2))'), ['3'])
  assert.equal(await lisp.values('(let ((*debugger-hook* nil)) (list 1))'), ['(1)'])
  assert.is((await lisp.raised('(let ((*debugger-hook* nil)) (outer 1))')).message, 'no (1 3)')
})

test('an error in a handler, and one in a cleanup form, tell what they came of', async () => {
  const handler = await lisp.raised('(handler-bind ((error (lambda (c) c (error "again")))) (outer 1))')
  assert.is(handler.message, 'again')
  assert.ok(functions(handler).includes('inner'))
  const cleanup = await lisp.raised('(unwind-protect (outer 1) (error "in cleanup"))')
  assert.is(cleanup.message, 'in cleanup')
  assert.is(cleanup.cause?.how, 'context')
  assert.is(cleanup.cause?.exception.message, 'no (1 3)')
})

test('a report that fails, and one that never ends, are told as far as they go', async () => {
  await lisp.run(`
    (define-condition fails (error) () (:report (lambda (c s) c s (error "in the report"))))
    (define-condition hangs (error) () (:report (lambda (c s) c s (loop))))
    (define-condition breaks (error) () (:report (lambda (c s) c s (break))))`)
  for (const name of ['fails', 'hangs', 'breaks'] as const) {
    const error = await lisp.raised(`(error '${name})`)
    assert.is(error.type.name, name)
    const why = {
      fails: ': it signals simple-error: in the report',
      hangs: '',
      breaks: ': it signals simple-condition: break',
    }[name]
    assert.is(error.message, `cl-user::${name}, whose report could not be had${why}`)
  }
  await lisp.run(`(define-condition unset (error) ((item :initarg :item :reader item))
    (:report (lambda (c s) (format s "no ~a" (item c)))))`)
  assert.match(
    (await lisp.raised("(error 'unset)")).message,
    /could not be had: it signals .*unbound.* slot.*ITEM$/i,
  )
  const restart = await lisp.raised(
    '(restart-case (error "x") (odd () :report (lambda (s) s (error "in the restart")) 1))',
  )
  assert.equal(restart.restarts, [{ name: 'odd', description: '' }])
})

test('a message of any length is bounded', async () => {
  const { message } = await lisp.raised(
    '(error "~a" (make-string 100000 :initial-element #\\\\x))'.replace('\\\\\\\\', '\\\\'),
  )
  assert.ok(message.length <= 4_200)
  const circular = await lisp.raised('(let ((l (list 1 2))) (setf (cddr l) l) (error "~s" l))')
  assert.ok(circular.message.length < 4_200)
})

test('a stack that overflows is told by its ends, and the next evaluation runs', async () => {
  const error = await lisp.raised('(defun deep (n) (+ 1 (deep (+ n 1))))\n(list (deep 0))')
  assert.is(error.type.name, 'control-stack-exhausted')
  assert.ok(error.frames_omitted > 1_000)
  assert.ok(error.frames.length <= 60)
  assert.is(error.frames[0]?.function, 'deep')
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
  assert.is((await lisp.raised('(list (deep 0))')).type.name, 'control-stack-exhausted')
})

test('a heap that would not hold what is asked for is an error like others', async () => {
  const error = await lisp.raised('(length (make-array 100000000000))')
  assert.is(error.type.name, 'heap-exhausted-error')
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
})

test('printing a local runs no code of the user', async () => {
  const error = await lisp.raised(`
    (defclass loud () ((name :initform 1)))
    (defmethod print-object ((it loud) stream) (setf (get :loud :printed) t) (write-string "LOUD" stream))
    (defun shouts (it) (list (with-simple-restart (go-on "Go on.") (error "quietly")) it))
    (list (shouts (make-instance 'loud)))`)
  assert.match(error.frames.at(-1)?.locals[0]?.repr ?? '', /loud/)
  assert.equal(await lisp.values('(get :loud :printed)'), ['nil'])
})

test('errors in threads of the program are not ours, and our debugger is nowhere but in our threads', async () => {
  const values = await lisp.values(`
    (flet ((global-p (symbol) (eq (symbol-value symbol) (sb-ext:symbol-global-value symbol))))
      (list (sb-thread:join-thread
              (sb-thread:make-thread
                (lambda () (mapcar #'global-p '(*debugger-hook* sb-ext:*invoke-debugger-hook* *standard-output*)))))
            (mapcar #'global-p '(*debugger-hook* sb-ext:*invoke-debugger-hook* *standard-output*))))`)
  assert.equal(values, ['((t t t) (nil nil nil))'])
})

test('methods, local functions and setf functions are named as Lisp names them', async () => {
  const error = await lisp.raised(`
    (defgeneric area (shape))
    (defmethod area ((shape integer)) (list (error "no area")))
    (defun (setf edge) (value thing) (list (area thing) value))
    (list (setf (edge 3) 4))`)
  assert.equal(functions(error).slice(-2), ['(setf edge)', '(method area (integer))'])
})

test('frames of the implementation are told apart from those of the program, with the file of its sources', async () => {
  const error = await lisp.raised(`
    (defgeneric price (thing))
    (defmethod price ((thing cons)) (list (* (car thing) (cdr thing))))
    (list (price (cons 2 nil)))`)
  assert.match(error.frames.at(-1)?.function ?? '', /two-arg-\*/)
  assert.is(error.frames.at(-1)?.implementation, true)
  assert.is(programFrame(error.frames)?.function, '(method price (cons))')
  const sources = await lisp.values(
    '(not (null (probe-file (translate-logical-pathname "SYS:SRC;CODE;NUMBERS.LISP"))))',
  )
  const file = error.frames.at(-1)?.file ?? ''
  assert.match(file, sources[0] === 't' ? /\/src\/code\/numbers\.lisp$/ : /^SYS:/)
})

test('an error while the form is compiled has the frames of the macro, and none of the compiler', async () => {
  const error = await lisp.raised(`
    (defmacro breaks-off (x) (list (expand-it x)))
    (defun expand-it (x) (list (error "cannot expand ~a" x)))
    (list (breaks-off 1))`)
  assert.match(error.message, 'cannot expand 1')
})

test('a thread that is ended from outside leaves no evaluation that runs', async () => {
  const run = lisp.begin(
    '(progn (print :here) (setf (get :victim :thread) sb-thread:*current-thread*) (loop (sleep 0.01)))',
  )
  await until(() => run.text().includes('HERE'))
  await lisp.values('(loop until (get :victim :thread) do (sleep 0.01))')
  await lisp.values('(sb-thread:terminate-thread (get :victim :thread))')
  await run.result.then(
    () => assert.unreachable(),
    error => assert.match(String(error), 'was aborted in the image'),
  )
  const { entries } = await lisp.look('history', { limit: 5 })
  assert.is(entries.find(entry => entry.call === run.call)?.outcome, 'left')
})
