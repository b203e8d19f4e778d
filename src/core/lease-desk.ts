import type { Kernel, Looked, LookName, Looks, Theirs } from '../../wire/kernel.ts'
import { type Claim, type Claimant, personClaim } from './claims.ts'
import { KernelError } from './kernel-error.ts'
import { unknownKernel } from './kernel-refusals.ts'
import { LEASE_MS, type LeaseBook, PERSON_LEASE_MS } from './leases.ts'
import { nearest } from './nearest.ts'
import type { Held, Life, SuspensionWatcher } from './suspended-book.ts'
import type { CallerRow, SuspendedRow } from './suspended-row.ts'

/** How long an image may take to say what is suspended in it, in milliseconds. */
const LOOK_MS = 2_000
/** How long it may take to make a suspension of a person's error. */
const ADOPT_MS = 5_000

/** In place of a name: whoever it was taken from. */
const BACK = 'back'

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

/** What a person named is not there. */
export class LeaseError extends Error {
  override readonly name = 'LeaseError'
  readonly code: 'no_such_suspension' | 'invalid_params'
  readonly details: Readonly<Record<string, unknown>>
  readonly next: string | null

  constructor(
    code: LeaseError['code'],
    why: {
      readonly message: string
      readonly details?: Readonly<Record<string, unknown>>
      readonly next: string | null
    },
  ) {
    super(why.message)
    this.code = code
    this.details = why.details ?? {}
    this.next = why.next
  }
}

/**
 * A desk over the book of a daemon. Its methods throw `KernelError` for a kernel that is not there or cannot do it, and
 * `LeaseError` for a suspension, an error or a caller that is not there; in both cases nothing has changed.
 */
export function openLeaseDesk({ book, callers }: LeaseBook): LeaseDesk {
  const claimOfPerson = ({ caller, who }: Person) => personClaim(caller.id, who)

  function lifeNamed(name: string): Life {
    const lives = book.lives.filter(({ kernel }) => kernel.health !== 'ended')
    const life = lives.findLast(one => one.name === name)
    if (life === undefined)
      throw unknownKernel(
        name,
        lives.map(one => one.name),
      )
    return life
  }

  function heldNamed({ kernel, suspension: id }: Named): Held {
    const life = lifeNamed(kernel)
    const held = life.held.get(id)
    if (held === undefined) throw unknownSuspension(life, id)
    return held
  }

  /** What the image says by now of how long it waits; it may be that it has ended. */
  async function kept(held: Held, { lease_ms, person }: { lease_ms: number; person: Person }) {
    const { life, suspension } = held
    const look = lookFor(life, ['lease', { suspension: suspension.id, lease_ms }])
    const looked = await look.catch(() => undefined)
    if (looked?.type === 'not_found') throw unknownSuspension(life, suspension.id)
    const found = looked?.type === 'found' ? { ...looked.value, busy: false } : undefined
    return book.row(held, person.caller, found)
  }

  return {
    async list(caller) {
      const lives = book.lives.filter(({ held }) => held.size > 0)
      return (await Promise.all(lives.map(life => rowsOf(life, caller)))).flat()
    },
    callers: () => callers.rows(),
    watch: watcher => book.watch(watcher),
    take(person, named) {
      const held = heldNamed(named)
      book.take(held, claimOfPerson(person), person.who)
      return kept(held, { lease_ms: named.lease_ms ?? PERSON_LEASE_MS, person })
    },
    hand(person, named) {
      const held = heldNamed(named)
      const claim = receiver(named.to, held)
      book.hand(held, claim, { claim: claimOfPerson(person), by: person.who })
      return kept(held, { lease_ms: named.lease_ms ?? LEASE_MS, person })
    },
    async theirs(kernel) {
      const life = lifeNamed(kernel)
      return foundIn(life, 'theirs', await lookFor(life, ['theirs', {}]))
    },
    async adopt(person, { kernel, id, lease_ms = LEASE_MS }) {
      const life = lifeNamed(kernel)
      const looked = await lookFor(life, ['adopt', { id, lease_ms }], ADOPT_MS)
      if (looked.type === 'not_found')
        throw new LeaseError('no_such_suspension', {
          message: `No error ${JSON.stringify(id)} waits in a debugger of ${kernel} that is not Imago's.`,
          details: { nearest: looked.nearest },
          next:
            looked.nearest.length === 0
              ? 'None waits there: :theirs at the console lists those that do.'
              : `There are: ${looked.nearest.join(', ')}. :theirs at the console says what they are.`,
        })
      const suspension = foundIn(life, 'adopt', looked)
      const held = book.adopt(life, suspension, { claim: claimOfPerson(person), by: person.who })
      const { expires_in_ms, busy } = suspension
      return book.row(held, person.caller, { expires_in_ms, busy })
    },
  }

  async function rowsOf(life: Life, caller: Claimant): Promise<SuspendedRow[]> {
    const looked = await lookFor(life, ['suspensions', {}]).catch(() => undefined)
    const seen = looked?.type === 'found' ? looked.value.suspensions : []
    return [...life.held.values()].reverse().map(held => {
      const now = seen.find(({ id }) => id === held.suspension.id)
      return book.row(held, caller, now && { expires_in_ms: now.expires_in_ms, busy: now.busy })
    })
  }

  function receiver(name: string | undefined, held: Held): Claim {
    if (name === undefined) return { type: 'anyone' }
    if (name === BACK) return before(held)
    const found = callers.find(name)
    if (found.type === 'one') return { type: 'caller', key: found.key, who: found.who }
    const rows = found.type === 'several' ? found.rows : callers.rows()
    const list = rows.map(({ caller, who, root }) => `${caller} (${who}, ${root})`).join(', ')
    const problem =
      found.type === 'several' ? 'Several callers call themselves' : 'No caller has called that is'
    const there = list === '' ? 'None has called yet.' : `There are, the last to call first: ${list}.`
    throw new LeaseError('invalid_params', {
      message: `${problem} ${JSON.stringify(name)}. ${there}`,
      details: { callers: rows },
      next: `Name one of them as caller-N, give it ${BACK}, or leave it out: then it is put before whoever comes first.`,
    })
  }

  /** Whoever held it before a person took it over. */
  function before({ from, suspension }: Held): Claim {
    if (from?.type === 'caller' && !callers.isGone(from.key)) return from
    const why =
      from?.type === 'caller'
        ? `it was taken from ${from.who}, which has gone`
        : 'it was taken from no caller'
    throw new LeaseError('invalid_params', {
      message: `${suspension.id} cannot be given back: ${why}.`,
      next: 'Name somebody, or leave it out: then it is put before whoever comes first.',
    })
  }
}

type Query<Name extends LookName> = readonly [name: Name, query: Looks[Name]['query']]

/** Throws `KernelError` where that image cannot do that. */
async function lookFor<Name extends LookName>(
  { name: kernelName, kernel }: { readonly name: string; readonly kernel: Kernel },
  [name, query]: Query<Name>,
  deadlineMs = LOOK_MS,
): Promise<Looked<Looks[Name]['found']>> {
  if (!kernel.identity.abilities.has(name))
    throw unavailable(
      kernelName,
      `${kernelName} (${kernel.identity.implementation}) cannot do that.`,
      'no_ability',
    )
  return kernel.look(name, query, { deadlineMs })
}

function foundIn<Found>({ name }: Life, what: string, looked: Looked<Found>): Found {
  switch (looked.type) {
    case 'found':
      return looked.value
    case 'timed_out':
      throw unavailable(name, `${name} did not answer within ${looked.deadline_ms} ms.`, 'timed_out')
    case 'busy':
      throw unavailable(name, `Code runs in ${name} where this would have to be done.`, 'busy')
    case 'malformed':
      throw new LeaseError('invalid_params', { message: looked.message, next: null })
    default:
      throw unavailable(name, `${name} cannot say that: ${what} came to ${looked.type}.`, looked.type)
  }
}

const unavailable = (kernel: string, message: string, reason: string): KernelError =>
  new KernelError('kernel_unavailable', { message, next: null, details: { reason, kernel } })

function unknownSuspension({ name, held }: Life, id: string): LeaseError {
  const live = [...held.keys()]
  const which = live.length === 0 ? 'None is.' : `There are: ${live.join(', ')}.`
  return new LeaseError('no_such_suspension', {
    message: `No evaluation is suspended as ${JSON.stringify(id)} in ${name}, or it has ended. ${which}`,
    details: { suspensions: live, nearest: nearest(id, live) },
    next: null,
  })
}
