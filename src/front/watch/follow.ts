import { setTimeout as pause } from 'node:timers/promises'
import { duration, oneLine } from '../../../tools/wording.ts'
import type { Ended, WaitingPlan } from '../../core/approvals.ts'
import type { DaemonClient } from '../client.ts'
import type { Printer } from '../terminal.ts'

/** How often what waits is looked at, in milliseconds. */
const POLL_MS = 500

export interface FollowOptions {
  readonly client: Pick<DaemonClient, 'request'>
  readonly printer: Pick<Printer, 'out'>
  /** Aborts when nobody reads it any more. */
  readonly signal: AbortSignal
}

/**
 * For whatever reads lines: one for each plan when it comes, and one when it waits no more, which says how it ended; a
 * plan that came and went between two looks has the second alone. Answers nothing.
 */
export async function followPlans({ client, printer, signal }: FollowOptions): Promise<void> {
  const waiting = new Map<string, WaitingPlan>()
  let ended: ReadonlySet<string> | undefined
  while (!signal.aborted) {
    const { approvals, ends } = await client.request('approvals', {})
    // What ended before the first look is not news.
    const before = ended ?? new Set(ends.map(({ id }) => id))
    for (const end of ends) if (!before.has(end.id)) printer.out(`${endLine(end)}\n`)
    ended = new Set(ends.map(({ id }) => id))
    const now = new Set(approvals.map(({ id }) => id))
    for (const plan of waiting.values()) {
      if (now.has(plan.id)) continue
      waiting.delete(plan.id)
      // More have ended since the last look than the daemon tells of.
      if (!ended.has(plan.id)) printer.out(`${endLine({ ...plan, outcome: 'ended', why: '' })}\n`)
    }
    for (const plan of approvals) {
      if (!waiting.has(plan.id)) printer.out(`${waitingLine(plan)}\n`)
      waiting.set(plan.id, plan)
    }
    await pause(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

function endLine(end: Pick<Ended, 'id' | 'tool' | 'title' | 'why'> & { readonly outcome: string }): string {
  const { id, tool, title, outcome, why } = end
  const cells = ['settled', id, outcome.replaceAll('_', ' '), oneLine(tool), oneLine(title), oneLine(why)]
  return cells.filter(cell => cell !== '').join('  ')
}

function waitingLine({ id, tool, kernel, who, waited_ms, title }: WaitingPlan): string {
  const where = kernel === null ? '' : ` on ${oneLine(kernel)}`
  const since = waited_ms < 1_000 ? '' : `, who has waited ${duration(Math.floor(waited_ms / 1_000) * 1_000)}`
  return `waits    ${id}  ${oneLine(tool)}${where} for ${oneLine(who)}${since}  ${oneLine(title)}`
}
