import type { ToolContext } from './define.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import { counted } from './naming.ts'
import { type Newline, newlineOf, newlineWord } from './newlines.ts'
import { type Failed, failed, type Ok, type Outcome, ok } from './outcome.ts'
import type { FileChange, Planned, ProjectFiles, SeenFile, TextEncoding } from './proposal.ts'
import { oneLine } from './wording.ts'

/** What `write_file` and `edit_file` answer with. */
export interface Written {
  /** From the project's root. */
  readonly path: string
  /** False where the file has that content already: then nothing was written, and nobody was asked. */
  readonly changed: boolean
  readonly created: boolean
  readonly bytes: number
  readonly lines_added: number
  readonly lines_removed: number
  /** Of the whole new content, and the name for `undo_change`; null where nothing was written. */
  readonly sha256: string | null
  readonly undo: string | null
  /** What was done besides, as sentences: line ends that were kept, and the like. */
  readonly notes: readonly string[]
}

/** One file with another content: worked out, shown, and not written. */
export interface Rewrite {
  readonly type: 'rewrite'
  readonly file: SeenFile
  readonly change: FileChange
  readonly diff: FileDiff
  /** The whole new text. */
  readonly text: string
  /** What became of the text on its way into the file. */
  readonly notes: readonly string[]
  /** What happens, as the beginning of a sentence: `Replaces 1 place in src/shop.py`. */
  readonly does: string
  readonly title: string
}

/** A call worked out: a rewrite, or the answer where there is nothing to write. */
export type Work = Rewrite | Ok<Written> | Failed

/** The file with that text in place of all its own. Fails where its encoding cannot spell the text. */
export function rewritten(
  given: Omit<Rewrite, 'type' | 'change' | 'diff'> & { readonly files: ProjectFiles },
): Work {
  const { files, ...told } = given
  const { file, text } = given
  if (file.exists && file.text === text) return ok(unchanged(file))
  const change = files.changed(file, text)
  if ('error' in change) return change
  const before = file.exists ? file.text : null
  const diff = unifiedDiff({ path: file.shown, before, after: text })
  return { ...told, type: 'rewrite', change, diff }
}

/** As a plan: what happens in one sentence, then what a person should know, then the whole diff. */
export function proposed(work: Work): Planned {
  if (work.type !== 'rewrite') return work
  const { file, change, diff, title, text, notes } = work
  const lead = [sentence(work), ...remarksOn(file, text), ...notes]
  return {
    type: 'proposal',
    preview: { title, body: `${lead.join('\n')}\n\n${diff.text}` },
    evidence: [file.evidence],
    changes: [change],
  }
}

/** Carries out what was approved. `work` is the same call worked out again, for the figures of the answer. */
export async function written(
  work: Work,
  { commit }: Pick<ToolContext, 'commit'>,
): Promise<Outcome<Written>> {
  if (work.type !== 'rewrite') return work
  const committed = await commit()
  if (committed.type === 'failed') return committed
  const { file, change, diff, notes } = work
  return ok({
    path: file.shown,
    changed: true,
    created: !file.exists,
    bytes: change.after?.length ?? 0,
    lines_added: diff.added,
    lines_removed: diff.removed,
    sha256: committed.files[0]?.sha256 ?? null,
    undo: committed.undo,
    notes,
  })
}

/** `edited src/shop.py: 2 lines added, 1 line removed`, and how it is taken back. */
export function showWritten(did: string, { path, changed, created, ...rest }: Written): string {
  const { bytes, undo, notes } = rest
  if (!changed) return `${oneLine(path)} has that content already; nothing was written`
  const what = created ? 'created' : did
  const lines = countLines({ added: rest.lines_added, removed: rest.lines_removed })
  const told = [`${what} ${oneLine(path)}: ${lines}; it has ${counted(bytes, 'byte')} now`, ...notes]
  return [...told, `to take it back: undo_change ${undo}`].join('\n')
}

/** Whether it can be read and changed as text; `notText` says why not. */
export function isText(file: SeenFile): file is SeenFile & { readonly text: string } {
  return file.text !== null
}

export function notText({ shown, bytes }: SeenFile): Failed {
  return failed('not_text', {
    message: `${oneLine(shown)} is not text, but ${counted(bytes, 'byte')} of something else.`,
    details: { path: shown, bytes },
    next: 'These tools read and change text only; a person can open it with the program that it belongs to.',
  })
}

export function nothingThere({ shown }: SeenFile): Failed {
  return failed('not_found', {
    message: `There is no file ${oneLine(shown)}.`,
    details: { what: shown, nearest: [] },
    next: 'Check the path, which is taken from the root of the project. A new file is made with write_file.',
  })
}

/** `2 lines added, 1 removed` */
export function countLines({ added, removed }: Pick<FileDiff, 'added' | 'removed'>): string {
  return `${counted(added, 'line')} added, ${removed} removed`
}

function sentence({ does, diff }: Rewrite): string {
  return `${does}: ${countLines(diff)}.`
}

/** Null where an encoding is what everybody takes for granted. */
const ENCODINGS = {
  'utf-8': null,
  'utf-8-bom': 'UTF-8 with a byte order mark',
  'utf-16le': 'UTF-16 (little-endian)',
  'utf-16be': 'UTF-16 (big-endian)',
  'latin-1': 'Latin-1',
  binary: null,
} as const satisfies Record<TextEncoding, string | null>

export const encodingWord = (encoding: TextEncoding): string | null => ENCODINGS[encoding]

/** What a person should know of a file that is to have that text, as sentences. */
export function remarksOn(file: SeenFile, text: string): string[] {
  const encoding = encodingWord(file.encoding)
  const kept = encoding === null || !file.exists ? [] : [`The file is in ${encoding}, and stays so.`]
  const ends = newlineRemark({ before: file.newline, after: newlineOf(text) })
  return [...file.remarks, ...kept, ...ends]
}

function newlineRemark({ before, after }: { before: Newline; after: Newline }): string[] {
  if (before === after) {
    if (after === 'mixed')
      return ['Its lines end in different ways; those that the diff leaves alone stay so.']
    return after === 'none' || after === '\n'
      ? []
      : [`Its lines end with ${newlineWord(after)}, before and after.`]
  }
  if (before === 'none') return after === '\n' ? [] : [`Its lines will end with ${newlineWord(after)}.`]
  return after === 'none'
    ? []
    : [`Its line ends change: ${newlineWord(before)} before, ${newlineWord(after)} after.`]
}

function unchanged(file: SeenFile): Written {
  return {
    path: file.shown,
    changed: false,
    created: false,
    bytes: file.bytes,
    lines_added: 0,
    lines_removed: 0,
    sha256: null,
    undo: null,
    notes: [],
  }
}
