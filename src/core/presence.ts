import { randomUUID } from 'node:crypto'
import type { CallId } from '../../wire/kernel.ts'
import { acting } from './acting.ts'
import { type Claim, type Claimant, keyOf, keysOf } from './claims.ts'
import type { Clock } from './clock.ts'
import { type Leased, standingOn } from './leased.ts'
import type { SuspendedBook } from './suspended-book.ts'

/** How long a program whose connections have all ended still holds what is its own, in milliseconds. */
export const GONE_MS = 30_000
/** Callers whose connections have all ended that are remembered. */
const MOST = 1_024

/**
 * Which callers are there, by the connections that they have, and what becomes of what they hold once they have gone:
 * what a person has had suspended is given up, as they would have done on leaving, and what that person took over is
 * put before whoever comes first; and so is, after a while in which it may connect anew, what a program holds.
 */
export class Presence {
  readonly #connections = new Map<string, number>()
  /** By key; what it holds is put before whoever comes first once its time is over. */
  readonly #gone = new Map<string, () => void>()
  readonly #book: SuspendedBook
  readonly #clock: Clock
  readonly #goneMs: number

  constructor(book: SuspendedBook, { clock, goneMs }: { readonly clock: Clock; readonly goneMs: number }) {
    this.#book = book
    this.#clock = clock
    this.#goneMs = goneMs
  }

  /** A connection begins. What is answered is to be called when it has ended. */
  came(caller: Pick<Claimant, 'id' | 'kind' | 'root' | 'origin'>): () => void {
    const [origin = '', connection = ''] = keysOf(caller)
    // All clients at the shells of a project are one, and there is always another one.
    const keys = caller.kind === 'mcp' ? [origin, connection] : [connection]
    for (const key of keys) this.#began(key)
    return () => {
      for (const key of keys) this.#ended(key)
    }
  }

  /** Whether it has had connections, of which none is left. */
  isGone = (key: string): boolean => this.#gone.has(key)

  /** Something was suspended: its caller may have gone while it ran. */
  suspended({ claim }: Leased): void {
    const key = keyOf(claim)
    // First whoever else hears of it: this may end it.
    if (key !== undefined && this.#gone.has(key)) queueMicrotask(() => this.#gone.has(key) && this.#left(key))
  }

  #began(key: string): void {
    this.#connections.set(key, (this.#connections.get(key) ?? 0) + 1)
    this.#gone.get(key)?.()
    if (this.#gone.delete(key)) this.#mark(key, false)
  }

  #ended(key: string): void {
    const left = (this.#connections.get(key) ?? 1) - 1
    if (left > 0) return void this.#connections.set(key, left)
    this.#connections.delete(key)
    this.#gone.set(key, () => {})
    this.#left(key)
    const [oldest] = this.#gone.keys()
    if (this.#gone.size > MOST && oldest !== undefined) this.#gone.delete(oldest)
  }

  /** Those of that key, which is gone: at once what a person holds, and after a while what a program does. */
  #left(key: string): void {
    this.#mark(key, true)
    const all = this.#leasedBy(one => one === key)
    if (all.length === 0) return
    if (all.some(({ claim }) => claim.type === 'person')) return void this.#abandoned(all)
    this.#gone.get(key)?.()
    this.#gone.set(
      key,
      this.#clock.after(this.#goneMs, () => this.#offered(this.#leasedBy(one => one === key))),
    )
  }

  #mark(key: string, gone: boolean): void {
    for (const leased of this.#leasedBy(one => one === key))
      if (leased.claim.type === 'caller' || leased.claim.type === 'person')
        leased.claim = { ...leased.claim, gone }
  }

  /** Its own is given up, the outermost alone, with which ends what stands on it. */
  #abandoned(all: readonly Leased[]): void {
    const own = all.filter(({ claim, first }) => keyOf(first) === keyOf(claim))
    this.#offered(all.filter(leased => !own.some(one => standingOn(one).includes(leased))))
    for (const leased of own.filter(one => !own.some(on => on !== one && standingOn(on).includes(one))))
      this.#giveUp(leased).catch(() => this.#offered([leased]))
  }

  /** Rejects where it still waits. */
  async #giveUp(leased: Leased): Promise<void> {
    const { life, suspension, claim } = leased
    // Somebody else has a hand in it by now.
    if (standingOn(leased).some(one => keyOf(one.claim) !== keyOf(claim))) throw new Error('it is shared')
    const work = { type: 'resume', suspension: suspension.id, way: { type: 'leave' } } as const
    const evaluation = { call: randomUUID() as CallId, who: suspension.who, work }
    const evaluated = await acting(this.#book.acts(leased, claim), () => life.kernel.evaluate(evaluation, {}))
    if (evaluated.type === 'refused') throw new Error(evaluated.message)
  }

  /** What still waits, and is nobody else's by now, is for whoever comes first. */
  #offered(some: readonly Leased[]): void {
    for (const leased of some) {
      const { claim, life, suspension } = leased
      if (!isGone(claim) || life.leased.get(suspension.id) !== leased) continue
      // What another one holds on top of it is not to be given away below that one's feet.
      if (standingOn(leased).some(one => one.claim.type === 'person' && !isGone(one.claim))) continue
      this.#book.hand(leased, { type: 'anyone' }, { claim, by: `${claim.who} (gone)` })
    }
  }

  #leasedBy(is: (key: string) => boolean): Leased[] {
    const all = this.#book.lives.flatMap(({ leased }) => [...leased.values()])
    return all.filter(({ claim }) => is(keyOf(claim) ?? ''))
  }
}

const isGone = (claim: Claim): claim is Extract<Claim, { type: 'caller' | 'person' }> =>
  (claim.type === 'caller' || claim.type === 'person') && claim.gone === true
