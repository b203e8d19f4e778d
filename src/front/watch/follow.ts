import { setTimeout as pause } from 'node:timers/promises'
import { duration, oneLine } from '../../../tools/wording.ts'
import type { WaitingPlan } from '../../core/approvals.ts'
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

/** For whatever reads lines: one for each plan when it comes, and one when it waits no more. Answers nothing. */
export async function followPlans({ client, printer, signal }: FollowOptions): Promise<void> {
  const known = new Map<string, WaitingPlan>()
  while (!signal.aborted) {
    const { approvals } = await client.request('approvals', {})
    const now = new Set(approvals.map(({ id }) => id))
    for (const plan of known.values())
      if (!now.has(plan.id)) {
        known.delete(plan.id)
        printer.out(`settled  ${plan.id}  ${oneLine(plan.tool)}  ${oneLine(plan.title)}\n`)
      }
    for (const plan of approvals) {
      if (!known.has(plan.id)) printer.out(`${waitingLine(plan)}\n`)
      known.set(plan.id, plan)
    }
    await pause(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

function waitingLine({ id, tool, kernel, who, waited_ms, title }: WaitingPlan): string {
  const where = kernel === null ? '' : ` on ${oneLine(kernel)}`
  const since = waited_ms < 1_000 ? '' : `, who has waited ${duration(Math.floor(waited_ms / 1_000) * 1_000)}`
  return `waits    ${id}  ${oneLine(tool)}${where} for ${oneLine(who)}${since}  ${oneLine(title)}`
}
