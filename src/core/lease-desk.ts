import type { Suspension, Theirs } from '../../wire/kernel.ts'
import { type Claimant, personClaim } from './claims.ts'
import { foundIn, lookFor } from './desk-looks.ts'
import { unknownKernel } from './kernel-refusals.ts'
import type { KnownCallers } from './known-callers.ts'
import { unknownError, unknownSuspension } from './lease-error.ts'
import type { Leased, Life } from './leased.ts'
import { LEASE_MS, type LeaseBook, PERSON_LEASE_MS } from './leases.ts'
import { receiverOf } from './receivers.ts'
import type { SuspendedBook, SuspensionWatcher } from './suspended-book.ts'
import type { CallerRow, SuspendedRow } from './suspended-row.ts'

/** How long it may take to make a suspension of a person's error, in milliseconds. */
const ADOPT_MS = 5_000

/** What people do about suspended evaluations. Throws `KernelError`, and `LeaseError`. */
export interface LeaseDesk {
  /** Those of all kernels, newest first of each, as that caller sees them. */
  list(caller: Claimant): Promise<readonly SuspendedRow[]>
  /** Whom one can be put before; whoever called last stands first. */
  callers(): readonly CallerRow[]
  watch(watcher: SuspensionWatcher): () => void
  /** The person's connection holds it, and all that stands on it, from now on. */
  take(person: Person, named: Named): Promise<SuspendedRow>
  /** Puts it before the caller of that name, or whoever comes first; `back`: before whom it was taken from. */
  hand(person: Person, named: Named & { readonly to?: string | undefined }): Promise<SuspendedRow>
  /** The errors that wait in debuggers of the person's own. */
  theirs(kernel: string): Promise<Theirs>
  /** Makes one of those a suspension, and puts it before whoever comes first. */
  adopt(person: Person, error: Omit<Named, 'suspension'> & { readonly id: string }): Promise<SuspendedRow>
}

/** Somebody who sits. */
export interface Person {
  readonly caller: Claimant
  /** For people and the journal: `seat-1, terminal /dev/pts/3 (process 4711)`. */
  readonly who: string
}

interface Named {
  readonly kernel: string
  readonly suspension: string
  readonly lease_ms?: number | undefined
}

/**
 * A desk over the book of a daemon. Its methods throw `KernelError` for a kernel that is not there or cannot do it, and
 * `LeaseError` for a suspension, an error or a caller that is not there; in both cases nothing has changed.
 */
export const openLeaseDesk = ({ book, callers }: LeaseBook): LeaseDesk => new DeskOverBook(book, callers)

class DeskOverBook implements LeaseDesk {
  readonly #book: SuspendedBook
  readonly #callers: KnownCallers

  constructor(book: SuspendedBook, callers: KnownCallers) {
    this.#book = book
    this.#callers = callers
  }

  async list(caller: Claimant): Promise<readonly SuspendedRow[]> {
    const lives = this.#book.lives.filter(({ leased }) => leased.size > 0)
    return (await Promise.all(lives.map(life => this.#rowsOf(life, caller)))).flat()
  }

  callers(): readonly CallerRow[] {
    return this.#callers.rows()
  }

  watch(watcher: SuspensionWatcher): () => void {
    return this.#book.watch(watcher)
  }

  async take(person: Person, named: Named): Promise<SuspendedRow> {
    const leased = await this.#leasedNamed(named)
    this.#book.take(leased, claimOf(person), person.who)
    return this.#kept(leased, { lease_ms: named.lease_ms ?? PERSON_LEASE_MS, person })
  }

  async hand(person: Person, named: Named & { readonly to?: string | undefined }): Promise<SuspendedRow> {
    const leased = await this.#leasedNamed(named)
    const claim = receiverOf(leased, named.to, this.#callers)
    this.#book.hand(leased, claim, { claim: claimOf(person), by: person.who })
    return this.#kept(leased, { lease_ms: named.lease_ms ?? LEASE_MS, person })
  }

  async theirs(kernel: string): Promise<Theirs> {
    const life = this.#lifeNamed(kernel)
    return foundIn(life, 'theirs', await lookFor(life, ['theirs', {}]))
  }

  async adopt(person: Person, { kernel, id, lease_ms = LEASE_MS }: Adopted): Promise<SuspendedRow> {
    const life = this.#lifeNamed(kernel)
    const looked = await lookFor(life, ['adopt', { id, lease_ms }], ADOPT_MS)
    if (looked.type === 'not_found') throw unknownError(id, { kernel, nearest: looked.nearest })
    const suspension = foundIn(life, 'adopt', looked)
    const leased = this.#book.adopt(life, suspension, { claim: claimOf(person), by: person.who })
    const { expires_in_ms, busy } = suspension
    return this.#book.row(leased, person.caller, { expires_in_ms, busy })
  }

  #lifeNamed(name: string): Life {
    const lives = this.#book.lives.filter(({ kernel }) => kernel.health !== 'ended')
    const life = lives.findLast(one => one.name === name)
    if (life !== undefined) return life
    throw unknownKernel(
      name,
      lives.map(one => one.name),
    )
  }

  /** What nobody has told of yet is asked for. */
  async #leasedNamed({ kernel, suspension: id }: Named): Promise<Leased> {
    const life = this.#lifeNamed(kernel)
    if (!life.leased.has(id)) await this.#seenIn(life)
    const leased = life.leased.get(id)
    if (leased === undefined) throw unknownSuspension(life, id)
    return leased
  }

  /** What its image says is suspended there, as far as it answers. */
  async #seenIn(life: Life): Promise<readonly Suspension[]> {
    const asOf = this.#book.looks()
    const looked = await lookFor(life, ['suspensions', {}]).catch(() => undefined)
    if (looked?.type !== 'found') return []
    this.#book.learn(life, looked.value.suspensions, asOf)
    return looked.value.suspensions
  }

  /** What the image says by now of how long it waits; it may be that it has ended. */
  async #kept(leased: Leased, { lease_ms, person }: { lease_ms: number; person: Person }) {
    const { life, suspension } = leased
    const look = lookFor(life, ['lease', { suspension: suspension.id, lease_ms }])
    const looked = await look.catch(() => undefined)
    if (looked?.type === 'not_found') throw unknownSuspension(life, suspension.id)
    const found = looked?.type === 'found' ? { ...looked.value, busy: false } : undefined
    return this.#book.row(leased, person.caller, found)
  }

  async #rowsOf(life: Life, caller: Claimant): Promise<SuspendedRow[]> {
    const seen = await this.#seenIn(life)
    return [...life.leased.values()].reverse().map(leased => {
      const now = seen.find(({ id }) => id === leased.suspension.id)
      return this.#book.row(leased, caller, now && { expires_in_ms: now.expires_in_ms, busy: now.busy })
    })
  }
}

type Adopted = Parameters<LeaseDesk['adopt']>[1]

const claimOf = ({ caller, who }: Person) => personClaim(caller.id, who)
