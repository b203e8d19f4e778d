import { oneLine } from '../../../tools/wording.ts'
import type { SeatAnswer, ShownPlan } from '../../core/approvals.ts'
import { messageOf } from '../../failure.ts'
import type { Did, PlanItem } from './items.ts'
import type { Wish } from './wishes.ts'

/** What is said of an answer while it is on its way, and afterwards. */
export const DID = {
  approve: { now: 'approving', past: 'approved', look: 'good' },
  deny: { now: 'denying', past: 'denied', look: 'failure' },
  edit: {
    now: 'asking for it with your arguments',
    past: 'goes back with your arguments, and comes as another plan',
    look: 'good',
  },
  choose: (taken: number, of: number): Did =>
    taken === 0
      ? { now: 'denying', past: 'denied, hunk by hunk', look: 'failure' }
      : {
          now: 'approving',
          past: taken === of ? 'approved' : `${taken} of ${of} hunks approved`,
          look: 'good',
        },
  grant: (pattern: string): Did => ({
    now: 'approving',
    past: `approved; ${oneLine(pattern)} is let through from now on, until this seat is left`,
    look: 'good',
  }),
} as const

/** Marks the plans as answered, which holds until `Desk.answered` says what became of that. */
export function send(items: readonly PlanItem[], answers: readonly SeatAnswer[], did: Did): Wish {
  for (const item of items) item.sent = did
  return { type: 'answer', answers }
}

/** The arguments as a person edits them; undefined where there are none. */
export const argumentsIn = ({ args }: ShownPlan): string | undefined =>
  args === null ? undefined : `${JSON.stringify(args, null, 2)}\n`

/** A sentence where what was written is no arguments. */
export function editedArguments({ id, hash }: ShownPlan, text: string): SeatAnswer | string {
  try {
    const args: unknown = JSON.parse(text)
    if (typeof args !== 'object' || args === null || Array.isArray(args))
      return 'Arguments are a JSON object: { "name": value }. Nothing was sent.'
    return { plan: id, hash, decision: 'edit', args: args as Record<string, unknown> }
  } catch (error) {
    return `That is no JSON, so that nothing was sent: ${oneLine(messageOf(error))}`
  }
}
