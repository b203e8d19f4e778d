import { freeze } from '../../src/core/freezing.ts'
import type { Plan } from '../../src/core/plan.ts'
import type { Evidence, FileChange } from '../../tools/proposal.ts'
import type { CallId } from '../../wire/kernel.ts'

export interface SomePlan {
  readonly title?: string
  readonly body?: string
  readonly args?: unknown
  readonly caller?: string
  readonly origin?: string
  readonly evidence?: readonly Evidence[]
  readonly changes?: readonly FileChange[]
}

/** A plan of nothing in particular. */
export function somePlan({
  title = 'Do it',
  body = 'do it',
  evidence = [],
  changes = [],
  ...more
}: SomePlan = {}): Plan {
  return freeze({
    call: 'call-1' as CallId,
    tool: 'do_dangerous',
    level: 'dangerous',
    toolHash: 'f'.repeat(64),
    args: {},
    kernel: 'main',
    epoch: 'feedbeef',
    root: '/project',
    who: 'a test',
    caller: 'tester',
    origin: 'cli /project',
    ...more,
    proposal: { type: 'proposal', preview: { title, body }, evidence, changes },
  })
}

/** Evidence that moves when it is told to. */
export function evidenceThat(moves: () => string | undefined, what = 'a.txt'): Evidence {
  return { what, hash: '0'.repeat(64), moved: async () => moves() }
}
