import { escapePlanLine } from './escape.ts'
import { canonical } from './freezing.ts'
import type { Plan } from './plan.ts'
import { sha256 } from './sha256.ts'

/** From this time on a person is told how to be asked no more. */
const OFTEN = 3
/** Things that are remembered; of those beyond, the one that was asked for longest ago is forgotten. */
const MOST = 1_024
/** Files for which rules are written down one by one. */
const MOST_RULES = 4

/** How often a person was asked about the same thing. */
export interface Repeated {
  /** Counts this time, and says how many there were. */
  count(plan: Plan): number
  readonly size: number
}

/** The same thing is the same tool on the same files, or with the same arguments where there are none, for one caller. */
export function openRepeated(): Repeated {
  const times = new Map<string, number>()
  return {
    count(plan) {
      const key = keyOf(plan)
      const now = (times.get(key) ?? 0) + 1
      times.delete(key)
      times.set(key, now)
      const [oldest] = times.keys()
      if (times.size > MOST && oldest !== undefined) times.delete(oldest)
      return now
    },
    get size() {
      return times.size
    },
  }
}

function keyOf({ tool, kernel, root, origin, changes, args }: Plan): string {
  const paths = changes.map(({ path }) => path).sort()
  return sha256(canonical([tool, kernel, root, origin, paths.length > 0 ? paths : [args]]))
}

/**
 * The rule, in TOML, by which nobody would be asked about the like any more, where it is asked for often: as narrow as a
 * rule can be, about exactly the files of the plan and nothing below what may be a folder. Null where that is not so, or no rule can say it.
 */
export function ruleAgainst(plan: Plan, times: number): string | null {
  const { tool, level, kernel, changes } = plan
  if (times < OFTEN || changes.length > MOST_RULES) return null
  const paths = [...new Set(changes.map(({ path }) => path))]
  if ([tool, kernel ?? '', ...paths].some(text => escapePlanLine(text) !== text)) return null
  const lines = [
    '[[rule]]',
    'decision = "allow"',
    `tool = ${JSON.stringify(tool)}`,
    `level = ${JSON.stringify(level)}`,
    ...(kernel === null ? [] : [`kernel = ${JSON.stringify(kernel)}`]),
  ]
  if (paths.length > 0)
    return paths.map(path => [...lines, `file = ${JSON.stringify(path)}`].join('\n')).join('\n\n')
  return [`# Whatever its arguments are: a rule cannot tell them apart.`, ...lines].join('\n')
}

/** For whoever called, to tell the person. */
export function noteOf(o: {
  readonly plan: Plan
  readonly times: number
  readonly rule: string
  readonly policyFile: string
}): string {
  const { plan, times, rule, policyFile } = o
  const files = plan.changes.map(({ shown }) => shown).join(', ')
  const on = files === '' ? '' : ` on ${escapePlanLine(files)}`
  return `A person was asked ${times} times for ${plan.tool}${on} by now. Tell them, and leave it to them: do not write this yourself. These lines in ${policyFile}, and then imago policy accept, would let it through without asking:\n${rule}`
}
