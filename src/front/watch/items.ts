import type { ShownPlan } from '../../core/approvals.ts'
import type { Look } from '../console/style.ts'
import { Decisions } from '../hunks/decisions.ts'
import type { SeatWanted } from '../protocol.ts'

/** What waits for a person: a plan, or a question of the seats. */
export type Item = PlanItem | SeatItem | TroubleItem

interface Waiting {
  readonly id: string
  /** When it began to wait, by the clock of the desk. */
  readonly since: number
}

export interface PlanItem extends Waiting {
  readonly type: 'plan'
  plan: ShownPlan
  /** Of a plan whose hunks are decided one by one. */
  readonly deciding: Decisions | undefined
  /** Whether the end of its text was on the screen. */
  seen: boolean
  /** Arguments that were written and could not be used, with the cause. */
  draft?: string
  /** What was answered, until it is known what became of that. */
  sent?: Did
}

/** An answer in words: `approving`, and then `approved`. */
export interface Did {
  readonly now: string
  readonly past: string
  readonly look: Look
}

export interface SeatItem extends Waiting {
  readonly type: 'seat'
  readonly wanted: SeatWanted
}

export interface TroubleItem extends Waiting {
  readonly type: 'trouble'
  readonly trouble: string
}

export function planItem(plan: ShownPlan, now: number): PlanItem {
  const deciding = plan.hunks.length > 0 ? new Decisions(plan.hunks) : undefined
  return { type: 'plan', id: plan.id, since: now - plan.waited_ms, plan, deciding, seen: false }
}

/** What waits, in the order of its turns, and which of it is looked at. That one never changes by itself. */
export class Items {
  readonly #items: Item[] = []
  #here: Item | undefined

  get all(): readonly Item[] {
    return this.#items
  }

  /** What is looked at. */
  get here(): Item | undefined {
    return this.#here
  }

  find(id: string): Item | undefined {
    return this.#items.find(item => item.id === id)
  }

  /** Beside those of its turn; else at the end. Looked at where nothing else is. */
  add(item: Item): void {
    const behind =
      item.type === 'plan' ? this.#items.findLastIndex(other => isOfTurn(other, item.plan.turn)) : -1
    this.#items.splice(behind < 0 ? this.#items.length : behind + 1, 0, item)
    this.#here ??= item
  }

  /** Decisions about hunks that were not sent. */
  get unsent(): number {
    return this.#items.reduce(
      (sum, item) =>
        sum + (item.type === 'plan' && item.sent === undefined ? (item.deciding?.tally.decided ?? 0) : 0),
      0,
    )
  }

  /** The plans of that turn, in order. */
  turn(turn: string): PlanItem[] {
    return this.#items.filter((item): item is PlanItem => isOfTurn(item, turn))
  }

  remove(id: string): void {
    const at = this.#items.findIndex(item => item.id === id)
    if (at < 0) return
    const [gone] = this.#items.splice(at, 1)
    if (this.#here !== gone) return
    // What belongs together is gone through together; then what has waited longest.
    const turn = gone?.type === 'plan' ? this.turn(gone.plan.turn)[0] : undefined
    this.#here = turn ?? this.#items[at] ?? this.#items[0]
  }

  go(by: -1 | 1): void {
    const at = this.#here === undefined ? -1 : this.#items.indexOf(this.#here)
    this.choose((at + by + this.#items.length) % Math.max(1, this.#items.length))
  }

  /** False where there are not so many. From 0. */
  choose(at: number): boolean {
    const item = this.#items[at]
    if (item !== undefined) this.#here = item
    return item !== undefined
  }
}

export const isOfTurn = (item: Item, turn: string) => item.type === 'plan' && item.plan.turn === turn
