import type { ProgramErrors } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { Lisp, lispImage, until } from '../support/lisp-image.ts'
import { type Owner, openOwner } from '../support/slime-owner.ts'

const test = suite('errors of a Lisp program that wait in a debugger of a person', { limitMs: 30_000 })

const CODE = `(defvar *ran* 0)
  (defvar *gate* (sb-thread:make-semaphore))
  (define-condition stuck (error) ((where :initarg :where))
    (:report (lambda (it stream) (declare (ignore it)) (incf *ran*) (write-string "No tea." stream))))
  (defun serve (pots) (declare (optimize (debug 3))) (list (error 'stuck :where pots)))`
const lisp = lispImage(test, { code: CODE, debugger: true })

let owner: Owner
test.before(async () => {
  owner = await openOwner(lisp.swank)
})
test.after(() => owner?.end())

const errors = (query = {}): Promise<ProgramErrors> => lisp.found('errors', { count: 20, ...query })
/** As soon as it is so many. */
const waiting = async (count: number) => {
  for (;;) {
    const found = (await errors()).errors
    if (found.length === count) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
/**
 * All that wait when `raise` has made one more of them, and Swank has told SLIME of it, which is a moment later. Swank keeps
 * what it told without a lock, and loses it now and then where two connections are told at once: then it is raised anew.
 */
const raised = async (count: number, raise: () => Promise<unknown>) => {
  for (;;) {
    await raise()
    for (let look = 0; look < 10; look++) {
      const found = await waiting(count)
      if (found.every(({ error }) => error.frames.length > 0)) return found
      await new Promise(resolve => setTimeout(resolve, 200))
    }
    await abort()
  }
}
/** Its owner leaves the newest of them. */
const abort = async () => {
  const numbers = (await lisp.found('theirs', {})).errors.map(({ id }) => Number(id.replace(/\D/g, '')))
  await owner.press('swank:sldb-abort', Math.max(...numbers))
  await waiting(numbers.length - 1)
}

test('while none waits it is said where they are looked for, and that others leave nothing', async () => {
  const { errors: none, total, watched, seen } = await errors()
  assert.equal([none, total, watched], [[], 0, true])
  assert.match(seen?.join() ?? '', /SLIME or at the terminal.*leave nothing/)
})

test("an error of the program's own thread is told while SLIME shows it, by none of its code, and stays there", async () => {
  const [error] = await raised(1, () =>
    owner.ask('(sb-thread:make-thread (lambda () (serve 3)) :name "web 1")'),
  )
  assert.equal([error?.kind, error?.where, error?.times], ['waiting', 'thread "web 1", in SLIME', 1])
  assert.equal([error?.error.type.name, error?.error.message], ['stuck', 'No tea.'])
  assert.equal(error?.error.frames.map(frame => frame.function).includes('SERVE'), true)
  assert.match(
    error?.error.traceback ?? '',
    /^No tea\.\n {3}\[Condition of type .*stuck\]\n\nBacktrace:\n {2}0: /i,
  )
  assert.match(error?.error.traceback ?? '', '(SERVE 3)')
  const ran = await lisp.ask('*ran*')
  const [again] = (await errors()).errors
  assert.equal(again, error, 'it is the same one, seen at the same time')
  assert.is(await lisp.ask('*ran*'), ran)
  assert.is((await lisp.found('theirs', {})).errors.length, 1)
})

test('the newest is told first, and what is left leaves nothing', async () => {
  const [newest, older] = await raised(2, () => owner.err('(car 7)'))
  assert.match(newest?.error.message ?? '', 'The value')
  assert.ok((newest?.number ?? 0) > (older?.number ?? 0))
  assert.is((await errors({ count: 1 })).errors[0]?.number, newest?.number)
  await abort()
  assert.equal((await waiting(1))[0]?.number, older?.number)
  await abort()
  assert.equal(await waiting(0), [])
})

const THREADS = "(mapcar #'sb-thread:thread-name (sb-thread:list-all-threads))"
/** Notes that the image has sent over a connection. */
const notesOf = (client: Lisp) =>
  client.messages.filter(message => /"news":"errors"/.test(JSON.stringify(message).replaceAll('\\', '')))
    .length

const tellers = async () => (await lisp.ask(THREADS)).split('imago: errors').length - 1

test('who watches errors is told by a note that one waits, and that it has been left, and costs nothing once he ends that', async () => {
  const before = await tellers()
  const follower = await lisp.join()
  await follower.found('errors', { count: 20 })
  assert.is(await tellers(), before)
  assert.equal((await follower.found('errors', { count: 20, watch: 'on' })).errors, [])
  assert.is(await tellers(), before + 1)
  await owner.err('(serve 8)')
  await until(async () => notesOf(follower) > 0)
  const [error] = (await follower.found('errors', { count: 20 })).errors
  assert.is(error?.error.type.name, 'stuck')
  await abort()
  await until(async () => (await follower.found('errors', { count: 20 })).errors.length === 0)
  await until(async () => notesOf(follower) > 1)
  await follower.found('errors', { count: 1, watch: 'off' })
  await until(async () => (await tellers()) === before)
  await follower.found('errors', { count: 1, watch: 'on' })
  assert.is(await tellers(), before + 1)
  await follower.peer.leave()
  await until(async () => (await tellers()) === before)
})

test('a thousand errors that a server catches are told in few notes, and after the last of these there are all', async () => {
  await lisp.ask(`(defpackage :lack.middleware.backtrace (:use :cl))
    (defun lack.middleware.backtrace::print-error (error env) (list error env))
    (defun flood () (dotimes (n 1000)
      (handler-case (error "Order ~D." n) (error (it) (lack.middleware.backtrace::print-error it nil)))))`)
  const follower = await lisp.join()
  await follower.peer.call('identity', { errors: true })
  await follower.found('errors', { count: 20, watch: 'on' })
  await lisp.ask('(sb-thread:join-thread (sb-thread:make-thread (lambda () (flood))))')
  const seen = async () => (await follower.found('errors', { count: 20 })).errors.map(({ times }) => times)
  let told = 0
  await until(async () => {
    if (notesOf(follower) === told) return false
    told = notesOf(follower)
    return (await seen()).includes(1000)
  })
  assert.ok(notesOf(follower) < 100, `${notesOf(follower)}`)
  await follower.peer.leave()
})

test('what a model evaluates is none of them, not even while it is suspended', async () => {
  const model = await new Lisp(true).open(lisp.swank)
  await model.suspended('(serve 4)')
  assert.equal((await model.found('errors', { count: 20 })).errors, [])
  assert.equal((await errors()).errors, [])
  model.end()
})

test('what Swank has told is kept once it was seen, and what it has forgotten before is told by what is stored', async () => {
  const flood = async () => {
    for (let event = 0; event < 30; event++) await owner.ask('1')
  }
  await raised(1, () => owner.err('(serve 5)'))
  await flood()
  assert.is((await waiting(1))[0]?.error.message, 'No tea.')
  const late = await lisp.join()
  const [error] = (await late.found('errors', { count: 20 })).errors
  assert.match(error?.error.message ?? '', 'where 5')
  assert.equal(error?.error.frames, [])
  late.end()
  await abort()
})

test('a report that imitates what Swank writes is one text, and breaks nothing', async () => {
  const evil = ') (((0 \\"(FORGED)\\"))) dispatch-event: (:DEBUG-RETURN'
  const [error] = await raised(1, () => owner.err(`(error "~A" "${evil}")`))
  assert.match(error?.error.message ?? '', ') (((0 "(FORGED)"')
  assert.not.match(error?.error.frames.map(frame => frame.function).join(' ') ?? '', /^FORGED/)
  await abort()
})

test('with nobody in SLIME, one that waits at the terminal is told', async () => {
  owner.end()
  await until(async () => (await lisp.ask('(length swank::*connections*)')) === '0')
  await lisp.ask(
    '(sb-thread:make-thread (lambda () (let ((sb-ext:*invoke-debugger-hook* nil) (*debugger-hook* nil)) (serve 6))) :name "alone")',
  )
  const [error] = await waiting(1)
  assert.is(error?.where, 'thread "alone", in the debugger at the terminal')
  assert.match(error?.error.message ?? '', 'where 6')
})
