import { z } from 'zod'
import type { Of, SuspensionNews } from '../../wire/kernel.ts'
import { suspension } from '../../wire/kernel.ts'

/** Whose it is, as seen by the one that asks. */
const HOLDER = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('you') }),
  z.strictObject({ type: z.literal('anyone') }),
  z.strictObject({ type: z.literal('other'), who: z.string(), person: z.boolean() }),
])

/** One suspended evaluation, as a client may know of it. */
export const SUSPENDED_ROW = suspension.extend({
  kernel: z.string(),
  root: z.string().describe('The project of its kernel.'),
  holder: HOLDER.describe('Whose it is, as seen by the one that asks; anyone: the agents of the project.'),
  expires_in_ms: z.number().describe('How long it waits for its owner from now on, in milliseconds.'),
})

export type SuspendedRow = Of<typeof SUSPENDED_ROW>

/** What happened last to a suspended evaluation. */
export type LeaseNews =
  | { readonly type: 'suspended' }
  /** `message`: a sentence for people. `by`: who resumed it, or left it; null where nobody did. */
  | {
      readonly type: 'ended'
      readonly how: EndedHow
      readonly message: string
      readonly by: string | null
    }
  /**
   * A person has taken it over, or has put it before the agents of its project; `adopted`: an error that waited in the
   * person's own debugger.
   */
  | { readonly type: 'taken' | 'handed' | 'adopted'; readonly by: string }

/** A row of the topic `suspensions`: one that waits, or one of the last that ended. */
export type SuspensionTopicRow = SuspendedRow & {
  readonly news: LeaseNews
  /** The client that is told did it. */
  readonly own: boolean
}

export type SuspensionEvent = LeaseNews & { readonly suspension: SuspendedRow; readonly own: boolean }

/** `expired`: its owner did not come in time, and it was given up. The rest as the images say. */
export type EndedHow = Extract<SuspensionNews, { type: 'ended' }>['how'] | 'expired'
