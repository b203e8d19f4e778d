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

/** News of suspended evaluations, each of which says all that a line about it needs. `own`: the watcher's own doing. */
export type SuspensionEvent =
  | { readonly type: 'suspended'; readonly suspension: SuspendedRow }
  | {
      readonly type: 'ended'
      readonly suspension: SuspendedRow
      readonly how: EndedHow
      /** For people, a sentence. */
      readonly message: string
      /** Who resumed it, or left it; null where nobody did. */
      readonly by: string | null
      readonly own: boolean
    }
  /** A person has taken it over. `from`: who owned it before; null for the agents of its project. */
  | {
      readonly type: 'taken'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly own: boolean
      readonly from: string | null
    }
  /** A person has put it before the agents of its project. */
  | {
      readonly type: 'handed'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly own: boolean
      readonly to: null
    }
  /** An error that waited in a person's own debugger was put before the agents of its project. */
  | {
      readonly type: 'adopted'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly own: boolean
    }

/** `expired`: its owner did not come in time, and it was given up. The rest as the images say. */
export type EndedHow = Extract<SuspensionNews, { type: 'ended' }>['how'] | 'expired'
