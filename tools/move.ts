import { defineTool, type PlanContext } from './define.ts'
import { PATH } from './file-arguments.ts'
import { type Failed, failed } from './outcome.ts'
import type { FileChange, Planned, SeenFile } from './proposal.ts'
import { nothingThere } from './rewrite.ts'
import { contentWord, folderNamed, madeFolders, onlyLink, renameText, somethingThere } from './whole-file.ts'
import { oneLine } from './wording.ts'

/** What `move_file` answers with. */
export interface Moved {
  /** Both from the project's root. */
  readonly source: string
  readonly destination: string
  readonly bytes: number
  readonly sha256: string | null
  /** The name for `undo_change`. */
  readonly undo: string
  /** What was done besides, as sentences: the folders that were made. */
  readonly notes: readonly string[]
}

export const moveFile = defineTool({
  name: 'move_file',
  description:
    'Give a file of the project another path, text or not: move it, or rename it. The folders that it needs are ' +
    'made. Nothing is ever overwritten: where something has the new path already, it is refused. Folders and links ' +
    'are not moved, and what refers to the file by its old path is not changed. A person is asked first; a refusal ' +
    'means stop, and not to try another way. The answer has a name with which undo_change moves it back.',
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
  examples: [
    { args: { source: 'shop/util.py', destination: 'shop/prices.py' }, shows: 'another name' },
    { args: { source: 'winter.csv', destination: 'data/rates/winter.csv' }, shows: 'a new folder' },
  ],

  preview: ({ source, destination }) => ({
    title: `Move ${oneLine(source)} to ${oneLine(destination)}`,
    body: `${source}\n${destination}`,
  }),

  async plan(args, context) {
    const work = await worked(args, context)
    return work.type === 'move' ? proposed(work) : work
  },

  show: result => showMoved(result as Moved),
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

async function worked({ source, destination }: Arguments, { files }: PlanContext): Promise<Move | Failed> {
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

function proposed({ file, to, changes, notes }: Move): Planned {
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
    result: ({ undo }): Moved => ({
      source: file.shown,
      destination: to.shown,
      bytes: file.bytes,
      sha256: file.sha256,
      undo,
      notes,
    }),
  }
}

function showMoved({ source, destination, undo, notes }: Moved): string {
  const moved = `moved ${oneLine(source)} to ${oneLine(destination)}`
  return [moved, ...notes, `to move it back: undo_change ${undo}`].join('\n')
}
