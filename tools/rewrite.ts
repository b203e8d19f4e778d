import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type {
  Choice,
  Committed,
  CommittedFile,
  FileChange,
  Hunk,
  Planned,
  ProjectFiles,
  Proposal,
  SeenFile,
  TextEncoding,
} from './contract.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import { applied, asInFile, fate, fatesOf, type HunkFile, hunksOfDiff, showFates } from './hunks.ts'
import { type Newline, newlineOf, newlineWord } from './newlines.ts'
import { type Failed, failed, type Ok, ok } from './outcome.ts'
import { halfCharacter } from './parameters.ts'
import { counted, oneLine } from './text.ts'

/** One file, as an answer tells of it. */
export const fileWritten = z.object({
  /** From the project's root. */
  path: z.string(),
  created: z.boolean(),
  bytes: z.number(),
  lines_added: z.number(),
  lines_removed: z.number(),
  /** Of the whole new content; null where nothing was written. */
  sha256: z.string().nullable(),
})

/** What `write_file` and `edit_file` answer with. */
export const written = z.object({
  ...fileWritten.shape,
  /** False where the file has that content already: then nothing was written, and nobody was asked. */
  changed: z.boolean(),
  /** The name for `undo_change`; null where nothing was written. */
  undo: z.string().nullable(),
  /** What was done besides, as sentences: line ends that were kept, and the like. */
  notes: z.array(z.string()),
  /** Where a person chose among the parts of the change: what became of each. */
  hunks: z.array(fate).exactOptional(),
})
export type Written = Of<typeof written>

/** One file with another content: worked out, shown, and not written. */
export interface Rewrite {
  readonly type: 'rewrite'
  readonly file: SeenFile
  readonly change: FileChange
  readonly diff: FileDiff
  /** The whole new text. */
  readonly text: string
  /** The parts of the change, in the order of the file; empty where it is taken or left as a whole. */
  readonly hunks: readonly Hunk[]
  /** Those through which the file was looked at. */
  readonly files: Pick<ProjectFiles, 'changed'>
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
  given: Omit<Rewrite, 'type' | 'change' | 'diff' | 'hunks'> & { readonly hunks?: readonly Hunk[] },
): Work {
  const { file, text, files } = given
  if (file.exists && file.text === text) return ok(unchanged(file))
  const change = files.changed(file, text)
  if ('error' in change) return change
  const before = file.exists ? file.text : null
  const diff = unifiedDiff({ path: file.shown, before, after: text })
  const hunks = given.hunks ?? hunksOfDiff({ ...file, text: before ?? '' }, text, diff)
  return { ...given, type: 'rewrite', change, diff, hunks }
}

/** As a plan: what happens in one sentence, then what a person should know, then the whole diff. */
export function proposed(work: Work): Planned<Written> {
  if (work.type !== 'rewrite') return work
  return proposalOf([work], {
    title: work.title,
    result({ rewrites: [done = work], choices, committed: { files, undo } }) {
      const hunks = choices.length === 0 ? {} : { hunks: fatesOf(work.hunks, choices) }
      return { ...writtenFile(done, files[0]), changed: true, undo, notes: work.notes, ...hunks }
    },
  })
}

/** One of the files that were written, for the answer. */
export function writtenFile(rewrite: Rewrite, committed: CommittedFile | undefined): Of<typeof fileWritten> {
  const { file, change, diff } = rewrite
  return {
    path: file.shown,
    created: !file.exists,
    bytes: change.after?.length ?? 0,
    lines_added: diff.added,
    lines_removed: diff.removed,
    sha256: committed?.sha256 ?? null,
  }
}

/** `edited src/shop.py: 2 lines added, 1 line removed`, and how it is taken back. */
export function showWritten(did: string, { path, changed, created, ...rest }: Written): string {
  const { bytes, undo, notes } = rest
  if (!changed) return `${oneLine(path)} has that content already; nothing was written`
  const what = created ? 'created' : did
  const lines = countLines({ added: rest.lines_added, removed: rest.lines_removed })
  const told = [`${what} ${oneLine(path)}: ${lines}; it has ${counted(bytes, 'byte')} now`, ...notes]
  return [...told, ...showFates(rest.hunks), `to take it back: undo_change ${undo}`].join('\n')
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

/**
 * These files rewritten, as one plan: of each what happens in one sentence and what a person should know, then all of
 * the diffs. Its hunks are those of all of them, file by file.
 */
export function proposalOf<Result>(rewrites: readonly Rewrite[], told: PlanWords<Result>): Proposal<Result> {
  const all = rewrites.flatMap(({ hunks }) => hunks)
  const proposal = whole({ ...told, rewrites, choices: [] })
  if (all.length === 0) return proposal
  return { ...proposal, hunks: { all, choose: choices => derived({ ...told, rewrites, choices, proposal }) } }
}

/** How a plan of rewritten files is called, and what its call is answered with. */
interface PlanWords<Result> {
  readonly title: string
  /** `rewrites`: as they were written, with these choices of a person; all that were proposed where there are none. */
  result(done: {
    readonly rewrites: readonly Rewrite[]
    readonly choices: readonly Choice[]
    readonly committed: Committed
  }): Result
}

interface Whole<Result> extends PlanWords<Result> {
  readonly rewrites: readonly Rewrite[]
  readonly choices: readonly Choice[]
}

function whole<Result>({ rewrites, title, choices, result }: Whole<Result>): Proposal<Result> {
  const lead = rewrites.flatMap(told)
  const diffs = rewrites.map(({ diff }) => diff.text)
  return {
    type: 'proposal',
    preview: { title, body: `${lead.join('\n')}\n\n${diffs.join('')}` },
    evidence: rewrites.map(({ file }) => file.evidence),
    changes: rewrites.map(({ change }) => change),
    result: committed => result({ rewrites, choices, committed }),
  }
}

function told({ does, diff, file, text, notes, hunks }: Rewrite): string[] {
  const whys = hunks.flatMap(({ number, line, why }) =>
    why === null ? [] : [`Hunk ${number}, at line ${line}: ${oneLine(why)}`],
  )
  return [`${does}: ${countLines(diff)}.`, ...remarksOn(file, text), ...notes, ...whys]
}

interface ChosenParts<Result> extends Whole<Result> {
  readonly proposal: Proposal<Result>
}

/** The same evidence, that of files which are let be now included: what was shown was computed from all of it. */
function derived<Result>({ proposal, ...all }: ChosenParts<Result>): Proposal<Result> | Failed {
  const chosen = chosenOf(all.rewrites, all.choices)
  if ('type' in chosen) return chosen
  return { ...whole({ ...all, rewrites: chosen }), evidence: proposal.evidence }
}

/**
 * These files as they are to be with those choices, without those of which nothing is left. A failure names the hunk of
 * a text that cannot be written.
 */
function chosenOf(rewrites: readonly Rewrite[], choices: readonly Choice[]): readonly Rewrite[] | Failed {
  const taken = new Map(
    choices.flatMap(choice => (choice.decision === 'refuse' ? [] : [[choice.hunk, choice] as const])),
  )
  const chosen: Rewrite[] = []
  for (const rewrite of rewrites) {
    const left = rewrite.hunks.filter(({ number }) => taken.has(number))
    if (left.length === 0) continue
    const fault = left
      .map(hunk => faultOf({ rewrite, hunk, choice: taken.get(hunk.number) }))
      .find(one => one)
    if (fault !== undefined) return fault
    const changed = partly({ rewrite, choices, left: left.length })
    if (changed === undefined) continue
    if (changed.type === 'failed') return changed
    chosen.push(changed)
  }
  return chosen.length === 0 ? nothingLeft() : chosen
}

/** Undefined where these hunks together leave the file as it is. */
function partly(o: {
  readonly rewrite: Rewrite
  readonly choices: readonly Choice[]
  readonly left: number
}): Rewrite | Failed | undefined {
  const { rewrite, choices, left } = o
  const { file, hunks, files } = rewrite
  const text = applied(hunkedFile(rewrite), hunks, choices)
  if (file.exists && text === file.text) return undefined
  const change = files.changed(file, text)
  if ('error' in change) return change
  const before = file.exists ? file.text : null
  const diff = unifiedDiff({ path: file.shown, before, after: text })
  const does = `Applies ${left} of ${counted(hunks.length, 'hunk')} to ${oneLine(file.shown)}`
  return { ...rewrite, text, change, diff, does, hunks: [] }
}

const hunkedFile = ({ file }: Rewrite): HunkFile => ({ ...file, text: file.text ?? '' })

/** Why an edited text cannot be written there. */
function faultOf(o: {
  readonly rewrite: Rewrite
  readonly hunk: Hunk
  readonly choice: Choice | undefined
}): Failed | undefined {
  const { rewrite, hunk, choice } = o
  if (choice?.decision !== 'edit') return undefined
  const text = asInFile(hunk, choice.text)
  if (text === hunk.before && rewrite.file.exists) return edited(hunk, sameAsBefore())
  const half = halfCharacter('the text', text)
  if (half !== undefined) return edited(hunk, half)
  const alone = rewrite.files.changed(rewrite.file, text)
  return 'error' in alone ? edited(hunk, alone) : undefined
}

const sameAsBefore = (): Failed =>
  failed('invalid_args', {
    message: 'it is what stands there already. Refuse the hunk to leave that as it is.',
  })

function edited({ number, shown }: Hunk, { error }: Failed): Failed {
  const message = `The edited text of hunk ${number} (${oneLine(shown)}) cannot be used: ${error.message}`
  return { type: 'failed', error: { ...error, message, details: { ...error.details, hunk: number } } }
}

const nothingLeft = (): Failed =>
  failed('invalid_args', { message: 'With these choices together nothing would be changed.' })

// What is said of a file and its change beside the diff.

/** `2 lines added, 1 removed` */
export function countLines({ added, removed }: Pick<FileDiff, 'added' | 'removed'>): string {
  return `${counted(added, 'line')} added, ${removed} removed`
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
