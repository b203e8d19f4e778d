import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type { FileChange, PlanContext, Planned, SeenFile } from './contract.ts'
import { defineTool } from './define.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import { type Failed, failed } from './outcome.ts'
import { CHANGES_ONE_FILE, PATH } from './parameters.ts'
import { nothingThere } from './rewrite.ts'
import { counted, oneLine } from './text.ts'
import { contentWord, folderNamed, madeFolders, onlyLink, renameText, somethingThere } from './write.ts'

/** What `move_file` answers with. */
const moveResult = z.object({
  /** Both from the project's root. */
  source: z.string(),
  destination: z.string(),
  bytes: z.number(),
  sha256: z.string().nullable(),
  /** The name for `undo_change`. */
  undo: z.string(),
  /** What was done besides, as sentences: the folders that were made. */
  notes: z.array(z.string()),
})
type MoveResult = Of<typeof moveResult>

export const moveFile = defineTool({
  name: 'move_file',
  description:
    'Give a file of the project another path, text or not. The folders that it needs are made, and nothing ' +
    'is overwritten. Folders and links are not moved, and what names the old path is not changed. A person ' +
    'is asked first; a refusal means stop, and not to try another way. undo_change moves it back.',
  parameters: {
    source: PATH.describe('The file; a relative path is one from the root of the project.'),
    destination: PATH.describe('Its new path, name included; nothing may be there.'),
  },
  parameterAliases: { from: 'source', to: 'destination', path: 'source', new_path: 'destination' },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['source', 'destination'],
  result: moveResult,
  examples: [
    { args: { source: 'shop/util.py', destination: 'shop/prices.py' }, shows: 'another name' },
    { args: { source: 'winter.csv', destination: 'data/rates/winter.csv' }, shows: 'a new folder' },
  ],

  preview: ({ source, destination }) => ({
    title: `Move ${oneLine(source)} to ${oneLine(destination)}`,
    body: `${source}\n${destination}`,
  }),

  async plan(args, context) {
    const work = await moveWork(args, context)
    return work.type === 'move' ? moveProposal(work) : work
  },

  show: showMoved,
})

interface Arguments {
  readonly source: string
  readonly destination: string
}

/** One file under another path: worked out, and still where it was. */
interface Move {
  readonly type: 'move'
  readonly file: SeenFile
  readonly to: SeenFile
  readonly changes: readonly FileChange[]
  readonly notes: readonly string[]
}

async function moveWork({ source, destination }: Arguments, { files }: PlanContext): Promise<Move | Failed> {
  const folder = folderNamed(destination)
  if (folder !== undefined) return folder
  const file = await files.look(source)
  if (file.type === 'failed') return file
  const link = onlyLink(source, file)
  if (link !== undefined) return link
  if (!file.exists) return nothingThere(file)
  const to = await files.lookForNew(destination)
  if (to.type === 'failed') return looksLike(to)
  const there =
    sameFile(file, to) ?? somethingThere(to, 'Use another path: nothing is overwritten by a move.')
  if (there !== undefined) return there
  return { type: 'move', file, to, changes: files.moved(file, to), notes: madeFolders(to.newFolders) }
}

/** Where the disk takes two spellings of a name for one, or the file has the other name too. */
function sameFile(file: SeenFile, to: SeenFile): Failed | undefined {
  if (file.path === to.path)
    return failed('invalid_args', {
      message: `${oneLine(file.shown)} is source and destination, so that there is nothing to move.`,
      details: { parameter: 'destination' },
      next: 'Give in destination the path that it is to have.',
    })
  if (to.evidence.hash !== file.evidence.hash) return undefined
  const [from, name] = [oneLine(file.shown), oneLine(to.shown)]
  return failed('already_exists', {
    message: `${name} is another name of the same file as ${from}. Nothing was changed.`,
    details: { path: to.shown },
    next: THIRD_NAME,
  })
}

const THIRD_NAME =
  'To change only the case or the spelling of a name, move the file to a third name, and from there to this one.'

function looksLike(refusal: Failed): Failed {
  const { error } = refusal
  if (error.details.reason !== 'looks_like') return refusal
  return { ...refusal, error: { ...error, next: THIRD_NAME } }
}

function moveProposal({ file, to, changes, notes }: Move): Planned<MoveResult> {
  const [from, name] = [oneLine(file.shown), oneLine(to.shown)]
  const lead = [
    `Moves ${from} to ${name}, where nothing is: ${contentWord(file)}.`,
    'Its content, mode and owner stay.',
    ...file.remarks,
    ...to.remarks,
    ...notes,
  ]
  const renamed = renameText({ from: file.shown, to: to.shown })
  return {
    type: 'proposal',
    preview: { title: `Move ${from} to ${name}`, body: `${lead.join('\n')}\n\n${renamed}` },
    evidence: [file.evidence, to.evidence],
    changes,
    result: ({ undo }) => ({
      source: file.shown,
      destination: to.shown,
      bytes: file.bytes,
      sha256: file.sha256,
      undo,
      notes,
    }),
  }
}

function showMoved({ source, destination, undo, notes }: MoveResult): string {
  const moved = `moved ${oneLine(source)} to ${oneLine(destination)}`
  return [moved, ...notes, `to move it back: undo_change ${undo}`].join('\n')
}

/** What `delete_file` answers with. */
const deleteResult = z.object({
  /** From the project's root. */
  path: z.string(),
  /** Of what it held. */
  bytes: z.number(),
  sha256: z.string().nullable(),
  /** The name for `undo_change`. */
  undo: z.string(),
})
type DeleteResult = Of<typeof deleteResult>

export const deleteFile = defineTool({
  name: 'delete_file',
  description:
    'Take a file of the project away, text or not; folders and links stay. A person is shown its text, or ' +
    'its size and hash where it is no text, and asked first; a refusal means stop, and not to try another ' +
    'way. undo_change brings it back.',
  parameters: { path: PATH },
  ...CHANGES_ONE_FILE,
  result: deleteResult,
  examples: [{ args: { path: 'shop/old_orders.py' }, shows: 'a file that nothing needs any more' }],

  preview: ({ path }) => ({ title: `Delete ${oneLine(path)}`, body: path }),

  async plan(args, context) {
    const work = await deleteWork(args, context)
    return work.type === 'deletion' ? deleteProposal(work) : work
  },

  show: showDeleted,
})

/** One file taken away: worked out, and still there. */
interface Deletion {
  readonly type: 'deletion'
  readonly file: SeenFile
  readonly change: FileChange
  /** Null for what is no text. */
  readonly diff: FileDiff | null
}

async function deleteWork({ path }: { path: string }, { files }: PlanContext): Promise<Deletion | Failed> {
  const file = await files.look(path)
  if (file.type === 'failed') return file
  const link = onlyLink(path, file)
  if (link !== undefined) return link
  if (!file.exists) return nothingThere(file)
  const diff = file.text === null ? null : unifiedDiff({ path: file.shown, before: file.text, after: null })
  return { type: 'deletion', file, change: files.removed(file), diff }
}

function deleteProposal({ file, change, diff }: Deletion): Planned<DeleteResult> {
  const shown = oneLine(file.shown)
  const lines = diff === null ? '' : `${counted(diff.removed, 'line')}, `
  const lead = [
    `Takes ${shown} away: ${lines}${contentWord(file)}.`,
    'What it holds is kept, to be brought back.',
    ...file.remarks,
  ]
  const shownWhole = diff === null || diff.text === '' ? '' : `\n\n${diff.text}`
  return {
    type: 'proposal',
    preview: { title: `Delete ${shown}`, body: `${lead.join('\n')}${shownWhole}` },
    evidence: [file.evidence],
    changes: [change],
    result: ({ undo }) => ({ path: file.shown, bytes: file.bytes, sha256: file.sha256, undo }),
  }
}

function showDeleted({ path, bytes, undo }: DeleteResult): string {
  return `deleted ${oneLine(path)}, which had ${counted(bytes, 'byte')}\nto have it back: undo_change ${undo}`
}
