import type { Choice } from '../../tools/proposal.ts'
import type { CodedAnswer, SeatAnswer } from './approvals.ts'
import { areAllRefused, fitOf } from './choices.ts'
import type { Answer, Plan } from './plan.ts'

/** Characters of a reason that are kept. */
const REASON_CHARS = 2_000

/** An answer as it was given, on a seat or with a code, once it is known to fit. */
export function answerOf(given: SeatAnswer | CodedAnswer, by: string): Answer {
  switch (given.decision) {
    case 'approve':
      return { type: 'approved', by }
    case 'edit':
      return { type: 'edited', by, args: given.args ?? {} }
    case 'choose':
      return { type: 'chosen', by, choices: (given.choices ?? []).map(bounded) }
    case 'deny':
      return { type: 'denied', by, reason: reasonOf(given.reason) }
    default:
      return given satisfies never
  }
}

/** A reason within bounds; an empty one is none. */
export const reasonOf = (reason: string | null | undefined): string | null =>
  reason?.slice(0, REASON_CHARS) || null

const bounded = (choice: Choice): Choice =>
  choice.decision === 'accept' ? choice : { ...choice, reason: reasonOf(choice.reason) }

/**
 * Why an answer does not fit the plan, as a sentence for whoever gave it; undefined where it does. `offered` are the
 * patterns that may be granted with it.
 */
export function misfitOf(plan: Plan, given: SeatAnswer, offered: readonly string[]): string | undefined {
  const { decision, choices = [], grant } = given
  if (decision === 'choose') {
    const misfit = fitOf(plan, choices)
    if (misfit !== undefined) return misfit
  }
  if (grant === undefined) return undefined
  if (decision !== 'approve') return 'Only with an approval can more be let through from now on.'
  if (offered.includes(grant)) return undefined
  return offered.length === 0
    ? 'Nothing of the kind can be let through without asking.'
    : `That cannot be let through without asking; what can is: ${offered.join(', ')}.`
}

/** What was done, after the name of whoever did it: for the others who sit. */
export function didOf({ decision, choices = [] }: Pick<SeatAnswer, 'decision' | 'choices'>): string {
  return decision === 'choose' && areAllRefused(choices) ? 'refused every part of it' : DID[decision]
}

const DID = {
  approve: 'approved it',
  deny: 'denied it',
  edit: 'approved it with other arguments, which are a plan of their own',
  choose: 'approved a part of it',
} as const satisfies Record<SeatAnswer['decision'], string>

/** What people say of a plan, for those who ask too often; undefined where no person has said anything. */
export function saidBy(answer: Answer): 'yes' | 'no' | undefined {
  switch (answer.type) {
    case 'approved':
      return answer.granted === true ? undefined : 'yes'
    case 'edited':
      return 'yes'
    case 'chosen':
      return areAllRefused(answer.choices) ? 'no' : 'yes'
    case 'denied':
      return answer.unanswered === true ? undefined : 'no'
    default:
      return undefined
  }
}
