import { z } from 'zod'
import { HELD_ROW, PLAN_END, WAITING_PLAN } from '../../approvals/rows.ts'
import { ANNOUNCED_ROW } from '../../kernels/announced-row.ts'
import { OUTPUT_ROW } from '../../kernels/background.ts'
import { KERNEL_ROW } from '../../kernels/rows.ts'
import { SUSPENSION_TOPIC_ROW } from '../../suspensions/rows.ts'
import { RUN } from './history.ts'
import { operation, TOPICS, type Topic } from './operation.ts'
import { SEAT_ROW, SEAT_WANTED } from './seats.ts'

/** The value of a row of each topic. */
export const TOPIC_ROWS = {
  kernels: KERNEL_ROW.omit({ background: true }),
  programs: ANNOUNCED_ROW,
  approvals: z.discriminatedUnion('state', [
    WAITING_PLAN.extend({ state: z.literal('waits') }),
    PLAN_END.extend({ state: z.literal('ended') }),
    HELD_ROW.extend({ state: z.literal('held') }).describe(
      'A question that waits, and is before nobody now.',
    ),
  ]),
  suspensions: SUSPENSION_TOPIC_ROW,
  errors: z.strictObject({
    kernel: z.string(),
    number: z.int().describe('What `get_last_error` takes.'),
    at: z.string(),
    where: z.string().nullable(),
    times: z.int(),
    what: z.string(),
    file: z.string().nullable().describe('The innermost line of the program’s own.'),
    line: z.int().nullable(),
  }),
  traces: z.strictObject({
    kernel: z.string(),
    news: z
      .int()
      .describe(
        'How often it has told that calls were recorded or tracepoints have ended. `trace_calls` has them.',
      ),
  }),
  seats: z.union([SEAT_ROW, SEAT_WANTED, z.strictObject({ text: z.string().describe('News.') })]),
  calls: z.strictObject({
    job: z.string(),
    call: z.string(),
    tool: z.string(),
    kernel: z.string().nullable(),
    root: z.string(),
    elapsed_ms: z.number(),
    plan: z.string().nullable().describe('The plan that waits for a person.'),
  }),
  output: OUTPUT_ROW,
  runs: RUN,
} as const satisfies Readonly<Record<Topic, z.ZodType>>

const rowOf = (topic: Topic) =>
  z.strictObject({ topic: z.literal(topic), key: z.string(), value: TOPIC_ROWS[topic].nullable() })

const rows = z.array(z.union(TOPICS.map(rowOf)))

const rev = z.string()

/** The one way to hear of what happens. */
export const SUBSCRIPTION_OPERATIONS = {
  subscribe: operation({
    does: 'Follows topics until it is cancelled. The first event has a snapshot of their rows, `{rev, snapshot}`, or with `since` the changes that were missed; then `{rev, changes}` once in a turn of the loop. An event has up to 1,000 rows, and more of them follow as changes. A row is `{topic, key, value}`; a value of null says that the row has gone. A client that does not read gets a snapshot once it reads again, or the changes after the last event that it was sent. Rows of `programs` and `runs` are read once somebody follows them, and come after the snapshot.',
    params: z.strictObject({
      topics: z.array(z.enum(TOPICS)).min(1).max(TOPICS.length),
      since: z
        .string()
        .max(128)
        .exactOptional()
        .describe(
          'The last rev that the client has heard; one of another daemon, or of fewer topics, gets the snapshot.',
        ),
      everywhere: z.boolean().exactOptional().describe('Rows of all projects, for a person at a terminal.'),
    }),
    event: z.union([z.strictObject({ rev, snapshot: rows }), z.strictObject({ rev, changes: rows })]),
    level: 'safe',
  }),
} as const
