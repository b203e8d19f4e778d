import type { Evaluated, Work } from '../wire/kernel.ts'
import type { KernelContext } from './define.ts'

/** Has the image do a piece of work for this call; what it prints is kept, and what it asks goes to the caller. */
export function carriedOut(work: Work, context: KernelContext): Promise<Evaluated> {
  const { kernel, call, who, signal, output, ask } = context
  return kernel.evaluate(
    { call, who, work },
    { signal, on: event => output.add(event), ask: question => ask(question) },
  )
}
