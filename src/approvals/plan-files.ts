import type { FileChange, Hunks } from '../../tools/contract.ts'
import { editsBetween } from '../../tools/diff.ts'
import { linesOf } from '../../tools/newlines.ts'
import { decode } from '../files/look.ts'
import { escapePlanLine } from '../text/escape.ts'
import type { PlanFile, PlanText } from './rows.ts'

/** Characters of one text, and of all texts of a plan: of a larger text a seat is told the size. */
const MOST_CHARS = 1024 * 1024

const MOST_OF_ALL = 8 * MOST_CHARS

interface ChangingPlan {
  readonly changes: readonly FileChange[]
  readonly hunks: Hunks | null
}

/** The files that a plan changes, in its order, each with its texts to the last character. A move is one row. */
export function planFiles({ changes, hunks }: ChangingPlan): PlanFile[] {
  const goneTo = moves(changes)
  const targets = new Set(goneTo.values())
  let left = MOST_OF_ALL
  const textOf = (bytes: Uint8Array | null): PlanText => {
    if (bytes === null) return null
    const size = bytes.length
    if (size > 4 * MOST_CHARS) return { left_out: 'too_large', bytes: size }
    const { text } = decode(bytes)
    if (text === null) return { left_out: 'binary', bytes: size }
    if (text.length > Math.min(left, MOST_CHARS)) return { left_out: 'too_large', bytes: size }
    left -= text.length
    return text
  }
  return changes.flatMap((change): PlanFile[] => {
    if (targets.has(change)) return []
    const { path, shown } = change
    const target = goneTo.get(change)
    const kind =
      target !== undefined
        ? 'move'
        : change.before === null
          ? 'create'
          : change.after === null
            ? 'delete'
            : 'edit'
    const before = textOf(change.before)
    const after = kind === 'move' ? before : textOf(change.after)
    const own = hunks?.all.filter(hunk => hunk.path === path) ?? []
    const places = own.length > 0 ? own : kind === 'move' ? [] : stretches(before ?? '', after ?? '')
    return [
      {
        path,
        shown: escapePlanLine(shown),
        kind,
        to: target?.path ?? null,
        before,
        after,
        hunks: places.map(({ line, before, after }) => ({ line, before, after })),
      },
    ]
  })
}

/** What goes, by what appears elsewhere with the same bytes. */
function moves(changes: readonly FileChange[]): Map<FileChange, FileChange> {
  const appearing = changes.filter(({ before }) => before === null)
  const found = new Map<FileChange, FileChange>()
  for (const goes of changes) {
    const { before, after } = goes
    if (before === null || after !== null) continue
    const at = appearing.findIndex(one => one.after !== null && Buffer.compare(one.after, before) === 0)
    const [target] = at === -1 ? [] : appearing.splice(at, 1)
    if (target !== undefined) found.set(goes, target)
  }
  return found
}

/** The whole lines in which the texts differ; none where a text was left out. */
function stretches(before: PlanText, after: PlanText): PlanFile['hunks'] {
  if (typeof before !== 'string' || typeof after !== 'string') return []
  const sides = { old: linesOf(before), new: linesOf(after) }
  return editsBetween(sides.old, sides.new).map(edit => ({
    line: edit.old + 1,
    before: sides.old.slice(edit.old, edit.old + edit.removed).join(''),
    after: sides.new.slice(edit.new, edit.new + edit.added).join(''),
  }))
}
