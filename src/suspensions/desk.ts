import { nearest } from '../../tools/nearest.ts'
import type { Kernel, Looked, LookName, Looks, Theirs } from '../../wire/kernel.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import { unknownKernel } from '../kernels/refusals.ts'
import { LEASE_MS, type Lease, type Leases, type Life, PERSON_LEASE_MS } from './leases.ts'
import { type CallerIdentity, personAt } from './owners.ts'
import type { SuspendedRow } from './rows.ts'

/** How long an image may take to say what is suspended in it, in milliseconds. */
const LOOK_MS = 2_000

/** How long it may take to make a suspension of a person's error, in milliseconds. */
const ADOPT_MS = 5_000

/** Somebody who sits. */
export interface Person {
  readonly caller: CallerIdentity
  /** For people and the journal: `seat-1, terminal /dev/pts/3 (process 4711)`. */
  readonly who: string
}

/** A suspended evaluation of a kernel. `lease_ms`: how long it waits after each call of its owner, in milliseconds. */
interface SuspensionRef {
  readonly kernel: string
  readonly suspension: string
  readonly lease_ms?: number | undefined
}

/** What a person named is not there. */
export class SuspensionError extends Error {
  override readonly name = 'SuspensionError'
  readonly code: 'no_such_suspension' | 'invalid_params'
  readonly details: Readonly<Record<string, unknown>>
  readonly next: string | null

  constructor(
    code: SuspensionError['code'],
    why: {
      readonly message: string
      readonly details?: Readonly<Record<string, unknown>>
      readonly next?: string
    },
  ) {
    super(why.message)
    this.code = code
    this.details = why.details ?? {}
    this.next = why.next ?? null
  }
}

/**
 * What people do about suspended evaluations. Throws `KernelError` for a kernel that is not there, cannot do it or does
 * not answer, and `SuspensionError` for a suspension or an error that is not there; in both cases nothing has changed.
 */
export class SuspensionDesk {
  readonly #leases: Leases

  constructor(leases: Leases) {
    this.#leases = leases
  }

  /** Those of all kernels, newest first of each, as that caller sees them. */
  list(caller: CallerIdentity): readonly SuspendedRow[] {
    return this.#leases.all.flatMap(({ suspended }) =>
      [...suspended.values()].reverse().map(one => this.#leases.row(one, caller)),
    )
  }

  /** The person's connection owns it from now on, with all that stands on the same evaluation. */
  take(person: Person, { lease_ms = PERSON_LEASE_MS, ...named }: SuspensionRef): SuspendedRow {
    const found = this.#suspendedNamed(named)
    this.#leases.take(found, ownerOf(person), lease_ms)
    return this.#leases.row(found, person.caller)
  }

  /** The agents of its project own it from now on, with all that stands on the same evaluation. */
  hand(person: Person, { lease_ms = LEASE_MS, ...named }: SuspensionRef): SuspendedRow {
    const found = this.#suspendedNamed(named)
    this.#leases.hand(found, ownerOf(person), lease_ms)
    return this.#leases.row(found, person.caller)
  }

  /** The errors that wait in debuggers of the person's own. */
  async theirs(kernel: string): Promise<Theirs> {
    const life = this.#lifeNamed(kernel)
    return foundIn(life, 'theirs', await lookFor(life, 'theirs', {}))
  }

  /** Makes one of those a suspension, and puts it before the agents of its project. */
  async adopt(
    person: Person,
    { kernel, id, lease_ms = LEASE_MS }: Omit<SuspensionRef, 'suspension'> & { readonly id: string },
  ): Promise<SuspendedRow> {
    const life = this.#lifeNamed(kernel)
    const looked = await lookFor(life, 'adopt', { id }, ADOPT_MS)
    if (looked.type === 'not_found') throw unknownError(id, { kernel, nearest: looked.nearest })
    const { id: suspension } = foundIn(life, 'adopt', looked)
    const adopted = this.#suspendedNamed({ kernel, suspension })
    this.#leases.adopt(adopted, ownerOf(person), lease_ms)
    return this.#leases.row(adopted, person.caller)
  }

  #lifeNamed(name: string): Life {
    const lives = this.#leases.all.filter(({ kernel }) => kernel.health !== 'ended')
    const life = lives.findLast(one => one.name === name)
    if (life !== undefined) return life
    throw unknownKernel(name, { kernels: lives.map(one => one.name) })
  }

  #suspendedNamed({ kernel, suspension: id }: SuspensionRef): Lease {
    const life = this.#lifeNamed(kernel)
    const found = life.suspended.get(id)
    if (found === undefined) throw unknownSuspension(life, id)
    return found
  }
}

const ownerOf = ({ caller, who }: Person) => personAt(caller.id, who)

/** Throws `KernelError` where that image cannot do that. */
async function lookFor<Name extends LookName>(
  { name: kernelName, kernel }: { readonly name: string; readonly kernel: Kernel },
  name: Name,
  query: Looks[Name]['query'],
  deadlineMs = LOOK_MS,
): Promise<Looked<Looks[Name]['found']>> {
  const { abilities, implementation } = kernel.identity
  if (!abilities.has(name))
    throw unavailable(kernelName, `${kernelName} (${implementation}) cannot do that.`, 'no_ability')
  return kernel.look(name, query, { deadlineMs })
}

/** Throws `KernelError` where it was not found, and `SuspensionError` for what makes no sense. */
function foundIn<Found>({ name }: Life, look: string, looked: Looked<Found>): Found {
  switch (looked.type) {
    case 'found':
      return looked.value
    case 'timed_out':
      throw unavailable(name, `${name} did not answer within ${looked.deadline_ms} ms.`, 'timed_out')
    case 'busy':
      throw unavailable(name, `Code runs in ${name} where this would have to be done.`, 'busy')
    case 'malformed':
      throw new SuspensionError('invalid_params', { message: looked.message })
    default:
      throw unavailable(name, `${name} cannot say that: ${look} came to ${looked.type}.`, looked.type)
  }
}

const unavailable = (kernel: string, message: string, reason: string): KernelError =>
  new KernelError('kernel_unavailable', { message, next: null, details: { reason, kernel } })

function unknownSuspension({ name, suspended }: Life, id: string): SuspensionError {
  const live = [...suspended.keys()]
  const which = live.length === 0 ? 'None is.' : `There are: ${live.join(', ')}.`
  return new SuspensionError('no_such_suspension', {
    message: `No evaluation is suspended as ${JSON.stringify(id)} in ${name}, or it has ended. ${which}`,
    details: { suspensions: live, nearest: nearest(id, live) },
  })
}

/** `nearest`: the ids of those errors that do wait there. */
function unknownError(
  id: string,
  { kernel, nearest: there }: { readonly kernel: string; readonly nearest: readonly string[] },
): SuspensionError {
  return new SuspensionError('no_such_suspension', {
    message: `No error ${JSON.stringify(id)} waits in a debugger of ${kernel} that is not Imago's.`,
    details: { nearest: there },
    next:
      there.length === 0
        ? 'None waits there: :theirs at the console lists those that do.'
        : `There are: ${there.join(', ')}. :theirs at the console says what they are.`,
  })
}
