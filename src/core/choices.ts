import type { Choice, Hunk } from '../../tools/proposal.ts'
import type { Plan } from './plan.ts'

/**
 * Why these choices cannot be used for that plan, as a sentence for whoever made them; undefined where they can. There
 * has to be one for every hunk and none for another, and each edited text has to be one that can be written. All of
 * them refused fits: that is a denial.
 */
export function fitOf(plan: Pick<Plan, 'hunks'>, choices: readonly Choice[]): string | undefined {
  if (plan.hunks === null) return 'It cannot be approved in part: it has no hunks.'
  const wrong = miscounted(plan.hunks.all, choices)
  if (wrong !== undefined || areAllRefused(choices)) return wrong
  const chosen = plan.hunks.choose(choices)
  return chosen.type === 'failed' ? chosen.error.message : undefined
}

/** Nothing of it is to be done. */
export function areAllRefused(choices: readonly Choice[]): boolean {
  return choices.every(({ decision }) => decision === 'refuse')
}

function miscounted(hunks: readonly Hunk[], choices: readonly Choice[]): string | undefined {
  const known = new Set(hunks.map(({ number }) => number))
  const decided = new Set<number>()
  for (const { hunk } of choices) {
    if (!known.has(hunk)) return `It has no hunk ${hunk}; it has ${listed([...known])}.`
    if (decided.has(hunk)) return `Hunk ${hunk} is decided twice.`
    decided.add(hunk)
  }
  const open = [...known].filter(number => !decided.has(number))
  return open.length === 0
    ? undefined
    : `Not every hunk is decided: ${listed(open)} ${open.length === 1 ? 'is' : 'are'} not.`
}

/** Numbers that are named in one sentence. */
const NAMED = 20

/** `hunk 2`, `hunks 2, 3 and 5` */
export function listed(numbers: readonly number[]): string {
  const [first] = numbers
  if (numbers.length < 2) return `hunk ${first ?? 0}`
  if (numbers.length > NAMED) return `hunks ${numbers.slice(0, NAMED).join(', ')}, …`
  return `hunks ${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
}
