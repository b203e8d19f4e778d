import type { Clock } from './clock.ts'
import type { Plan } from './plan.ts'

/** How long after the last plan of a turn the next one still belongs to it, in milliseconds. */
const MOMENT_MS = 2_000

interface Turn {
  /** The name of its first plan. */
  readonly name: string
  last: number
  /** How many of it wait. */
  waiting: number
  refused: boolean
}

/** Which plans belong together: those of one caller that come within a moment of each other, while one of them waits. */
export interface Turns {
  /** The name of the turn that this plan is of, which waits from now on. Once for each plan. */
  joined(plan: Plan): string
  /**
   * A person has refused it: whether it is the first of its turn that is refused, and so the turn with it. What comes
   * next is of another turn, and is refused for itself. False for one that never joined.
   */
  refused(plan: Plan): boolean
  /** It waits no more. */
  left(plan: Plan): void
  /** Entries that are kept: none of plans that wait no more. */
  readonly size: number
}

export function openTurns(clock: Clock): Turns {
  /** By caller: the turn that its next plan may belong to. */
  const open = new Map<string, Turn>()
  const turns = new Map<string, Turn>()
  /** Those that wait no more, too. */
  const ofPlan = new WeakMap<Plan, Turn>()

  function turnOf({ id, caller }: Plan): Turn {
    const last = open.get(caller)
    if (last !== undefined && clock.now() - last.last <= MOMENT_MS) return last
    const turn = { name: id, last: clock.now(), waiting: 0, refused: false }
    open.set(caller, turn)
    return turn
  }

  return {
    joined(plan) {
      const turn = turnOf(plan)
      turn.last = clock.now()
      turn.waiting++
      turns.set(plan.id, turn)
      ofPlan.set(plan, turn)
      return turn.name
    },
    refused(plan) {
      const turn = ofPlan.get(plan)
      if (turn === undefined || turn.refused) return false
      turn.refused = true
      if (open.get(plan.caller) === turn) open.delete(plan.caller)
      return true
    },
    left({ id, caller }) {
      const turn = turns.get(id)
      if (turn === undefined) return
      turns.delete(id)
      turn.waiting--
      if (turn.waiting === 0 && open.get(caller) === turn) open.delete(caller)
    },
    get size() {
      return open.size + turns.size
    },
  }
}
