import { attachedTo } from './real-kernels.ts'
import { SUSPENDING_LISP, SUSPENDING_PYTHON } from './snippets-suspending.ts'
import { SuspendingKernel, suspensionIn } from './suspended.ts'
import { openSwankKernel } from './swank-kernel.ts'

/**
 * A process of its own that has evaluations of an image suspended, for tests of what becomes of them when it dies. Its
 * argument is JSON: a `Task`. It says the ids of three, one of which stands on another, and stays until it is killed.
 */
export type Task =
  | { readonly language: 'lisp'; readonly port: number }
  | { readonly language: 'python'; readonly pid: number; readonly runtimeDir: string }

const task = JSON.parse(process.argv[2] ?? '') as Task
const snippets = task.language === 'lisp' ? SUSPENDING_LISP : SUSPENDING_PYTHON
const on = new SuspendingKernel(
  task.language === 'lisp' ? await openSwankKernel(task) : await attachedTo(task),
)
const { fails, frame, world } = snippets
await on.run(world, null).result
const held = on.kernel.identity.abilities.has('hold') ? { hold: true } : {}
const outer = await on.suspend(fails.source, { leaseMs: 600_000, ...held })
const number = await on.frameOf(outer.id, fails.inner)
if (frame === undefined) throw new Error('nothing is evaluated in its frames')
const inner = suspensionIn(await on.inFrame(outer.id, number, frame.fails).result)
const other = await on.suspend(fails.source)
process.stdout.write(`${JSON.stringify([outer.id, inner.id, other.id])}\n`)
process.stdin.resume()
