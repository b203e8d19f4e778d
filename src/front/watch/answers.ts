import type { SeatAnswer } from '../../core/approvals.ts'
import { argumentsDraft, readArguments } from '../drafts.ts'
import type { Did, PlanItem } from './items.ts'
import { letThrough } from './notes.ts'
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
    past: `approved; ${letThrough(pattern)}, until this seat is left`,
    look: 'good',
  }),
} as const

/** Marks the plans as answered, which holds until `Desk.answered` says what became of that. */
export function send(items: readonly PlanItem[], answers: readonly SeatAnswer[], did: Did): Wish {
  for (const item of items) item.sent = did
  return { type: 'answer', answers }
}

/** The arguments as a person edits them, or goes on editing them; undefined where there are none. */
export const argumentsIn = ({ plan, draft }: PlanItem): string | undefined =>
  plan.args === null ? undefined : (draft ?? argumentsDraft(plan.args))

/** A sentence where what was written is no arguments; then it is kept, to be gone on with. */
export function editedArguments(item: PlanItem, text: string): SeatAnswer | string {
  const read = readArguments(text)
  if (read.type === 'bad') item.draft = read.draft
  else delete item.draft
  const { id, hash } = item.plan
  return read.type === 'bad' ? read.why : { plan: id, hash, decision: 'edit', args: read.args }
}
