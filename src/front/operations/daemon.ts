import { z } from 'zod'
import { operation, TOPICS, WHO } from './operation.ts'

const count = z.int().min(0)

const schema = z.record(z.string(), z.unknown()).describe('A JSON Schema.')

const described = z.strictObject({
  name: z.string(),
  does: z.string(),
  who: z.array(z.enum(WHO)),
  level: z.enum(['safe', 'cautious', 'dangerous']),
  topics: z.array(z.enum(TOPICS)),
  recorded: z.boolean().describe('It is in the journal as somebody’s call.'),
  params: schema,
  result: schema,
  event: schema.exactOptional(),
})

/** Operations on the daemon itself. */
export const DAEMON_OPERATIONS = {
  describe: operation({
    does: 'Lists all operations, or those of that name: the operation, and the tool, which `call` runs: each with its parameters, its result and its events as JSON Schema. For a tool, the schema has the `result` of the envelope, too.',
    params: z.strictObject({ name: z.string().max(256).exactOptional() }),
    result: z.strictObject({ operations: z.array(described) }),
    level: 'safe',
  }),
  status: operation({
    does: 'Says which daemon this is and what it has under way.',
    result: z.strictObject({
      version: z.string(),
      pid: z.int(),
      instance: z.string(),
      uptime_ms: count,
      socket: z.string(),
      web: z.string().nullable().describe('Where WebSockets connect; null where the daemon takes none.'),
      log: z.string(),
      clients: count.describe('Connected now, the one that asks included.'),
      running: count.describe('Calls under way, and jobs that go on by themselves.'),
      suspended: count.describe('Evaluations that wait where an error happened, in all kernels.'),
      kernels: count,
    }),
    level: 'safe',
  }),
  open_page: operation({
    does: 'Answers with an address at which a browser shows the page of the project; the daemon begins to take WebSockets where it does not. The token in the address works once, within ten minutes. Kernels that are started from the page get the environment of the client. It is refused over a WebSocket.',
    result: z.strictObject({ address: z.string() }),
    level: 'cautious',
  }),
  shutdown: operation({
    does: 'Ends the daemon. Where the condition does not hold, it fails with in_use.',
    params: z.strictObject({
      when: z
        .enum(['unused', 'nothing_runs', 'always'])
        .describe(
          'unused: no running call, no suspended evaluation, no kernel, no other client. nothing_runs: no running call, and no script that has not returned; kernels that wait are ended. always: what runs is ended too.',
        ),
    }),
    result: z.strictObject({
      ended_kernels: z.array(z.string()).describe('The names of the kernels that end with the daemon.'),
      detached_kernels: z.array(z.string()).describe('The names of those whose programs run on without it.'),
    }),
    level: 'dangerous',
    topics: ['kernels'],
  }),
} as const
