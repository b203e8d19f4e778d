import { z } from 'zod'
import type { Of } from '../../wire/kernel.ts'
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

/** `expired`: its owner did not come in time, and it was given up. The rest as the images say. */
const ENDED_HOW = z.enum(['resumed', 'left', 'within', 'lost', 'expired'])

export type EndedHow = z.infer<typeof ENDED_HOW>

/**
 * What happened last to a suspended evaluation. `taken`: by a person. `handed`: put before the agents of its project.
 * `adopted`: the same, of an error that waited in the person's own debugger.
 */
const LEASE_NEWS = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('suspended') }),
  z.strictObject({
    type: z.literal('ended'),
    how: ENDED_HOW,
    message: z.string().describe('A sentence for people.'),
    by: z.string().nullable().describe('Who resumed it, or left it; null where nobody did.'),
  }),
  z.strictObject({ type: z.literal(['taken', 'handed', 'adopted']), by: z.string() }),
])

export type LeaseNews = Of<typeof LEASE_NEWS>

/** A row of the topic `suspensions`: one that waits, or one of the last that ended. */
export const SUSPENSION_TOPIC_ROW = SUSPENDED_ROW.extend({
  news: LEASE_NEWS.describe('What happened to it last.'),
  own: z.boolean().describe('The client that is told did it.'),
})

export type SuspensionTopicRow = Of<typeof SUSPENSION_TOPIC_ROW>

export type SuspensionEvent = LeaseNews & { readonly suspension: SuspendedRow; readonly own: boolean }
