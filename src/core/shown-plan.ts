import type { ShownPlan } from './approvals.ts'
import { marked, markedLine, warningsOf } from './marks.ts'
import type { Plan } from './plan.ts'
import { unboundIn } from './unbound.ts'

/**
 * A plan as every asker shows it: the whole preview, with marks for whatever would not be seen, and warnings that count
 * it. Nothing is left out or shortened. `bytes` and `lines` are those of the preview itself, in UTF-8.
 */
export function shownPlan(plan: Plan, seen: { readonly waitedMs: number; readonly code: string }): ShownPlan {
  const { title, body } = plan.preview
  return {
    id: plan.id,
    hash: plan.hash,
    tool: plan.tool,
    level: plan.level,
    kernel: plan.kernel === null ? null : markedLine(plan.kernel),
    root: markedLine(plan.root),
    who: markedLine(plan.who),
    title: markedLine(title),
    body: marked(body).text,
    bytes: Buffer.byteLength(body),
    lines: body === '' ? 0 : body.replace(/\n$/, '').split('\n').length,
    warnings: [...warningsOf(`${title}\n${body}`), ...unboundIn(plan)],
    waited_ms: Math.round(seen.waitedMs),
    code: seen.code,
  }
}
