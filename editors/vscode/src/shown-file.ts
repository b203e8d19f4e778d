import type { Methods } from '../../../src/front/protocol.ts'
import { escapePlan } from '../../../src/text/escape.ts'
import { linesOf } from '../../../tools/newlines.ts'

/** The place of a hunk in a text that is shown: its first and last lines, from 0. */
export interface HunkPlace {
  /** Among the pieces that are decided; as many as there are: what is asked about last, all together. */
  readonly at: number
  readonly line: number
  readonly end: number
}

/** A text that is shown. What cannot be seen is marked in it. */
export interface ShownText {
  readonly text: string
  readonly hunks: readonly HunkPlace[]
}

/** One file of a plan, for a diff editor. */
export interface ShownFile {
  readonly path: string
  readonly shown: string
  readonly before: ShownText
  readonly after: ShownText
}

/** The texts of a file, with its hunks; undefined where it has no texts. */
export function shownFile(
  file: Methods['plan']['result']['files'][number],
  plan: Pick<Methods['plan']['result'], 'hunks'>,
): ShownFile | undefined {
  const { path, shown, before, after } = file
  if ((before !== null && typeof before !== 'string') || (after !== null && typeof after !== 'string')) return
  // Of a plan without hunks all is decided where a file differs last.
  const ofFile =
    plan.hunks.length === 0
      ? file.hunks.map((hunk, index) => ({ at: index + 1 - file.hunks.length, ...hunk }))
      : plan.hunks.flatMap((hunk, at) => (hunk.shown === shown ? [{ at, ...hunk }] : []))
  // A hunk has its place in the text before, from which the hunks above it move it.
  let moved = 0
  const old: HunkPlace[] = []
  const now: HunkPlace[] = []
  for (const { at, line, before, after } of ofFile.toSorted((one, other) => one.line - other.line)) {
    const [gone, put] = [linesOf(before).length, linesOf(after).length]
    const first = Math.max(0, line - 1 + moved)
    if (gone > 0) old.push({ at, line: line - 1, end: line + gone - 2 })
    now.push({ at, line: first, end: first + Math.max(0, put - 1) })
    moved += put - gone
  }
  const show = (text: string | null) => escapePlan(text ?? '').text
  return { path, shown, before: { text: show(before), hunks: old }, after: { text: show(after), hunks: now } }
}
