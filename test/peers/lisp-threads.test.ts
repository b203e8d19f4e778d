import { threads as threadsTool } from '../../tools/activity.ts'
import type { Threads } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { lispImage } from '../support/lisp-image.ts'

const test = suite('threads of a Lisp program that wait for locks', { limitMs: 60_000 })

const CODE = `(defvar *one* (sb-thread:make-mutex :name "one"))
  (defvar *two* (sb-thread:make-mutex :name "two"))
  (defvar *held* (sb-thread:make-semaphore))
  (defvar *go* (sb-thread:make-semaphore))
  (defun hold-both (first second)
    (sb-thread:with-mutex (first)
      (sb-thread:signal-semaphore *held*)
      (sb-thread:wait-on-semaphore *go*)
      (sb-thread:with-mutex (second) :never)))`
// SBCL finds a deadlock of two itself, and takes one of them to the debugger.
const lisp = lispImage(test, { code: CODE, debugger: true })

/** The threads, as soon as they are so. */
async function threadsWhen(wanted: (found: Threads) => boolean): Promise<Threads> {
  for (;;) {
    const found = await lisp.found('threads', { limit: 50, frames: 0, locals: false })
    if (wanted(found)) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
const waitsOf = (found: Threads, name: string) =>
  found.threads.filter(({ names }) => names[0] === name).map(({ state, waits_for }) => [state, waits_for])

test('a lock whose holder has ended is told as such, with who had it', async () => {
  // SBCL knows the holder by its memory, which a thread that begins later may be given: then it is tried once more.
  for (let attempt = 0; ; attempt++) {
    const heir = `heir ${attempt}`
    await lisp.define(`(let ((left (sb-thread:make-mutex :name "left")))
      (sb-thread:make-thread (lambda () (sb-thread:wait-on-semaphore *go*) (sb-thread:with-mutex (left) :never))
                             :name "${heir}")
      (sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-thread:grab-mutex left)) :name "gone"))
      (sb-thread:signal-semaphore *go*))`)
    const found = await threadsWhen(seen => waitsOf(seen, heir).some(([state]) => state === 'waiting'))
    assert.equal(found.deadlocks, [])
    if (waitsOf(found, heir)[0]?.[1] === 'the mutex "left", which the thread "gone" had when it ended') return
  }
})

test('of two threads in a deadlock each is told with its lock and who has it, and the circle', async () => {
  await lisp.define(`(progn
    (sb-thread:make-thread #'hold-both :arguments (list *one* *two*) :name "ab")
    (sb-thread:make-thread #'hold-both :arguments (list *two* *one*) :name "ba")
    (sb-thread:wait-on-semaphore *held* :n 2)
    (sb-thread:signal-semaphore *go* 2))`)
  const found = await threadsWhen(({ deadlocks = [] }) => deadlocks.length > 0)
  assert.equal(waitsOf(found, 'ab'), [['waiting', 'the mutex "two", which the thread "ba" has']])
  assert.equal(waitsOf(found, 'ba'), [['waiting', 'the mutex "one", which the thread "ab" has']])
  assert.equal(
    (found.deadlocks ?? []).map(circle => [...circle].sort()),
    [['ab', 'ba']],
  )
  assert.match(threadsTool.show(found), /\ndeadlock: "(ab|ba)" waits for "(ba|ab)", which waits for "\1"\n/)
})
