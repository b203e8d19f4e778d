/**
 * Evaluations that stopped where an error happened, and wait there until somebody decides how they go on; and
 * tracepoints: the next calls of one function, taken down as they happen.
 */
import { z } from 'zod'
import {
  callId,
  count,
  fileSince,
  type Of,
  orNull,
  place,
  restart,
  running,
  shown,
  text,
  texts,
  typeName,
  whose,
} from './values.ts'

const bool = z.boolean()

/**
 * A stack that was kept. `held`: it is alive, and its thread waits where the error happened, so that a restart can let it
 * go on. `post_mortem`: it has unwound; its frames and locals are there to be looked at and used, and nothing goes on.
 */
export const suspension = z.object({
  /** `s3@ab12`: a number, and what tells this image and connection from others. Never used twice. */
  id: text,
  /** The evaluation that was stopped, and who asked for it; null for one that nobody asked Imago for. */
  call: orNull(callId),
  who: text,
  how: z.enum(['held', 'post_mortem']),
  /** Counts from 1. What is evaluated in a frame of a suspension may be suspended in turn, one level deeper. */
  level: count,
  /** The suspension that this one stands on; null at level 1. It ends with that one. */
  within: orNull(text),
  type: typeName,
  message: text,
  /** When it stopped: RFC 3339, in UTC. */
  at: text,
  /** Code runs in it at this moment; until that has ended, nothing else can be asked of it. */
  busy: bool,
  /** It has been given up, and its cleanup forms run: why, and for how long. For people. It ends when they have. */
  leaving: text.exactOptional(),
})
export type Suspension = Of<typeof suspension>

/** That one has ended, whatever ended it. That one has begun is the answer of its evaluation. */
export const suspensionEnded = z.object({
  id: text,
  /**
   * `resumed`: it goes on, by whatever way. `left`: it was given up, on request. `within`: what it stood on has ended.
   * `lost`: its thread or its image has.
   */
  how: z.enum(['resumed', 'left', 'within', 'lost']),
  /** For people, a sentence. */
  message: text,
})
export type SuspensionEnd = Of<typeof suspensionEnded>

/** News of a suspension, to whoever watches a kernel. `ended` comes once, whatever ended it. */
export type SuspensionNews =
  | { readonly type: 'suspended'; readonly suspension: Suspension }
  | ({ readonly type: 'ended' } & SuspensionEnd)

/** Newest first. */
export const suspensions = z.object({ suspensions: z.array(suspension) })
export type Suspensions = Of<typeof suspensions>

export const suspensionQuery = z.object({
  suspension: text,
  /** The first frame that is wanted, and how many at most. */
  from: count,
  count,
})

/** A frame in a list. Frame 0 is where the error happened, and its caller is frame 1. */
export const stackFrame = z.object({
  ...place.shape,
  number: count,
  function: text,
  /** The call with its arguments, as a backtrace of that language shows it; null where it shows none. */
  call: orNull(text),
  source: orNull(text),
  /** It is code of the language's own implementation; left out: it is the program's. */
  implementation: z.literal(true).exactOptional(),
  ...whose.shape,
  /** As in `Frame`. */
  running: running.exactOptional(),
  ...fileSince.shape,
})
export type StackFrame = Of<typeof stackFrame>

/** One suspension, its ways to go on, and a page of its stack. */
export const suspendedState = z.object({
  suspension,
  /** Innermost first; the place in this list is the number of the restart. */
  restarts: z.array(restart),
  frames: z.array(stackFrame),
  /** The first frame of the next page; null where this is the last. */
  next: orNull(count),
  /** Of all frames; null where counting would have cost more than looking. */
  frames_total: orNull(count),
})
export type SuspendedState = Of<typeof suspendedState>

export const frameQuery = z.object({ suspension: text, frame: count })
export type FrameQuery = Of<typeof frameQuery>

export const frameLocal = z.object({ name: text, argument: bool, value: shown })
export type FrameLocal = Of<typeof frameLocal>

/** One frame of a suspension, with all that can be seen of it. */
export const suspendedFrame = z.object({
  ...stackFrame.shape,
  locals: z.array(frameLocal),
  locals_omitted: count,
  /** Lines around the place, where they can be had, with the number of the first. */
  around: orNull(z.object({ first_line: count, lines: texts })),
  /** What can be done here: evaluate in it, return from it, call its function again with the same arguments. */
  can: z.array(z.enum(['evaluate', 'return', 'again'])),
  /** Why the rest cannot, a sentence each. */
  notes: texts,
})
export type SuspendedFrame = Of<typeof suspendedFrame>

export const theirError = z.object({
  /** For `adopt`. */
  id: text,
  /** `thread "repl-thread", in SLIME`, `sys.last_exc`. */
  where: text,
  type: typeName,
  message: text,
})
export type TheirError = Of<typeof theirError>

/**
 * Errors that wait in a debugger which is not ours: of the person who works in the same image. They are only told of;
 * `adopt`, which a person asks for, makes one of them a suspension.
 */
export const theirs = z.object({ errors: z.array(theirError) })
export type Theirs = Of<typeof theirs>

export const adoptQuery = z.object({ id: text })

/**
 * Has the next calls of a function taken down. It changes how that function is called, and nothing that it does; it
 * ends by itself after so many calls or milliseconds, and when whoever asked for it can no longer be reached.
 */
export const traceQuery = z.object({
  name: text,
  /** The package the name is read in, where the language has such. */
  package: text.exactOptional(),
  calls: count,
  expires_ms: count,
  /** Who asks, for the person who looks at the image. */
  who: text,
})
export type TraceQuery = Of<typeof traceQuery>

export const tracepoint = z.object({
  /** `t1@ab12`. Never used twice. */
  id: text,
  /** The function, as its language writes its name. */
  name: text,
  who: text,
  /** `on`: calls are taken down. `full`: all that were wanted have been. It is out of the program but while it is `on`. */
  state: z.enum(['on', 'full', 'expired', 'removed']),
  /** How it is done there, in a few words: `sys.monitoring`, `a changed code object`, `an encapsulation`. */
  by: text,
  wanted: count,
  /** Calls that have begun since. */
  seen: count,
  at: text,
  expires_in_ms: orNull(count),
  /** What is not taken down, a sentence each: calls from code that was compiled in one block with it. */
  notes: texts,
})
export type Tracepoint = Of<typeof tracepoint>

export const untraceQuery = z.object({ tracepoint: text })

export const tracesQuery = z.object({
  /** Left out: all tracepoints, without their calls. */
  tracepoint: text.exactOptional(),
  /** The first call that is wanted, counting from 1, and how many at most. */
  from: count,
  count,
})
export type TracesQuery = Of<typeof tracesQuery>

/** One call. Values are shown as they were when it began and ended; a handle leads to what they are now. */
export const tracedCall = z.object({
  number: count,
  /** When it began: RFC 3339, in UTC. */
  at: text,
  thread: text,
  /** How many traced calls of the same thread it stands within. */
  depth: count,
  arguments: z.array(z.object({ name: text, value: shown })),
  arguments_omitted: count,
  /** `left`: by no error, but by a restart, a throw, or the end of its thread. */
  outcome: z.discriminatedUnion('type', [
    z.object({ type: z.literal('running') }),
    z.object({ type: z.literal('returned'), values: z.array(shown) }),
    z.object({ type: z.literal('raised'), exception: z.object({ type: typeName, message: text }) }),
    z.object({ type: z.literal('left') }),
  ]),
  elapsed_ms: orNull(count),
  /** Where it was called from, where that is known. */
  caller: orNull(z.object({ ...place.shape, function: text })),
})
export type TracedCall = Of<typeof tracedCall>

export const traces = z.object({
  tracepoints: z.array(tracepoint),
  calls: z.array(tracedCall),
  /** The first call of the next page; null where this is the last. */
  next: orNull(count),
})
export type Traces = Of<typeof traces>

export const DEBUGGING_LOOKS = {
  /** The evaluations that are suspended. */
  suspensions: { query: z.object({}), found: suspensions },
  /** One of them: its restarts, and a page of its frames. `not_found` where it is one no more. */
  suspension: { query: suspensionQuery, found: suspendedState },
  /** One frame of it, with its locals. */
  frame: { query: frameQuery, found: suspendedFrame },
  /** The errors that wait in debuggers of the person's own. */
  theirs: { query: z.object({}), found: theirs },
  /** Makes one of those a suspension: only where that person has asked for it. */
  adopt: { query: adoptQuery, found: suspension },
  /** Sets a tracepoint on a function. With `untrace`, the one look that leaves a mark: until then, its calls are seen. */
  trace: { query: traceQuery, found: tracepoint },
  /** Takes a tracepoint out of the program. What it has taken down is kept. */
  untrace: { query: untraceQuery, found: tracepoint },
  /** The tracepoints, and the calls that one of them has taken down. */
  traces: { query: tracesQuery, found: traces },
}
