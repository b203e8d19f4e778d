/** The questions about an image that are answered by looking: each with its query, and with what it may find. */
import type { CallId } from '../kernel.ts'
import type { Signal } from '../signal.ts'
import type {
  LastError,
  LastErrorQuery,
  RunHistory,
  RunHistoryQuery,
  Threads,
  ThreadsQuery,
} from './activity.ts'
import type { GlobalsPage, GlobalsQuery, Inspected, InspectQuery, MoreQuery, Piece } from './inspection.ts'
import type {
  Arglist,
  ArglistQuery,
  Completions,
  CompletionsQuery,
  Definition,
  DefinitionQuery,
  Description,
  DescriptionQuery,
} from './names.ts'
import type {
  Apropos,
  AproposQuery,
  Hierarchy,
  HierarchyQuery,
  ModulePage,
  ModuleQuery,
  References,
  ReferencesQuery,
  Slots,
  SlotsQuery,
} from './relations.ts'
import type {
  AdoptQuery,
  FrameQuery,
  Lease,
  LeaseQuery,
  SuspendedFrame,
  SuspendedState,
  Suspension,
  SuspensionQuery,
  Suspensions,
  SuspensionsQuery,
  Theirs,
  TheirsQuery,
} from './suspensions.ts'
import type { Tracepoint, TraceQuery, Traces, TracesQuery, UntraceQuery } from './tracepoints.ts'
import type { Raised } from './values.ts'

/** How long a look may take, in milliseconds, and who may withdraw it. */
export interface Look {
  readonly deadlineMs: number
  readonly signal?: Signal
}

/** What came of looking. Everything but `found` ran to its end without a fault, and says why there is nothing. */
export type Looked<Found> =
  | { readonly type: 'found'; readonly value: Found }
  /** Only running code could tell. Nothing was run. */
  | { readonly type: 'needs_evaluation'; readonly because: string }
  /** Nothing has that name; `nearest` is sorted by likeness and may be empty. */
  | { readonly type: 'not_found'; readonly what: string; readonly nearest: readonly string[] }
  /** The expression is not one. `line` and `column` count from 1, where known. */
  | { readonly type: 'malformed'; readonly message: string; readonly line?: number; readonly column?: number }
  /** The code that was run to look raised. */
  | { readonly type: 'raised'; readonly exception: Raised }
  /** The handle belongs to another epoch, or has made room for newer ones. */
  | { readonly type: 'stale_handle'; readonly handle: string; readonly because: string }
  /** An evaluation holds the place where this code would have to run. */
  | { readonly type: 'busy'; readonly call: CallId; readonly elapsed_ms: number }
  | { readonly type: 'timed_out'; readonly deadline_ms: number }

/**
 * Every look by its name, which is also the ability that a kernel declares for it and its method on the wire. None
 * runs user code, except `inspect` where its query says `evaluate`.
 */
export interface Looks {
  /** Names and types at the top level, sorted by name, a page at a time. */
  globals: { query: GlobalsQuery; found: GlobalsPage }
  /**
   * One value, in sections that fail each on their own. With `evaluate: false` it runs no user code, and answers
   * `needs_evaluation` for what cannot be resolved without. With `evaluate: true` the expression and the value's
   * own printer may run, under the deadline.
   */
  inspect: { query: InspectQuery; found: Inspected }
  /** The next part of something that was cut, by its handle. */
  more: { query: MoreQuery; found: Piece }
  /** The source of one name, and where it stands. */
  definition: { query: DefinitionQuery; found: Definition }
  /** What one name is, in a few facts. */
  describe: { query: DescriptionQuery; found: Description }
  /** How one function is called. */
  arglist: { query: ArglistQuery; found: Arglist }
  /** Names in the whole image that contain a text. */
  apropos: { query: AproposQuery; found: Apropos }
  /** What instances of one class hold, and what the class declares. */
  slots: { query: SlotsQuery; found: Slots }
  /** What one class inherits from, and what inherits from it. */
  hierarchy: { query: HierarchyQuery; found: Hierarchy }
  /** The names of one module or package, a page at a time. */
  symbols: { query: ModuleQuery; found: ModulePage }
  /** Who uses one name, as far as the image can know. */
  references: { query: ReferencesQuery; found: References }
  /** The stack of every thread and of every task, at this moment. */
  threads: { query: ThreadsQuery; found: Threads }
  /** What was evaluated in this image, by whom, and what came of it; newest first. */
  history: { query: RunHistoryQuery; found: RunHistory }
  /** The error that was raised last, with its frames and locals as they were. */
  last_error: { query: LastErrorQuery; found: LastError }
  /** How a piece of code might go on at one place, from stored names alone. */
  complete: { query: CompletionsQuery; found: Completions }
  /** The evaluations that are suspended. */
  suspensions: { query: SuspensionsQuery; found: Suspensions }
  /** One of them: its restarts, and a page of its frames. `not_found` where it is one no more. */
  suspension: { query: SuspensionQuery; found: SuspendedState }
  /** One frame of it, with its locals. */
  frame: { query: FrameQuery; found: SuspendedFrame }
  /** Keeps it for longer. */
  lease: { query: LeaseQuery; found: Lease }
  /** The errors that wait in debuggers of the person's own. */
  theirs: { query: TheirsQuery; found: Theirs }
  /** Makes one of those a suspension: only where that person has asked for it. */
  adopt: { query: AdoptQuery; found: Suspension }
  /** Sets a tracepoint on a function. With `untrace`, the one look that leaves a mark: until then, its calls are seen. */
  trace: { query: TraceQuery; found: Tracepoint }
  /** Takes a tracepoint out of the program. What it has taken down is kept. */
  untrace: { query: UntraceQuery; found: Tracepoint }
  /** The tracepoints, and the calls that one of them has taken down. */
  traces: { query: TracesQuery; found: Traces }
}

export const LOOKS = [
  'globals',
  'inspect',
  'more',
  'definition',
  'describe',
  'arglist',
  'apropos',
  'slots',
  'hierarchy',
  'symbols',
  'references',
  'threads',
  'history',
  'last_error',
  'complete',
  'suspensions',
  'suspension',
  'frame',
  'lease',
  'theirs',
  'adopt',
  'trace',
  'untrace',
  'traces',
] as const satisfies readonly (keyof Looks)[]
export type LookName = keyof Looks
