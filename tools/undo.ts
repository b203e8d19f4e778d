import { z } from 'zod'
import { defineTool, type PlanContext } from './define.ts'
import { type FileDiff, unifiedDiff } from './diff.ts'
import { type Failed, failed, ok } from './outcome.ts'
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
  readonly type: 'reverse'
  readonly file: SeenFile
  readonly change: FileChange
  /** Null where the file goes. */
  readonly text: string | null
  readonly diff: FileDiff
  /** What changes and no diff shows. */
  readonly unseen: readonly string[]
}

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
    const reverse = reverseOf({ file, change }, files)
    if (reverse.type === 'failed') return reverse
    all.push(reverse)
  }
  return { type: 'reverses', all }
}

type Reversing = Pick<Reverse, 'file' | 'change'>

/** What a diff cannot show to the last byte is not taken back: only files that are text are ever changed. */
function reverseOf({ file, change }: Reversing, files: PlanContext['files']): Reverse | Failed {
  const after = change.after === null ? undefined : files.decoded(change.after)
  if (after?.text === null)
    return failed('not_text', {
      message: `What is kept of ${file.shown} is not text, so that nobody could be shown what would change. Nothing was changed.`,
      details: { path: file.path },
      next: 'A person can look at what is kept in the state directory.',
    })
  const text = after?.text ?? null
  const before = file.exists ? file.text : null
  const executable = ((change.identity?.mode ?? 0) & 0o111) !== 0
  const diff = unifiedDiff({ path: file.shown, before, after: text, executable })
  const spelt = after !== undefined && file.exists && after.encoding !== file.encoding
  const unseen = spelt ? [`it is ${file.encoding} now, and will be ${after.encoding}`] : []
  return { type: 'reverse', file, change, text, diff, unseen }
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

function lines({ file, change, text, diff, unseen }: Reverse): string[] {
  const { shown } = file
  const what = { changed: 'gets back its content', 'made again': 'is made again', gone: 'goes away' }
  const sentence = `${oneLine(shown)} ${what[stateOf(change)]}: ${countLines(diff)}.`
  return [sentence, ...unseen, ...(text === null ? file.remarks : remarksOn(file, text))]
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
