import { type Failed, failed } from '../../tools/outcome.ts'
import type { Hunk } from '../../tools/proposal.ts'
import type { ShownHunk, ShownPlan, WaitingPlan } from './approvals.ts'
import { escapePlan, escapePlanLine, fitsEscapedPlan, warningsOf } from './escape.ts'
import type { Plan } from './plan.ts'
import { unboundIn } from './unbound.ts'

/** A plan as every asker shows it: what of it does not change while it waits. */
export type Shown = Omit<WaitingPlan, 'waited_ms'> & {
  /** The whole of it, with marks. */
  readonly body: string
  readonly hunks: readonly ShownHunk[]
  readonly args: ShownPlan['args']
}

/** A longer one is not put before a person, in characters once it is marked: nobody would read it. */
const SHOWN_CHARS = 4 * 1024 * 1024

/**
 * The whole preview, with marks for whatever would not be seen, and warnings that count it. Nothing is left out or
 * shortened. `bytes` and `lines` are those of the preview itself, in UTF-8. It takes a while for a long one: once for
 * each plan is enough.
 */
export function shownPlan(plan: Plan): Shown {
  const { title, body } = plan.preview
  return {
    id: plan.id,
    hash: plan.hash,
    tool: plan.tool,
    level: plan.level,
    kernel: plan.kernel === null ? null : escapePlanLine(plan.kernel),
    root: escapePlanLine(plan.root),
    who: escapePlanLine(plan.who),
    title: escapePlanLine(title),
    body: escapePlan(body).text,
    bytes: Buffer.byteLength(body),
    lines: body === '' ? 0 : body.replace(/\n$/, '').split('\n').length,
    hunks: (plan.hunks?.all ?? []).map(shownHunk),
    args: editable(plan.args),
    turn: plan.id,
    times: 1,
    rule: null,
    grants: [],
    warnings: warningsOf(`${title}\n${body}`),
    notes: unboundIn(plan),
  }
}

/** Why nobody can be asked about this plan: too much would have to be shown. Known before anything is marked. */
export function unshowable({ id, tool, preview: { body } }: Plan): Failed | undefined {
  if (fitsEscapedPlan(body, SHOWN_CHARS)) return undefined
  return failed('too_large', {
    message: `A person has to be asked about ${tool}, and what they would have to read is longer than ${SHOWN_CHARS} characters, hidden ones counted by their marks. Nobody was asked. Nothing ran.`,
    details: { plan: id, tool, bytes: Buffer.byteLength(body), most: SHOWN_CHARS },
    next: 'Make a smaller change: of less of the file at a time, or of a smaller file.',
  })
}

/** What is edited is what stands in the file, and is not marked. */
function shownHunk({ number, shown, line, before, after, diff, why }: Hunk): ShownHunk {
  const told = why === null ? null : escapePlan(why).text
  return { number, shown: escapePlanLine(shown), line, before, after, diff: escapePlan(diff).text, why: told }
}

function editable(args: unknown): ShownPlan['args'] {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return null
  return Object.keys(args).length === 0 ? null : { ...args }
}
