import { defineTool, type PlanContext } from './define.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import { PATH } from './file-arguments.ts'
import { counted } from './naming.ts'
import type { Failed } from './outcome.ts'
import type { FileChange, Planned, SeenFile } from './proposal.ts'
import { nothingThere } from './rewrite.ts'
import { contentWord, onlyLink } from './whole-file.ts'
import { oneLine } from './wording.ts'

/** What `delete_file` answers with. */
export interface Deleted {
  /** From the project's root. */
  readonly path: string
  /** Of what it held. */
  readonly bytes: number
  readonly sha256: string | null
  /** The name for `undo_change`. */
  readonly undo: string
}

export const deleteFile = defineTool({
  name: 'delete_file',
  description:
    'Take a file of the project away, text or not; folders and links stay. A person is shown the whole text of it, ' +
    'or its size and hash where it is no text, and asked first; a refusal means stop, and not to try another way. ' +
    'What it holds is kept, and the answer has a name with which undo_change brings it back.',
  parameters: { path: PATH },
  parameterAliases: { file_path: 'path' },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
  examples: [{ args: { path: 'shop/old_orders.py' }, shows: 'a file that nothing needs any more' }],

  preview: ({ path }) => ({ title: `Delete ${oneLine(path)}`, body: path }),

  async plan(args, context) {
    const work = await worked(args, context)
    return work.type === 'deletion' ? proposed(work) : work
  },

  show: result => showDeleted(result as Deleted),
})

/** One file taken away: worked out, and still there. */
interface Deletion {
  readonly type: 'deletion'
  readonly file: SeenFile
  readonly change: FileChange
  /** Null for what is no text. */
  readonly diff: FileDiff | null
}

async function worked({ path }: { path: string }, { files }: PlanContext): Promise<Deletion | Failed> {
  const file = await files.look(path)
  if (file.type === 'failed') return file
  const link = onlyLink(path, file)
  if (link !== undefined) return link
  if (!file.exists) return nothingThere(file)
  const diff = file.text === null ? null : unifiedDiff({ path: file.shown, before: file.text, after: null })
  return { type: 'deletion', file, change: files.removed(file), diff }
}

function proposed({ file, change, diff }: Deletion): Planned {
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
    result: ({ undo }): Deleted => ({ path: file.shown, bytes: file.bytes, sha256: file.sha256, undo }),
  }
}

function showDeleted({ path, bytes, undo }: Deleted): string {
  return `deleted ${oneLine(path)}, which had ${counted(bytes, 'byte')}\nto have it back: undo_change ${undo}`
}
