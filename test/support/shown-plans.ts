import type { ShownPlan } from '../../src/approvals/contract.ts'

/** A plan as a seat is told of it: a small new file, but for what the test gives. */
export function shownPlanOf(given: Partial<ShownPlan> = {}): ShownPlan {
  const body = given.body ?? 'one\n'
  return {
    id: 'plan-abcdefgh',
    hash: 'e'.repeat(64),
    tool: 'write_file',
    level: 'dangerous',
    kernel: null,
    root: '/project',
    who: 'a model',
    title: 'Write a.py',
    paths: [],
    body,
    hunks: [],
    args: null,
    bytes: Buffer.byteLength(body),
    lines: body.replace(/\n$/, '').split('\n').length,
    warnings: [],
    notes: [],
    waited_ms: 0,
    turn: given.id ?? 'plan-abcdefgh',
    times: 1,
    rule: null,
    grants: [],
    code: 'k7mp-3xqr-9tfw-2hjd',
    ...given,
  }
}
