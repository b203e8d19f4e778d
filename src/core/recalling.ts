import type { Evaluated, Evaluation, Kernel, Watcher } from '../../wire/kernel.ts'
import { KernelAround } from './kernel-around.ts'

/** The same kernel for a call that it was given before: it is asked what became of it, and begins nothing. */
export const recalling = (kernel: Kernel): Kernel => new Recalling(kernel)

class Recalling extends KernelAround {
  override evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    return super.evaluate({ ...evaluation, again: true }, watcher)
  }
}
