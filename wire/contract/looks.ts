/** The questions about an image that are answered by looking: each with its query, and with what it may find. */
import { z } from 'zod'
import type { Signal } from '../signal.ts'
import { INSPECTION_LOOKS } from './inspection.ts'
import { NAME_LOOKS } from './names.ts'
import { DEBUGGING_LOOKS } from './suspensions.ts'
import { callId, count, type Of, raised, text, texts } from './values.ts'

/**
 * Every look by its name, which is also the ability that a kernel declares for it and its method on the wire. None
 * runs user code. A look is a row in the file of its subject, a method of each peer that has it, and a tool that asks it.
 */
export const LOOKS = { ...INSPECTION_LOOKS, ...NAME_LOOKS, ...DEBUGGING_LOOKS }
export type LookName = keyof typeof LOOKS
export type Looks = {
  readonly [Name in LookName]: {
    readonly query: Of<(typeof LOOKS)[Name]['query']>
    readonly found: Of<(typeof LOOKS)[Name]['found']>
  }
}
export const LOOK_NAMES = Object.keys(LOOKS) as readonly LookName[]

/** How long a look may take, in milliseconds, and who may withdraw it. */
export interface Look {
  readonly deadlineMs: number
  readonly signal?: Signal
}

/** Why a look that ran to its end without a fault has found nothing. `page` is as in `Definition`. */
export const notFound = z.discriminatedUnion('type', [
  /** Only running code could tell. Nothing was run. */
  z.object({ type: z.literal('needs_evaluation'), because: text }),
  /** Nothing has that name; `nearest` is sorted by likeness and may be empty. `frames` that live now have such a local. */
  z.object({
    type: z.literal('not_found'),
    what: text,
    nearest: texts,
    frames: texts.exactOptional(),
    page: text.exactOptional(),
  }),
  /** The expression is not one. `line` and `column` count from 1, where known. */
  z.object({
    type: z.literal('malformed'),
    message: text,
    line: count.exactOptional(),
    column: count.exactOptional(),
    page: text.exactOptional(),
  }),
  /** The code that was run to look raised. */
  z.object({ type: z.literal('raised'), exception: raised }),
  /** The handle belongs to another epoch, or has made room for newer ones. */
  z.object({ type: z.literal('stale_handle'), handle: text, because: text }),
  /** An evaluation holds the place where this code would have to run. */
  z.object({ type: z.literal('busy'), call: callId, elapsed_ms: count }),
  /** What it would look into is being loaded; `takes_ms` is how long that takes at most, as a rule. */
  z.object({ type: z.literal('loading'), what: text, elapsed_ms: count, takes_ms: count }),
  z.object({ type: z.literal('timed_out'), deadline_ms: count }),
])

/** What came of looking. */
export type Looked<Found> = { readonly type: 'found'; readonly value: Found } | Of<typeof notFound>

/** What a peer may answer to each look, by its name. */
export const LOOK_ANSWERS = Object.fromEntries(
  Object.entries(LOOKS).map(([name, { found }]) => [
    name,
    z.discriminatedUnion('type', [z.object({ type: z.literal('found'), value: found }), notFound]),
  ]),
) as unknown as { readonly [Name in LookName]: z.ZodType<Looked<Looks[Name]['found']>> }
