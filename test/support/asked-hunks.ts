import type { ShownHunk } from '../../src/approvals/contract.ts'
import { hunksFrom } from '../../tools/hunks.ts'
import { linesOf } from '../../tools/newlines.ts'
import { shownPlanOf } from './shown-plans.ts'

/** The lines of a file that are their own numbers. */
export const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join('')

/** Lines of a file with numbers, in which these are to be others. */
export function hunksOf(
  shown: string,
  edits: readonly (readonly [line: number, put: string])[],
  first = 1,
): ShownHunk[] {
  const file = { path: `/project/${shown}`, shown, newline: '\n' as const, text: numbered(1, 40) }
  const changes = edits.map(([line, put], index) => {
    const lines = linesOf(put)
    const why = index === 0 ? 'it was wrong' : null
    return { number: first + index, why, at: line - 1, removed: lines.length, put: lines }
  })
  return hunksFrom(file, changes).map(({ path: _, ...hunk }) => hunk)
}

/** Three hunks in two files; the second has two parts. */
export const HUNKS = [
  ...hunksOf('a.py', [
    [3, 'three\n'],
    [20, 'twenty\n21\ntwenty-two\n'],
  ]),
  ...hunksOf('b.py', [[7, 'seven\n']], 3),
]

export const LEAD = 'Edits 2 files: 4 lines added, 4 removed.\nThis is no diff.'

export const PLAN = shownPlanOf({
  id: 'plan-hhhhhhhh',
  tool: 'propose_file_edit',
  title: 'Edit 2 files: 3 hunks',
  body: `${LEAD}\n\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n${HUNKS[0]?.diff}${HUNKS[1]?.diff}`,
  hunks: HUNKS,
})

export const CHOOSE = { plan: PLAN.id, hash: PLAN.hash, decision: 'choose' } as const
