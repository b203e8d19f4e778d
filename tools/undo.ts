import { z } from 'zod'
import { defineTool, type PlanContext } from './define.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import { type Failed, ok } from './outcome.ts'
import type { CommittedFile, FileChange, Planned, SeenFile } from './proposal.ts'
import { countLines, remarksOn } from './rewrite.ts'
import { oneLine } from './wording.ts'

/** What `undo_change` answers with. */
export interface Undoing {
  /** The change that was taken back. */
  readonly undone: string
  readonly files: readonly UndoneFile[]
  /** The name of this change, which can be taken back too. */
  readonly undo: string
}

interface UndoneFile {
  /** From the project's root. */
  readonly path: string
  /** Gone where the change had made the file. */
  readonly state: 'changed' | 'made again' | 'gone'
  readonly bytes: number
  readonly lines_added: number
  readonly lines_removed: number
  /** Null for a file that is gone. */
  readonly sha256: string | null
}

export const undoChange = defineTool({
  name: 'undo_change',
  description:
    'Take back a change that write_file, edit_file or undo_change made: its files get the content they had before ' +
    'it, and a file that it made goes away. Refused with stale_plan where a file has changed since. A person is ' +
    'shown the exact difference and asked first; a refusal means stop, and not to try another way.',
  parameters: {
    change: z.string().min(1).max(128).describe('The name of the change: `undo` in the answer that made it.'),
  },
  parameterAliases: { undo: 'change', name: 'change' },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  examples: [{ args: { change: 'plan-kvqxmtrw' }, shows: 'taking back one change' }],

  preview: ({ change }) => ({ title: `Take back the change ${oneLine(change)}`, body: change }),

  async plan({ change }, context) {
    const work = await worked(change, context)
    return work.type === 'reverses' ? proposed(change, work.all) : work
  },

  async handler({ change }, context) {
    const work = await worked(change, context)
    if (work.type !== 'reverses') return work
    const committed = await context.commit()
    if (committed.type === 'failed') return committed
    const files = work.all.map((reverse, index) => reversed(reverse, committed.files[index]))
    return ok<Undoing>({ undone: change, files, undo: committed.undo })
  },

  show: result => showUndoing(result as Undoing),
})

/** One file of the change, worked out and not yet written. */
interface Reverse {
  readonly file: SeenFile
  readonly change: FileChange
  /** Null where the file goes. */
  readonly text: string | null
  readonly diff: FileDiff
}

async function worked(
  name: string,
  { files }: PlanContext,
): Promise<Failed | { readonly type: 'reverses'; readonly all: readonly Reverse[] }> {
  const undone = await files.undone(name)
  if (undone.type === 'failed') return undone
  const seen = new Map(undone.files.map(file => [file.path, file]))
  const all = undone.changes.flatMap(change => {
    const file = seen.get(change.path)
    return file === undefined ? [] : [reverseOf(file, change)]
  })
  if (all.length !== undone.changes.length)
    throw new Error('a change to take back has a file that was not looked at')
  return { type: 'reverses', all }
}

function reverseOf(file: SeenFile, change: FileChange): Reverse {
  const text = change.after === null ? null : decoded(change.after)
  const before = file.exists ? file.text : null
  const executable = ((change.identity?.mode ?? 0) & 0o111) !== 0
  return { file, change, text, diff: unifiedDiff({ path: file.shown, before, after: text, executable }) }
}

/** Only files that are text are ever changed, so that one of these is how it spells it; the mark itself is left out. */
function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('latin1').decode(bytes)
  }
}

function proposed(name: string, all: readonly Reverse[]): Planned {
  const lead = [`Takes back the change ${oneLine(name)}.`, ...all.flatMap(lines)]
  const diffs = all.map(({ diff }) => diff.text)
  return {
    type: 'proposal',
    preview: {
      title: `Take back the change ${oneLine(name)}`,
      body: `${lead.join('\n')}\n\n${diffs.join('')}`,
    },
    evidence: all.map(({ file }) => file.evidence),
    changes: all.map(({ change }) => change),
  }
}

function lines({ file, change, text, diff }: Reverse): string[] {
  const { shown } = file
  const what = { changed: 'gets back its content', 'made again': 'is made again', gone: 'goes away' }
  const sentence = `${oneLine(shown)} ${what[stateOf(change)]}: ${countLines(diff)}.`
  return [sentence, ...(text === null ? file.remarks : remarksOn(file, text))]
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
    lines_added: diff.added,
    lines_removed: diff.removed,
    sha256: committed?.sha256 ?? null,
  }
}

function showUndoing({ undone, files, undo }: Undoing): string {
  const each = files.map(({ path, state, lines_added: added, lines_removed: removed }) => {
    const counts = state === 'gone' ? '' : `: ${countLines({ added, removed })}`
    return `${oneLine(path)} ${state}${counts}`
  })
  return [`took back ${oneLine(undone)}`, ...each, `to have it again: undo_change ${undo}`].join('\n')
}
