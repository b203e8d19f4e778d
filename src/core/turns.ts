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
}

/** Which plans belong together: those of one caller that come within a moment of each other, while one of them waits. */
export interface Turns {
  /** The name of the turn that this plan is of, which waits from now on. Once for each plan. */
  joined(plan: Plan): string
  /** It waits no more. */
  left(plan: Plan): void
  /** Entries that are kept: none of plans that wait no more. */
  readonly size: number
}

export function openTurns(clock: Clock): Turns {
  /** By caller: the turn that its next plan may belong to. */
  const open = new Map<string, Turn>()
  const turns = new Map<string, Turn>()

  function turnOf({ id, caller }: Plan): Turn {
    const last = open.get(caller)
    if (last !== undefined && clock.now() - last.last <= MOMENT_MS) return last
    const turn = { name: id, last: clock.now(), waiting: 0 }
    open.set(caller, turn)
    return turn
  }

  return {
    joined(plan) {
      const turn = turnOf(plan)
      turn.last = clock.now()
      turn.waiting++
      turns.set(plan.id, turn)
      return turn.name
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
