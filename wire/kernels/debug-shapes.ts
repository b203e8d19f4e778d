/** What a peer may find of suspended evaluations and of tracepoints: the shapes of those looks. */
import { z } from 'zod'
import type {
  Lease,
  StackFrame,
  SuspendedFrame,
  SuspendedState,
  Suspensions,
  Theirs,
  TracedCall,
  Tracepoint,
  Traces,
} from '../kernel.ts'
import { count, orNull, restart, shown, suspension, text, typeName } from './shapes.ts'

const place = { file: orNull(text), line: orNull(count) }

const stackFrame = z.object({
  ...place,
  number: count,
  function: text,
  call: orNull(text),
  source: orNull(text),
  implementation: z.literal(true).exactOptional(),
}) satisfies z.ZodType<StackFrame>

const suspendedState = z.object({
  suspension,
  restarts: z.array(restart),
  frames: z.array(stackFrame),
  next: orNull(count),
  frames_total: orNull(count),
}) satisfies z.ZodType<SuspendedState>

const suspendedFrame = z.object({
  ...stackFrame.shape,
  locals: z.array(z.object({ name: text, argument: z.boolean(), value: shown })),
  locals_omitted: count,
  around: orNull(z.object({ first_line: count, lines: z.array(text) })),
  can: z.array(z.enum(['evaluate', 'return', 'again'])),
  notes: z.array(text),
}) satisfies z.ZodType<SuspendedFrame>

const theirs = z.object({
  errors: z.array(z.object({ id: text, where: text, type: typeName, message: text })),
}) satisfies z.ZodType<Theirs>

const tracepoint = z.object({
  id: text,
  name: text,
  who: text,
  state: z.enum(['on', 'full', 'expired', 'removed']),
  by: text,
  wanted: count,
  seen: count,
  at: text,
  expires_in_ms: orNull(count),
  notes: z.array(text),
}) satisfies z.ZodType<Tracepoint>

const tracedCall = z.object({
  number: count,
  at: text,
  thread: text,
  depth: count,
  arguments: z.array(z.object({ name: text, value: shown })),
  arguments_omitted: count,
  outcome: z.discriminatedUnion('type', [
    z.object({ type: z.literal('running') }),
    z.object({ type: z.literal('returned'), values: z.array(shown) }),
    z.object({ type: z.literal('raised'), exception: z.object({ type: typeName, message: text }) }),
    z.object({ type: z.literal('left') }),
  ]),
  elapsed_ms: orNull(count),
  caller: orNull(z.object({ ...place, function: text })),
}) satisfies z.ZodType<TracedCall>

export const DEBUGGED = {
  suspensions: z.object({ suspensions: z.array(suspension) }) satisfies z.ZodType<Suspensions>,
  suspension: suspendedState,
  frame: suspendedFrame,
  lease: z.object({ expires_in_ms: count }) satisfies z.ZodType<Lease>,
  theirs,
  adopt: suspension,
  trace: tracepoint,
  untrace: tracepoint,
  traces: z.object({
    tracepoints: z.array(tracepoint),
    calls: z.array(tracedCall),
    next: orNull(count),
  }) satisfies z.ZodType<Traces>,
}
