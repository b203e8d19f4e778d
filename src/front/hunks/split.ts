import { type Edit, editsBetween } from '../../../tools/diff.ts'
import type { Choice } from '../../../tools/proposal.ts'
import type { ShownHunk } from '../../core/approvals.ts'
import { escapePlan } from '../../core/escape.ts'
import { patchHead, patchLines, type RawHunk, rawOf } from './raw.ts'
import { surroundings } from './surroundings.ts'

/** One of the separate changes of a hunk. It can be shown and edited as a hunk is, and bears the number of its hunk. */
export interface Part extends ShownHunk {
  /** From 1, within its hunk. */
  readonly part: number
}

/** What a person decided of a part. */
export type PartDecision =
  | { readonly part: Part; readonly decision: 'accept' }
  | { readonly part: Part; readonly decision: 'refuse'; readonly reason: string | null }
  /** `text` is to stand there instead of its `after`, as `fromPatch` has it. */
  | { readonly part: Part; readonly decision: 'edit'; readonly text: string }

const CONTEXT = 3

/** The smallest changes between which lines stay as they are, in order; at least one, and one where it has no such line. */
export function split(hunk: ShownHunk): readonly Part[] {
  const raw = rawOf(hunk)
  const edits = editsBetween(raw.before, raw.after)
  const around = surroundings(hunk)
  const shift = shiftOf(hunk)
  return edits.map((edit, index) => {
    const before = raw.before.slice(edit.old, edit.old + edit.removed)
    const after = raw.after.slice(edit.new, edit.new + edit.added)
    const beside = besideOf({ raw, around, edit, earlier: edits[index - 1], later: edits[index + 1] })
    const counts = {
      line: hunk.line + edit.old - beside.above.length,
      newLine: hunk.line + shift + edit.new - beside.above.length,
      before: beside.above.length + before.length + beside.below.length,
      after: beside.above.length + after.length + beside.below.length,
    }
    const mark = (sign: '-' | '+') => (line: string) => patchLines(sign, shownOf(line, raw))
    const lines = [
      patchHead(counts),
      ...beside.above,
      ...before.flatMap(mark('-')),
      ...after.flatMap(mark('+')),
      ...beside.below,
    ]
    return {
      ...hunk,
      part: index + 1,
      line: hunk.line + edit.old,
      before: raw.spell(before.join('')),
      after: raw.spell(after.join('')),
      diff: lines.map(line => `${line}\n`).join(''),
    }
  })
}

/** With marks, as in the diff of the whole hunk. */
function shownOf(line: string, { spell }: RawHunk): string {
  const spelt = spell(line)
  return escapePlan(spelt.endsWith('\r\n') ? spelt : line).text
}

/** How much further down it stands with the hunks before it. */
function shiftOf({ diff }: ShownHunk): number {
  const [, old, now] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(diff) ?? []
  return old === undefined || now === undefined ? 0 : Number(now) - Number(old)
}

interface Beside {
  readonly raw: RawHunk
  readonly around: ReturnType<typeof surroundings>
  readonly edit: Edit
  readonly earlier: Edit | undefined
  readonly later: Edit | undefined
}

/** What stays as it is next to a part, up to the part before it and the one behind it: lines of a diff. */
function besideOf({ raw, around, edit, earlier, later }: Beside) {
  const shown = (from: number, to: number) =>
    raw.before.slice(from, to).map(line => ` ${shownOf(line, raw).replace(/\n$/, '')}`)
  const above = [
    ...(earlier === undefined ? around.above.map(line => ` ${line}`) : []),
    ...shown(earlier === undefined ? 0 : earlier.old + earlier.removed, edit.old),
  ]
  const below = [
    ...shown(edit.old + edit.removed, later?.old ?? raw.before.length),
    ...(later === undefined ? around.below.map(line => ` ${line}`) : []),
  ]
  return { above: above.slice(-CONTEXT), below: below.slice(0, CONTEXT) }
}

/**
 * What is to stand in place of the hunk, as the file spells it, where only these parts are done, each with its text.
 * The lines of the other parts stay as they stand there.
 */
export function joined(
  hunk: ShownHunk,
  taken: readonly { readonly part: Part; readonly text: string }[],
): string {
  const { before, spell, unspell } = rawOf(hunk)
  const lines: string[] = []
  let at = 0
  for (const { part, text } of [...taken].sort((one, other) => one.part.part - other.part.part)) {
    const from = part.line - hunk.line
    lines.push(...before.slice(at, from), unspell(text))
    at = from + rawOf(part).before.length
  }
  return spell([...lines, ...before.slice(at)].join(''))
}

/** The choice for a hunk that was decided part by part; one decision for each of them. */
export function choiceOf(hunk: ShownHunk, decisions: readonly PartDecision[]): Choice {
  const taken = decisions.flatMap(one =>
    one.decision === 'refuse'
      ? []
      : [{ part: one.part, text: one.decision === 'edit' ? one.text : one.part.after }],
  )
  const reason = reasonOf(decisions)
  if (taken.length === 0) return { hunk: hunk.number, decision: 'refuse', reason }
  const text = joined(hunk, taken)
  if (text === hunk.after) return { hunk: hunk.number, decision: 'accept' }
  const inPart = decisions.every(({ decision }) => decision !== 'edit')
  return { hunk: hunk.number, decision: 'edit', text, reason, ...(inPart && { inPart }) }
}

/** Why parts were refused, each by its lines where there is more than one. */
function reasonOf(decisions: readonly PartDecision[]): string | null {
  const given = decisions.flatMap(one =>
    one.decision === 'refuse' && one.reason !== null ? [{ line: one.part.line, reason: one.reason }] : [],
  )
  if (given.length === 0) return null
  if (given.length === 1 || new Set(given.map(({ reason }) => reason)).size === 1)
    return given[0]?.reason ?? null
  return given.map(({ line, reason }) => `At line ${line}: ${reason}`).join(' ')
}
