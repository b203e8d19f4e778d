import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type { CommittedFile, FileChange, PlanContext, Planned, SeenFile } from './contract.ts'
import { defineTool } from './define.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import type { Failed } from './outcome.ts'
import { countLines, remarksOn } from './rewrite.ts'
import { counted, oneLine } from './text.ts'
import { contentWord, goneFolders, madeFolders, renameText } from './write.ts'

const undoneFile = z.object({
  /** From the project's root. */
  path: z.string(),
  /** Gone where the change had made the file. */
  state: z.enum(['changed', 'made again', 'gone']),
  bytes: z.number(),
  /** Null for what is no text, before or after. */
  lines_added: z.number().nullable(),
  lines_removed: z.number().nullable(),
  /** Null for a file that is gone. */
  sha256: z.string().nullable(),
})
type UndoneFile = Of<typeof undoneFile>

/** What `undo_change` answers with. */
const undoResult = z.object({
  /** The change that was taken back. */
  undone: z.string(),
  files: z.array(undoneFile),
  /** The name of this change, which can be taken back too. */
  undo: z.string(),
})
type UndoResult = Of<typeof undoResult>

export const undoChange = defineTool({
  name: 'undo_change',
  description:
    'Take back a change of files that a tool has made, undo_change included: its files get the content they ' +
    'had before, a file that it made goes away, one that it deleted or moved comes back. Refused with ' +
    'stale_plan where a file has changed since. A person is shown the difference and asked first; a refusal ' +
    'means stop, and not to try another way.',
  parameters: {
    change: z.string().min(1).max(128).describe('The name of the change: `undo` in the answer that made it.'),
  },
  parameterAliases: { undo: 'change', name: 'change' },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  result: undoResult,
  examples: [{ args: { change: 'plan-kvqxmtrw' }, shows: 'taking back one change' }],

  preview: ({ change }) => ({ title: `Take back the change ${oneLine(change)}`, body: change }),

  async plan({ change }, context) {
    const work = await worked(change, context)
    return work.type === 'reverses' ? proposed(change, work.all) : work
  },

  show: showUndoing,
})

/** One file of the change, worked out and not yet written. */
interface Reverse {
  readonly type: 'reverse'
  readonly file: SeenFile
  readonly change: FileChange
  /** What it will hold; null where it goes. */
  readonly then: Content | null
  /** Null where it is no text, before or after. */
  readonly diff: FileDiff | null
  /** What changes and no diff shows. */
  readonly unseen: readonly string[]
}

type Content = Pick<SeenFile, 'text' | 'encoding' | 'sha256' | 'bytes'>

async function worked(
  name: string,
  { files }: PlanContext,
): Promise<Failed | { readonly type: 'reverses'; readonly all: readonly Reverse[] }> {
  const undone = await files.undone(name)
  if (undone.type === 'failed') return undone
  const seen = new Map(undone.files.map(file => [file.path, file]))
  const all: Reverse[] = []
  for (const change of undone.changes) {
    const file = seen.get(change.path)
    if (file === undefined) throw new Error('a change to take back has a file that was not looked at')
    all.push(reverseOf({ file, change }, files))
  }
  return { type: 'reverses', all }
}

function reverseOf({ file, change }: Pick<Reverse, 'file' | 'change'>, files: PlanContext['files']): Reverse {
  const { after } = change
  const then = after === null ? null : { ...files.decoded(after), bytes: after.length }
  const spelt = then !== null && file.exists && then.encoding !== file.encoding
  const unseen = spelt ? [`it is ${file.encoding} now, and will be ${then.encoding}`] : []
  return { type: 'reverse', file, change, then, diff: diffOf({ file, change, then }), unseen }
}

function diffOf({ file, change, then }: Pick<Reverse, 'file' | 'change' | 'then'>): FileDiff | null {
  if (file.text === null || then?.text === null) return null
  const before = file.exists ? file.text : null
  const executable = ((change.identity?.mode ?? 0) & 0o111) !== 0
  return unifiedDiff({ path: file.shown, before, after: then?.text ?? null, executable })
}

function proposed(name: string, all: readonly Reverse[]): Planned<UndoResult> {
  const back = movesBack(all)
  const [appears, goes] = back ?? []
  const others = all.filter(each => each !== appears && each !== goes)
  const lead = [
    `Takes back the change ${oneLine(name)}.`,
    ...(back === undefined ? [] : moveLines(back)),
    ...others.flatMap(lines),
  ]
  const diffs = [
    ...(back === undefined ? [] : [renameText({ from: back[1].file.shown, to: back[0].file.shown })]),
    ...others.flatMap(({ diff }) => diff?.text ?? []),
  ]
  return {
    type: 'proposal',
    preview: {
      title: `Take back the change ${oneLine(name)}`,
      body: [lead.join('\n'), diffs.join('')].filter(part => part !== '').join('\n\n'),
    },
    evidence: all.map(({ file }) => file.evidence),
    changes: all.map(({ change }) => change),
    undoes: name,
    result: ({ files, undo }) => ({
      undone: name,
      files: all.map((reverse, index) => reversed(reverse, files[index])),
      undo,
    }),
  }
}

/** Where a file was only moved, it is shown as a move; undefined where it was not. */
function movesBack(all: readonly Reverse[]): readonly [appears: Reverse, goes: Reverse] | undefined {
  const [one, other] = all
  if (one === undefined || other === undefined || all.length !== 2) return undefined
  const [appears, goes] = one.then === null ? [other, one] : [one, other]
  const isMove = !appears.file.exists && goes.then === null && appears.then?.sha256 === goes.file.sha256
  return isMove ? [appears, goes] : undefined
}

function moveLines([appears, goes]: readonly [Reverse, Reverse]): string[] {
  const [from, to] = [oneLine(goes.file.shown), oneLine(appears.file.shown)]
  return [
    `${from} moves back to ${to}, where nothing is: ${contentWord(goes.file)}.`,
    ...goes.file.remarks,
    ...appears.file.remarks,
    ...folderLines(appears),
    ...folderLines(goes),
  ]
}

function lines(reverse: Reverse): string[] {
  const { file, change, then, diff, unseen } = reverse
  const { shown } = file
  const what = { changed: 'gets back its content', 'made again': 'is made again', gone: 'goes away' }
  const sentence = `${oneLine(shown)} ${what[stateOf(change)]}: ${diff === null ? sizes(reverse) : countLines(diff)}.`
  const remarks = then?.text == null || diff === null ? file.remarks : remarksOn(file, then.text)
  return [sentence, ...unseen, ...remarks, ...folderLines(reverse)]
}

/** What can be said of a content that nobody can read. */
function sizes({ file, then }: Reverse): string {
  const now = file.exists ? `it holds ${contentWord(file)}` : null
  const after = then === null ? null : `${now === null ? 'it' : 'and'} will hold ${contentWord(then)}`
  return [now, after].filter(part => part !== null).join(', ')
}

function folderLines({ file, change, then }: Reverse): string[] {
  return then === null ? goneFolders(file.shown, change.identity?.folders) : madeFolders(file.newFolders)
}

function stateOf({ before, after }: FileChange): UndoneFile['state'] {
  if (after === null) return 'gone'
  return before === null ? 'made again' : 'changed'
}

function reversed({ file, change, diff }: Reverse, committed: CommittedFile | undefined): UndoneFile {
  return {
    path: file.shown,
    state: stateOf(change),
    bytes: change.after?.length ?? 0,
    lines_added: diff?.added ?? null,
    lines_removed: diff?.removed ?? null,
    sha256: committed?.sha256 ?? null,
  }
}

function showUndoing({ undone, files, undo }: UndoResult): string {
  const each = files.map(({ path, state, bytes, lines_added: added, lines_removed: removed }) => {
    const isText = added !== null && removed !== null
    const what = isText ? countLines({ added, removed }) : `it has ${counted(bytes, 'byte')}`
    return `${oneLine(path)} ${state}${state === 'gone' ? '' : `: ${what}`}`
  })
  return [`took back ${oneLine(undone)}`, ...each, `to have it again: undo_change ${undo}`].join('\n')
}
