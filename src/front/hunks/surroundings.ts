import { linesOf } from '../../../tools/newlines.ts'
import type { ShownHunk } from '../../core/approvals.ts'

/** What stands above and below a hunk in its file, as far as its diff shows it: lines with marks, without their ends. */
export interface Surroundings {
  readonly above: readonly string[]
  readonly below: readonly string[]
}

/** The diff shows lines of the file before the first one that the hunk replaces, and behind the last. */
export function surroundings({ diff, line, before }: ShownHunk): Surroundings {
  const [head = '', ...lines] = linesOf(diff).map(one => one.replace(/\n$/, ''))
  const start = /^@@ -(\d+)/.exec(head)?.[1]
  if (start === undefined) return { above: [], below: [] }
  const last = lines.findLastIndex(one => /^[-+]/.test(one))
  const first = lines.findIndex(one => /^[-+]/.test(one))
  const end = line + linesOf(before).length
  const shownFrom = Number(start)
  const above = lines.slice(0, Math.max(0, first)).slice(0, Math.max(0, line - shownFrom))
  // Behind the last change stand lines of the hunk's own, which it leaves as they are, and then others.
  const old = lines.filter(one => /^[ -]/.test(one)).length
  const outside = Math.max(0, shownFrom + old - end)
  const behind = lines.slice(last + 1).filter(one => one.startsWith(' '))
  const below = last < 0 || outside === 0 ? [] : behind.slice(-outside)
  return { above: above.map(textOf), below: below.map(textOf) }
}

const textOf = (line: string) => line.slice(1)
