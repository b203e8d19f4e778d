import { z } from 'zod'
import { NEWLINES } from '../../tools/newlines.ts'
import type { Of } from '../../wire/kernel.ts'

const count = z.int().min(0)

const UNDOES = z
  .strictObject({
    change: z.string().describe('Its name.'),
    was_undo: z.boolean().describe('Whether that change was an undo. A redo is none.'),
  })
  .exactOptional()
  .describe(
    'The change that this plan takes back. Where that was an undo, this plan is a redo. Left out of all other plans.',
  )

/** A plan as anybody may know of it: without what gives a right to answer it, and without its preview. */
export const WAITING_PLAN = z.strictObject({
  id: z.string(),
  hash: z.string(),
  tool: z.string(),
  level: z.string(),
  kernel: z.string().nullable(),
  root: z.string(),
  who: z.string(),
  title: z.string(),
  paths: z.array(z.string()).describe('Real paths of the files that it changes, hidden characters marked.'),
  undoes: UNDOES,
  bytes: count.describe('Of the preview, which may be long.'),
  lines: count,
  warnings: z
    .array(z.string())
    .describe('For a second look: hidden characters and how many, very long lines; often empty.'),
  notes: z
    .array(z.string())
    .describe('Holds for every plan of its kind: the evidence of a kernel that is not checked again.'),
  waited_ms: z.number(),
  turn: z
    .string()
    .describe('The same for the plans of one turn of a caller: they came together, and belong together.'),
  times: count.describe(
    'How often this has been asked for by now, this time included: the same tool and files, or arguments.',
  ),
  rule: z
    .string()
    .nullable()
    .describe('From the third time on: the rule, in TOML, by which nobody would be asked about it any more.'),
  grants: z
    .array(z.string())
    .describe(
      'Patterns that a person may approve from now on without being asked, narrowest first: src/shop.py, src/*.py. Empty where that is not offered, as for all that cannot be undone.',
    ),
})

export type WaitingPlan = Of<typeof WAITING_PLAN>

/** A question that waits for a person, with or without a daemon. */
export const HELD_ROW = z.strictObject({
  call: z.string(),
  tool: z.string(),
  root: z.string(),
  who: z.string(),
  run: z.string().exactOptional().describe('The run of the agent that goes on once it is answered.'),
  asked_at: z.number().describe('Milliseconds since 1970.'),
})

/** One hunk, for a person. Control characters are marks in all but `before` and `after`, which are for an editor. */
export const SHOWN_HUNK = z.strictObject({
  number: count.describe('From 1. As the caller counted them, where the caller gave them.'),
  shown: z.string().describe('The file, from the root of the project.'),
  line: count.describe('The first line that it replaces, or before which it puts its own; from 1.'),
  before: z.string().describe('The lines that are there, to the last byte; empty where it only adds some.'),
  after: z.string().describe('The lines that are to be there; empty where it only takes some away.'),
  newline: z
    .enum(NEWLINES)
    .exactOptional()
    .describe('The line end of its file, as which LF in an edited text is written.'),
  isLast: z
    .boolean()
    .exactOptional()
    .describe('Nothing of its file comes after it, so that an edited text needs no line end.'),
  diff: z.string().describe('As `git diff` shows it, with three lines of context.'),
  why: z.string().nullable().describe('The purpose, as the caller says it.'),
})

export type ShownHunk = Of<typeof SHOWN_HUNK>

const PLAN_TEXT = z
  .union([z.string(), z.strictObject({ left_out: z.enum(['binary', 'too_large']), bytes: count })])
  .nullable()
  .describe(
    'Without marks, for an editor. null where there is no file; the size in place of a text that is left out.',
  )

export type PlanText = Of<typeof PLAN_TEXT>

/** What a plan does to one file. */
export const PLAN_FILE = z.strictObject({
  path: z.string().describe('Its real path.'),
  shown: z.string().describe('The same from the root of the project, marked as that of a hunk is.'),
  kind: z.enum(['edit', 'create', 'delete', 'move']),
  to: z.string().nullable().describe('Of a move: the real path that it gets.'),
  before: PLAN_TEXT,
  after: PLAN_TEXT,
  hunks: z
    .array(SHOWN_HUNK.pick({ line: true, before: true, after: true }))
    .describe('Where the texts differ, in whole lines. Empty for a move, and where a text is left out.'),
})

export type PlanFile = Of<typeof PLAN_FILE>

/** What a person lets through without being asked, until it is revoked, or the seat that gave it is left. */
export const GRANT = z.strictObject({
  id: z.string().describe('grant-1'),
  tool: z.string(),
  kernel: z.string().nullable(),
  pattern: z.string().describe('From the root of the project, as it was offered.'),
  root: z.string(),
  who: z.string().describe('For whose calls it holds.'),
  seat: z.string(),
  used: count.describe('How many calls it has let through.'),
  ends_ms: z.number().describe('Milliseconds until it ends by itself.'),
})

export type Grant = Of<typeof GRANT>

/** That nobody is asked for a while about plans that come from one place. */
export const PAUSE = z.strictObject({
  who: z.string().describe('Who asked for the plan that was refused last.'),
  refusals: count.describe('Refusals in a row, those of one batch counted once.'),
  left_ms: z.number().describe('Milliseconds until it ends by itself.'),
})

export type Pause = Of<typeof PAUSE>

/**
 * What was said of a plan, or came before anybody said anything. `edited`: approved with other arguments, which are a
 * plan of their own. `dismissed`: the dialog of its client was closed without a choice. `withdrawn`: its caller gave up,
 * or the daemon ended. Whether it could be carried out after that, the journal says.
 */
const PLAN_OUTCOME = z.enum([
  'approved',
  'approved_in_part',
  'edited',
  'denied',
  'dismissed',
  'stale',
  'timed_out',
  'withdrawn',
])

export type PlanOutcome = z.infer<typeof PLAN_OUTCOME>

/** How a plan that waited came to its end. Nothing of its preview, its arguments or the reason of a denial is in it. */
export const PLAN_END = z.strictObject({
  id: z.string(),
  tool: z.string(),
  root: z.string(),
  title: z.string(),
  undoes: UNDOES,
  outcome: PLAN_OUTCOME,
  why: z.string().describe('A sentence for a person, as seats are told.'),
  ago_ms: z.number(),
  ended: z
    .strictObject({
      outcome: z.string().describe('`ok`, or the code of the error.'),
      undo: z
        .string()
        .nullable()
        .describe(
          'The name to undo it by; null where no file was changed, and once the change was taken back.',
        ),
      taken_back: z.literal(true).exactOptional().describe('Another change has taken it back.'),
      notice: z
        .string()
        .exactOptional()
        .describe('Which programs still run what the change has replaced; left out where none is known.'),
    })
    .exactOptional()
    .describe(
      'How the call has ended that was approved. Left out until then, and where nothing was approved.',
    ),
})

export type PlanEnd = Of<typeof PLAN_END>

/** What became of an answer. Only the first counts. */
export const ANSWER_OUTCOME = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('taken') }),
  z.strictObject({ type: z.literal('late'), why: z.string() }),
  z.strictObject({ type: z.literal('unknown') }),
  z.strictObject({ type: z.literal('wrong_hash') }),
  z.strictObject({ type: z.literal('wrong_code') }),
  z
    .strictObject({ type: z.literal('unfit'), why: z.string() })
    .describe(
      'It does not fit the plan, which goes on waiting: choices for other hunks, a grant that was not offered.',
    ),
])

export type AnswerOutcome = Of<typeof ANSWER_OUTCOME>
