import type { Choice } from '../../tools/contract.ts'
import type { Signal } from '../../wire/signal.ts'
import type { AnswerOutcome, PlanEnd, PlanFile, ShownHunk, WaitingPlan } from './rows.ts'

export type {
  AnswerOutcome,
  Grant,
  Pause,
  PlanEnd,
  PlanFile,
  PlanOutcome,
  ShownHunk,
  WaitingPlan,
} from './rows.ts'

/** The whole preview of a plan, and the files that it changes. */
export type PlanPreview = Pick<ShownPlan, 'body' | 'hunks' | 'args' | 'code'> & {
  readonly files: readonly PlanFile[]
}

export type CallEnd = NonNullable<PlanEnd['ended']>

/** The right to answer plans, until it is left. */
export interface Seat {
  /** `seat-1`; in the journal with every answer it gives. */
  readonly id: string
  /** `unknown` once it has left. */
  answer(answer: SeatAnswer): AnswerOutcome
  /** Ends all pauses, which the journal says. How many there were; 0 once it has left. */
  lift(): number
  /** Which the journal says. Plans go on waiting, for the next seat. */
  leave(): void
}

/** A plan as every asker shows it. Control, bidirectional and zero-width characters in it are marks already. */
export interface ShownPlan extends WaitingPlan {
  /** The whole preview. */
  readonly body: string
  /** The parts that can be taken or left one by one, in order; empty where it is taken or left as a whole. */
  readonly hunks: readonly ShownHunk[]
  /** What is called, as it is: for an editor, and not for a screen. Null where there is nothing to edit. */
  readonly args: Readonly<Record<string, unknown>> | null
  /** Answers a script's `imago approve`; told to seats alone. Empty once three wrong ones were tried. */
  readonly code: string
}

/** What keeps a plan from being put before a person, so that nobody is tired into a yes. */
export type Limit =
  /** So many plans wait already: of whoever asks, or of all. */
  | {
      readonly type: 'waiting'
      readonly of: 'caller' | 'all'
      readonly waiting: number
      readonly most: number
    }
  /** A person on a seat has refused so many plans of theirs in a row without a reason. `leftMs`: until it ends. */
  | { readonly type: 'paused'; readonly refusals: number; readonly leftMs: number }

/** Who is asked about a plan, and until when. */
export interface AskOptions {
  /** Aborts when the caller gives up. */
  readonly signal: Signal
  readonly client?: ClientAsker | undefined
  /**
   * No rule wants a person to be asked: only the default does. A grant may then stand for an answer, and a person may say
   * in that file that they need not be asked. Left out: a person is asked each time.
   */
  readonly byDefault?: { readonly policyFile: string } | undefined
  /** It waits without end; `unavailable` once nobody has a seat any more. */
  readonly held?: boolean
}

/** How the person at the caller's own client can be asked, beside those who sit. */
export interface ClientAsker {
  /** For people and the journal: `claude-code`. */
  readonly who: string
  /**
   * Why a yes from there may not be a person's, as a clause: then it is written down, and counts for nothing. Undefined
   * where it counts.
   */
  doubt(): string | undefined
  /** Whether a line in the user's policy is all that it takes for a yes from there to count. */
  mayCount?(): boolean
  /** Asks once. Aborting takes the question back. Never rejects: what fails is a `no`. */
  ask(plan: ShownPlan, signal: Signal): Promise<ClientAnswer>
}

/** Only `yes` approves. */
export type ClientAnswer =
  | { readonly type: 'yes' }
  | {
      readonly type: 'no'
      readonly how: 'declined' | 'cancelled' | 'failed' | 'silent'
      readonly reason: string | null
    }

export interface SeatAnswer {
  readonly plan: string
  /** Of the plan that was shown: an answer meant for another one is refused. */
  readonly hash: string
  readonly decision: 'approve' | 'deny' | 'edit' | 'choose'
  readonly reason?: string | undefined
  /** With `edit`. */
  readonly args?: Readonly<Record<string, unknown>> | undefined
  /** With `choose`: one for every hunk that was shown. Where all are refused, it is a denial with their reasons. */
  readonly choices?: readonly Choice[] | undefined
  /** With `approve`: one of the patterns in `grants` of the plan, to be approved without asking from now on. */
  readonly grant?: string | undefined
}

export interface CodedAnswer {
  readonly plan: string
  readonly code: string
  readonly decision: 'approve' | 'deny'
  readonly reason?: string | undefined
}

/** Whose calls they are, however often it connects. */
export const originOf = ({
  origin,
  kind,
  root,
}: {
  readonly origin?: string | undefined
  readonly kind: 'cli' | 'mcp'
  readonly root: string
}): string => origin ?? `${kind} ${root}`

/** Whether nothing is known of the program behind an MCP connection, so that many may have the same origin. */
export const isOfUnknownHost = ({
  origin,
  root,
}: {
  readonly origin: string
  readonly root: string
}): boolean => origin === originOf({ kind: 'mcp', root })
