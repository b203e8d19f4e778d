import type { PlanContext } from './define.ts'
import { halfCharacter } from './file-arguments.ts'
import { type Edit, hunksFrom, widened } from './hunks.ts'
import { counted } from './naming.ts'
import { notThere } from './nearly.ts'
import { newlineWord, spelled } from './newlines.ts'
import { lineNumbers, occurrences } from './occurrences.ts'
import { type Failed, failed } from './outcome.ts'
import { miscounted, nothingToChange, type Replacing, textFault } from './placing.ts'
import type { SeenFile } from './proposal.ts'
import { isText, nothingThere, notText, type Rewrite, rewritten } from './rewrite.ts'
import { oneLine } from './wording.ts'

/** One edit of a file, as it was asked for. */
export interface Asked extends Replacing {
  readonly path: string
  readonly why?: string | undefined
}

/** All files rewritten, each with the hunks that it has, and nothing of it written. */
export interface Drafted {
  readonly type: 'drafted'
  readonly rewrites: readonly Rewrite[]
}

/** One of them with its number, and the file that it is about. */
interface Numbered extends Asked {
  readonly number: number
}

interface OfOneFile {
  readonly file: SeenFile
  readonly edits: Numbered[]
}

/**
 * Works the edits of one call out, file by file, each file in the order in which it is first named. All are placed in
 * the files as they are now, so that none depends on another. A failure names its hunk, or the hunks that do not go
 * together.
 */
export async function drafted(asked: readonly Asked[], context: PlanContext): Promise<Drafted | Failed> {
  const byFile = await filed(asked, context)
  if ('type' in byFile) return byFile
  const rewrites: Rewrite[] = []
  for (const one of byFile) {
    const rewrite = draft(one, context)
    if (rewrite.type === 'failed') return rewrite
    rewrites.push(rewrite)
  }
  return { type: 'drafted', rewrites }
}

/** The edits of each file, whatever name of it they use; a file is looked at once for each of its names. */
async function filed(asked: readonly Asked[], { files }: PlanContext): Promise<OfOneFile[] | Failed> {
  const looked = new Map<string, SeenFile | Failed>()
  const byPath = new Map<string, OfOneFile>()
  for (const [index, one] of asked.entries()) {
    const number = index + 1
    const file = looked.get(one.path) ?? (await files.look(one.path))
    looked.set(one.path, file)
    if (file.type === 'failed') return ofHunk(number, file)
    const same = byPath.get(file.path) ?? { file, edits: [] }
    same.edits.push({ ...one, number })
    byPath.set(file.path, same)
  }
  return [...byPath.values()]
}

function draft(one: OfOneFile, { files }: PlanContext): Rewrite | Failed {
  const { file } = one
  if (file.exists && !isText(file)) return ofHunk(one.edits[0]?.number ?? 1, notText(file))
  const text = file.text ?? ''
  const edits: Edit[] = []
  for (const asked of one.edits) {
    const edit = placed({ file, text, asked })
    if ('type' in edit) return ofHunk(asked.number, edit)
    edits.push(edit)
  }
  const source = { ...file, text }
  const lines = widened(text, edits)
  const clash = clashing({ file, text, edits }) ?? sharing(file, lines)
  if (clash !== undefined) return clash
  const hunks = hunksFrom(source, lines)
  const respelled = edits.some(({ number, text: put }) => put !== askedAs(one, number)?.new_str)
  const rewrite = rewritten({
    file,
    files,
    hunks,
    text: replaced(text, edits),
    notes: respelled
      ? [
          `The line ends of new_str were written as ${newlineWord(file.newline)}, as ${oneLine(file.shown)} has them.`,
        ]
      : [],
    does: file.exists
      ? `Changes ${counted(hunks.length, 'place')} in ${oneLine(file.shown)}`
      : `Makes the new file ${oneLine(file.shown)}`,
    title: '',
  })
  return rewrite.type === 'ok'
    ? cancelled(
        file,
        hunks.map(({ number }) => number),
      )
    : rewrite
}

const askedAs = ({ edits }: OfOneFile, number: number) => edits.find(one => one.number === number)

/** Where in the file as it is now it goes, and what. */
function placed(o: {
  readonly file: SeenFile
  readonly text: string
  readonly asked: Numbered
}): Edit | Failed {
  const { file, text, asked } = o
  const { number, old_str, new_str, why = null } = asked
  const told = { number, why: why === '' ? null : why }
  if (old_str === '') {
    if (file.exists && text !== '') return emptyOld(file)
    const half = halfCharacter('new_str', new_str)
    if (half !== undefined) return half
    return file.exists && new_str === '' ? nothingToChange() : { ...told, from: 0, to: 0, text: new_str }
  }
  const fault = textFault(asked)
  if (fault !== undefined) return fault
  if (!file.exists) return nothingThere(file)
  const [wanted, put] = [spelled(old_str, file.newline), spelled(new_str, file.newline)]
  if (wanted === put) return nothingToChange()
  const places = occurrences(text, wanted)
  const shown = oneLine(file.shown)
  const [from] = places
  if (from === undefined) return notThere({ path: shown, text, wanted: old_str, name: 'old_str' })
  const { length } = wanted
  const wrong = miscounted({ text, places, length, count: 1, shown, counts: false })
  return wrong ?? { ...told, from, to: from + length, text: put }
}

function emptyOld({ shown }: SeenFile): Failed {
  return failed('invalid_args', {
    message: `old_str is empty, which makes a new file, and ${oneLine(shown)} is there already. Nothing was changed.`,
    details: { parameter: 'old_str' },
    next: 'Give the text to replace. To write all of a file, use write_file.',
  })
}

interface Placed {
  readonly file: SeenFile
  readonly text: string
  readonly edits: readonly Edit[]
}

/** Two edits that want the same text, or a part of it. */
function clashing({ file, text, edits }: Placed): Failed | undefined {
  const ordered = [...edits].sort((one, other) => one.from - other.from || one.to - other.to)
  for (const [index, { number, from, to }] of ordered.entries()) {
    const next = ordered[index + 1]
    if (next === undefined || (next.from >= to && !(next.from === from && next.to === to))) continue
    const [line = 1] = lineNumbers(text, [next.from])
    const numbers = [number, next.number]
    if (next.from === from && next.to === to)
      return together({
        file,
        numbers,
        line,
        why: file.exists ? `both replace the same text, at line ${line}` : 'both make it',
        next: 'Make them one edit, or leave one of them out.',
      })
    const why = `overlap, at line ${line}: the old_str of one holds text of the other`
    return together({ file, numbers, line, why, next: 'Make them one edit.' })
  }
  return undefined
}

/** Two that stand in one line: a person could not take one and leave the other by whole lines. */
function sharing(file: SeenFile, lines: ReturnType<typeof widened>): Failed | undefined {
  for (const [index, { number, at, removed }] of lines.entries()) {
    const next = lines[index + 1]
    if (next === undefined || next.at >= at + removed) continue
    const line = next.at + 1
    const why = `both touch line ${line}`
    return together({ file, numbers: [number, next.number], line, why, next: 'Make them one edit.' })
  }
  return undefined
}

/** They take each other back. */
function cancelled(file: SeenFile, numbers: readonly number[]): Failed {
  return together({ file, numbers, line: null, why: 'together leave it as it is', next: 'Leave them out.' })
}

function together(o: {
  readonly file: SeenFile
  readonly numbers: readonly number[]
  readonly line: number | null
  readonly why: string
  readonly next: string
}): Failed {
  const { file, line, why, next } = o
  const numbers = [...o.numbers].sort((one, other) => one - other)
  const named = `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
  return failed('invalid_args', {
    message: `Hunks ${named} of ${oneLine(file.shown)} ${why}. Nothing was changed.`,
    details: { parameter: 'edits', hunks: numbers, path: file.shown, ...(line !== null && { line }) },
    next,
  })
}

/** The same failure, of that hunk. */
function ofHunk(number: number, { error }: Failed): Failed {
  const message = `Hunk ${number}: ${error.message}`
  return { type: 'failed', error: { ...error, message, details: { ...error.details, hunk: number } } }
}

/** Everything outside the places stays as it is, to the last character. */
function replaced(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let at = 0
  for (const { from, to, text: put } of [...edits].sort((one, other) => one.from - other.from)) {
    parts.push(text.slice(at, from), put)
    at = to
  }
  return parts.join('') + text.slice(at)
}
