/**
 * The contract that every kernel keeps, whatever its language and however it is reached.
 *
 * Tools know this page and the shapes in `contract`, and nothing below. Three rules hold throughout:
 *
 * 1. What a caller can act on is a value (`Looked`, `Evaluated`); what is broken is thrown as a `WireError`.
 * 2. What a model reads is spelled as the model reads it (`type_name`, `original_len`) from the kernel to the
 *    envelope, so that nothing is renamed on the way. What only our own code reads is spelled as TypeScript.
 * 3. Text is bounded where it is made. A `null` count means that knowing it would have cost more than looking.
 */
import type { Evaluated, Evaluation, InterruptReport, KernelStatus, Watcher } from './contract/evaluation.ts'
import { LOOK_NAMES, type Look, type Looked, type LookName, type Looks } from './contract/looks.ts'
import type { SuspensionNews } from './contract/suspensions.ts'
import type { CallId, Epoch } from './contract/values.ts'

export type * from './contract/compiling.ts'
export type * from './contract/evaluation.ts'
export {
  diagnostic,
  display,
  interruptReport,
  loaded,
  SEVERITIES,
  scriptNote,
  TEST_FRAMEWORKS,
  testReport,
} from './contract/evaluation.ts'
export type * from './contract/inspection.ts'
export type * from './contract/looks.ts'
export { LOOKS } from './contract/looks.ts'
export type * from './contract/names.ts'
export { definition, definitionPart, RELATIONS, SECTIONS } from './contract/names.ts'
export type * from './contract/suspensions.ts'
export { suspension, theirs } from './contract/suspensions.ts'
export type * from './contract/values.ts'
export { KINDS, NAME_KINDS, restart, shown } from './contract/values.ts'

/**
 * What a kernel may be able to do. A tool that needs what a kernel lacks is not listed for it. `compile`, `expand`,
 * `system` and `tests` are kinds of `Work`; `packages`: code can be read and run in a package that the caller names;
 * `callers`: `references` tells calls, bindings, assignments and expansions apart; `sections`: `definition` tells usage,
 * options, attributes and dependencies apart. `live_frames`: `inspect` reads in a frame that a thread or task is in.
 * `suspend`: an error can suspend its evaluation, and `frame` and `resume` are kinds of `Work`; `hold`: its stack can be held
 * alive on request, where that is not what `suspend` does anyhow.
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
  'sections',
  'live_frames',
  'interrupt',
  'ask',
  'suspend',
  'hold',
  ...LOOK_NAMES,
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
  /** An error suspends what runs unless it is asked to end it, as the debuggers of its language do. Left out: it ends it. */
  readonly errorsSuspend?: boolean
  /** Servers of the program whose errors are noted, where that was asked for: an image joined by its own server notes none else. */
  readonly serversNoted?: readonly string[]
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

  /** What runs there now, as far as that is known without asking. Left out: it is not known. */
  readonly running?: { readonly call: CallId; readonly elapsed_ms: number } | null

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

  /**
   * Tells that a look has news, at most some times a second. `errors`: the program has noted one, and a quarter of a second
   * later the look has all of them. `traces`: a call was recorded to its end, or a tracepoint has ended. The answer takes
   * it back; undefined where the image does not tell of that.
   */
  watchNews?(of: NewsOf, listener: () => void): (() => void) | undefined

  /** Asks the image to stop one call, waits a little, and reports what was seen. Hits no other call. */
  interrupt(call: CallId): Promise<InterruptReport>

  /** What runs and what waits, as the image itself says. Throws `UNRESPONSIVE` if it says nothing in time. */
  status(look: Look): Promise<KernelStatus>

  /** Takes out of an attached program what was put into it and would stay there without us. `close` lets go of it then. */
  detach?(): Promise<void>

  /** Lets go of the image. An owned one is asked to end; an attached one does not notice. */
  close(): Promise<void>
}

/** Looks of whose news an image may tell. */
export const NEWS = ['errors', 'traces'] as const
export type NewsOf = (typeof NEWS)[number]

export const HEALTH = ['responsive', 'unresponsive', 'ended'] as const
export type Health = (typeof HEALTH)[number]

/** How an image was lost. `message` is for people, and holds the last words of a process that left any. */
export interface KernelEnd {
  readonly reason: 'closed' | 'exited' | 'killed' | 'lost'
  readonly message: string
  /** The end of what its process printed, where it is ours and printed something. `message` has it, too. */
  readonly lastWords?: string
}
