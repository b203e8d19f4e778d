import type { Envelope } from '../../tools/outcome.ts'
import type { Methods, SeatEvent, TopicRows } from './protocol.ts'
import type { ShownAnswer } from './shown-answer.ts'

/** A row, an event or a fault with its line for a person, in which all is seen that is in it. */
type Told<Row> = Row & { readonly shown: string }

/** `waits`: it is for a person to answer. */
export type Asks<Row> = Told<Row> & { readonly waits?: true }

export type PlanRow = Asks<TopicRows['approvals']>

/** A plan as it is asked for with `shown`. */
export type Plan = Omit<Methods['plan']['result'], 'hunks'> & {
  readonly id: string
  readonly title: string
  readonly hash: string
  readonly heading: readonly string[]
  readonly hunks: readonly (Methods['plan']['result']['hunks'][number] & { readonly head: string })[]
}

/** What became of an answer; `shown` where it did not count. */
export type Became = { readonly type: string; readonly shown?: string }

/** An answer of a tool, and what a person reads of it. */
export type Answer = Told<Envelope & ShownAnswer> & { readonly kernel?: string }

/** An event of the seat. */
export type SeatNews = Told<SeatEvent | { readonly type: 'left'; readonly why: string | null }>
