import type { Signal } from '../../wire/signal.ts'
import type { Paused } from './pauses.ts'
import type { Answer, Plan } from './plan.ts'

/**
 * The one place where plans wait for a person. Plans are put before every seat; the first answer wins, and the other
 * seats are told that it is settled. Answers come from seats alone: what a seat is, `seats.ts` decides.
 */
export interface Approvals {
  /** Whether anybody has a seat now. */
  readonly seated: boolean
  /**
   * Puts a plan before whoever has a seat, and waits: until it is answered, until what it was computed from moves,
   * until `signal` aborts, or until it expires. `unavailable` at once where nobody has a seat; a seat that leaves
   * later leaves the plan waiting for the next one. Never rejects.
   */
  ask(plan: Plan, signal: Signal): Promise<Answer>
  /** Plans that wait, oldest first; without their codes, which are for seats alone. */
  waiting(): readonly WaitingPlan[]
  /** The whole preview of a plan that waits, as it is shown. */
  bodyOf(plan: string): string | undefined
  /** How many plans of one caller wait. */
  countOf(caller: string): number
  /** Whether so many of all callers wait that nobody should be asked about yet another one. */
  readonly full: boolean
  /**
   * Why nobody should be asked about plans of that origin for a while: a person has refused too many in a row. An
   * approval, or somebody who takes a seat, ends that.
   */
  paused(origin: string): Paused | undefined
  /**
   * Whether this plan, which was asked about here, is too old to be carried out: by either clock, so that neither a
   * machine that slept nor one whose time was set gives an approval a second life. False for any other plan.
   */
  expired(plan: Plan): boolean
  /** Takes a seat, which the journal says. It is told of all that waits, and of all that comes, until it leaves. */
  sit(listener: SeatListener): Seat
  /** An answer from a script: `code` was shown on a seat, for this one plan. */
  answerWithCode(answer: CodedAnswer): Taken
  /** Settles all that waits as cancelled: the daemon ends. */
  close(): void
}

export interface SeatListener {
  /** For people and the journal: `terminal /dev/pts/3 (process 4711)`. */
  readonly who: string
  /** One that throws has left. */
  tell(news: SeatNews): void
}

export interface Seat {
  /** `seat-1`; in the journal with every answer it gives. */
  readonly id: string
  /** `unknown` once it has left. */
  answer(answer: SeatAnswer): Taken
  /** Which the journal says. Plans go on waiting, for the next seat. */
  leave(): void
}

export type SeatNews =
  /** Again for one that was told before, where something in it changed: its code ended, because wrong ones were tried. */
  | { readonly type: 'plan'; readonly plan: ShownPlan }
  /** It needs no answer any more; `why` is a sentence for a person. */
  | { readonly type: 'settled'; readonly id: string; readonly why: string }
  /** Something that all who sit should know: no code works any more, because too many wrong ones were tried. */
  | { readonly type: 'notice'; readonly text: string }

/** A plan as every asker shows it. Control, bidirectional and zero-width characters in it are marks already. */
export interface ShownPlan extends WaitingPlan {
  /** The whole preview. */
  readonly body: string
  /** Answers a script's `imago approve`; told to seats alone. Empty once three wrong ones were tried. */
  readonly code: string
}

/** The same without what gives a right to answer it, and without its preview. */
export interface WaitingPlan {
  readonly id: string
  readonly hash: string
  readonly tool: string
  readonly level: string
  readonly kernel: string | null
  readonly root: string
  readonly who: string
  readonly title: string
  /** Of the preview, which may be long: `bodyOf` has it. */
  readonly bytes: number
  readonly lines: number
  /**
   * What a person should look at twice: hidden characters and how many, very long lines, and what of a kernel their
   * approval does not bind; often empty.
   */
  readonly warnings: readonly string[]
  readonly waited_ms: number
}

export interface SeatAnswer {
  readonly plan: string
  /** Of the plan that was shown: an answer meant for another one is refused. */
  readonly hash: string
  readonly decision: 'approve' | 'deny' | 'edit'
  readonly reason?: string | undefined
  /** With `edit`. */
  readonly args?: Readonly<Record<string, unknown>> | undefined
}

export interface CodedAnswer {
  readonly plan: string
  readonly code: string
  readonly decision: 'approve' | 'deny'
  readonly reason?: string | undefined
}

/** What became of an answer. Only the first counts. */
export type Taken =
  | { readonly type: 'taken' }
  | { readonly type: 'late'; readonly why: string }
  | { readonly type: 'unknown' }
  | { readonly type: 'wrong_hash' }
  | { readonly type: 'wrong_code' }
