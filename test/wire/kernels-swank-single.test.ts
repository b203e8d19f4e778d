import type { SwankKernel } from '../../wire/kernels/swank.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

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
