import type { Kernel } from '../../wire/kernel.ts'
import type { SwankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { textOf } from '../../wire/swank/connection.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { LISP } from '../support/snippets-lisp.ts'
import { SUSPENDING_LISP } from '../support/snippets-suspending.ts'
import { TRACING_LISP } from '../support/snippets-tracing.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { goneFacts, type Image } from './kernel-gone.ts'
import { kernelSmoke, kernelSuite } from './kernel-suite.ts'
import { suspensionSuite } from './kernel-suspensions.ts'
import { tracepointFacts } from './kernel-tracepoints.ts'

/** All facts on a real SBCL that a person has started with Swank; in short on one that Imago starts, and ends. */
const title = 'SBCL, attached'
let started: Promise<RealSwank> | undefined
const open = async (): Promise<Kernel> => {
  started ??= startSwank()
  return openSwankKernel(await started)
}
const ground = new LispGround()

// What children print at the descriptors is told as printed by the image itself, beside any evaluation.
kernelSuite({ title, snippets: LISP, open, descriptors: "the program's" })
kernelSmoke({ title: 'SBCL, owned', snippets: LISP, open: async () => (await ground.lisp()).kernel })
suspensionSuite({ title, snippets: SUSPENDING_LISP, open })
tracepointFacts({ title, snippets: TRACING_LISP, open })
goneFacts({ title, snippets: SUSPENDING_LISP, start })

async function start(): Promise<Image> {
  const swank = await startSwank()
  const person = await connectSwank({ host: '127.0.0.1', port: swank.port, secret: null })
  const names =
    '(format nil "~{~A~^, ~}" (mapcar (function sb-thread:thread-name) (sb-thread:list-all-threads)))'
  return {
    task: { language: 'lisp', port: swank.port },
    open: () => openSwankKernel(swank),
    async threads() {
      const answer = await person.connection.rex([symbol('swank:eval-and-grab-output'), names])
      if ('abort' in answer) throw new Error(answer.abort)
      const [, printed] = Array.isArray(answer.ok) ? (answer.ok as readonly Sexp[]) : []
      return textOf(printed).split(', ').sort()
    },
  }
}

/** A real SBCL whose Swank serves one request at a time, on the one thread that it has for that. */
const LOOK = { deadlineMs: 10_000 }
const PAGE = { modules: false, limit: 5 }

for (const style of [':fd-handler', 'nil'] as const) {
  const test = suite(`SBCL, Swank of style ${style}`)
  let swank: RealSwank
  let kernel: SwankKernel
  test.before(async () => {
    swank = await startSwank({ style })
    kernel = await openSwankKernel(swank)
  })
  test.after(async () => {
    await kernel?.close()
    swank?.kill()
  })

  const shown = async (source: string) => {
    const ended = await evaluate(kernel, source).result
    return ended.type === 'done' ? ended.values[0]?.repr.text : ended.type
  }

  test('code is evaluated, prints, asks and fails as it does anywhere', async () => {
    const heard = evaluate(kernel, '(write-line "out")\n(values (read-line))', { ask: async () => 'a line' })
    const ended = await heard.result
    assert.is(ended.type === 'done' && ended.values[0]?.repr.text, '"a line"')
    assert.is(heard.text(), 'out\n')
    assert.is(await shown('(error "no")'), 'raised')
    const entered = '(swank:invoke-slime-debugger (make-condition \'simple-error :format-control "no"))'
    assert.is(await shown(entered), 'raised')
    assert.is(await shown('(+ 1 2)'), '3')
  })

  test('a look is answered between evaluations, and is busy at once during one', async () => {
    assert.is((await kernel.look('globals', PAGE, LOOK)).type, 'found')
    let go = (_: string) => {}
    const line = new Promise<string>(resolve => {
      go = resolve
    })
    const asks = '(progn (write-line "begun") (finish-output) (values (read-line)))'
    const heard = evaluate(kernel, asks, { ask: () => line })
    await printed(heard, 'begun')
    const busy = await kernel.look('globals', PAGE, LOOK)
    assert.is(busy.type === 'busy' && busy.call, heard.call)
    assert.is((await kernel.status(LOOK)).running?.call, heard.call)
    go('on')
    assert.is((await heard.result).type, 'done')
    assert.is((await kernel.look('globals', PAGE, LOOK)).type, 'found')
  })

  if (style === ':fd-handler')
    test('an image that is not ours is not signalled, and it is said that nothing reaches it', async () => {
      const ladder = { againMs: 100, leaveMs: 200, reportMs: 300 }
      const other = await startSwank({ style })
      const attached = await openSwankKernel(other, { ladder })
      assert.not.ok(attached.identity.abilities.has('interrupt'))
      const heard = evaluate(attached, '(sleep 3)')
      const report = await attached.interrupt(heard.call)
      assert.is(report.outcome, 'still_running')
      assert.match(report.message, 'serves one request at a time, and hears nothing while code runs')
      assert.is(report.offer, undefined)
      assert.is((await heard.result).type, 'done')
      await attached.close()
      other.kill()
    })
}
