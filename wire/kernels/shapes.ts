/**
 * What a framed peer may answer, as zod shapes that TypeScript holds to the contract of `wire/kernel.ts`.
 *
 * An answer is parsed once, here, and trusted from then on. Keys that the contract asks for are strict; sections
 * and fields that it does not know are left out, so that a newer peer can say more than this daemon reads.
 */
import { z } from 'zod'
import { WireError } from '../errors.ts'
import {
  type CallId,
  type Diagnostic,
  type EvalEvent,
  type Evaluated,
  type Frame,
  type InterruptReport,
  type KernelStatus,
  type Loaded,
  type Local,
  type Question,
  type Raised,
  type Restart,
  type ScriptNews,
  SEVERITIES,
  type Shown,
  type Stream,
  type Suspension,
  type SuspensionNews,
  TEST_FRAMEWORKS,
  type TestReport,
  type Text,
  type TypeName,
} from '../kernel.ts'

/** `answer` as `shape` describes it, or `MESSAGE_INVALID`, which names the first place where it differs. */
export function parseAnswer<Answer>(shape: z.ZodType<Answer>, answer: unknown, whose: string): Answer {
  const parsed = shape.safeParse(answer)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const place = issue === undefined || issue.path.length === 0 ? 'the whole answer' : issue.path.join('.')
  throw new WireError(
    'MESSAGE_INVALID',
    `${whose} is not of the agreed form: ${place}: ${issue?.message ?? 'unknown'}. ` +
      'The peer and this daemon disagree; check that both are of one version.',
    { cause: parsed.error },
  )
}

/** Characters that are kept of what a program failed with. */
const SCRIPT_MESSAGE = 4_096

export const text = z.string()
export const count = z.number()
export const orNull = <Shape extends z.ZodType>(shape: Shape) => shape.nullable()
export const callId = z.string() as unknown as z.ZodType<CallId>

const stream = z.enum(['stdout', 'stderr']) satisfies z.ZodType<Stream>

export const typeName = z.object({
  name: text,
  module: orNull(text),
  qualified: text,
}) satisfies z.ZodType<TypeName>

export const cutText = z.object({
  text,
  truncated: z.boolean(),
  original_len: orNull(count),
  handle: text.exactOptional(),
  error: text.exactOptional(),
}) satisfies z.ZodType<Text>

export const shown = z.object({
  repr: cutText,
  type: typeName,
  handle: text.exactOptional(),
  preview: text.exactOptional(),
}) satisfies z.ZodType<Shown>

const local = z.object({ name: text, type_name: text, repr: text }) satisfies z.ZodType<Local>

export const frame = z.object({
  function: text,
  file: orNull(text),
  line: orNull(count),
  source: orNull(text),
  locals: z.array(local),
  locals_omitted: count,
  repeated: count.exactOptional(),
  implementation: z.literal(true).exactOptional(),
}) satisfies z.ZodType<Frame>

export const restart = z.object({
  name: text,
  description: text,
  reads: z.literal(true).exactOptional(),
}) satisfies z.ZodType<Restart>

export const raised: z.ZodType<Raised> = z.object({
  type: typeName,
  message: text,
  frames: z.array(frame),
  frames_omitted: count,
  traceback: text,
  notes: z.array(text).exactOptional(),
  restarts: z.array(restart).exactOptional(),
  get cause() {
    return z.object({ how: z.enum(['cause', 'context']), exception: raised }).exactOptional()
  },
})

const loaded = z.object({
  module: orNull(text),
  file: orNull(text),
  added: z.array(text),
  replaced: z.array(text),
  kept: z.array(text),
  skipped: z.array(text),
  survivors: z.array(
    z.object({
      name: text,
      kind: z.enum(['function', 'class', 'object']),
      instances: orNull(count),
      held_by: z.array(text),
      loads_ago: count.exactOptional(),
    }),
  ),
  omitted: count,
  complete: z.boolean(),
}) satisfies z.ZodType<Loaded>

const place = { file: orNull(text), line: orNull(count) }

const diagnostics = z.array(
  z.object({
    ...place,
    severity: z.enum(SEVERITIES),
    message: text,
    column: orNull(count),
    source: orNull(text),
  }) satisfies z.ZodType<Diagnostic>,
)

const tests = z.object({
  framework: z.enum(TEST_FRAMEWORKS),
  target: text,
  ok: orNull(z.boolean()),
  passed: orNull(count),
  failed: orNull(count),
  skipped: orNull(count),
  failures: z.array(z.object({ ...place, test: text, reason: text, expression: orNull(text) })),
  omitted: count,
}) satisfies z.ZodType<TestReport>

export const suspension = z.object({
  id: text,
  call: orNull(callId),
  who: text,
  how: z.enum(['held', 'post_mortem']),
  level: count,
  within: orNull(text),
  type: typeName,
  message: text,
  at: text,
  expires_in_ms: count,
  busy: z.boolean(),
  leaving: text.exactOptional(),
}) satisfies z.ZodType<Suspension>

/** What a peer says when a suspension has ended. That one has begun is the answer of its evaluation. */
export const suspensionEnded = z.object({
  id: text,
  how: z.enum(['resumed', 'left', 'expired', 'within', 'lost']),
  message: text,
}) satisfies z.ZodType<Omit<Extract<SuspensionNews, { type: 'ended' }>, 'type'>>

export const suspended = z.object({
  type: z.literal('suspended'),
  suspension,
  exception: raised,
  elapsed_ms: count,
  diagnostics: diagnostics.exactOptional(),
}) satisfies z.ZodType<Extract<Evaluated, { type: 'suspended' }>>

export const evaluated = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('done'),
    values: z.array(shown),
    elapsed_ms: count,
    loaded: loaded.exactOptional(),
    diagnostics: diagnostics.exactOptional(),
    tests: tests.exactOptional(),
    package: text.exactOptional(),
    readtable: text.exactOptional(),
    changed: z.array(z.enum(['package', 'readtable'])).exactOptional(),
  }),
  z.object({
    type: z.literal('raised'),
    exception: raised,
    elapsed_ms: count,
    diagnostics: diagnostics.exactOptional(),
  }),
  suspended,
  z.object({ type: z.literal('interrupted'), exception: raised.exactOptional(), elapsed_ms: count }),
  z.object({ type: z.literal('left'), message: text, elapsed_ms: count }),
  z.object({ type: z.literal('withdrawn') }),
  z.object({
    type: z.literal('refused'),
    reason: z.enum(['not_found', 'malformed']),
    message: text,
    what: text.exactOptional(),
    nearest: z.array(text).exactOptional(),
    next: text.exactOptional(),
  }),
]) satisfies z.ZodType<Evaluated>

export const evalEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), stream, text }),
  z.object({ type: z.literal('dropped'), stream, characters: count }),
]) satisfies z.ZodType<EvalEvent>

export const interruptReport = z.object({
  outcome: z.enum(['stopped', 'still_running', 'withdrawn', 'not_running']),
  message: text,
  offer: z.literal('restart').exactOptional(),
}) satisfies z.ZodType<InterruptReport>

export const kernelStatus = z.object({
  running: orNull(z.object({ call: callId, elapsed_ms: count })),
  queued: count,
}) satisfies z.ZodType<KernelStatus>

/** What a peer asks of the daemon in the middle of an evaluation. */
export const askParams = z.object({
  call: callId,
  question: z.object({
    type: z.literal('stdin'),
    prompt: text,
    secret: z.boolean(),
  }) satisfies z.ZodType<Question>,
})

/** Output of the image that belongs to no evaluation. */
export const outputNote = z.object({ stream, text })

/** News of the program that the image was started with. */
export const scriptNote = z.object({
  state: z.enum(['running', 'returned', 'failed']),
  message: text.nullish().transform(message => message?.slice(0, SCRIPT_MESSAGE) ?? null),
}) satisfies z.ZodType<ScriptNews>
