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
import { LOOKS, type Look, type Looked, type LookName, type Looks } from './contract/looks.ts'
import type { Diagnostic, TestFramework, TestReport } from './contract/reports.ts'
import type { Suspension, SuspensionNews, WayOn } from './contract/suspensions.ts'
import type { Raised, Shown } from './contract/values.ts'
import type { Signal } from './signal.ts'

export * from './contract/activity.ts'
export * from './contract/inspection.ts'
export * from './contract/looks.ts'
export * from './contract/names.ts'
export * from './contract/relations.ts'
export * from './contract/reports.ts'
export * from './contract/suspensions.ts'
export * from './contract/tracepoints.ts'
export * from './contract/values.ts'

/** One life of a kernel. A restart begins a new one; a handle of an older one is `stale_handle`. */
export type Epoch = string & { readonly __epoch: unique symbol }

/** Names one call for good: a kernel runs it at most once, however often it is asked to. */
export type CallId = string & { readonly __call: unique symbol }

/**
 * What a kernel may be able to do. A tool that needs what a kernel lacks is not listed for it. `compile`, `expand`,
 * `system` and `tests` are kinds of `Work`; `packages`: code can be read and run in a package that the caller names;
 * `callers`: `references` tells calls, bindings, assignments and expansions apart. `suspend`: an error can suspend its
 * evaluation, and `frame` and `resume` are kinds of `Work`; `hold`: its stack can be held alive on request, where that
 * is not what `suspend` does anyhow.
 */
export const ABILITIES = [
  'evaluate',
  'load',
  'reload',
  'compile',
  'expand',
  'system',
  'tests',
  'packages',
  'callers',
  'interrupt',
  'ask',
  'suspend',
  'hold',
  ...LOOKS,
] as const
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
  /** It is the user's own program: it is never ended, restarted or signalled by us. Left out: it is not. */
  readonly attached?: boolean
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

  /** Answers one of the questions in `Looks`, under a deadline. Runs no user code, unless the query allows it. */
  look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>>

  /** Tells of evaluations that are suspended, and of how each suspension ends, from now on. The answer takes it back. */
  watchSuspensions(listener: (news: SuspensionNews) => void): () => void

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

/** Something to run, for somebody. */
export interface Evaluation {
  readonly call: CallId
  readonly work: Work
  /** Who asked, as the image's history names them: `imago call`, `claude-code 2.1`. */
  readonly who: string
  /**
   * This image was given it before, by a daemon that is no more: it is asked what became of it, and nothing is begun.
   * Rejects with a fault (`REMOTE_FAULT`, or what stands for an unknown outcome) where the image does not know it.
   */
  readonly again?: boolean
  /** An error suspends it, where it can, instead of ending it. Left out: errors end it. Only with `suspend`. */
  readonly suspend?: Suspending
}

/** What an error in an evaluation is to do. */
export interface Suspending {
  /** For how long the suspension is kept after it was last looked at or worked with, in ms. */
  readonly leaseMs: number
  /** The stack is to be held alive where the error is raised. Only with the ability `hold`. */
  readonly hold?: boolean
}

/** What is run. Files are absolute paths as the image sees them. */
export type Work =
  /** Code, and where it stands in the user's file, so that jumping to its source still leads there. */
  | {
      readonly type: 'source'
      readonly source: string
      readonly place?: SourcePlace
      /** The package it is read and run in; left out: the one in force. Only with the ability `packages`. */
      readonly package?: string
    }
  /** Code that is compiled as a file would be, and loaded: what the compiler says of it comes with the answer. */
  | {
      readonly type: 'compile'
      readonly source: string
      readonly place?: SourcePlace
      readonly package?: string
    }
  /** A macro form, expanded once, or `fully` with all forms in it; its one value is the expansion. */
  | {
      readonly type: 'expand'
      readonly source: string
      readonly fully: boolean
      readonly package?: string
    }
  /** A file, or only some of its top-level definitions, into the module that it is the source of, or the top level. */
  | { readonly type: 'load'; readonly file: string; readonly names?: readonly string[] }
  /** A loaded module, from its source, in place. */
  | { readonly type: 'reload'; readonly module: string }
  /** A system of definitions (ASDF), with what it depends on; `force`: also what is loaded and unchanged. */
  | { readonly type: 'system'; readonly system: string; readonly force: boolean }
  /** The tests of a system, a suite or a package, or one test; left out `framework`: the one that knows `target`. */
  | { readonly type: 'tests'; readonly target: string; readonly framework?: TestFramework }
  /** Code, in a frame of a suspended evaluation: it sees and can set its variables. */
  | { readonly type: 'frame'; readonly suspension: string; readonly frame: number; readonly source: string }
  /** A suspended evaluation goes on; what it comes to is what the evaluation that was suspended would have come to. */
  | { readonly type: 'resume'; readonly suspension: string; readonly way: WayOn }

/** Where code stands in the user's file: an absolute path as the image sees it, and a line that counts from 1. */
export interface SourcePlace {
  readonly file: string
  readonly line: number
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
  | {
      readonly type: 'done'
      readonly values: readonly Shown[]
      readonly elapsed_ms: number
      readonly loaded?: Loaded
      readonly diagnostics?: readonly Diagnostic[]
      readonly tests?: TestReport
      /** What the next evaluation is read in, where the language has packages and read tables. */
      readonly package?: string
      readonly readtable?: string
      /** Which of the two is not what it was when this began. */
      readonly changed?: readonly ('package' | 'readtable')[]
    }
  | {
      readonly type: 'raised'
      readonly exception: Raised
      readonly elapsed_ms: number
      readonly diagnostics?: readonly Diagnostic[]
    }
  /** An error happened, and it waits there: `exception` has the innermost frames alone. Nothing of it is lost yet. */
  | {
      readonly type: 'suspended'
      readonly suspension: Suspension
      readonly exception: Raised
      readonly elapsed_ms: number
      readonly diagnostics?: readonly Diagnostic[]
    }
  /** It was seen to stop because it was asked to. What it did before that is done. */
  | { readonly type: 'interrupted'; readonly exception?: Raised; readonly elapsed_ms: number }
  /** It left before it had a value, by no error: in Lisp by the restart ABORT, or with the thread that it ran on. */
  | { readonly type: 'left'; readonly message: string; readonly elapsed_ms: number }
  /** It was withdrawn while it still waited its turn, and never ran. */
  | { readonly type: 'withdrawn' }
  | Refused

/**
 * Work that an image would not begin: what was asked for is not there (`not_found`), or is no such thing, or two
 * things (`malformed`). Nothing of it ran, and it is neither remembered as an evaluation nor as an error.
 */
export interface Refused {
  readonly type: 'refused'
  readonly reason: 'not_found' | 'malformed'
  /** For people, a sentence or two. */
  readonly message: string
  /** What is missing or at fault, as the caller named it, and what has a name like it, by likeness. */
  readonly what?: string
  readonly nearest?: readonly string[]
  /** What can be done now. */
  readonly next?: string
}

/** What loading a file or a module has changed, and what of the old still lives on. */
export interface Loaded {
  /** The module whose names were set; null for the top level. */
  readonly module: string | null
  readonly file: string | null
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  /** Names that the new text does not define any more; they were left as they are. */
  readonly kept: readonly string[]
  /** What of the file was not run, and why, a sentence each. */
  readonly skipped: readonly string[]
  readonly survivors: readonly Survivor[]
  /** How many names the lists above leave out, and whether the search for survivors was ended early. */
  readonly omitted: number
  readonly complete: boolean
}

/** An old object that is still in use although its name now stands for a new one. */
export interface Survivor {
  readonly name: string
  readonly kind: 'function' | 'class' | 'object'
  /** Living instances of an old class; null for what is not a class. */
  readonly instances: number | null
  /** Who still holds it: `shop.web.handlers (a dict)`. */
  readonly held_by: readonly string[]
  /** How many loads of the module before this one replaced it; absent for what this one has replaced. */
  readonly loads_ago?: number
}

/**
 * What was observed of an interrupt. `stopped` means that the call was seen to end by it; `still_running` that
 * it was asked and goes on; `not_running` that it had ended by itself, or is not known.
 */
export interface InterruptReport {
  readonly outcome: 'stopped' | 'still_running' | 'withdrawn' | 'not_running'
  /** Where the code stands, how often it was asked, and what it does instead, as far as that was seen. */
  readonly message: string
  /** What is left to a person: to end the image and begin another. Only said of a process that is ours. */
  readonly offer?: 'restart'
}

export interface KernelStatus {
  readonly running: { readonly call: CallId; readonly elapsed_ms: number } | null
  readonly queued: number
}
