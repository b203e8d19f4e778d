import type { Ages, Moment } from './ages.ts'
import type { Grant } from './approvals.ts'
import type { Seated } from './audience.ts'
import type { Clock } from './clock.ts'
import { escapePlanLine } from './escape.ts'
import type { Pattern } from './grant-patterns.ts'
import { isOfUnknownHost } from './pauses.ts'
import type { Plan } from './plan.ts'

/** What an approval lets through besides. */
export interface Granting {
  readonly plan: Plan
  /** One that was offered for the plan. */
  readonly pattern: Pattern
  /** On which it was given. */
  readonly seat: Seated
}

/** One that has ended by itself: it was too old, or more were given than there may be. */
export interface GrantOver {
  readonly grant: Grant
  /** On which it was given. */
  readonly seat: Seated
  /** As a clause. */
  readonly why: string
}

export interface GrantsOptions {
  readonly ages: Ages
  readonly clock: Clock
  /** Called once for each that has ended by itself, after it has, and within a minute. */
  over(over: GrantOver): void
}

/**
 * What people on seats let through without being asked: calls of one tool, of whoever asked then, in one project, that
 * change nothing but files of one pattern. Whoever asked is the program behind an MCP server, however often it connects,
 * or that connection where the program is not known; and for the client protocol, whose commands connect anew for each
 * call, all that connects in the project. In the memory of one daemon, and nowhere else: nothing that can be written,
 * and no argument, makes one.
 */
export interface Grants {
  give(granting: Granting): Grant
  /**
   * The grant that would let this plan through; the oldest, where several would. Only for a plan with which something
   * could be granted: see `patternsOf`.
   */
  covering(plan: Plan): Grant | undefined
  /** It lets this plan through, and counts it. */
  use(id: string, plan: Plan): void
  /** Whether a plan was let through by a grant that has ended since. */
  hasEndedFor(plan: Plan): boolean
  list(): readonly Grant[]
  /** Ends one; undefined where there is none of that name. */
  revoke(id: string): Grant | undefined
  /** Ends those that were given on that seat. */
  leave(seat: string): readonly Grant[]
  /** Ends all of them, and nobody is told. */
  close(): void
  readonly size: number
}

/** How long a grant holds at most, by either clock, in milliseconds. */
const LASTS_MS = 8 * 60 * 60_000
/** How often it is looked whether one is too old, in milliseconds: a machine that slept is older than its timers. */
const LOOK_MS = 60_000
/** Grants at once; one more ends the oldest. */
const MOST = 64

/** In these, what is let through is to the letter as what it was given with. */
const ALIKE = ['tool', 'toolHash', 'level', 'kernel', 'root', 'origin'] as const

interface Given extends Omit<Grant, 'ends_ms'> {
  /** What it was given with: another plan is let through if it is of the same kind. */
  readonly like: Pick<Plan, (typeof ALIKE)[number]>
  /** The connection for which alone it holds; null where it is known what program asks, or each call is a connection. */
  readonly connection: string | null
  readonly on: Seated
  readonly covers: Pattern['covers']
  readonly since: Moment
  used: number
}

export function openGrants({ ages, clock, over }: GrantsOptions): Grants {
  const given = new Map<string, Given>()
  const used = new WeakMap<Plan, string>()
  let count = 0
  let stopLooking: (() => void) | undefined

  function end(id: string): Given | undefined {
    const grant = given.get(id)
    given.delete(id)
    if (given.size === 0) {
      stopLooking?.()
      stopLooking = undefined
    }
    return grant
  }

  function toldOf({ id, tool, kernel, pattern, root, who, seat, used, since }: Given): Grant {
    return {
      id,
      tool,
      kernel,
      pattern,
      root,
      who,
      seat,
      used,
      ends_ms: Math.round(ages.leftMs(since, LASTS_MS)),
    }
  }

  function endByItself(id: string, why: string): void {
    const grant = end(id)
    if (grant !== undefined) over({ grant: toldOf(grant), seat: grant.on, why })
  }

  function forgetOld(): void {
    for (const [id, { since }] of [...given])
      if (ages.passed(since, LASTS_MS)) endByItself(id, 'because it was given 8 hours ago')
  }

  function lookLater(): void {
    if (stopLooking !== undefined || given.size === 0) return
    stopLooking = clock.after(LOOK_MS, () => {
      stopLooking = undefined
      forgetOld()
      lookLater()
    })
  }

  /** All of it has to be what was granted. */
  function lets(grant: Given, plan: Plan): boolean {
    const alike = ALIKE.every(name => grant.like[name] === plan[name])
    if (grant.connection !== null && grant.connection !== plan.caller) return false
    return alike && plan.changes.every(({ path }) => grant.covers(path))
  }

  return {
    give({ plan, pattern, seat }) {
      forgetOld()
      const [oldest] = given.keys()
      if (given.size >= MOST && oldest !== undefined) endByItself(oldest, `because there are ${MOST} others`)
      const { tool, kernel, root, who } = plan
      const { text, covers } = pattern
      const id = `grant-${++count}`
      const one = { id, tool, kernel, pattern: text, root, who: escapePlanLine(who), seat: seat.id, used: 0 }
      const connection = isOfUnknownHost(plan) ? plan.caller : null
      const grant = { ...one, like: likeOf(plan), connection, on: seat, covers, since: ages.now() }
      given.set(id, grant)
      lookLater()
      return toldOf(grant)
    },
    covering(plan) {
      forgetOld()
      const grant = [...given.values()].find(one => lets(one, plan))
      return grant && toldOf(grant)
    },
    use(id, plan) {
      const grant = given.get(id)
      if (grant === undefined) return
      grant.used++
      used.set(plan, id)
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
      forgetOld()
      const grant = end(id)
      return grant && toldOf(grant)
    },
    leave(seat) {
      const its = [...given.values()].filter(grant => grant.seat === seat)
      for (const { id } of its) end(id)
      return its.map(toldOf)
    },
    close() {
      for (const id of [...given.keys()]) end(id)
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
