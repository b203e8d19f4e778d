import type { Signal } from '../../../wire/signal.ts'
import type { Clock } from '../../core/clock.ts'
import type { SeatEvent, SeatWanted } from '../protocol.ts'

/** How long those who sit may take to admit another one, in milliseconds. Silence refuses. */
const ADMIT_MS = 60_000
/** How many questions of this kind stand at once: more are refused unasked. */
const AT_ONCE = 4

interface Asked {
  readonly wanted: SeatWanted
  settle(refused: string | undefined): void
}

interface Asking {
  readonly wanted: Omit<SeatWanted, 'id'>
  /** Aborted when whoever wants the seat has gone. */
  readonly signal: Signal
  tell(event: SeatEvent): void
}

/** Whether those who sit let another one sit beside them. The first answer counts. */
export class Admissions {
  readonly #clock: Clock
  readonly #asked = new Map<string, Asked>()
  #made = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves with undefined once it is admitted, and with a sentence where it is not. */
  ask({ wanted, signal, tell }: Asking): Promise<string | undefined> {
    if (this.#asked.size >= AT_ONCE) return Promise.resolve('Too many want one at this moment. Try again.')
    const id = `wanted-${++this.#made}`
    return new Promise(resolve => {
      const settle = (refused: string | undefined) => {
        if (!this.#asked.delete(id)) return
        forget()
        tell({ type: 'settled', id, why: refused ?? 'It was admitted.' })
        resolve(refused)
      }
      const forget = this.#clock.after(ADMIT_MS, () =>
        settle(`Nobody answered within ${ADMIT_MS / 1_000} s.`),
      )
      signal.addEventListener('abort', () => settle('It has gone.'))
      const question = { ...wanted, id }
      this.#asked.set(id, { wanted: question, settle })
      tell(question)
    })
  }

  /** `false` for a question that does not stand any more. */
  answer(id: string, { admit, by }: { admit: boolean; by: string }): boolean {
    const asked = this.#asked.get(id)
    asked?.settle(admit ? undefined : `It was turned away by ${by}.`)
    return asked !== undefined
  }

  /** For somebody who has just sat down. */
  tellAgain(tell: (event: SeatEvent) => void): void {
    for (const { wanted } of this.#asked.values()) tell(wanted)
  }

  /** Nobody is there any more who could answer. */
  close(why: string): void {
    for (const { settle } of [...this.#asked.values()]) settle(why)
  }
}
