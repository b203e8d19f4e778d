import type { Ages, Moment } from './ages.ts'
import type { Grant } from './approvals.ts'
import type { Pattern } from './grant-patterns.ts'
import { markedLine } from './marks.ts'
import type { Plan } from './plan.ts'

/** What an approval lets through besides. */
export interface Granting {
  readonly plan: Plan
  /** One that was offered for the plan. */
  readonly pattern: Pattern
  /** The seat that it was given on. */
  readonly seat: string
}

/**
 * What people on seats let through without being asked: calls of one tool, of whoever asked then, in one project, that
 * change nothing but files of one pattern. In the memory of one daemon, and nowhere else: nothing that can be written,
 * and no argument, makes one.
 */
export interface Grants {
  give(granting: Granting): Grant
  /**
   * The grant that lets this plan through, which counts it; the oldest, where several would. Only for a plan with which
   * something could be granted: see `patternsOf`.
   */
  use(plan: Plan): Grant | undefined
  /** Whether a plan was let through by a grant that has ended since. */
  hasEndedFor(plan: Plan): boolean
  list(): readonly Grant[]
  /** Ends one; undefined where there is none of that name. */
  revoke(id: string): Grant | undefined
  /** Ends those that were given on that seat. */
  leave(seat: string): readonly Grant[]
  readonly size: number
}

/** How long a grant holds at most, by either clock, in milliseconds. */
const LASTS_MS = 8 * 60 * 60_000
/** Grants at once; one more ends the oldest. */
const MOST = 64

/** In these, what is let through is to the letter as what it was given with. */
const ALIKE = ['tool', 'toolHash', 'level', 'kernel', 'root', 'origin'] as const

interface Given extends Grant {
  /** What it was given with: another plan is let through if it is of the same kind. */
  readonly like: Pick<Plan, (typeof ALIKE)[number]>
  readonly covers: Pattern['covers']
  readonly since: Moment
  used: number
}

export function openGrants(ages: Ages): Grants {
  const given = new Map<string, Given>()
  const used = new WeakMap<Plan, string>()
  let count = 0

  function forgetOld(): void {
    for (const [id, { since }] of given) if (ages.passed(since, LASTS_MS)) given.delete(id)
  }

  /** All of it has to be what was granted. */
  function lets(grant: Given, plan: Plan): boolean {
    const alike = ALIKE.every(name => grant.like[name] === plan[name])
    return alike && plan.changes.every(({ path }) => grant.covers(path))
  }

  return {
    give({ plan, pattern, seat }) {
      forgetOld()
      const [oldest] = given.keys()
      if (given.size >= MOST && oldest !== undefined) given.delete(oldest)
      const { tool, kernel, root, who } = plan
      const { text, covers } = pattern
      const id = `grant-${++count}`
      const told = { id, tool, kernel, pattern: text, root, who: markedLine(who), seat, used: 0 }
      given.set(id, { ...told, like: likeOf(plan), covers, since: ages.now() })
      return told
    },
    use(plan) {
      forgetOld()
      const grant = [...given.values()].find(one => lets(one, plan))
      if (grant === undefined) return undefined
      grant.used++
      used.set(plan, grant.id)
      return toldOf(grant)
    },
    hasEndedFor(plan) {
      forgetOld()
      const id = used.get(plan)
      return id !== undefined && !given.has(id)
    },
    list() {
      forgetOld()
      return [...given.values()].map(toldOf)
    },
    revoke(id) {
      const grant = given.get(id)
      given.delete(id)
      return grant === undefined ? undefined : toldOf(grant)
    },
    leave(seat) {
      const its = [...given.values()].filter(grant => grant.seat === seat)
      for (const { id } of its) given.delete(id)
      return its.map(toldOf)
    },
    get size() {
      return given.size
    },
  }
}

const likeOf = ({ tool, toolHash, level, kernel, root, origin }: Plan): Given['like'] => ({
  tool,
  toolHash,
  level,
  kernel,
  root,
  origin,
})

function toldOf({ id, tool, kernel, pattern, root, who, seat, used }: Given): Grant {
  return { id, tool, kernel, pattern, root, who, seat, used }
}
