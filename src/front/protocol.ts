/** The client protocol in types; `docs/editor-protocol.md` is its specification. Times are milliseconds. */

import type { z } from 'zod'
import type { Envelope } from '../../tools/outcome.ts'
import type { InterruptReport, Question, Theirs } from '../../wire/kernel.ts'
import type { AnswerOutcome, Grant, Pause, PlanEnd, ShownPlan, WaitingPlan } from '../approvals/contract.ts'
import type { CallEvent } from '../calls/contract.ts'
import type { AnnouncedPrograms, AnnouncedRow } from '../kernels/attach.ts'
import type { KernelRow } from '../kernels/rows.ts'
import type { Trial } from '../kernels/trial.ts'
import type { PolicyReport } from '../policy/report.ts'
import type { SuspendedRow, SuspensionEvent } from '../suspensions/rows.ts'
import type { PARAMS } from './params.ts'

/** What a client may ask of the daemon, by name, and the answer of each; `PARAMS` has the parameters. */
export interface Results {
  /**
   * One call of a tool. Its events, `CallEvent`s, are sent where it is to be followed. Cancelling it interrupts what
   * runs; losing the connection does not. A `call` that the daemon knows already is not run again.
   */
  call: Envelope
  /** How a model would be shown that envelope: one text. */
  show: { readonly text: string }
  tools: { readonly text: string }
  /**
   * The kernels, and the programs that have announced themselves and are none. `others`: there are more, in other
   * projects, which are told to a person at a terminal.
   */
  kernels: { readonly kernels: readonly KernelRow[]; readonly others: boolean } & AnnouncedPrograms
  start: KernelRow
  /** Starts a kernel that nobody else sees, only to tell how that went, and ends it. */
  trial: Trial
  stop: KernelRow
  restart: KernelRow
  interrupt: InterruptReport
  /** Follows what a kernel prints while no call runs in it, until it is cancelled. Its events are `WatchEvent`s. */
  watch: Empty
  /** Makes a kernel of a program that listens; `target` is its name, process number, NAME-PID, or an address. */
  attach: KernelRow
  /** Lets go of such a kernel, whose program runs on. Its last row. */
  detach: KernelRow
  /**
   * Takes a seat, for a person at a terminal, until it is cancelled or the connection ends. Its events are
   * `SeatEvent`s, `seated` the first that matters. The daemon asks `prove` of the client first. With `alone` it fails
   * where somebody sits already.
   */
  sit: Empty
  /** From a seat: lets another one sit, or not. `taken` is false where that was settled already. */
  admit: { readonly taken: boolean }
  /** From a seat. */
  answer: AnswerOutcome
  /** From a seat: the whole preview, its parts, and what is called; null where the plan waits no more. */
  plan: { readonly body: string | null } & Pick<ShownPlan, 'hunks' | 'args'>
  /**
   * What waits for an answer, who could give one, what is let through without asking and who is not put before anybody
   * for a while; and how the plans that waited last have ended, oldest first.
   */
  approvals: {
    readonly seats: readonly SeatRow[]
    readonly approvals: readonly WaitingRow[]
    readonly grants: readonly Grant[]
    readonly pauses: readonly Pause[]
    readonly ends: readonly PlanEnd[]
  }
  /** Ends a grant. From anybody: it makes nothing possible. */
  revoke: { readonly revoked: boolean }
  /** From anybody who knows the code that is shown on the seats. */
  approve: AnswerOutcome
  deny: AnswerOutcome
  /** From a seat: ends all pauses. How many there were. */
  lift: { readonly lifted: number }
  /** From a seat: a person has taken note of what is wrong with the journal, so dangerous calls may go on. */
  acknowledge: Empty
  /** What is in force in the project, and from where. */
  policy: PolicyReport
  /** The envelope holds a `CheckReport`: what the gate would say of that call, and why. Nothing runs. */
  check_policy: Envelope
  /**
   * Puts what waits in the files of the policy before the seats, and answers once a person has; until then it can be
   * cancelled. There is nothing to say what is to be accepted: it stands in the files.
   */
  accept_policy: Envelope
  /** The suspended evaluations of all kernels. To anybody. */
  suspensions: { readonly suspensions: readonly SuspendedRow[] }
  /**
   * Follows what becomes of suspended evaluations, until it is cancelled: those of the project, or `everywhere`. Its
   * events are `SuspensionEvent`s.
   */
  watch_suspensions: Empty
  /** From a seat: this connection owns it from now on, whoever did. Its lease is 30 minutes, unless said otherwise. */
  take: SuspendedRow
  /** From a seat: puts it before the agents of its project. */
  hand: SuspendedRow
  /** From a seat: the errors that wait in debuggers of the person's own, such as SLIME's, or `sys.last_exc`. */
  theirs: Theirs
  /** From a seat: makes one of those a suspension, by its `id`, and puts it before the agents of its project. */
  adopt: SuspendedRow
  status: DaemonStatus
  shutdown: ShutdownResult
}

export type Method = keyof Results

export type Methods = {
  readonly [M in Method]: { readonly params: z.infer<(typeof PARAMS)[M]>; readonly result: Results[M] }
}

type Empty = Readonly<Record<string, never>>

export type ShutdownWhen = Methods['shutdown']['params']['when']

/** The names of the kernels that end with the daemon, and of those whose programs run on without it. */
export interface ShutdownResult {
  readonly ended_kernels: readonly string[]
  readonly detached_kernels: readonly string[]
}

export interface DaemonStatus {
  readonly version: string
  readonly pid: number
  readonly instance: string
  readonly uptime_ms: number
  readonly socket: string
  readonly log: string
  /** Connected now, the one that asks included. */
  readonly clients: number
  /** Calls under way, and jobs that go on by themselves. */
  readonly running: number
  /** Evaluations that wait where an error happened, in all kernels. */
  readonly suspended: number
  readonly kernels: number
}

/** What a kernel has printed by itself. */
export interface WatchEvent {
  readonly type: 'background'
  readonly text: string
}

export type SeatEvent =
  /** Others sit, and have been asked. */
  | { readonly type: 'asked'; readonly seats: readonly SeatRow[] }
  /** `trouble`: why dangerous calls are refused until somebody acknowledges it. */
  | {
      readonly type: 'seated'
      readonly seat: string
      readonly who: string
      readonly others: readonly SeatRow[]
      readonly trouble: string | null
    }
  /** A plan waits for an answer. `plan` has its body. */
  | { readonly type: 'plan'; readonly plan: Omit<ShownPlan, 'body' | 'hunks' | 'args'> }
  | SeatWanted
  /** A plan, or a question for a seat, needs no answer any more. */
  | { readonly type: 'settled'; readonly id: string; readonly why: string }
  /** Somebody took a seat, left one, was refused one, or tried what only a seat may do. */
  | { readonly type: 'notice'; readonly text: string }

/** Somebody else wants a seat, and one of those who sit has to `admit` it. */
export interface SeatWanted {
  readonly type: 'seat_wanted'
  readonly id: string
  readonly who: string
  readonly terminal: string
  readonly pid: number
  /** What it was started with, as it says itself. */
  readonly command: string
}

export interface SeatRow {
  readonly seat: string
  readonly who: string
  /** What it was started with, as it says itself; empty where the system does not tell. */
  readonly command: string
}

/** A plan as anybody may know of it. */
type WaitingRow = WaitingPlan

/**
 * What the daemon asks of a client that wants a seat, under the name `prove`: that this very process opens the file
 * for reading and writing, reads up to the position, keeps it open, and answers with `{pid}`.
 */
export interface TerminalChallenge {
  readonly file: string
  readonly position: number
  /** `false`: which process it is counts, and no terminal is needed. */
  readonly terminal?: false
}

/** What the daemon may ask of the client that made a call, under the name `ask`. */
export interface Ask {
  readonly call: string
  readonly question: Question
}

export type { AnnouncedPrograms, AnnouncedRow, CallEvent, KernelRow, SuspendedRow, SuspensionEvent }

/** What `fail` carries as `data` where a method says more than a sentence: as an error of an envelope has it. */
export interface FailureData {
  readonly details: Readonly<Record<string, unknown>>
  readonly next: string | null
  readonly retryable: boolean
}

/** The faults that are the client protocol's own, besides those of the link. */
export const CLIENT_FAILURES = {
  in_use: 'The daemon is in use and was not ended; the message says by what.',
  no_such_kernel: 'No kernel of that name is known.',
  kernel_unavailable: 'The kernel could not be started, or has ended.',
  invalid_root: 'The root in the hello is not the absolute path of a directory.',
  too_many_clients: 'The daemon has as many clients as it accepts.',
  ending: 'The daemon is ending; connect again, and the next one answers.',
  refused: 'Nobody here answers that question.',
  seat_refused: 'The client gets no seat, or has lost it; the message says why.',
  seat_taken: 'Somebody sits already, and only a seat of its own was asked for.',
  no_such_suspension: 'No evaluation of that id is suspended there, or it has ended.',
  no_seat: 'Only a seat may do that, and this connection has none.',
} as const
