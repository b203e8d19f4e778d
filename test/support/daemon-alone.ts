import { attachedTo, type Listening } from './real-kernels.ts'
import { SUSPENDING_LISP, SUSPENDING_PYTHON } from './snippets-suspending.ts'
import { TRACING_LISP, TRACING_PYTHON } from './snippets-tracing.ts'
import { SuspendingKernel, suspensionIn } from './suspended.ts'
import { openSwankKernel } from './swank-kernel.ts'

/**
 * A process of its own that has evaluations of an image suspended and functions of it traced, for tests of what becomes
 * of them when it dies. Its argument is JSON: a `Task`. It says the ids of three suspensions, one of which stands on
 * another, and the states of its tracepoints, and stays until it is killed.
 */
export type Task =
  | { readonly language: 'lisp'; readonly port: number }
  | ({ readonly language: 'python' } & Listening)

const task = JSON.parse(process.argv[2] ?? '') as Task
const isLisp = task.language === 'lisp'
const on = new SuspendingKernel(isLisp ? await openSwankKernel(task) : await attachedTo(task))
const { fails, frame, world } = isLisp ? SUSPENDING_LISP : SUSPENDING_PYTHON
await on.run(world, null).result
const held = on.kernel.identity.abilities.has('hold') ? { hold: true } : {}
const outer = await on.suspend(fails.source, held)
const number = await on.frameOf(outer.id, fails.inner)
if (frame === undefined) throw new Error('nothing is evaluated in its frames')
const inner = suspensionIn(await on.inFrame(outer.id, number, frame.fails).result)
const other = await on.suspend(fails.source)
const { area, beat } = isLisp ? TRACING_LISP : TRACING_PYTHON
const states = []
for (const { name } of [area, beat]) {
  const query = { name, calls: 1000, expires_ms: 600_000, who: 'alone' }
  const looked = await on.kernel.look('trace', query, { deadlineMs: 10_000 })
  states.push(looked.type === 'found' ? looked.value.state : JSON.stringify(looked))
}
process.stdout.write(`${JSON.stringify({ ids: [outer.id, inner.id, other.id], states })}\n`)
process.stdin.resume()
