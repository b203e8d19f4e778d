import type { Signal } from '../../wire/signal.ts'
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
  /** Plans that wait, oldest first. */
  waiting(): readonly ShownPlan[]
  /** How many plans of one caller wait. */
  countOf(caller: string): number
  /** Takes a seat. It is told of all that waits, and of all that comes, until it leaves. */
  sit(listener: SeatListener): Seat
  /** An answer from a script: `code` was shown on a seat, for this one plan. */
  answerWithCode(answer: CodedAnswer): Taken
}

export interface SeatListener {
  /** For people and the journal: `terminal /dev/pts/3 (process 4711)`. */
  readonly who: string
  tell(news: SeatNews): void
}

export interface Seat {
  /** `seat-1`; in the journal with every answer it gives. */
  readonly id: string
  answer(answer: SeatAnswer): Taken
  leave(): void
}

export type SeatNews =
  | { readonly type: 'plan'; readonly plan: ShownPlan }
  /** It needs no answer any more; `why` is a sentence for a person. */
  | { readonly type: 'settled'; readonly id: string; readonly why: string }

/** A plan as every asker shows it. Control, bidirectional and zero-width characters in it are marks already. */
export interface ShownPlan {
  readonly id: string
  readonly hash: string
  readonly tool: string
  readonly level: string
  readonly kernel: string | null
  readonly root: string
  readonly who: string
  readonly title: string
  /** The whole preview. */
  readonly body: string
  readonly bytes: number
  readonly lines: number
  /** What a person should look at twice: hidden characters and how many, very long lines, …; often empty. */
  readonly warnings: readonly string[]
  readonly waited_ms: number
  /** Answers a script's `imago approve`; told to seats alone. */
  readonly code: string
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
