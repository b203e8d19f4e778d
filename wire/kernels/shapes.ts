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
  type EvalEvent,
  type Evaluated,
  type Frame,
  type GlobalsPage,
  type Inspected,
  type InterruptReport,
  type KernelStatus,
  KINDS,
  type Local,
  type Looked,
  type Piece,
  type Question,
  type Raised,
  type Sample,
  type ScriptNews,
  type Shown,
  type Stream,
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

const text = z.string()
const count = z.number()
const orNull = <Shape extends z.ZodType>(shape: Shape) => shape.nullable()
const callId = z.string() as unknown as z.ZodType<CallId>

const stream = z.enum(['stdout', 'stderr']) satisfies z.ZodType<Stream>

export const typeName = z.object({
  name: text,
  module: orNull(text),
  qualified: text,
}) satisfies z.ZodType<TypeName>

const cutText = z.object({
  text,
  truncated: z.boolean(),
  original_len: orNull(count),
  handle: text.exactOptional(),
  error: text.exactOptional(),
}) satisfies z.ZodType<Text>

const shown = z.object({
  repr: cutText,
  type: typeName,
  handle: text.exactOptional(),
  preview: text.exactOptional(),
}) satisfies z.ZodType<Shown>

const local = z.object({ name: text, type_name: text, repr: text }) satisfies z.ZodType<Local>

const frame = z.object({
  function: text,
  file: orNull(text),
  line: orNull(count),
  source: orNull(text),
  locals: z.array(local),
  locals_omitted: count,
}) satisfies z.ZodType<Frame>

export const raised: z.ZodType<Raised> = z.object({
  type: typeName,
  message: text,
  frames: z.array(frame),
  frames_omitted: count,
  traceback: text,
  notes: z.array(text).exactOptional(),
  get cause() {
    return z.object({ how: z.enum(['cause', 'context']), exception: raised }).exactOptional()
  },
})

export const evaluated = z.discriminatedUnion('type', [
  z.object({ type: z.literal('done'), values: z.array(shown), elapsed_ms: count }),
  z.object({ type: z.literal('raised'), exception: raised, elapsed_ms: count }),
  z.object({ type: z.literal('interrupted'), exception: raised.exactOptional(), elapsed_ms: count }),
  z.object({ type: z.literal('withdrawn') }),
]) satisfies z.ZodType<Evaluated>

export const evalEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), stream, text }),
  z.object({ type: z.literal('dropped'), stream, characters: count }),
  z.object({ type: z.literal('paused'), condition: text, restarts: z.array(text) }),
]) satisfies z.ZodType<EvalEvent>

/** What a look may come to, around the shape of what it looks for. */
function looked<Found>(found: z.ZodType<Found>): z.ZodType<Looked<Found>> {
  return z.discriminatedUnion('type', [
    z.object({ type: z.literal('found'), value: found }),
    z.object({ type: z.literal('needs_evaluation'), because: text }),
    z.object({ type: z.literal('not_found'), what: text, nearest: z.array(text) }),
    z.object({
      type: z.literal('malformed'),
      message: text,
      line: count.exactOptional(),
      column: count.exactOptional(),
    }),
    z.object({ type: z.literal('raised'), exception: raised }),
    z.object({ type: z.literal('stale_handle'), handle: text, because: text }),
    z.object({ type: z.literal('busy'), call: callId, elapsed_ms: count }),
    z.object({ type: z.literal('timed_out'), deadline_ms: count }),
  ]) as z.ZodType<Looked<Found>>
}

const globalsPage = z.object({
  globals: z.array(z.object({ name: text, type_name: text })),
  total: count,
  next: text.exactOptional(),
}) satisfies z.ZodType<GlobalsPage>

/** A section failed on its own when it holds `error` instead of its contents; the contents are tried first. */
const section = <Contents>(contents: z.ZodType<Contents>) => z.union([contents, z.object({ error: text })])

const sample = z.object({
  items: z.array(text),
  shown: count,
  total: orNull(count),
  truncated: z.boolean(),
  handle: text.exactOptional(),
}) satisfies z.ZodType<Sample>

const inspected = z.object({
  type: typeName,
  kind: z.enum(KINDS),
  read: z.enum(['static', 'evaluated']),
  repr: section(cutText).exactOptional(),
  size: z
    .union([
      z.object({ error: text }),
      z.object({ len: count.exactOptional(), shape: z.array(count).exactOptional() }),
    ])
    .exactOptional(),
  sample: section(sample).exactOptional(),
  members: section(
    z.object({
      data: z.array(text),
      callables: z.array(text),
      dunder_count: count,
      shown_per_group: count,
      truncated: z.boolean(),
    }),
  ).exactOptional(),
  doc: section(cutText).exactOptional(),
  callable: section(
    z.object({
      module: orNull(text),
      signature: orNull(text),
      doc: orNull(text),
      source_preview: orNull(text),
      source_truncated: z.boolean(),
      file: orNull(text),
      line: orNull(count),
    }),
  ).exactOptional(),
  exception: section(
    z.object({ exc_type: text, message: orNull(text), traceback: orNull(text) }),
  ).exactOptional(),
  limits: z.record(text, count),
  handle: text.exactOptional(),
}) satisfies z.ZodType<Inspected>

const piece = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text, from: count, total: orNull(count), next: orNull(count) }),
  z.object({
    type: z.literal('items'),
    items: z.array(text),
    from: count,
    total: orNull(count),
    next: orNull(count),
  }),
]) satisfies z.ZodType<Piece>

export const lookedGlobals = looked<GlobalsPage>(globalsPage)
export const lookedInspected = looked<Inspected>(inspected)
export const lookedPiece = looked<Piece>(piece)

export const interruptReport = z.object({
  outcome: z.enum(['stopped', 'still_running', 'withdrawn', 'not_running']),
  message: text,
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
