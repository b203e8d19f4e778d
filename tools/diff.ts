import { diffArrays, formatPatch, OMIT_HEADERS, type StructuredPatch } from 'diff'
import { linesOf } from './newlines.ts'

/** Two contents of one file; null where there is no file. */
export interface Versions {
  /** From the project's root. */
  readonly path: string
  readonly before: string | null
  readonly after: string | null
  /** Whether a file that is made can be run; not, unless given. */
  readonly executable?: boolean
}

export interface FileDiff {
  /** As git writes it; applied to `before` it gives `after`, to the last byte. */
  readonly text: string
  /** Lines. */
  readonly added: number
  readonly removed: number
  /** Its hunks, each as the edits in it, in order. */
  readonly groups: readonly (readonly Edit[])[]
}

/**
 * The whole difference as a unified diff with three lines of context, as `git diff` shows it, carriage returns
 * included. Always exact, and the same for the same contents; the shortest one as long as that is cheap to find, and
 * a longer one where the contents differ in thousands of places.
 */
export function unifiedDiff({ path, before, after, executable = false }: Versions): FileDiff {
  const sides = { old: linesOf(before ?? ''), new: linesOf(after ?? '') }
  const edits = editsBetween(sides.old, sides.new)
  const groups = grouped(edits)
  const patch: StructuredPatch = {
    oldFileName: before === null ? '/dev/null' : `a/${path}`,
    newFileName: after === null ? '/dev/null' : `b/${path}`,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: groups.map(group => hunk(group, sides)),
    isGit: true,
    ...(before === null && { isCreate: true, newMode: executable ? '100755' : '100644' }),
    ...(after === null && { isDelete: true, oldMode: '100644' }),
  }
  return {
    text: before === after ? '' : formatPatch(patch),
    added: edits.reduce((sum, edit) => sum + edit.added, 0),
    removed: edits.reduce((sum, edit) => sum + edit.removed, 0),
    groups,
  }
}

/** The lines of both texts, each with its mark, and none left out. */
export function wholeDiff(before: string, after: string): string[] {
  const [old = [], put = []] = [before, after].map(text => text.split('\n').map(line => `${line}\n`))
  const sides = { old, new: put }
  return hunk(editsBetween(old, put), sides, Number.POSITIVE_INFINITY).lines
}

/** Lines of one file that stand together, `at` lines from its beginning, with others in their place. */
export interface Stretch {
  readonly lines: readonly string[]
  readonly at: number
  readonly removed: number
  readonly put: readonly string[]
}

/** One such change as one hunk of `git diff`, as if it were the only one: its `@@` line, and its lines. */
export function hunkText({ lines, at, removed, put }: Stretch): string {
  const from = Math.max(0, at - CONTEXT)
  const old = lines.slice(from, at + removed + CONTEXT)
  const above = old.slice(0, at - from)
  const below = old.slice(at - from + removed)
  const sides = { old, new: [...above, ...put, ...below] }
  const { oldStart, newStart, ...rest } = hunk(editsBetween(sides.old, sides.new), sides)
  const placed = { ...rest, oldStart: from + oldStart, newStart: from + newStart }
  const patch = { oldFileName: '', newFileName: '', oldHeader: undefined, newHeader: undefined }
  return formatPatch({ ...patch, hunks: [placed] }, OMIT_HEADERS)
}

/** `removed` lines from `old` on are replaced by the `added` lines from `new` on; both are counted from 0. */
export interface Edit {
  readonly old: number
  readonly new: number
  readonly removed: number
  readonly added: number
}

interface Sides {
  readonly old: readonly string[]
  readonly new: readonly string[]
}

const CONTEXT = 3

/** Edits so near to each other that they share their context are one hunk. */
function grouped(edits: readonly Edit[]): Edit[][] {
  const groups: Edit[][] = []
  for (const edit of edits) {
    const last = groups.at(-1)?.at(-1)
    if (last !== undefined && edit.old - (last.old + last.removed) <= 2 * CONTEXT) groups.at(-1)?.push(edit)
    else groups.push([edit])
  }
  return groups
}

function hunk(edits: readonly Edit[], sides: Sides, context = CONTEXT): StructuredPatch['hunks'][number] {
  const lines: string[] = []
  const put = (mark: string, line: string) => {
    if (line.endsWith('\n')) lines.push(mark + line.slice(0, -1))
    else lines.push(mark + line, '\\ No newline at end of file')
  }
  const first = edits[0] ?? { old: 0, new: 0 }
  const lead = Math.min(context, first.old)
  let at = first.old - lead
  const keep = (to: number) => {
    for (; at < to; at++) put(' ', sides.old[at] ?? '')
  }
  for (const edit of edits) {
    keep(edit.old)
    for (; at < edit.old + edit.removed; at++) put('-', sides.old[at] ?? '')
    for (let line = edit.new; line < edit.new + edit.added; line++) put('+', sides.new[line] ?? '')
  }
  keep(Math.min(sides.old.length, at + context))
  const oldLines = at - (first.old - lead)
  const grown = edits.reduce((sum, edit) => sum + edit.added - edit.removed, 0)
  const starts = { oldStart: first.old - lead + 1, newStart: first.new - lead + 1 }
  return { ...starts, oldLines, newLines: oldLines + grown, lines }
}

/** Lines as numbers, equal where the lines are; a part of one side begins at `at` of it. */
interface Part {
  readonly ids: readonly number[]
  readonly at: number
}

/** What of the one list of lines gives the other, in order; between two edits stands at least one line of both. */
export function editsBetween(before: readonly string[], after: readonly string[]): Edit[] {
  const { head, tail } = alike(before, after)
  const numbers = new Map<string, number>()
  const numbered = (lines: readonly string[]) =>
    lines.slice(head, lines.length - tail).map(line => {
      const known = numbers.get(line) ?? numbers.size
      numbers.set(line, known)
      return known
    })
  const parts = { old: { ids: numbered(before), at: head }, new: { ids: numbered(after), at: head } }
  const lines = parts.old.ids.length + parts.new.ids.length
  return compared(parts, { distance: Math.min(2_000, Math.max(16, Math.floor(WORK / lines))), rounds: 4 })
}

/** Comparisons of lines that one round may cost, whatever the contents. */
const WORK = 10_000_000

interface Effort {
  /** How many lines the two may differ in for the shortest difference to be sought. */
  readonly distance: number
  /** How often the parts between landmarks are divided again. */
  readonly rounds: number
}

interface Parts {
  readonly old: Part
  readonly new: Part
}

/** The shortest difference if it is short; else the differences between landmarks; else all of it in one piece. */
function compared(parts: Parts, effort: Effort): Edit[] {
  const { head, tail } = alike(parts.old.ids, parts.new.ids)
  const old = within(parts.old, head, parts.old.ids.length - tail)
  const other = within(parts.new, head, parts.new.ids.length - tail)
  const all = { old: old.at, new: other.at, removed: old.ids.length, added: other.ids.length }
  if (all.removed === 0 || all.added === 0) return all.removed === all.added ? [] : [all]
  // After what is alike at both ends is gone, two single lines differ.
  if (all.removed === 1 && all.added === 1) return [all]
  const changes = diffArrays([...old.ids], [...other.ids], { maxEditLength: effort.distance })
  if (changes !== undefined) return inPlace(changes, all)
  const marks = effort.rounds === 0 ? [] : landmarks(old.ids, other.ids)
  return marks.length === 0 ? [all] : between({ old, new: other }, marks, effort)
}

const within = ({ ids, at }: Part, from: number, to: number): Part => ({
  ids: from === 0 && to === ids.length ? ids : ids.slice(from, to),
  at: at + from,
})

/** How many items two lists share at their beginning, and how many of the rest at their end. */
function alike<Item>(one: readonly Item[], other: readonly Item[]): { head: number; tail: number } {
  const shorter = Math.min(one.length, other.length)
  let head = 0
  while (head < shorter && one[head] === other[head]) head++
  let tail = 0
  while (tail < shorter - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++
  return { head, tail }
}

/** The package counts; here each edit has its place. Removed and added lines that touch are one edit. */
function inPlace(
  changes: readonly { readonly count: number; readonly added: boolean; readonly removed: boolean }[],
  start: { readonly old: number; readonly new: number },
): Edit[] {
  const edits: Edit[] = []
  let { old, new: other } = start
  let open = false
  for (const { count, added, removed } of changes) {
    const last = open ? edits.pop() : undefined
    open = added || removed
    if (open) {
      const { removed: less = 0, added: more = 0 } = last ?? {}
      const begun = { old: old - less, new: other - more }
      edits.push({ ...begun, removed: less + (removed ? count : 0), added: more + (added ? count : 0) })
    } else if (last !== undefined) edits.push(last)
    if (!added) old += count
    if (!removed) other += count
  }
  return edits
}

/** Where a line stands that occurs once on each side. */
type Landmark = readonly [old: number, other: number]

/** As many of them as stand in the same order on both sides. */
function landmarks(old: readonly number[], other: readonly number[]): Landmark[] {
  const places = lonely(other)
  const pairs: Landmark[] = []
  for (const [id, at] of lonely(old)) {
    const there = places.get(id)
    if (there !== undefined) pairs.push([at, there])
  }
  return longestRising(pairs.sort(([one], [another]) => one - another))
}

function lonely(ids: readonly number[]): Map<number, number> {
  const places = new Map<number, number>()
  const again = new Set<number>()
  for (const [at, id] of ids.entries()) {
    if (places.has(id)) again.add(id)
    places.set(id, at)
  }
  for (const id of again) places.delete(id)
  return places
}

/** The longest part of the list in which `other` rises too, by patience sorting. */
function longestRising(pairs: readonly Landmark[]): Landmark[] {
  interface Card {
    readonly pair: Landmark
    readonly under: Card | undefined
  }
  const tops: Card[] = []
  for (const pair of pairs) {
    let [low, high] = [0, tops.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((tops[middle]?.pair[1] ?? 0) < pair[1]) low = middle + 1
      else high = middle
    }
    tops[low] = { pair, under: tops[low - 1] }
  }
  const rising: Landmark[] = []
  for (let card = tops.at(-1); card !== undefined; card = card.under) rising.push(card.pair)
  return rising.reverse()
}

function between(parts: Parts, marks: readonly Landmark[], { distance, rounds }: Effort): Edit[] {
  const edits: Edit[] = []
  let [old, other] = [0, 0]
  const ends: Landmark = [parts.old.ids.length, parts.new.ids.length]
  for (const [oldEnd, otherEnd] of [...marks, ends]) {
    if (old < oldEnd || other < otherEnd) {
      const gap = { old: within(parts.old, old, oldEnd), new: within(parts.new, other, otherEnd) }
      for (const edit of compared(gap, { distance, rounds: rounds - 1 })) edits.push(edit)
    }
    old = oldEnd + 1
    other = otherEnd + 1
  }
  return edits
}
