import type { Failed } from '../../tools/outcome.ts'
import type { Evaluated, Evaluation, Kernel, Watcher } from '../../wire/kernel.ts'
import { KernelAround } from './kernel-around.ts'
import type { Leased } from './suspended-book.ts'

/** By what right something is done to suspended evaluations. */
export interface Rights {
  find(id: string): Leased | undefined
  /** Why not, where another one holds it. */
  refusal(leased: Leased): Failed | undefined
  /** As the book's. */
  acts(leased: Leased): () => void
}

/** What is thrown at a tool that did not ask whose a suspended evaluation is: its caller is told as by one that does. */
export class HeldByOther extends Error {
  override readonly name = 'HeldByOther'
  readonly failure: Failed

  constructor(failure: Failed) {
    super(failure.error.message)
    this.failure = failure
  }
}

/** A kernel, in whose suspended evaluations only those run code who hold them, whatever a tool has looked at before. */
export class LeasedKernel extends KernelAround {
  readonly #rights: Rights

  constructor(kernel: Kernel, rights: Rights) {
    super(kernel)
    this.#rights = rights
  }

  /** Throws `HeldByOther` besides what the kernel does. */
  override async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { work } = evaluation
    const leased =
      work.type === 'frame' || work.type === 'resume' ? this.#rights.find(work.suspension) : undefined
    if (leased === undefined) return super.evaluate(evaluation, watcher)
    const refusal = this.#rights.refusal(leased)
    if (refusal !== undefined) throw new HeldByOther(refusal)
    const giveBack = this.#rights.acts(leased)
    const evaluated = await super.evaluate(evaluation, watcher)
    if (evaluated.type === 'refused' || evaluated.type === 'withdrawn') giveBack()
    return evaluated
  }
}
