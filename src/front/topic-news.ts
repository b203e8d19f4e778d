import type { PlanEnd, WaitingPlan } from '../approvals/contract.ts'
import type { PlanRow } from './protocol.ts'
import type { SubscriptionEvent, TopicChange } from './subscriptions.ts'

/** The rows that an event of a subscription tells of. */
export const changesIn = (event: SubscriptionEvent): readonly TopicChange[] =>
  'snapshot' in event ? event.snapshot : event.changes

interface RowNews<Row> {
  /** Null: it has gone. */
  readonly row: Row | null
  readonly before: Row | undefined
  /** It was there at first. */
  readonly isFirst: boolean
}

/** Tells each row of one topic that changes, and as it was before; for `heard` of a subscription. */
export function newsOf<Row>(tell: (news: RowNews<Row>) => void): (event: SubscriptionEvent) => void {
  const known = new Map<string, Row>()
  let isFirst = true
  return event => {
    const rows = new Map(changesIn(event).map(({ key, value }) => [key, value as Row | null]))
    // Changes were lost.
    if ('snapshot' in event) for (const key of known.keys()) if (!rows.has(key)) rows.set(key, null)
    for (const [key, row] of rows) {
      const before = known.get(key)
      if (row === null) known.delete(key)
      else known.set(key, row)
      tell({ row, before, isFirst })
    }
    isFirst = false
  }
}

/** How a plan ended; `ended` where more have ended since than the daemon tells of. */
export type ToldEnd = Pick<PlanEnd, 'id' | 'tool' | 'title' | 'why'> & { readonly outcome: string }

/** Tells each plan that waits, again where something in it has changed, and how each ended, but for what had ended before. */
export const planNews = (tell: {
  waits(plan: WaitingPlan, isNew: boolean): void
  ended(end: ToldEnd): void
}) =>
  newsOf<PlanRow>(({ row, before, isFirst }) => {
    // While it waits nobody can answer it.
    if (row?.state === 'held' || before?.state === 'held') return
    if (row?.state === 'waits') tell.waits(row, before === undefined)
    else if (!isFirst && before?.state !== 'ended') {
      if (row !== null) tell.ended(row)
      else if (before !== undefined) tell.ended({ ...before, outcome: 'ended', why: '' })
    }
  })
