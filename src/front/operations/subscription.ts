import { z } from 'zod'
import { operation, TOPICS } from './operation.ts'

/** The one way to hear of what happens. */
export const SUBSCRIPTION_OPERATIONS = {
  subscribe: operation({
    does: 'Follows topics until it is cancelled. The first event has a snapshot of their rows, `{rev, snapshot}`, or with `since` the changes that were missed; then `{rev, changes}` once in a turn of the loop. A row is `{topic, key, value}`; a value of null says that the row has gone. A client that does not read gets a snapshot once it reads again.',
    params: z.strictObject({
      topics: z.array(z.enum(TOPICS)).min(1).max(TOPICS.length),
      since: z
        .string()
        .max(128)
        .exactOptional()
        .describe('The last rev that the client has heard; one of another daemon gets the snapshot.'),
      everywhere: z.boolean().exactOptional().describe('Rows of all projects, for a person at a terminal.'),
    }),
    who: ['anyone'],
    level: 'safe',
  }),
} as const
