import { attachedTo, type Listening } from './real-kernels.ts'
import { TRACING_LISP, TRACING_PYTHON } from './snippets-tracing.ts'
import { openSwankKernel } from './swank-kernel.ts'

/**
 * A process of its own that traces functions of an image, for tests of what becomes of that when it dies. Its argument
 * is JSON: a `Traced`. It says the states of its tracepoints, and stays until it is killed.
 */
export type Traced =
  | { readonly language: 'lisp'; readonly port: number }
  | ({ readonly language: 'python' } & Listening)

const image = JSON.parse(process.argv[2] ?? '') as Traced
const { area, beat } = image.language === 'lisp' ? TRACING_LISP : TRACING_PYTHON
const kernel = image.language === 'lisp' ? await openSwankKernel(image) : await attachedTo(image)
const states = []
for (const { name } of [area, beat]) {
  const query = { name, calls: 1000, expires_ms: 600_000, who: 'alone' }
  const looked = await kernel.look('trace', query, { deadlineMs: 10_000 })
  states.push(looked.type === 'found' ? looked.value.state : JSON.stringify(looked))
}
process.stdout.write(`${JSON.stringify(states)}\n`)
process.stdin.resume()
