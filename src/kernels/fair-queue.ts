import { WireError } from '../../wire/errors.ts'
import type { CallId, Evaluation } from '../../wire/kernel.ts'

/** What may wait for one kernel, in bytes; the evaluations that a caller has beyond its first may take half of it. */
const MOST_BYTES = 64 * 1024 * 1024

/** What a waiting call takes besides its code, roughly. */
const CALL_BYTES = 16 * 1024

/** An evaluation that waits for its turn. One of these is called, once, when it waits no more. */
export interface Waiter {
  readonly evaluation: Evaluation
  begin(): void
  withdraw(): void
  fail(why: unknown): void
}

/**
 * The evaluations that wait for one kernel. Callers take turns, and those of one caller keep their order, so that a
 * caller with many delays one with a single evaluation by one evaluation, not by all of them.
 */
export class FairQueue {
  /** How many wait. */
  size = 0
  /** The caller whose turn is next comes first. */
  readonly #byCaller = new Map<string, Waiter[]>()
  #bytes = 0

  /** Throws `BUSY` where too much waits already. */
  add(waiter: Waiter): void {
    const caller = callerOf(waiter)
    const own = this.#byCaller.get(caller)
    const bytes = bytesOf(waiter)
    if (this.#bytes + bytes > (own === undefined ? MOST_BYTES : MOST_BYTES / 2)) throw this.#busy(own)
    this.#bytes += bytes
    this.size++
    if (own === undefined) this.#byCaller.set(caller, [waiter])
    else own.push(waiter)
  }

  /** Takes out the one whose turn it is. */
  next(): Waiter | undefined {
    const [first] = this.#byCaller
    if (first === undefined) return undefined
    const [caller, [waiter, ...others]] = first
    this.#byCaller.delete(caller)
    if (others.length > 0) this.#byCaller.set(caller, others)
    if (waiter !== undefined) this.#forget(waiter)
    return waiter
  }

  /** Takes one out that waits no more. */
  remove(waiter: Waiter): void {
    const caller = callerOf(waiter)
    const own = this.#byCaller.get(caller) ?? []
    const others = own.filter(one => one !== waiter)
    if (others.length === own.length) return
    if (others.length > 0) this.#byCaller.set(caller, others)
    else this.#byCaller.delete(caller)
    this.#forget(waiter)
  }

  /** Those that wait under that name; a call may be asked for more than once. */
  of(call: CallId): Waiter[] {
    return [...this.#byCaller.values()].flat().filter(({ evaluation }) => evaluation.call === call)
  }

  #forget(waiter: Waiter): void {
    this.size--
    this.#bytes -= bytesOf(waiter)
  }

  #busy(own: readonly Waiter[] | undefined): WireError {
    const which = own === undefined ? '' : `, ${own.length} of this caller`
    return new WireError('BUSY', `${this.size} evaluations wait there already${which}. Try again later.`)
  }
}

const callerOf = ({ evaluation: { caller, who } }: Waiter): string => caller ?? who

const bytesOf = ({ evaluation: { work } }: Waiter): number => CALL_BYTES + 2 * charactersIn(work)

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, part) => sum + charactersIn(part), 0)
}
