import { freeze, type Plan } from '../../src/approvals/plan.ts'
import type { Evidence, FileChange, Hunks, Level } from '../../tools/contract.ts'
import type { CallId } from '../../wire/contract/values.ts'

export interface SomePlan {
  readonly title?: string
  readonly body?: string
  readonly args?: unknown
  readonly tool?: string
  readonly toolHash?: string
  readonly level?: Level
  readonly kernel?: string | null
  readonly epoch?: string | null
  readonly root?: string
  readonly who?: string
  readonly caller?: string
  readonly origin?: string
  readonly evidence?: readonly Evidence[]
  readonly changes?: readonly FileChange[]
  readonly hunks?: Hunks
}

/** A plan of nothing in particular. */
export function somePlan({
  title = 'Do it',
  body = 'do it',
  evidence = [],
  changes = [],
  hunks,
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
    proposal: {
      type: 'proposal',
      preview: { title, body },
      evidence,
      changes,
      ...(changes.length > 0 && { result: () => 'done' }),
      ...(hunks && { hunks }),
    },
  })
}

/** Evidence that moves when it is told to. */
export function evidenceThat(moves: () => string | undefined, what = 'a.txt'): Evidence {
  return { what, hash: '0'.repeat(64), moved: async () => moves() }
}

/** A plan that makes these files of a project anew, as its paths from the root, and does nothing else. */
export function somePlanOn(shown: string | readonly string[], more: SomePlan = {}): Plan {
  const { root = '/project' } = more
  const changes = [shown].flat().map(each => ({
    path: `${root}/${each}`,
    shown: each,
    before: null,
    after: Buffer.from('new\n'),
  }))
  return somePlan({ tool: 'write_file', kernel: null, epoch: null, changes, ...more, root })
}
