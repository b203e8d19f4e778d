import { duration } from '../../tools/wording.ts'
import type { Pause } from './approvals.ts'
import type { Caller } from './call.ts'
import type { Clock } from './clock.ts'

/** That nobody is asked for a while about plans of one origin, or of any. */
export interface Paused {
  /** Whose refusals these are: of plans of this origin, or of plans whoever they were of. */
  readonly of: 'origin' | 'all'
  /** How many plans a person has refused in a row. */
  readonly refusals: number
  /** Milliseconds until somebody may be asked again. */
  readonly leftMs: number
}

/**
 * Where a plan was answered: on a seat or with a code of one, or at the client that it came from. A client says no for
 * its person, or by itself: that is about what comes from the same place alone, and nothing of what others ask.
 */
export type AnsweredAt = 'seat' | 'client'

/** Who asked for what was refused, as a person is shown it. */
export interface Asker {
  readonly origin: string
  readonly who: string
}

/** Who is not put before a person for a while, because a person has refused too much of it in a row. */
export interface Pauses {
  /** A plan was refused there. The answer is the pause that this begins, if it begins one: of all only by seats. */
  refused(asker: Asker, at: AnsweredAt): Paused | undefined
  /** One was approved there: what was refused before counts no more; of all, only where it was on a seat. */
  approved(origin: string, at: AnsweredAt): void
  paused(origin: string): Paused | undefined
  /** All that go on. */
  list(): readonly Pause[]
  /** Ends all pauses, and forgets all refusals: somebody who sits may be asked whatever there is. How many ended. */
  lift(): number
}

/** Refusals in a row that begin a pause: of one origin, and of all together, for those who change their origin. */
const MOST = { origin: 3, all: 10 } as const
const MINUTE = 60_000
/** How long the first pause lasts, the one that the next refusal begins, and any after that, in milliseconds. */
const LENGTHS = [MINUTE, 5 * MINUTE, 30 * MINUTE]
/** How long after a refusal the next one still counts as in a row with it, in milliseconds. */
const IN_A_ROW_MS = 60 * MINUTE

interface Row {
  /** Null in the row of all. */
  readonly who: string | null
  readonly refusals: number
  readonly last: number
  readonly until: number
}

const ALL = Symbol('all')

export function openPauses(clock: Clock): Pauses {
  const rows = new Map<string | typeof ALL, Row>()
  const ofKey = (key: string | typeof ALL) => (key === ALL ? 'all' : 'origin')

  function pausedAt(key: string | typeof ALL): Paused | undefined {
    const { refusals, until } = rows.get(key) ?? { refusals: 0, until: 0 }
    const leftMs = until - clock.now()
    return leftMs > 0 ? { of: ofKey(key), refusals, leftMs } : undefined
  }

  /** What was asked before a pause began, and is refused in it, makes that no longer. */
  function count(key: string | typeof ALL, who: string | null): Paused | undefined {
    if (pausedAt(key) !== undefined) return undefined
    const now = clock.now()
    const refusals = (rows.get(key)?.refusals ?? 0) + 1
    const beyond = refusals - MOST[ofKey(key)]
    const length = beyond < 0 ? 0 : (LENGTHS[beyond] ?? LENGTHS.at(-1) ?? 0)
    rows.set(key, { who, refusals, last: now, until: now + length })
    return pausedAt(key)
  }

  const list = (): readonly Pause[] =>
    [...rows].flatMap(([key, { who }]) => {
      const paused = pausedAt(key)
      return paused === undefined
        ? []
        : [{ who, refusals: paused.refusals, left_ms: Math.round(paused.leftMs) }]
    })

  function forgetOld() {
    for (const [key, { last }] of rows) if (clock.now() - last >= IN_A_ROW_MS) rows.delete(key)
  }

  return {
    refused({ origin, who }, at) {
      forgetOld()
      const one = count(origin, who)
      return (at === 'seat' ? count(ALL, null) : undefined) ?? one
    },
    approved(origin, at) {
      rows.delete(origin)
      if (at === 'seat') rows.delete(ALL)
    },
    paused: origin => pausedAt(ALL) ?? pausedAt(origin),
    list,
    lift() {
      const ended = list().length
      rows.clear()
      return ended
    },
  }
}

/** Whose calls they are, however often it connects anew. */
export const originOf = ({ origin, kind, root }: Pick<Caller, 'origin' | 'kind' | 'root'>): string =>
  origin ?? `${kind} ${root}`

/** Whether nothing is known of the program behind an MCP connection, so that many may have the same origin. */
export const isOfUnknownHost = ({
  origin,
  root,
}: {
  readonly origin: string
  readonly root: string
}): boolean => origin === originOf({ kind: 'mcp', root })

/** For those who sit. `who` asked for what was refused last. */
export function pauseInWords({ of, refusals, leftMs }: Paused, who: string): string {
  const [whose, more] = of === 'origin' ? [` of ${who}`, ' of it'] : ['', '']
  return `${refusals} plans${whose} were refused in a row: none${more} is put before you for ${duration(leftMs)}.`
}
