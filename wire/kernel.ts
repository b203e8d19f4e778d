/**
 * The contract that every kernel keeps, whatever its language and however it is reached.
 *
 * Tools know this page and nothing below it. Three rules hold throughout:
 *
 * 1. What a caller can act on is a value (`Looked`, `Evaluated`); what is broken is thrown as a `WireError`.
 * 2. What a model reads is spelled as the model reads it (`type_name`, `original_len`) from the kernel to the
 *    envelope, so that nothing is renamed on the way. What only our own code reads is spelled as TypeScript.
 * 3. Text is bounded where it is made. A `null` count means that knowing it would have cost more than looking.
 */
import type { Signal } from './signal.ts'

/** One life of a kernel. A restart begins a new one; a handle of an older one is `stale_handle`. */
export type Epoch = string & { readonly __epoch: unique symbol }

/** Names one call for good: a kernel runs it at most once, however often it is asked to. */
export type CallId = string & { readonly __call: unique symbol }

/** What a kernel may be able to do. A tool that needs what a kernel lacks is not listed for it. */
export const ABILITIES = ['evaluate', 'globals', 'inspect', 'more', 'interrupt', 'ask'] as const
export type Ability = (typeof ABILITIES)[number]

/** Who a kernel says it is. Set once, at the handshake. */
export interface KernelIdentity {
  /** `python`, `lisp`, `wolfram`, or what another peer calls its language. */
  readonly language: string
  /** For people: `CPython 3.11.7`, `SBCL 2.2.9`. */
  readonly implementation: string
  readonly pid: number
  readonly epoch: Epoch
  readonly abilities: ReadonlySet<Ability>
}

/**
 * A living image.
 *
 * All looking works while an evaluation runs, except while the interpreter itself is held; then it ends as
 * `timed_out` or throws `UNRESPONSIVE`, never later than its deadline. After `close`, and after the image has
 * ended, every method throws `LINK_CLOSED`, and what was pending has thrown it already.
 */
export interface Kernel extends AsyncDisposable {
  readonly identity: KernelIdentity

  /** Whether the control channel answers. Changes are announced to `watchHealth`. */
  readonly health: Health
  watchHealth(listener: (health: Health) => void): () => void

  /** Settles, and never rejects, once the image can no longer be spoken to. */
  readonly ended: Promise<KernelEnd>

  /**
   * Runs code. Evaluations of one kernel run one at a time, in the order they were asked for. Events come in
   * order and stop before the promise settles. There is no time limit here: patience belongs to the caller.
   *
   * Throws `LINK_CLOSED` if the image is lost before it answers: the code may or may not have run.
   */
  evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated>

  /** Names and types at the top level, sorted by name, a page at a time. Runs no user code. */
  globals(query: GlobalsQuery, look: Look): Promise<Looked<GlobalsPage>>

  /**
   * One value, in sections that fail each on their own. With `evaluate: false` it runs no user code, and answers
   * `needs_evaluation` for what cannot be resolved without. With `evaluate: true` the expression and the value's
   * own printer may run, under the deadline.
   */
  inspect(query: InspectQuery, look: Look): Promise<Looked<Inspected>>

  /** The next part of something that was cut, by its handle. Runs no user code. */
  more(query: MoreQuery, look: Look): Promise<Looked<Piece>>

  /** Asks the image to stop one call, waits a little, and reports what was seen. Hits no other call. */
  interrupt(call: CallId): Promise<InterruptReport>

  /** What runs and what waits, as the image itself says. Throws `UNRESPONSIVE` if it says nothing in time. */
  status(look: Look): Promise<KernelStatus>

  /** Lets go of the image. An owned one is asked to end; an attached one does not notice. */
  close(): Promise<void>
}

export type Health = 'responsive' | 'unresponsive' | 'ended'

/** How an image was lost. `message` is for people, and holds the last words of a process that left any. */
export interface KernelEnd {
  readonly reason: 'closed' | 'exited' | 'killed' | 'lost'
  readonly message: string
}

/** What became of the program that an image was started with; `message` says how it failed. */
export type ScriptNews = Readonly<{ state: 'running' | 'returned' | 'failed'; message: string | null }>

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

/** Code to run, and where it stands in the user's file, so that jumping to its source still leads there. */
export interface Evaluation {
  readonly call: CallId
  readonly source: string
  readonly place?: { readonly file: string; readonly line: number }
}

/** Who follows an evaluation. Aborting `signal` interrupts it; the promise then says how that went. */
export interface Watcher {
  readonly signal?: Signal
  on?(event: EvalEvent): void
  /** Answers a question that the running code asks. Absent or rejecting means: refused, and the code is told. */
  ask?(question: Question): Promise<string>
}

/** News of a running evaluation, in the order in which it happened. */
export type EvalEvent =
  | { readonly type: 'output'; readonly stream: Stream; readonly text: string }
  /** Output came faster than it could be carried; this many characters of it are gone. */
  | { readonly type: 'dropped'; readonly stream: Stream; readonly characters: number }
  /** The code stopped in the image's debugger, with its stack alive, and waits for a restart to be chosen. */
  | { readonly type: 'paused'; readonly condition: string; readonly restarts: readonly string[] }

export type Stream = 'stdout' | 'stderr'

/** The running code wants a line of text from whoever asked for it. */
export interface Question {
  readonly type: 'stdin'
  readonly prompt: string
  /** The answer must not be shown while it is typed. */
  readonly secret: boolean
}

/** How an evaluation ended. There is exactly one of these per evaluation. */
export type Evaluated =
  /** It ran to its end. A statement has no values, an expression one, a Lisp form any number. */
  | { readonly type: 'done'; readonly values: readonly Shown[]; readonly elapsed_ms: number }
  | { readonly type: 'raised'; readonly exception: Raised; readonly elapsed_ms: number }
  /** It was seen to stop because it was asked to. What it did before that is done. */
  | { readonly type: 'interrupted'; readonly exception?: Raised; readonly elapsed_ms: number }
  /** It was withdrawn while it still waited its turn, and never ran. */
  | { readonly type: 'withdrawn' }

/** A value as text, with a way back to the value itself. */
export interface Shown {
  readonly repr: Text
  readonly type: TypeName
  /** Present for values worth a closer look; `inspect` and `more` accept it. */
  readonly handle?: string
  /** A line for values that a `repr` describes badly, such as `len 10000000` or `shape (3, 2)`. */
  readonly preview?: string
}

/** Text that may have been cut. `handle` leads to the rest. */
export interface Text {
  readonly text: string
  readonly truncated: boolean
  readonly original_len: number | null
  readonly handle?: string
  /** Why the value's own printer was not used, when it failed or was too slow. */
  readonly error?: string
}

export interface TypeName {
  readonly name: string
  readonly module: string | null
  readonly qualified: string
}

/** An exception or condition, taken down where it was raised, before the stack unwound. */
export interface Raised {
  readonly type: TypeName
  readonly message: string
  /** Innermost last. Frames of the evaluator itself are left out; `frames_omitted` counts a cut middle. */
  readonly frames: readonly Frame[]
  readonly frames_omitted: number
  /** The whole report as the language itself would print it, bounded. */
  readonly traceback: string
  readonly notes?: readonly string[]
  /** What this was raised from, or raised while handling. */
  readonly cause?: { readonly how: 'cause' | 'context'; readonly exception: Raised }
}

export interface Frame {
  readonly function: string
  readonly file: string | null
  readonly line: number | null
  /** The source line, where it can be had. */
  readonly source: string | null
  readonly locals: readonly Local[]
  readonly locals_omitted: number
}

export interface Local {
  readonly name: string
  readonly type_name: string
  readonly repr: string
}

export interface GlobalsQuery {
  /** Only names after this one, in the order of the list. */
  readonly after?: string
  /** Only names that contain this text, whatever the case. */
  readonly filter?: string
  readonly modules: boolean
  readonly limit: number
}

export interface GlobalsPage {
  readonly globals: readonly { readonly name: string; readonly type_name: string }[]
  /** How many names match in all, this page included. */
  readonly total: number
  /** What to pass as `after` for the next page; absent on the last one. */
  readonly next?: string
}

export interface InspectQuery {
  readonly expr: string
  readonly evaluate: boolean
}

/** Kinds of seed 2, widened by nothing: a Lisp package is a `module`, a condition an `exception`. */
export const KINDS = [
  'none',
  'bool',
  'number',
  'string',
  'bytes',
  'mapping',
  'sequence',
  'set',
  'iterator',
  'generator',
  'coroutine',
  'async_generator',
  'callable',
  'class',
  'module',
  'exception',
  'object',
  'other',
] as const
export type Kind = (typeof KINDS)[number]

/**
 * A value in sections (seed 2). `type` and `kind` are always there. Any other section is absent where it makes
 * no sense for the value, and holds `error` instead of its contents where reading it failed.
 */
export interface Inspected {
  readonly type: TypeName
  readonly kind: Kind
  /** How the answer was come by: from stored fields alone, or by running code. */
  readonly read: 'static' | 'evaluated'
  readonly repr?: Section<Text>
  readonly size?: Section<{ readonly len?: number; readonly shape?: readonly number[] }>
  readonly sample?: Section<Sample>
  readonly members?: Section<Members>
  readonly doc?: Section<Text>
  readonly callable?: Section<Callable>
  readonly exception?: Section<ExceptionFacts>
  readonly limits: Readonly<Record<string, number>>
  readonly handle?: string
}

export type Section<Contents> = Contents | { readonly error: string }

export interface Sample {
  readonly items: readonly string[]
  readonly shown: number
  readonly total: number | null
  readonly truncated: boolean
  readonly handle?: string
}

export interface Members {
  readonly data: readonly string[]
  readonly callables: readonly string[]
  readonly dunder_count: number
  readonly shown_per_group: number
  readonly truncated: boolean
}

export interface Callable {
  readonly module: string | null
  readonly signature: string | null
  readonly doc: string | null
  readonly source_preview: string | null
  readonly source_truncated: boolean
  readonly file: string | null
  readonly line: number | null
}

export interface ExceptionFacts {
  readonly exc_type: string
  readonly message: string | null
  readonly traceback: string | null
}

export interface MoreQuery {
  readonly handle: string
  /** Characters of a text, items of a sample; counted from 0. */
  readonly from: number
  readonly count: number
}

export type Piece =
  | {
      readonly type: 'text'
      readonly text: string
      readonly from: number
      readonly total: number | null
      readonly next: number | null
    }
  | {
      readonly type: 'items'
      readonly items: readonly string[]
      readonly from: number
      readonly total: number | null
      readonly next: number | null
    }

/**
 * What was observed of an interrupt. `stopped` means that the call was seen to end by it; `still_running` that
 * it was asked and goes on; `not_running` that it had ended by itself, or is not known.
 */
export interface InterruptReport {
  readonly outcome: 'stopped' | 'still_running' | 'withdrawn' | 'not_running'
  readonly message: string
}

export interface KernelStatus {
  readonly running: { readonly call: CallId; readonly elapsed_ms: number } | null
  readonly queued: number
}
