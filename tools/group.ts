import type { Level } from './contract.ts'
import type { Tool } from './define.ts'
import type { Envelope } from './outcome.ts'
import { indent, oneLine } from './text.ts'

/** A call to all of a group of kernels: which tools can be asked so, and how the answer is told. */

/** What one of them has answered. */
export type MemberAnswer = Envelope & { readonly kernel: string }

/** What such a call answers with, in the order of the members. */
export interface GroupAnswer {
  readonly members: readonly MemberAnswer[]
}

/** Whether a call may go to all at once: it only looks, or is about tracepoints. */
export function mayBeForAll({ needs }: Pick<Tool, 'needs'>, level: Level): boolean {
  const traces = needs.some(need => need === 'trace' || need === 'untrace')
  return level === 'safe' || (traces && level === 'cautious')
}

/** Other results may have members of their own. */
export function isGroupAnswer(result: unknown): result is GroupAnswer {
  if (typeof result !== 'object' || result === null || !('members' in result)) return false
  const { members } = result
  return Array.isArray(members) && members.length > 0 && members.every(isMemberAnswer)
}

const isMemberAnswer = (one: unknown): boolean =>
  typeof one === 'object' && one !== null && 'kernel' in one && 'ok' in one

/** The answer of one member as text. */
interface MemberText {
  readonly kernel: string
  readonly ok: boolean
  readonly text: string
}

/**
 * The answers of all, what differs first: whoever failed, then the lines that not all of the others have, by member, below
 * those that they stand under; and at the end, once, what is the same in all.
 */
export function showMembers(members: readonly MemberText[]): string {
  const failed = members.filter(({ ok }) => !ok)
  const answered = members.filter(({ ok }) => ok)
  const all = answered.map(({ kernel, text }) => ({ kernel, lines: placed(text) }))
  const shared = all.length > 1 ? sharedOf(all.map(({ lines }) => lines)) : new Map<string, number>()
  const differing = all.map(({ kernel, lines }) => section(kernel, ownLines(lines, shared)))
  const which = failed.length === 0 ? `all ${answered.length}` : `the ${answered.length} that answered`
  const same = sharedLines(all[0]?.lines ?? [], shared)
  const names = answered.map(({ kernel }) => oneLine(kernel)).join(', ')
  const differ = differing.some(({ length }) => length > 1)
  return [
    ...failed.map(({ kernel, text }) => section(kernel, text.split('\n')).join('\n')),
    ...(differ ? differing.map(lines => lines.join('\n')) : []),
    ...(same.length === 0
      ? []
      : [[`the same in ${which}${differ ? '' : ` (${names})`}:`, ...same.map(indent)].join('\n')]),
  ].join('\n')
}

/** `web:` and its lines set in; where there are none, it says only what all do. */
const section = (kernel: string, lines: readonly string[]): string[] =>
  lines.length === 0
    ? [`${oneLine(kernel)}: only what is the same in all`]
    : [`${oneLine(kernel)}:`, ...lines.map(indent)]

/** A line, and where it stands: two lines are the same where they, and those that they are set in below, are. */
interface PlacedLine {
  readonly line: string
  readonly above: readonly PlacedLine[]
  readonly key: string
}

function placed(text: string): readonly PlacedLine[] {
  const above: PlacedLine[] = []
  return text.split('\n').map(line => {
    const depth = depthOf(line)
    while (line !== '' && above.length > 0 && depthOf(above.at(-1)?.line ?? '') >= depth) above.pop()
    const placed = { line, above: [...above], key: `${above.at(-1)?.key ?? ''}\n${line}` }
    if (line !== '') above.push(placed)
    return placed
  })
}

const depthOf = (line: string): number => line.length - line.trimStart().length

/** How often each line stands in all of them. */
function sharedOf([first = [], ...others]: readonly (readonly PlacedLine[])[]): ReadonlyMap<string, number> {
  const counts = others.map(countsOf)
  return new Map(
    [...countsOf(first)].map(([key, count]) => [
      key,
      Math.min(count, ...counts.map(other => other.get(key) ?? 0)),
    ]),
  )
}

function countsOf(lines: readonly PlacedLine[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { key } of lines) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** Whether each of the lines is one of those that all have; of the same line, the first ones are. */
function* sorted(lines: readonly PlacedLine[], shared: ReadonlyMap<string, number>) {
  const left = new Map(shared)
  for (const placed of lines) {
    const count = left.get(placed.key) ?? 0
    left.set(placed.key, count - 1)
    yield { placed, isShared: count > 0 }
  }
}

function ownLines(lines: readonly PlacedLine[], shared: ReadonlyMap<string, number>): string[] {
  const shown = new Set<PlacedLine>()
  for (const { placed, isShared } of sorted(lines, shared)) {
    if (isShared || placed.line === '') continue
    for (const above of placed.above) shown.add(above)
    shown.add(placed)
  }
  return [...shown].map(({ line }) => line)
}

/** Gaps stay where something stands on both sides of them. */
function sharedLines(lines: readonly PlacedLine[], shared: ReadonlyMap<string, number>): string[] {
  const kept = [...sorted(lines, shared)].filter(({ isShared }) => isShared).map(({ placed }) => placed.line)
  const text = kept
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\n+$/g, '')
  return text === '' ? [] : text.split('\n')
}
