import type { Evaluated, SuspendedState, Suspension } from '../../wire/kernel.ts'
import { textOf } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { Lisp, lispImage, textsOf, until } from '../support/lisp-image.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type Owner, openOwner } from '../support/slime-owner.ts'

const test = suite('ends of suspended Lisp evaluations, and errors that a person hands over', {
  limitMs: 100_000,
})
const lisp = lispImage(test, { suspends: true })
let human: Slime
test.before(async () => {
  human = await openSlime(lisp.swank)
  await human.ask(
    '(progn (defvar cl-user::*go* nil) (defvar cl-user::*runs* 0) (defvar cl-user::*threads* nil))',
  )
})

const endOf = async (id: string) => {
  let end = lisp.ended.find(ended => ended.id === id)
  while (end === undefined) {
    await new Promise(resolve => setTimeout(resolve, 5))
    end = lisp.ended.find(ended => ended.id === id)
  }
  return end
}
const live = async () => (await lisp.found('suspensions', {})).suspensions.map(({ id }) => id)
/** What the form comes to for the person, whose requests Swank remembers for ever: they are taken down. */
const asked = (form: string) =>
  human.ask(`(progn (push sb-thread:*current-thread* (get :of-the :person)) ${form})`)
/** Waits until the form has a value there. */
const untilThere = (form: string) => asked(`(loop (let ((it ${form})) (when it (return it)) (sleep 0.01)))`)
/** How many threads there are and Swank remembers, and connections; not those of the person's requests. */
const kept = async () => {
  const counts = await asked(`
    (flet ((others (threads) (length (set-difference threads (get :of-the :person)))))
      (list (others (remove-if (lambda (name) (member name '("imago: time limits" "output of an evaluation") :test 'equal))
                               (sb-thread:list-all-threads) :key 'sb-thread:thread-name))
            (others (mapcar 'swank/sbcl::mailbox.thread swank/sbcl::*mailboxes*))
            (length swank::*connections*)))`)
  return counts.match(/\d+/g)?.map(Number) ?? []
}
/** Waits until no more is kept than before. */
const untilKept = async (before: readonly number[]) => {
  for (;;) {
    const now = await kept()
    if (now.length === 3 && now.every((count, index) => count <= (before[index] ?? 0))) return
  }
}

test('an error in which the Lisp holds a lock of its own ends its evaluation, and nobody waits for that lock', async () => {
  const locked = [
    '(progn (defpackage :pa (:export "XX")) (defpackage :pb (:export "XX")) (defpackage :pc) (use-package \'(:pa :pb) :pc))',
    '(sb-alien:load-shared-object "/nowhere/none.so")',
    '(compile nil (list (quote lambda) nil (list (quote macrolet) (list (list (quote m) nil (list (quote error) "x"))) (list (quote m)))))',
  ]
  for (const source of locked) {
    const { type } = await lisp.run(source)
    assert.is.not(type, 'suspended', source)
  }
  assert.match(await asked('(intern (format nil "FRESH-~D" (random 1000000)) :cl-user)'), /FRESH/)
  assert.equal(await live(), [])
})

test('a suspended thread that others end is not kept by an error of its cleanup forms', async () => {
  const { suspension } = await lisp.suspended(
    '(progn (setf (get :twice :thread) sb-thread:*current-thread*) (unwind-protect (error "x") (error "y")))',
  )
  await asked('(sb-thread:terminate-thread (get :twice :thread))')
  assert.is((await endOf(suspension.id)).how, 'lost')
  await untilThere('(not (sb-thread:thread-alive-p (get :twice :thread)))')
  assert.equal(await live(), [])
})

test('what stands on another is left first, and the other lives on', async () => {
  const outer = await lisp.suspended('(error "x")')
  const inner = await lisp.inFrame(outer.suspension.id, 0, '(error "y")')
  if (inner.type !== 'suspended') throw new Error(inner.type)
  assert.is((await lisp.resume(inner.suspension.id, { way: 'leave' })).type, 'left')
  assert.is((await endOf(inner.suspension.id)).how, 'left')
  assert.equal(await live(), [outer.suspension.id])
  assert.equal(textsOf(await lisp.inFrame(outer.suspension.id, 0, '1')), ['1'])
  await lisp.resume(outer.suspension.id, { way: 'leave' })
})

test('a time limit of the program takes it elsewhere, where somebody handles it, and changes nothing where not', async () => {
  const handled = await lisp.suspended(`
    (setf (get :limit :came) (handler-case (sb-ext:with-timeout 1 (error "x")) (sb-ext:timeout () :in-time)))`)
  const end = await endOf(handled.suspension.id)
  assert.is(end.how, 'resumed')
  assert.match(end.message, 'timeout')
  assert.is(await untilThere('(get :limit :came)'), ':IN-TIME')
  const { suspension } = await lisp.suspended(
    '(sb-ext:with-timeout 1 (restart-case (error "x") (on () :went-on)))',
  )
  await asked('(sleep 1.3)')
  assert.equal(await live(), [suspension.id])
  assert.equal(textsOf(await lisp.resume(suspension.id, { way: 'restart', restart: 0 })), [':went-on'])
})

test('what breaks into a thread that waits, as Swank’s own break does, changes nothing', async () => {
  const { suspension } = await lisp.suspended(
    '(progn (setf (get :broken :thread) sb-thread:*current-thread*) (restart-case (error "x") (on () :went-on)))',
  )
  const debugged = human.debugged.length
  for (const breaks of ["'swank:simple-break", "'break", '(lambda () (swank:simple-break "Now, ~A" 1))']) {
    const done = `(let (done)
      (sb-thread:interrupt-thread (get :broken :thread) (lambda () (unwind-protect (funcall ${breaks}) (setf done t))))
      (loop until done do (sleep 0.01)) :done)`
    assert.is(await asked(done), ':DONE')
    const { frames } = await lisp.found('suspension', { suspension: suspension.id, from: 0, count: 3 })
    assert.ok(frames.length > 0)
  }
  assert.is(human.debugged.length, debugged)
  assert.equal(await live(), [suspension.id])
  assert.equal(textsOf(await lisp.resume(suspension.id, { way: 'restart', restart: 0 })), [':went-on'])
})

test('a connection that breaks leaves nothing suspended, no thread and no mailbox (fault 11)', async () => {
  const before = await kept()
  for (let count = 1; count <= 3; count++) {
    const other = await lisp.join()
    const outer = await other.suspended('(unwind-protect (error "x") (incf (get :broken :outer 0)))')
    await other.inFrame(outer.suspension.id, 0, '(unwind-protect (error "y") (incf (get :broken :inner 0)))')
    await other.suspended('(error "another")')
    other.end()
    await untilThere(`(and (eql (get :broken :outer) ${count}) (eql (get :broken :inner) ${count}))`)
  }
  await untilKept(before)
})

test('when we leave, all that is suspended ends first, with its threads and mailboxes', async () => {
  const before = await kept()
  const other = await lisp.join()
  // Each thread has a symbol of its own: two that set properties of one symbol at once can lose one of them.
  for (const name of ['one', 'two', 'three'])
    await other.suspended(`(unwind-protect (error "x") (setf (get :${name} :left) t))`)
  await other.peer.leave()
  assert.is(await asked('(list (get :one :left) (get :two :left) (get :three :left))'), '(T T T)')
  other.end()
  await untilKept(before)
})

const row = async (id: string) => (await lisp.found('suspensions', {})).suspensions.find(one => one.id === id)
const endsOf = (id: string) => lisp.ended.filter(ended => ended.id === id).map(({ how }) => how)
const ended = async (id: string) => {
  await until(() => endsOf(id).length > 0)
  return endsOf(id)
}
/** The evaluation, whose thread is known to the person. */
const suspended = async (source: string, more = {}) =>
  (await lisp.suspended(`(progn (push sb-thread:*current-thread* *threads*) ${source})`, more)).suspension
/** None of the threads that were suspended lives any more. */
const threadsEnd = () =>
  until(async () => (await human.ask('(notany (quote sb-thread:thread-alive-p) cl-user::*threads*)')) === 'T')
/** Code that nothing ends but the person. */
const HELD = '(loop until (shiftf *go* nil) do (sleep 0.01))'
const letGo = () => human.ask('(setf cl-user::*go* t)')

test('an end is told when the cleanup forms have run; until then it is listed, busy, with the reason', async () => {
  const { id } = await suspended(`(unwind-protect (error "x") ${HELD})`)
  const left = lisp.resume(id, { way: 'leave' })
  await until(async () => (await row(id))?.leaving !== undefined)
  const { busy, leaving } = (await row(id)) ?? {}
  assert.is(busy, true)
  assert.match(
    leaving ?? '',
    /^It was left, on request\. It is being left, and its cleanup forms have run for \d+ s/,
  )
  assert.equal(endsOf(id), [])
  const looked = await lisp.look('frame', { suspension: id, frame: 0 })
  assert.is(looked.type, 'busy')
  await letGo()
  assert.is((await left).type, 'left')
  assert.equal(await ended(id), ['left'])
  assert.is(await row(id), undefined)
})

test('so is the end of one whose thread is ended', async () => {
  const lost = await suspended(`(unwind-protect (error "x") ${HELD})`)
  await human.ask('(sb-thread:terminate-thread (first cl-user::*threads*))')
  await until(async () => (await row(lost.id))?.leaving !== undefined)
  await letGo()
  assert.equal(await ended(lost.id), ['lost'])
})

test('what stands on one that is left ends before it, each when its own cleanup forms have run', async () => {
  const outer = await suspended(`(unwind-protect (error "x") ${HELD})`)
  const inner = await lisp.inFrame(outer.id, 0, `(unwind-protect (error "y") ${HELD})`)
  if (inner.type !== 'suspended') throw new Error(inner.type)
  const leaving = lisp.resume(outer.id, { way: 'leave' })
  await until(async () => (await row(inner.suspension.id))?.leaving !== undefined)
  await letGo()
  assert.equal(await ended(inner.suspension.id), ['within'])
  assert.equal(endsOf(outer.id), [])
  await letGo()
  assert.is((await leaving).type, 'left')
  assert.equal(endsOf(outer.id), ['left'])
})

test('a cleanup form that never ends is interrupted, and those around it run; the end says so (fault 6)', async () => {
  const { id } = await suspended(
    '(unwind-protect (unwind-protect (error "x") (loop (sleep 1/100))) (incf *runs*))',
  )
  const left = await lisp.resume(id, { way: 'leave' })
  const said =
    /^It was left, on request\. Its cleanup forms were interrupted after \d+ s; what they had still to do was not done\.$/
  assert.match(left.type === 'left' ? left.message : left.type, said)
  assert.equal(await ended(id), ['left'])
  assert.match(lisp.ended.find(one => one.id === id)?.message ?? '', said)
  assert.is(await human.ask('cl-user::*runs*'), '1')
  await threadsEnd()
})

test('whoever leaves one once more has the cleanup form interrupted that runs', async () => {
  const { id } = await suspended('(unwind-protect (error "x") (loop))')
  const left = lisp.resume(id, { way: 'leave' })
  await until(async () => (await row(id))?.leaving !== undefined)
  const again = await lisp.resume(id, { way: 'leave' })
  assert.is(
    again.type === 'left' ? again.message : again.type,
    'It is being left already. The cleanup form that runs there was interrupted now.',
  )
  assert.is((await left).type, 'left')
  assert.equal(await ended(id), ['left'])
  assert.match(
    lisp.ended.find(one => one.id === id)?.message ?? '',
    /^It was left, on request\. Its cleanup forms were interrupted after /,
  )
})

test('code whose cleanup forms go on in others loses those alone: a lock around it is given back (fault 11)', async () => {
  await human.ask(`(progn
    (defvar cl-user::*lock* (sb-thread:make-mutex))
    (defvar cl-user::*released* nil)
    (defvar cl-user::*begun* 0)
    (defun cl-user::again ()
      (unwind-protect (progn (incf cl-user::*begun*) (error "again")) (cl-user::again))))`)
  const { id } = await suspended(`
    (sb-thread:with-mutex (*lock*)
      (unwind-protect (unwind-protect (error "x") (again))
        (setf *released* t)))`)
  await lisp.resume(id, { way: 'leave' })
  assert.equal(await ended(id), ['left'])
  assert.match(lisp.ended.find(one => one.id === id)?.message ?? '', /so 1 of its cleanup forms was not run/)
  assert.is(await human.ask('(list cl-user::*released* (sb-thread:mutex-owner cl-user::*lock*))'), '(T NIL)')
  assert.ok(Number(await human.ask('cl-user::*begun*')) >= 10)
  await threadsEnd()
})

test('whoever leaves it again and again has what runs there interrupted twice a second, and no lock is lost', async () => {
  await human.ask(`(progn
    (setf cl-user::*begun* 0)
    (defun cl-user::sleeping ()
      (unwind-protect (progn (incf cl-user::*begun*) (sleep 60)) (cl-user::sleeping))))`)
  const { id } = await suspended('(sb-thread:with-mutex (*lock*) (unwind-protect (error "x") (sleeping)))')
  const start = Date.now()
  const leaving = lisp.resume(id, { way: 'leave' })
  await until(async () => (await row(id))?.leaving !== undefined)
  await until(async () => {
    await lisp.resume(id, { way: 'leave' })
    return endsOf(id).length > 0
  })
  const passed = Date.now() - start
  assert.is((await leaving).type, 'left')
  const begun = Number(await human.ask('cl-user::*begun*'))
  assert.ok(begun >= 10 && begun <= 2 + passed / 400, `${begun} in ${passed} ms`)
  assert.is(await human.ask('(sb-thread:mutex-owner cl-user::*lock*)'), 'NIL')
  await threadsEnd()
})

test('code that throws its leaving away fails a few times more at most, and is then left without its cleanup forms', async () => {
  const again = '(loop (catch :again (incf *runs*) (unwind-protect (error "x") (throw :again 6))))'
  await human.ask('(setf cl-user::*runs* 0)')
  const { id } = await suspended(again)
  await lisp.resume(id, { way: 'leave' })
  assert.equal(await ended(id), ['left'])
  const runs = Number(await human.ask('cl-user::*runs*'))
  assert.ok(runs > 1 && runs <= 12, `${runs} runs`)
  await threadsEnd()
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
})

test('one whose cleanup form nothing can interrupt stays listed, and says so', async () => {
  const { id } = await suspended(`(unwind-protect (error "x") (sb-sys:without-interrupts ${HELD}))`)
  const left = lisp.resume(id, { way: 'leave' })
  await until(async () => (await row(id))?.leaving !== undefined)
  assert.match((await row(id))?.leaving ?? '', /are interrupted after 5 s\.$/)
  await letGo()
  assert.is((await left).type, 'left')
  assert.equal(await ended(id), ['left'])
})

test('a connection that breaks while one is being left leaves no thread behind (fault 11)', async () => {
  const other = await lisp.join()
  const source =
    '(progn (push sb-thread:*current-thread* *threads*) (unwind-protect (error "x") (loop (sleep 1/100))))'
  await other.suspended(source)
  other.end()
  await threadsEnd()
})

/** Hers, in whose frames code of a model's runs: it is not suspended in turn. */
let own: Lisp
let owner: Owner
test.before(async () => {
  await lisp.define(`
    (locally (declare (optimize (debug 3)))
      (defun dose (pots)
        (restart-case (error "No tea for ~D." pots) (use-value (value) (* 2 value)))))`)
  owner = await openOwner(lisp.swank)
  own = await new Lisp().open(lisp.swank)
})
test.after(() => {
  own?.end()
  owner?.end()
})

const theirs = async () => (await own.found('theirs', {})).errors
const adopt = async (): Promise<Suspension> => {
  const [error] = await theirs()
  const query = { id: error?.id ?? '' }
  // The debugger has told of the error a moment before it waits for keys.
  for (;;) {
    const looked = await own.look('adopt', query)
    if (looked.type === 'malformed' && /runs something/.test(looked.message)) continue
    return looked.type === 'found' ? looked.value : own.found('adopt', query)
  }
}
let calls = 0
const resume = async (id: string, way: object) =>
  (await own.peer.call('resume', {
    suspension: id,
    call: `adopted-${++calls}`,
    who: 'a model',
    ...way,
  })) as Evaluated

test('an error in SLIME is told of, by no code of its own, and stays there', async () => {
  assert.equal(await theirs(), [])
  const { thread, answer } = await owner.err('(dose 3)')
  const [error, ...others] = await theirs()
  assert.equal(others, [])
  assert.match(error?.where ?? '', /in SLIME$/)
  assert.match(error?.message ?? '', /No tea for/)
  assert.equal((await own.found('suspensions', {})).suspensions, [])
  await owner.press('swank:sldb-abort', thread)
  await answer
  assert.equal(await theirs(), [])
})

test('one that is handed over has its owner’s restarts and frames, and goes on in its owner’s own evaluation', async () => {
  const { answer } = await owner.err('(dose 3)')
  const { id, call, how } = await adopt()
  assert.equal([call, how], [null, 'held'])
  assert.equal(await theirs(), [], 'it is told of as a suspension now')
  const state: SuspendedState = await own.found('suspension', { suspension: id, from: 0, count: 20 })
  assert.is(state.restarts[0]?.name, 'use-value')
  const frame = state.frames.find(it => it.function === 'dose')
  assert.match(frame?.call ?? '', /\(dose 3\)/)
  const evaluated = (await own.peer.call('evaluate', {
    work: 'frame',
    suspension: id,
    frame: frame?.number,
    source: '(* pots 100)',
    call: 'in their frame',
    who: 'a model',
  })) as Evaluated
  assert.is(evaluated.type === 'done' && evaluated.values[0]?.repr.text, '300')
  assert.is((await resume(id, { way: 'restart', restart: 0, value: '21' })).type, 'done')
  const { ok } = (await answer) as { readonly ok?: Sexp }
  assert.match(textOf(ok), /^=> 42/)
})

test('one that is given back waits in its owner’s debugger as before', async () => {
  const { thread, answer } = await owner.err('(dose 4)')
  const { id } = await adopt()
  assert.is((await resume(id, { way: 'leave' })).type, 'left')
  await until(async () => (await theirs()).length === 1)
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
})

test('an owner who presses a key in the debugger has it back, and the key does what it does', async () => {
  const { thread, answer } = await owner.err('(dose 5)')
  const { id } = await adopt()
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
  const looked = (await own.peer.call('frame', { suspension: id, frame: 0 })) as { type: string }
  assert.is(looked.type, 'not_found')
})

/** Code of a model's that goes on for ever in the frame of one that was handed over. */
const runForEver = async (id: string) => {
  const running = own.peer.call('evaluate', {
    work: 'frame',
    suspension: id,
    frame: 0,
    source: '(loop)',
    call: `for-ever-${++calls}`,
    who: 'a model',
  }) as Promise<Evaluated>
  await until(async () => (await own.found('suspensions', {})).suspensions.some(({ busy }) => busy))
  return { running }
}

test('an owner who interrupts her thread ends what a model runs there, and the error stays handed over', async () => {
  const { thread, answer } = await owner.err('(dose 7)')
  const { id } = await adopt()
  const { running } = await runForEver(id)
  owner.interrupt(thread)
  assert.is((await running).type, 'interrupted')
  assert.equal(
    (await own.found('suspensions', {})).suspensions.map(it => [it.id, it.busy]),
    [[id, false]],
  )
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
})

test('an owner who presses a key in the debugger need not wait for what a model runs there', async () => {
  for (const key of ['swank:sldb-abort', 'swank:throw-to-toplevel']) {
    const { thread, answer } = await owner.err('(dose 8)')
    const { id } = await adopt()
    const { running } = await runForEver(id)
    await owner.press(key, thread)
    assert.ok('abort' in ((await answer) as object))
    assert.is((await running).type, 'interrupted')
    assert.equal((await own.found('suspensions', {})).suspensions, [])
  }
})

test('one that is left is given back, and so is one when Imago goes', async () => {
  const { thread, answer } = await owner.err('(dose 6)')
  await resume((await adopt()).id, { way: 'leave' })
  await until(async () => (await own.found('suspensions', {})).suspensions.length === 0)
  await until(async () => (await theirs()).length === 1)
  await adopt()
  own.end()
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
  own = await new Lisp().open(lisp.swank)
  assert.match(await owner.ask('(+ 1 2)'), /^=> 3/)
})
