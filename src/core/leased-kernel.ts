import { type Failed, failed } from '../../tools/outcome.ts'
import type {
  Evaluated,
  Evaluation,
  Kernel,
  Look,
  Looked,
  LookName,
  Looks,
  Suspension,
  Watcher,
} from '../../wire/kernel.ts'
import { KernelAround } from './kernel-around.ts'
import type { Leased } from './leased.ts'

/** How long an image may take to say what is suspended in it before code is run in that, in milliseconds. */
const LEARN_MS = 2_000

/** By what right something is done to suspended evaluations. */
export interface Rights {
  /** Undefined for one that is not known, or has ended. */
  find(id: string): Leased | undefined
  /** The image has told of these, of which nobody may have heard; `all`: it told of all. */
  learn(seen: readonly Suspension[], all: boolean): void
  /** Whether it is begun anew how long that one waits, because this caller looks at it. */
  renews(leased: Leased | undefined): boolean
  /** Why not, where another one holds it. */
  refusal(leased: Leased): Failed | undefined
  /** As the book's. */
  acts(leased: Leased): () => void
  /** As the book's. */
  cameTo(leased: Leased, evaluated: Evaluated): void
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

/**
 * A kernel, in whose suspended evaluations only those run code who hold them, whatever a tool has looked at before, and
 * keep them waiting by looking. One that nobody has heard of is learnt from the image before anything is done to it.
 */
export class LeasedKernel extends KernelAround {
  readonly #rights: Rights

  constructor(kernel: Kernel, rights: Rights) {
    super(kernel)
    this.#rights = rights
  }

  override async look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>> {
    const renew = isAboutOne(name, query) && this.#rights.renews(this.#rights.find(query.suspension))
    const looked = await super.look(name, renew ? { ...query, renew } : query, look)
    if (looked.type === 'found') this.#learn(name, looked.value)
    return looked
  }

  /** Throws `HeldByOther` besides what the kernel does. */
  override async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { work } = evaluation
    const leased =
      work.type === 'frame' || work.type === 'resume' ? await this.#found(work.suspension) : undefined
    if (leased === undefined) return super.evaluate(evaluation, watcher)
    const refusal = this.#rights.refusal(leased)
    if (refusal !== undefined) throw new HeldByOther(refusal)
    const giveBack = this.#rights.acts(leased)
    const evaluated = await super.evaluate(evaluation, watcher)
    if (evaluated.type === 'refused' || evaluated.type === 'withdrawn') giveBack()
    else if (work.type === 'resume') this.#rights.cameTo(leased, evaluated)
    return evaluated
  }

  #learn<Name extends LookName>(name: Name, found: Looks[Name]['found']): void {
    if (name === 'suspensions') this.#rights.learn((found as Looks['suspensions']['found']).suspensions, true)
    if (name === 'suspension') this.#rights.learn([(found as Looks['suspension']['found']).suspension], false)
  }

  /** That one, as the image tells of it where nobody has heard of it; undefined where there is none. */
  async #found(id: string): Promise<Leased | undefined> {
    const known = this.#rights.find(id)
    if (known !== undefined || !this.identity.abilities.has('suspensions')) return known
    const looked = await this.look('suspensions', {}, { deadlineMs: LEARN_MS })
    if (looked.type !== 'found') throw new HeldByOther(unanswered(id))
    return this.#rights.find(id)
  }
}

function isAboutOne(name: LookName, query: object): query is { readonly suspension: string } {
  return (name === 'suspension' || name === 'frame') && 'suspension' in query
}

const unanswered = (id: string): Failed =>
  failed('unresponsive', {
    message: `Nothing was run at ${id}: whose it is was not known, and its image did not say in time what waits there.`,
    details: { suspension: id },
    next: 'Try again.',
  })
