import { type Failed, failed } from '../../tools/outcome.ts'
import { absent } from '../../tools/suspended.ts'
import type {
  Evaluated,
  Evaluation,
  Kernel,
  Look,
  Looked,
  LookName,
  Looks,
  Refused,
  Suspension,
  Watcher,
} from '../../wire/kernel.ts'
import { acting, hasBegun } from './acting.ts'
import { KernelAround } from './kernel-around.ts'
import type { Leased } from './leased.ts'

/** How long an image may take to say what is suspended in it before code is run in that, in milliseconds. */
const LEARN_MS = 2_000

/** By what right something is done to suspended evaluations. */
export interface Rights {
  /** Undefined for one that is not known, or has ended. */
  find(id: string): Leased | undefined
  /** As the book's. */
  looks(): number
  /** The image has told of these, of which nobody may have heard; as the book's. */
  learn(seen: readonly Suspension[], asOf?: number): void
  /** Whether it is begun anew how long that one waits, because this caller looks at it. */
  renews(leased: Leased | undefined): boolean
  /** Why not, where another one holds it. */
  refusal(leased: Leased): Failed | undefined
  /** As the book's. */
  acts(leased: Leased): (ran: boolean) => void
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
    const asOf = this.#rights.looks()
    const looked = await super.look(name, renew ? { ...query, renew } : query, look)
    if (looked.type === 'found') this.#learn(name, { found: looked.value, asOf })
    return looked
  }

  /** Throws `HeldByOther` besides what the kernel does. What neither the book nor the image knows is not found. */
  override async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    const { work, again = false } = evaluation
    if (work.type !== 'frame' && work.type !== 'resume') return super.evaluate(evaluation, watcher)
    const { suspension: id, type } = work
    const begun = { type, run: () => super.evaluate(evaluation, watcher) }
    const known = this.#rights.find(id)
    if (known !== undefined) return this.#act(known, begun)
    // Where nothing can begin, or the image cannot be asked.
    if (again || !this.identity.abilities.has('suspensions')) return begun.run()
    const there = await this.#listed(id)
    const learnt = this.#rights.find(id)
    return learnt === undefined ? notFound(id, there) : this.#act(learnt, begun)
  }

  async #act(leased: Leased, { type, run }: Begun): Promise<Evaluated> {
    const refusal = this.#rights.refusal(leased)
    if (refusal !== undefined) throw new HeldByOther(refusal)
    const evaluated = await acting(this.#rights.acts(leased), run)
    if (type === 'resume' && hasBegun(evaluated)) this.#rights.cameTo(leased, evaluated)
    return evaluated
  }

  #learn<Name extends LookName>(
    name: Name,
    { found, asOf }: { readonly found: Looks[Name]['found']; readonly asOf: number },
  ): void {
    if (name === 'suspensions') this.#rights.learn((found as Looks['suspensions']['found']).suspensions, asOf)
    if (name === 'suspension') this.#rights.learn([(found as Looks['suspension']['found']).suspension])
  }

  /** What the image says is suspended there; `id`: the one that is sought. */
  async #listed(id: string): Promise<readonly Suspension[]> {
    const looked = await this.look('suspensions', {}, { deadlineMs: LEARN_MS })
    if (looked.type !== 'found') throw new HeldByOther(unanswered(id))
    return looked.value.suspensions
  }
}

interface Begun {
  readonly type: 'frame' | 'resume'
  run(): Promise<Evaluated>
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

const notFound = (id: string, there: readonly Suspension[]): Refused => ({
  type: 'refused',
  reason: 'not_found',
  message: absent(id),
  what: id,
  nearest: there.map(one => one.id),
})
