import type {
  CallId,
  InterruptReport,
  Looked,
  LookName,
  Suspension,
  SuspensionEnd,
  SuspensionNews,
} from '../kernel.ts'
import { Listeners } from './listeners.ts'

/** Ends that are kept: of suspensions that are over, and of those whose beginning has not been heard of yet. */
const REMEMBERED = 256

/**
 * The suspended evaluations of one image, as far as it has told of them. Whoever watches hears of each beginning once,
 * and then of its end once, whatever the image says how often.
 */
export class Suspensions {
  readonly #listeners = new Listeners<SuspensionNews>()
  /** The call that each was the end of, by its id. */
  readonly #live = new Map<string, CallId | null>()
  /** How others have ended; null where that was told. */
  readonly #ended = new Map<string, SuspensionEnd | null>()

  watch(listener: (news: SuspensionNews) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Why `call` is not interrupted, where it has come to a suspension that lives; undefined for any other. */
  notRunning(call: CallId): InterruptReport | undefined {
    for (const [id, suspended] of this.#live) {
      if (suspended !== call) continue
      const message = `it does not run: an error has suspended it as ${id}, which waits to be resumed or left`
      return { outcome: 'not_running', message }
    }
    return undefined
  }

  has(id: string): boolean {
    return this.#live.has(id)
  }

  /** An end that was heard of before is told after it. One that has begun before changes nothing. */
  begin(suspension: Suspension, call: CallId | null): void {
    const { id } = suspension
    const end = this.#ended.get(id)
    if (end === null || this.#live.has(id)) return
    this.#live.set(id, call)
    this.#listeners.tell({ type: 'suspended', suspension })
    if (end !== undefined) this.end(end)
  }

  end(end: SuspensionEnd): void {
    const known = this.#live.delete(end.id)
    if (!known && this.#ended.has(end.id)) return
    this.#remember(end.id, known ? null : end)
    if (known) this.#listeners.tell({ type: 'ended', ...end })
  }

  /** Those that are known are gone, with what they were in. */
  lose(message: string): void {
    for (const id of this.#live.keys()) this.end({ id, how: 'lost', message })
  }

  /** What a look has come to: `adopt` makes one. */
  looked(name: LookName, looked: Looked<unknown>): void {
    if (name !== 'adopt' || looked.type !== 'found') return
    const adopted = looked.value as Suspension
    this.begin(adopted, adopted.call)
  }

  #remember(id: string, end: SuspensionEnd | null): void {
    const [oldest] = this.#ended.keys()
    if (this.#ended.size >= REMEMBERED && oldest !== undefined) this.#ended.delete(oldest)
    this.#ended.set(id, end)
  }
}
