import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type { Choice, Hunk, SeenFile } from './contract.ts'
import { type FileDiff, hunkText } from './diff.ts'
import { linesOf, type Newline, newlineOf, spelled, unspelled } from './newlines.ts'
import { indent, oneLine } from './text.ts'

/** What of a file its hunks are made from. */
export type HunkFile = Pick<SeenFile, 'path' | 'shown' | 'newline'> & { readonly text: string }

/** A place in a text, in UTF-16 units, and what is to stand there. */
export interface Edit {
  /** The number of its hunk, from 1. */
  readonly number: number
  readonly from: number
  readonly to: number
  readonly text: string
  readonly why: string | null
}

/** An edit that was widened to the whole lines that it touches: `removed` lines after the first `at` of the file. */
interface LineEdit extends Pick<Edit, 'number' | 'why'> {
  readonly at: number
  readonly removed: number
  readonly put: readonly string[]
}

/**
 * These edits, each as the whole lines that it touches, in the order of the file. Two may touch one line here: whoever
 * makes hunks of them looks for that first. Between a line that is left and what comes after it stands a line end.
 */
export function widened(text: string, edits: readonly Edit[]): LineEdit[] {
  const ordered = [...edits].sort((one, other) => one.from - other.from || one.to - other.to)
  const lineAt = lineCounter(text)
  return ordered.map(({ number, why, from, to, text: put }) => {
    const start = from === 0 ? 0 : text.lastIndexOf('\n', from - 1) + 1
    const head = text.slice(start, from) + put
    const open = head !== '' && !head.endsWith('\n')
    const inside = to > start && text[to - 1] !== '\n'
    const end = open || inside ? endOfLine(text, to) : to
    const lines = {
      removed: linesOf(text.slice(start, end)).length,
      put: linesOf(head + text.slice(to, end)),
    }
    return { number, why, at: lineAt(start), ...lines }
  })
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at === -1 ? text.length : at + 1
}

/** How many lines begin before a place; the places rise. */
function lineCounter(text: string): (place: number) => number {
  let count = 0
  let next = text.indexOf('\n')
  return place => {
    for (; next !== -1 && next < place; next = text.indexOf('\n', next + 1)) count++
    return count
  }
}

/** Hunks of these lines: what each leaves as it is at its beginning and its end is no part of it. */
export function hunksFrom(file: HunkFile, changes: readonly LineEdit[]): Hunk[] {
  const lines = linesOf(file.text)
  return changes.map(({ number, why, at, removed, put }) => {
    const old = lines.slice(at, at + removed)
    const shorter = Math.min(old.length, put.length)
    let head = 0
    while (head < shorter && old[head] === put[head]) head++
    let tail = 0
    while (tail < shorter - head && old[old.length - 1 - tail] === put[put.length - 1 - tail]) tail++
    const stretch = {
      lines,
      at: at + head,
      removed: removed - head - tail,
      put: put.slice(head, put.length - tail),
    }
    return {
      number,
      path: file.path,
      shown: file.shown,
      line: stretch.at + 1,
      before: old.slice(head, old.length - tail).join(''),
      after: stretch.put.join(''),
      newline: file.newline,
      isLast: stretch.at + stretch.removed >= lines.length,
      diff: hunkText(stretch),
      why,
    }
  })
}

/** More would be too many for a person to take one by one: a change of more parts is approved as a whole. */
export const MOST_HUNKS = 100

/** The hunks of a difference, numbered from 1. None where it has only one, or too many: then they are not worth it. */
export function hunksOfDiff(file: HunkFile, after: string, { groups }: FileDiff): Hunk[] {
  if (groups.length < 2 || groups.length > MOST_HUNKS) return []
  const lines = linesOf(after)
  const changes = groups.map((edits, index) => {
    const [first, last] = [edits[0], edits.at(-1)]
    const [at = 0, from = 0] = [first?.old, first?.new]
    const [end = 0, to = 0] = last === undefined ? [] : [last.old + last.removed, last.new + last.added]
    return { number: index + 1, why: null, at, removed: end - at, put: lines.slice(from, to) }
  })
  return hunksFrom(file, changes)
}

/**
 * The text with those of its hunks that are not refused; all of them where nothing was chosen. `hunks` are those of one
 * file, in its order. Everything outside them stays as it is, to the last character.
 */
export function applied(file: HunkFile, hunks: readonly Hunk[], choices: readonly Choice[]): string {
  const chosen = choicesByHunk(choices)
  const lines = linesOf(file.text)
  const parts: string[] = []
  let at = 0
  for (const hunk of hunks) {
    const end = hunk.line - 1 + linesOf(hunk.before).length
    const kept = lines.slice(at, hunk.line - 1).join('')
    parts.push(kept, standing(hunk, chosen.get(hunk.number)))
    at = end
  }
  return parts.join('') + lines.slice(at).join('')
}

function standing(hunk: Hunk, choice: Choice | undefined): string {
  if (choice === undefined) return hunk.after
  switch (choice.decision) {
    case 'accept':
      return hunk.after
    case 'refuse':
      return hunk.before
    case 'edit':
      return asInFile(hunk, choice.text)
    default:
      return choice satisfies never
  }
}

/**
 * A text that a person gave, to the last character as it stands in the file then: with the line ends of the file, or of
 * what was proposed where the file has none yet.
 */
export function asInFile(hunk: Hunk, text: string): string {
  const newline = newlineIn(hunk)
  const put = spelled(text, newline)
  // The next line of the file begins on a line of its own, whatever an editor left out.
  return put === '' || put.endsWith('\n') || hunk.isLast === true ? put : put + spelled('\n', newline)
}

const newlineIn = ({ newline = 'mixed', after }: Hunk): Newline =>
  newline === 'none' ? newlineOf(after) : newline

/** What became of a hunk, for whoever proposed it. */
export const fate = z.object({
  number: z.number(),
  /** From the project's root. */
  path: z.string(),
  /** Of the file as it was before; null where the caller may not be told of the file. */
  line: z.number().nullable(),
  /** `in part`: some of its lines as proposed, and the reason is why not the others. */
  outcome: z.enum(['applied', 'refused', 'edited', 'in part']),
  /** What the person said to it; null where they said nothing. */
  reason: z.string().nullable(),
  /** What was written instead of what was proposed, with LF for the line ends that the file has; of `edited` and `in part`. */
  text: z.string().exactOptional(),
})
export type Fate = Of<typeof fate>

/** In the order of their numbers. */
export function fatesOf(hunks: readonly Hunk[], choices: readonly Choice[]): Fate[] {
  const chosen = choicesByHunk(choices)
  return [...hunks]
    .sort((one, other) => one.number - other.number)
    .map(one => {
      const { number, shown: path, line, after } = one
      const choice = chosen.get(number)
      const hunk = { number, path, line }
      if (choice === undefined || choice.decision === 'accept')
        return { ...hunk, outcome: 'applied', reason: null }
      const { reason } = choice
      if (choice.decision === 'refuse') return { ...hunk, outcome: 'refused', reason }
      const { inPart = false } = choice
      const put = asInFile(one, choice.text)
      return put === after
        ? { ...hunk, outcome: 'applied', reason }
        : { ...hunk, outcome: inPart ? 'in part' : 'edited', reason, text: unspelled(put, newlineIn(one)) }
    })
}

const choicesByHunk = (choices: readonly Choice[]) => new Map(choices.map(choice => [choice.hunk, choice]))

/** `hunk 2 (src/shop.py:40) was refused: not in this release`, for each; of one that was edited, what was written. */
export function showFates(fates: readonly Fate[] = []): string[] {
  return fates.map(({ number, path, line, outcome, reason, text }) => {
    const said = reason === null ? '' : `: ${oneLine(reason)}`
    const place = line === null ? oneLine(path) : `${oneLine(path)}:${line}`
    const did = `hunk ${number} (${place}) was ${outcome === 'in part' ? 'applied in part' : outcome}${said}`
    if (text === undefined) return did
    return text === ''
      ? `${did}\nnothing was written there`
      : `${did}\nwhat was written there:\n${indent(text).trimEnd()}`
  })
}
