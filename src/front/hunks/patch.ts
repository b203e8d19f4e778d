import { editsBetween } from '../../../tools/diff.ts'
import type { ShownHunk } from '../../core/approvals.ts'
import { patchHead, patchLines, type RawHunk, rawOf } from './raw.ts'
import { surroundings } from './surroundings.ts'

/** What came of a patch that a person edited. */
export type Patched =
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
export function fromPatch(hunk: ShownHunk, text: string): Patched {
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

const ended = (line: string) => (line.endsWith('\n') ? line : `${line}\n`)

const bad = (why: string): Patched => ({ type: 'bad', why })

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
