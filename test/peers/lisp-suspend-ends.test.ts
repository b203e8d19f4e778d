import { assert, suite } from '../support/harness.ts'
import { openSuspending, type Suspending, textsOf } from '../support/lisp-suspending.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('ends of suspended Lisp evaluations', { limitMs: 100_000 })
let swank: RealSwank
let lisp: Suspending
let human: Slime

test.before(async () => {
  swank = await startSwank()
  human = await openSlime(swank)
  lisp = await openSuspending(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
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

test('an error that nobody comes to is left by the image itself, with its cleanup forms', async () => {
  const { suspension } = await lisp.suspended(
    '(unwind-protect (error "x") (setf (get :expired :cleaned) t))',
    { suspend: 100 },
  )
  assert.is((await endOf(suspension.id)).how, 'expired')
  await untilThere('(get :expired :cleaned)')
  assert.equal(await live(), [])
  const refused = await lisp.resume(suspension.id, { way: 'leave' })
  assert.is(refused.type === 'refused' && refused.reason, 'not_found')
  const { entries } = await lisp.found('history', { limit: 20 })
  assert.is(entries.find(({ who }) => who === 'test')?.outcome, 'left')
})

test('a lease is made longer for one that is looked at, and shorter', async () => {
  const { suspension } = await lisp.suspended('(error "x")', { suspend: 60_000 })
  const lease = (lease_ms: number) => lisp.found('lease', { suspension: suspension.id, lease_ms })
  const { expires_in_ms } = await lease(3_600_000)
  assert.ok(expires_in_ms > 3_000_000)
  await lease(50)
  assert.is((await endOf(suspension.id)).how, 'expired')
})

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
  const inner = await lisp.inFrame(outer.suspension.id, 0, '(error "y")', { suspend: 100 })
  if (inner.type !== 'suspended') throw new Error(inner.type)
  assert.is((await endOf(inner.suspension.id)).how, 'expired')
  assert.equal(await live(), [outer.suspension.id])
  assert.equal(textsOf(await lisp.inFrame(outer.suspension.id, 0, '1')), ['1'])
  await lisp.resume(outer.suspension.id, { way: 'leave' })
})

test('a thread that is ended from outside takes its suspension with it', async () => {
  const { suspension } = await lisp.suspended(
    '(progn (setf (get :doomed :thread) sb-thread:*current-thread*) (error "x"))',
  )
  await asked('(sb-thread:terminate-thread (get :doomed :thread))')
  assert.is((await endOf(suspension.id)).how, 'lost')
  assert.equal(await live(), [])
})

test('a time limit of the program takes it elsewhere, where somebody handles it, and changes nothing where not', async () => {
  const handled = await lisp.suspended(`
    (setf (get :limit :came) (handler-case (sb-ext:with-timeout 0.2 (error "x")) (sb-ext:timeout () :in-time)))`)
  const end = await endOf(handled.suspension.id)
  assert.is(end.how, 'resumed')
  assert.match(end.message, 'timeout')
  assert.is(await untilThere('(get :limit :came)'), ':IN-TIME')
  const { suspension } = await lisp.suspended(
    '(sb-ext:with-timeout 0.1 (restart-case (error "x") (on () :went-on)))',
  )
  await asked('(sleep 0.3)')
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

test('an error of a thread that the code has made is the person’s own', async () => {
  const done = await lisp.values('(progn (sb-thread:make-thread (lambda () (error "of a thread"))) :made)')
  assert.equal(done, [':made'])
  while (!human.debugged.some(condition => condition.includes('of a thread')))
    await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(await live(), [])
})

test('a connection that breaks leaves nothing suspended, no thread and no mailbox (fault 11)', async () => {
  const before = await kept()
  for (let count = 1; count <= 3; count++) {
    const other = await openSuspending(swank)
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
  const other = await openSuspending(swank)
  for (const name of ['one', 'two', 'three'])
    await other.suspended(`(unwind-protect (error "x") (setf (get :left :${name}) t))`)
  await other.peer.leave()
  assert.is(await asked('(list (get :left :one) (get :left :two) (get :left :three))'), '(T T T)')
  other.end()
  await untilKept(before)
})
