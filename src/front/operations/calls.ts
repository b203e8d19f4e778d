import { z } from 'zod'
import { PROFILES } from '../../../tools/contract.ts'
import type { Envelope } from '../../../tools/outcome.ts'
import { isRecord } from '../../../tools/record.ts'
import { toolErrorShape } from '../../../tools/shapes.ts'
import { KEY_VARIABLES } from '../../agent/keys.ts'
import { CALL_EVENT } from '../../calls/contract.ts'
import { operation } from './operation.ts'
import { key } from './values.ts'

const tool = z.string().max(256)

const SESSION_NAME = '\\w[\\w-]{0,63}'

/** The name of a session of Claude Code. It becomes an argument of a command, and is no option of that. */
export const SESSION = new RegExp(`^${SESSION_NAME}$`)

/** What goes on once a question is answered: a run of the agent, or a session of Claude Code. */
const goesOn = z.string().regex(new RegExp(`^(?:run-[1-9]\\d{0,8}|claude-code:${SESSION_NAME})$`))

/** How a session of Claude Code is named among runs. */
export const sessionRun = (session: string): string => `claude-code:${session}`

/** The session that a run is; undefined for one of the agent. */
export const sessionOf = (run: string): string | undefined => /^claude-code:(.*)$/.exec(run)?.[1]

const envelope: z.ZodType<Envelope> = z.union([
  z.object({ ok: z.literal(true), result: z.unknown().describe('As `describe` says of the tool.') }),
  z.object({ ok: z.literal(false), error: toolErrorShape }),
])

/** Operations on tools: a call of one, how its answer is shown, and which there are. */
export const CALL_OPERATIONS = {
  call: operation({
    does: 'Runs a tool. Its events, where it is to be followed, come before the answer. Cancelling the call interrupts what runs; a lost connection does not. A call of a name that the daemon knows is not run again.',
    params: z.strictObject({
      tool,
      args: z.unknown(),
      call: key.exactOptional(),
      follow: z.boolean().exactOptional(),
      held: z
        .strictObject({
          leave: z.boolean(),
          run: goesOn.exactOptional(),
          cautious: z.boolean().exactOptional(),
        })
        .exactOptional()
        .describe(
          'A question to a person waits without end, also without this daemon; `call` is needed. With `leave`, the answer is `approval_held` once it waits. With `cautious`, a person is asked about cautious calls too, where no rule allows them. `run`: a run of the agent, or `claude-code:SESSION`, which goes on afterwards.',
        ),
    }),
    result: envelope,
    event: CALL_EVENT,
    level: 'dangerous',
    topics: ['calls', 'kernels', 'approvals', 'suspensions'],
    calls: ({ args }: { readonly args?: unknown }) =>
      isRecord(args) && typeof args.kernel === 'string' ? args.kernel : undefined,
  }),
  show: operation({
    does: 'Answers with the text that a model is shown for an envelope.',
    params: z.strictObject({ tool, envelope }),
    result: z.strictObject({ text: z.string() }),
    level: 'safe',
  }),
  display: operation({
    does: 'Answers with what code has displayed in a call of the project: a picture or a page, by the path that the answer of the call names.',
    params: z.strictObject({ path: z.string().max(4_096) }),
    result: z.strictObject({
      media_type: z.enum(['image/png', 'text/html']),
      bytes: z.int().min(0),
      data: z.string().nullable().describe('The bytes, in base64; null where they are more than 32 MiB.'),
    }),
    level: 'safe',
  }),
  tools: operation({
    does: 'Answers with the text that `imago tools` prints.',
    params: z.strictObject({
      profile: z.enum(PROFILES).exactOptional(),
      format: z.string().max(64).exactOptional(),
      name: tool.exactOptional(),
    }),
    result: z.strictObject({ text: z.string() }),
    level: 'safe',
  }),
  offer_buffers: operation({
    does: 'Offers the texts that an editor has open, to the tools read_buffer and search_in_buffer of the project, until it is cancelled. For each look the daemon asks `buffer` of the client, with the real `path` of a file; it returns `{"text":…}`, with LF at the ends of lines, or null for what is not open.',
    level: 'safe',
  }),
  withdraw: operation({
    does: 'Takes back a question that waits for a person, of a call that was asked held.',
    params: z.strictObject({ call: key }),
    result: z.strictObject({
      withdrawn: z.boolean().describe('false where none of that name waits in the project.'),
    }),
    level: 'safe',
    topics: ['approvals'],
  }),
  keep_key: operation({
    does: 'Keeps the key of a run in the memory of the daemon, for the process that goes on with it.',
    params: z.strictObject({ run: goesOn, variable: z.enum(KEY_VARIABLES), value: z.string().max(4_096) }),
    level: 'safe',
  }),
} as const
