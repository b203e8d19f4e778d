import type { Evaluated, Kernel } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

/** Code that ends its evaluation, its thread or its process, on a real SBCL. */
const test = suite('Lisp code that leaves', { limitMs: 50_000 })

const ground = new LispGround()
test.after(() => ground.clear())

interface Faulty {
  readonly code: string
  readonly message: string
}
const faultOf = (result: Promise<Evaluated>): Promise<Faulty | Evaluated> => result.catch(error => error)

for (const [source, how] of [
  ['(sb-ext:exit :code 3)', 'exit code 3'],
  ['(unwind-protect (sb-ext:exit :code 5) (print 1))', 'exit code 5'],
  ['(sb-ext:exit :code 4 :abort t)', 'exit code 4'],
  ['(progn (sb-thread:make-thread (lambda () (sb-ext:exit :code 6))) (loop (sleep 0.01)))', 'exit code 6'],
] as const) {
  test(`an image of ours that ends by ${source} leaves its outcome unknown, and says how it ended`, async () => {
    const { kernel } = await ground.lisp()
    const fault = await faultOf(evaluate(kernel, source).result)
    const end = await kernel.ended
    assert.equal([Reflect.get(fault, 'code'), Reflect.get(fault, 'message')], ['LINK_CLOSED', end.message])
    assert.match(end.message, how)
  })
}

test('what an image says of its end is heard although the thread that reads from us has ended first', async () => {
  const { kernel } = await ground.lisp()
  const source = `(let ((reader (swank::mconn.reader-thread swank::*emacs-connection*)))
    (sb-thread:terminate-thread reader)
    (sb-thread:join-thread reader :default nil)
    (sb-ext:exit :code 7))`
  const fault = await faultOf(evaluate(kernel, source).result)
  assert.equal([Reflect.get(fault, 'code'), Reflect.get(fault, 'type')], ['LINK_CLOSED', undefined])
  assert.match((await kernel.ended).message, 'exit code 7')
})

test('an image of ours that is killed while code runs leaves its outcome unknown (fault 3)', async () => {
  const { kernel, pid } = await ground.lisp()
  const heard = evaluate(kernel, '(progn (print :on) (finish-output) (loop (sleep 0.01)))')
  await printed(heard, 'ON')
  process.kill(pid, 'SIGKILL')
  const fault = await faultOf(heard.result)
  assert.equal([Reflect.get(fault, 'code'), (await kernel.ended).reason], ['LINK_CLOSED', 'killed'])
})

test('an image that we are attached to says that it was told to end, and ends when that was heard', async () => {
  const kernel = await openSwankKernel(await startSwank())
  const fault = await faultOf(evaluate(kernel, '(sb-ext:exit :code 3)').result)
  assert.equal(Reflect.get(fault, 'code'), 'LINK_CLOSED')
  assert.match(Reflect.get(fault, 'message'), /told lisp to end with exit code 3/)
})

test('code that leaves by ABORT or with its thread has left, and is no error', async () => {
  const image = await startSwank()
  const kernel: Kernel = await openSwankKernel(image)
  for (const [source, how] of [
    ['(progn (print 1) (abort))', 'restart ABORT'],
    ['(handler-case (error "mine") (error () (abort)))', 'restart ABORT'],
    ['(sb-thread:abort-thread)', 'ended that thread'],
    ['(sb-thread:terminate-thread sb-thread:*current-thread*)', 'ended that thread'],
  ] as const) {
    const evaluated = await evaluate(kernel, source).result
    if (evaluated.type !== 'left') throw new Error(`${source}: ${JSON.stringify(evaluated)}`)
    assert.match(evaluated.message, how)
    const next = await evaluate(kernel, '(+ 1 2)').result
    assert.is(next.type === 'done' && next.values[0]?.repr.text, '3')
  }
  const look = { deadlineMs: 5_000 }
  const error = await kernel.look('last_error', {}, look)
  assert.is(error.type === 'found' && error.value.error, null)
  const history = await kernel.look('history', { limit: 20 }, look)
  const outcomes = history.type === 'found' ? history.value.entries.map(({ outcome }) => outcome) : []
  assert.equal(
    outcomes.filter(outcome => outcome === 'left').length +
      outcomes.filter(outcome => outcome === 'done').length,
    8,
  )
  image.kill()
})
