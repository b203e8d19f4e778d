/** The client protocol in types; `docs/editor-protocol.md` is its specification. Times are milliseconds. */

import type { z } from 'zod'
import type { Of, Question } from '../../wire/kernel.ts'
import type { OPERATIONS } from './operations/index.ts'
import type { SEAT_ROW, SEAT_WANTED } from './operations/seats.ts'
import type { TOPIC_ROWS } from './operations/subscription.ts'

/** The name of an operation. */
export type Method = keyof typeof OPERATIONS

/** What a client may ask of the daemon, by name, and the answer of each. */
export type Methods = {
  readonly [M in Method]: {
    readonly params: z.infer<(typeof OPERATIONS)[M]['params']>
    readonly result: Of<(typeof OPERATIONS)[M]['result']>
  }
}

export type ShutdownWhen = Methods['shutdown']['params']['when']

/** The names of the kernels that end with the daemon, and of those whose programs run on without it. */
export type ShutdownResult = Methods['shutdown']['result']

export type DaemonStatus = Methods['status']['result']

export type SeatEvent = Of<(typeof OPERATIONS)['sit']['event']>

/** A row of each topic. */
export type TopicRows = { readonly [T in keyof typeof TOPIC_ROWS]: Of<(typeof TOPIC_ROWS)[T]> }

export type PlanRow = TopicRows['approvals']

export type SeatTopicRow = TopicRows['seats']

/** Somebody else wants a seat, and one of those who sit has to `admit` it. */
export type SeatWanted = Of<typeof SEAT_WANTED>

export type SeatRow = Of<typeof SEAT_ROW>

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
  invalid_hello: 'The hello asks for something that this way in does not give; the message says which.',
  invalid_root: 'The root in the hello is not the absolute path of a directory.',
  too_many_clients: 'The daemon has as many clients as it accepts.',
  ending: 'The daemon is ending; connect again, and the next one answers.',
  denied: 'The policy denies it, or has it asked about, and nobody is asked; the message says by which rule.',
  refused: 'Nobody here answers that question.',
  seat_refused: 'The client gets no seat, or has lost it; the message says why.',
  seat_taken: 'Somebody sits already, and only a seat of its own was asked for.',
  no_such_suspension: 'No evaluation of that id is suspended there, or it has ended.',
  no_such_display: 'Nothing of that path was displayed to this project, or it has made room.',
  no_seat: 'Only a seat may do that, and this connection has none.',
} as const
