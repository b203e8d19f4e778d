import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import type { SeatWanted } from '../protocol.ts'
import { type PlanEnd, planEnd } from '../seat/plan-text.ts'
import type { Stage } from './stage.ts'
import { looking, plain, prose } from './style.ts'
import { fitted, widthOf } from './width.ts'

/** The key that shows what waits, as it is written. */
export const KEY = 'Ctrl-T'

/** What is said of approvals above the line that a person writes, each thing once and in one row. */
export class Notices {
  readonly #stage: Stage
  readonly #noticed = new Set<string>()
  readonly #said = new WeakSet<PlanEnd>()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Whether that plan is to be told of; it was not before. */
  isNew({ id }: Pick<ShownPlan, 'id'>): boolean {
    return !this.#noticed.has(id) && this.#noticed.add(id).size > 0
  }

  /** `waits`: how many there are by now. */
  plan({ title, who }: ShownPlan, waits: number): void {
    const counted = waits === 1 ? '1 plan waits' : `${waits} plans wait`
    this.#row(counted, `${oneLine(title)}, for ${oneLine(who)}`)
  }

  wanted({ who }: SeatWanted): void {
    this.#row('Somebody else wants to approve, too', oneLine(who))
  }

  trouble(trouble: string): void {
    this.#row('Dangerous calls are refused', oneLine(trouble))
  }

  noSeat(why: string): void {
    this.#stage.print([prose('hint', `There is no seat here: ${oneLine(why)}\n`)])
  }

  /** It could come again, and would be told of anew. */
  forget(id: string): void {
    this.#noticed.delete(id)
  }

  forgetAll(): void {
    this.#noticed.clear()
  }

  /** What became of plans. */
  past(past: readonly PlanEnd[]): void {
    for (const one of past) {
      if (this.#said.has(one)) continue
      this.#said.add(one)
      const text = fitted(planEnd(one).join(''), this.#stage.size.columns - 1)
      this.#stage.print([looking('hint', `${text}\n`)])
    }
  }

  /** What others have named is cut before the key is. */
  #row(what: string, named: string): void {
    const [lead, end] = [`${what}: `, ` · ${KEY} answers`]
    const room = Math.max(8, this.#stage.size.columns - 1 - widthOf(lead) - widthOf(end))
    this.#stage.print([looking('strong', lead), plain(fitted(named, room)), looking('hint', `${end}\n`)])
  }
}
