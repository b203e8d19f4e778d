import type { Choice } from '../../../tools/contract.ts'
import { type Edit, editsBetween } from '../../../tools/diff.ts'
import { linesOf, newlineOf, spelled, unspelled } from '../../../tools/newlines.ts'
import { oneLine } from '../../../tools/text.ts'
import type { ShownHunk } from '../../approvals/contract.ts'
import { escapePlan } from '../../text/escape.ts'

/** A hunk as text: as the patch that a person edits, and as the separate changes that it can be split into. */

/** What came of a patch that a person edited. */
type PatchResult =
  /** What is to stand there instead, spelt as the file spells it; for a `Choice`. Whole lines, or empty. */
  | { readonly type: 'text'; readonly text: string }
  /** Nothing of it was left: the hunk is as undecided as before. */
  | { readonly type: 'none' }
  /** `why` is a sentence for whoever edited it; nothing of the file stands in it. */
  | { readonly type: 'bad'; readonly why: string }

const HEAD = '# What is to be done to this part of the file; how, is said at the end.'

const GUIDE = `# ---
# To keep a line that begins with '-', make its '-' a ' '.
# To do without a line that begins with '+', delete it. New lines begin with '+'.
# Lines that begin with '#' are left out; those here show what stands around it.
# If all lines are deleted, or nothing is changed, the hunk is as undecided as before.`

/**
 * A hunk as `git add -p` gives one to an editor: its own lines as a patch, in UTF-8, with what stands around it and how
 * it is edited behind `#`. The lines are those of the file, and not marked: this is for an editor, not for a terminal.
 */
export function patchOf(hunk: ShownHunk): string {
  const { above, below } = surroundings(hunk)
  const { before, after } = rawOf(hunk)
  const counts = { line: hunk.line, newLine: hunk.line, before: before.length, after: after.length }
  const around = (lines: readonly string[]) => lines.map(line => `#    ${line}`)
  return [
    HEAD,
    `# ${hunk.shown}`,
    patchHead(counts),
    ...around(above),
    ...ownLines({ before, after }),
    ...around(below),
    GUIDE,
    '',
  ].join('\n')
}

/** A patch that puts these lines in place of those of the hunk. Where the file ended without a line end, it may still. */
export function patchOfLines({ before, after }: ShownHunk, text: string): string {
  const old = linesOf(unspelled(before, newlineOf(before + after))).map(line => `-${ended(line)}`)
  const put = linesOf(text).map(line => `+${ended(line)}`)
  const isOpen = text !== '' && ![text, after || before].some(one => one.endsWith('\n'))
  return [...old, ...put, ...(isOpen ? ['\\ No newline at end of file\n'] : [])].join('')
}

function ownLines({ before, after }: Pick<RawHunk, 'before' | 'after'>): string[] {
  const lines: string[] = []
  let at = 0
  const put = (mark: ' ' | '-' | '+', from: readonly string[]) => {
    for (const line of from) lines.push(...patchLines(mark, line))
  }
  for (const edit of editsBetween(before, after)) {
    put(' ', before.slice(at, edit.old))
    at = edit.old + edit.removed
    put('-', before.slice(edit.old, at))
    put('+', after.slice(edit.new, edit.new + edit.added))
  }
  put(' ', before.slice(at))
  return lines
}

/**
 * What a person made of that patch. As in git, its head counts for nothing, the lines with ' ' and '-' have to be those
 * that stand in the file, all of them, and those with ' ' and '+' are what is to stand there.
 */
export function fromPatch(hunk: ShownHunk, text: string): PatchResult {
  const { before, after, spell } = rawOf(hunk)
  const read = linesOfPatch(text)
  if (typeof read === 'string') return bad(read)
  if (read.every(({ bare }) => bare)) return { type: 'none' }
  const now: string[] = []
  let at = 0
  for (const { mark, line } of read) {
    const stands = before[at]
    if (mark !== '+' && (stands === undefined || ended(stands) !== ended(line))) return lost(hunk, at)
    if (mark === '+') now.push(line)
    else if (mark === ' ') now.push(stands ?? '')
    if (mark !== '+') at++
  }
  if (at < before.length) return lost(hunk, at)
  const joined = now.map((line, index) => (index < now.length - 1 ? ended(line) : line)).join('')
  if (joined === before.join(''))
    return bad('With this edit the file would stay as it is. To refuse the hunk, answer n.')
  const isLast = [before, after].some(side => side.length > 0 && !side.at(-1)?.endsWith('\n'))
  if (joined !== '' && !joined.endsWith('\n') && !isLast)
    return bad('The file goes on behind this hunk, so that its last line has to end.')
  return { type: 'text', text: spell(joined) }
}

/** What a draft begins with that could not be used. Lines that begin with `#` count for nothing in any draft. */
const REFUSED = '# This could not be used: '

/** What a person wrote, to be opened again: its first line says why it could not be used, as that of `git add -p` does. */
export function refusedDraft(text: string, why: string): string {
  const own = text.startsWith(REFUSED) ? text.slice(text.indexOf('\n') + 1 || text.length) : text
  return `${REFUSED}${oneLine(why)}\n${own}`
}

const ended = (line: string) => (line.endsWith('\n') ? line : `${line}\n`)

const bad = (why: string): PatchResult => ({ type: 'bad', why })

const lost = ({ shown, line }: ShownHunk, at: number) =>
  bad(
    `The lines with ' ' and '-' are not those of ${shown}, from line ${line + at} on. To keep a line, make its '-' a ' '; none of those may be deleted or changed.`,
  )

interface PatchLine {
  readonly mark: ' ' | '-' | '+'
  readonly line: string
  /** Nothing stands there, not even a mark: an editor may have taken away the blank of an empty line. */
  readonly bare: boolean
}

/** Without head and remarks. A sentence where it is no patch. */
function linesOfPatch(text: string): PatchLine[] | string {
  const read: PatchLine[] = []
  for (const [index, line] of text.replace(/\n$/, '').split('\n').entries()) {
    const mark = line === '' ? ' ' : line[0]
    if (mark === '#' || mark === '@') continue
    if (mark === '\\') {
      const last = read.pop()
      if (last !== undefined) read.push({ ...last, line: last.line.replace(/\n$/, '') })
    } else if (mark === ' ' || mark === '-' || mark === '+')
      read.push({ mark, line: `${line.slice(1)}\n`, bare: line === '' })
    else return `Line ${index + 1} of the patch begins with none of ' ', '-', '+', '#' and '@'.`
  }
  return read
}

/** One of the separate changes of a hunk. It can be shown and edited as a hunk is, and bears the number of its hunk. */
export interface Part extends ShownHunk {
  /** From 1, within its hunk. */
  readonly part: number
}

export type Decision =
  | { readonly type: 'accept' }
  | { readonly type: 'refuse'; readonly reason: string | null }
  /** `text` is to stand there instead, as `fromPatch` has it. */
  | { readonly type: 'edit'; readonly text: string }

/** What a person decided of a part. */
interface PartDecision {
  readonly part: Part
  readonly decision: Decision
}

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
  const taken = decisions.flatMap(({ part, decision }) =>
    decision.type === 'refuse' ? [] : [{ part, text: decision.type === 'edit' ? decision.text : part.after }],
  )
  const reason = reasonOf(decisions)
  if (taken.length === 0) return { hunk: hunk.number, decision: 'refuse', reason }
  const text = joined(hunk, taken)
  if (text === hunk.after) return { hunk: hunk.number, decision: 'accept' }
  const inPart = decisions.every(({ decision }) => decision.type !== 'edit')
  return { hunk: hunk.number, decision: 'edit', text, reason, ...(inPart && { inPart }) }
}

/** Why parts were refused, each by its lines where there is more than one. */
function reasonOf(decisions: readonly PartDecision[]): string | null {
  const given = decisions.flatMap(({ part: { line }, decision }) =>
    decision.type === 'refuse' && decision.reason !== null ? [{ line, reason: decision.reason }] : [],
  )
  const [first] = given
  if (first === undefined) return null
  if (given.every(({ reason }) => reason === first.reason)) return first.reason
  return given.map(({ line, reason }) => `At line ${line}: ${reason}`).join(' ')
}

/** A hunk as the lines that it is made of, each with the LF that ends it; the last of a file may have none. */
interface RawHunk {
  readonly before: readonly string[]
  readonly after: readonly string[]
  /** Text of these lines as the file spells it, and the other way round. */
  spell(text: string): string
  unspell(text: string): string
}

/** Where all of its lines end with CR LF, or all with CR, they end with LF here. Mixed line ends stay as they are. */
function rawOf({ before, after }: Pick<ShownHunk, 'before' | 'after'>): RawHunk {
  const newline = newlineOf(before + after)
  return {
    before: linesOf(unspelled(before, newline)),
    after: linesOf(unspelled(after, newline)),
    spell: text => spelled(text, newline),
    unspell: text => unspelled(text, newline),
  }
}

/** The lines of a patch that stand for this line of a file: one, or two where nothing ends it. */
function patchLines(mark: ' ' | '-' | '+', line: string): string[] {
  return line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file']
}

/** The head of a part of a patch. Lines are counted from 1, and nothing begins after the line before it, as in git. */
function patchHead(o: { line: number; before: number; newLine: number; after: number }): string {
  const range = (line: number, count: number) => `${count === 0 ? line - 1 : line},${count}`
  return `@@ -${range(o.line, o.before)} +${range(o.newLine, o.after)} @@`
}

/** What stands above and below a hunk in its file, as far as its diff shows it: lines with marks, without their ends. */
interface Surroundings {
  readonly above: readonly string[]
  readonly below: readonly string[]
}

/** The diff shows lines of the file before the first one that the hunk replaces, and behind the last. */
function surroundings({ diff, line, before }: ShownHunk): Surroundings {
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
