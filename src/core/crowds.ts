import type { Plan } from './plan.ts'

type Asker = Pick<Plan, 'caller' | 'origin' | 'who'>

export interface CrowdsOptions {
  /** All plans that wait. */
  waiting(): readonly Plan[]
  /** Called when so many of one caller wait that nothing more of where it comes from is put before anybody. */
  crowded(asker: Asker, waiting: number): void
}

/** Who has as many plans waiting as anybody may have, and is let be until a person has answered all of them. */
export interface Crowds {
  /** How many have to be answered first; undefined where another one of that caller may be put. */
  before(asker: Asker, most: number): number | undefined
  /** A plan of that origin waits no more. */
  left(origin: string): void
  /** Entries that are kept: none of an origin of which no plan waits. */
  readonly size: number
}

export function openCrowds({ waiting, crowded }: CrowdsOptions): Crowds {
  const origins = new Set<string>()
  const countOf = (origin: string) => waiting().filter(plan => plan.origin === origin).length

  return {
    before(asker, most) {
      const { caller, origin } = asker
      if (!origins.has(origin)) {
        const own = waiting().filter(plan => plan.caller === caller && plan.origin === origin).length
        if (own < most) return undefined
        origins.add(origin)
        crowded(asker, countOf(origin))
      }
      return countOf(origin)
    },
    left(origin) {
      if (origins.has(origin) && countOf(origin) === 0) origins.delete(origin)
    },
    get size() {
      return origins.size
    },
  }
}

/** For those who sit. */
export const crowdInWords = (who: string, waiting: number): string =>
  `${waiting} plans of ${who}, or of where it comes from, wait for you, and it wanted more: no other is put before you until each of these is answered.`
