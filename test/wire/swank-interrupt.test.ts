import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Evaluated } from '../../wire/kernel.ts'
import type { SwankKernel } from '../../wire/kernels/swank.ts'
import { symbol } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, newCall, printed } from '../support/heard.ts'
import { until } from '../support/rig.ts'
import { openPeer, type RealSwank, startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

/** The ladder on a real SBCL: what it stops, what it cannot stop, and that it hits no other call. */
const test = suite('interrupting a Lisp image')

let swank: RealSwank
let kernel: SwankKernel
test.before(async () => {
  swank = await startSwank()
  kernel = await openSwankKernel(swank)
})
test.after(async () => {
  await kernel?.close()
  swank?.kill()
})

const SAYS_SO = '(progn (write-line "begun") (finish-output))'
/** Begins code that says that it has begun: where it does so itself, else before the first of its forms. */
async function begun(source: string, on = kernel) {
  const heard = evaluate(on, source.includes(SAYS_SO) ? source : `${SAYS_SO}\n${source}`)
  await printed(heard, 'begun')
  return heard
}
/** A form that tells by a file that the code has come so far: what was printed before it says nothing of the next form. */
const tells = (go: string) =>
  `(open ${JSON.stringify(`${go}.inside`)} :direction :probe :if-does-not-exist :create)`
const isInside = (go: string) => until(() => existsSync(`${go}.inside`), 'the code to come so far')
const shown = async (source: string) => {
  const ended = await evaluate(kernel, source).result
  return ended.type === 'done' ? ended.values[0]?.repr.text : ended.type
}
const raisedIn = (ended: Evaluated) => {
  if (ended.type !== 'raised') throw new Error(ended.type)
  return ended.exception
}

const STOPPED: Readonly<Record<string, string>> = {
  'a loop that allocates nothing': '(loop)',
  'a sleep': '(sleep 600)',
  'a wait for a lock':
    '(let ((semaphore (sb-thread:make-semaphore))) (sb-thread:wait-on-semaphore semaphore))',
  'a wait for a process': '(sb-ext:run-program "sleep" \'("600") :search t)',
  'code that handles every condition':
    '(loop (handler-case (sleep 600) (condition () nil)) (ignore-errors (sleep 600)))',
  'code with a debugger of its own':
    '(let ((*debugger-hook* (lambda (condition hook) (declare (ignore condition hook)) (loop (sleep 1)))))\n' +
    '  (setf sb-ext:*invoke-debugger-hook* nil)\n  (loop (sleep 0.01)))',
  'code that prints without end': '(loop (write-line "a line of many"))',
}

for (const [what, source] of Object.entries(STOPPED))
  test(`it stops ${what}`, async () => {
    const heard = await begun(source)
    const report = await kernel.interrupt(heard.call)
    assert.is(report.outcome, 'stopped', report.message)
    assert.match(report.message, /^it was seen to stop, .+ after it was asked to; it had run for .+$/)
    assert.is((await heard.result).type, 'interrupted')
  })

test('code that waits for a line is stopped, and its question is withdrawn', async () => {
  let answer: (line: string) => void = () => {}
  let asked: () => void = () => {}
  const question = new Promise<void>(resolve => {
    asked = resolve
  })
  const ask = () => {
    asked()
    return new Promise<string>(resolve => {
      answer = resolve
    })
  }
  const heard = evaluate(kernel, '(read-line)', { ask })
  await question
  assert.is((await kernel.interrupt(heard.call)).outcome, 'stopped')
  answer('too late')
  assert.is((await heard.result).type, 'interrupted')
  assert.is(await shown('(+ 1 2)'), '3')
})

test('cleanup forms run; those that never end are left at the next asking', async () => {
  await evaluate(kernel, '(defparameter *cleaned* 0)').result
  const once = await begun(`(unwind-protect (progn ${SAYS_SO} (loop (sleep 0.01))) (incf *cleaned*))`)
  assert.is((await kernel.interrupt(once.call)).outcome, 'stopped')
  assert.is(await shown('*cleaned*'), '1')
  const held = await begun(
    `(unwind-protect (progn ${SAYS_SO} (loop (sleep 0.01))) (loop (incf *cleaned*) (sleep 0.01)))`,
  )
  assert.is((await kernel.interrupt(held.call)).outcome, 'stopped')
  assert.is((await held.result).type, 'interrupted')
})

test('code inside without-interrupts still runs, and that is said; it is stopped once that has ended', async () => {
  const go = join(tmpdir(), `imago-go-${process.pid}`)
  const heard = evaluate(
    kernel,
    `(sb-sys:without-interrupts ${tells(go)} (loop until (probe-file ${JSON.stringify(go)}) do (sleep 0.01)))
     (loop (sleep 0.01))`,
  )
  await isInside(go)
  const report = await kernel.interrupt(heard.call)
  assert.is(report.outcome, 'still_running')
  assert.match(
    report.message,
    'no interrupt has reached it: it is inside without-interrupts or in foreign code',
  )
  assert.is(report.offer, undefined)
  writeFileSync(go, '')
  assert.is((await heard.result).type, 'interrupted')
})

test('code that never lets go is told as it was seen: how often an interrupt reached it, and where', async () => {
  const quick = { againMs: 1_000, leaveMs: 2_000, reportMs: 3_000 }
  const own = await openSwankKernel(swank, { ladder: quick })
  const go = join(tmpdir(), `imago-holds-${process.pid}`)
  const heard = evaluate(
    own,
    `(defun holds-on () ${tells(go)} (list (loop until (probe-file ${JSON.stringify(go)}) do (sleep 0.01))))
     (loop until (probe-file ${JSON.stringify(go)}) do (block nil (unwind-protect (list (holds-on)) (return))))`,
  )
  await isInside(go)
  const report = await own.interrupt(heard.call)
  assert.is(report.outcome, 'still_running')
  assert.match(report.message, /^it was asked to stop twice, then to leave to the top level, and still runs/)
  assert.match(report.message, /an interrupt reached it, and it went on: its own cleanup forms hold it$/)
  writeFileSync(go, '')
  await heard.result
  await own.close()
})

test('an interrupt at the moment of completion hits nothing, however late it comes (fault 30)', async () => {
  for (let round = 0; round < 200; round++) {
    const first = evaluate(kernel, round % 2 === 0 ? '(+ 1 2)' : '(write-line "one")')
    const next = evaluate(kernel, '(dotimes (time 3) (sleep 0.0005))')
    const moment = round % 8
    if (moment > 0) await new Promise(resolve => setTimeout(resolve, moment - 1))
    const report = await kernel.interrupt(first.call)
    const ended = (await first.result).type
    assert.ok(
      report.outcome === 'stopped' ? ended === 'interrupted' : ended !== 'interrupted',
      report.message,
    )
    assert.is((await next.result).type, 'done')
  }
})

test('the image itself interrupts no call that has ended, or that it does not know', async () => {
  const { peer, connection } = await openPeer(swank)
  const call = newCall()
  await peer.call('evaluate', { call, who: 'test', work: 'source', source: '(+ 1 2)' })
  for (const name of [call, 'nobody'])
    assert.equal(await peer.call('interrupt', { call: name, how: 'stop' }), {
      running: false,
      reached: 0,
      where: null,
    })
  connection.end()
})

test('a person who interrupts our thread from their own editor is obeyed', async () => {
  const { connection } = await openPeer(swank)
  const heard = await begun(
    `(defparameter *seat* (swank::current-thread-id))\n(progn ${SAYS_SO} (loop (sleep 0.01)))`,
  )
  const human = await openSwankKernel(swank)
  const seat = await human.look('inspect', { expr: '*seat*' }, { deadlineMs: 5_000 })
  if (seat.type !== 'found' || !seat.value.repr || !('text' in seat.value.repr)) throw new Error(seat.type)
  connection.send([symbol(':emacs-interrupt'), Number(seat.value.repr.text)])
  assert.is((await heard.result).type, 'interrupted')
  connection.end()
  await human.close()
})

test("what enters Swank's own debugger is told as raised, and its thread is released", async () => {
  const enter = (message: string) =>
    `(swank:invoke-slime-debugger (make-condition 'simple-error :format-control ${JSON.stringify(message)}))`
  const one = raisedIn(await evaluate(kernel, enter('alone')).result)
  assert.equal([one.type.name, one.message], ['simple-error', 'alone'])
  assert.ok(one.restarts?.some(({ name }) => name === 'abort'))
  const within = `(unwind-protect ${enter('outer')} (ignore-errors ${enter('inner')}))`
  assert.is(raisedIn(await evaluate(kernel, within).result).message, 'outer')
  assert.is(await shown('(+ 1 2)'), '3')
})

test('letting go of the image stops what runs there first', async () => {
  const own = await openSwankKernel(swank)
  const heard = await begun(
    `(defparameter *left* nil)\n(unwind-protect (progn ${SAYS_SO} (loop (sleep 0.01))) (setf *left* t))`,
    own,
  )
  const waiting = evaluate(own, '(setf *left* :ran)')
  await own.close()
  assert.is((await heard.result).type, 'interrupted')
  assert.is(await waiting.result.catch(error => error.code), 'LINK_CLOSED')
  assert.is(await shown('*left*'), 't')
})
