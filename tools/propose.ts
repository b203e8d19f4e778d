import { z } from 'zod'
import { proposalOf } from './choosing.ts'
import { defineTool, type PlanContext } from './define.ts'
import { type Drafted, drafted } from './drafting.ts'
import { PATH } from './file-arguments.ts'
import { type Fate, fatesOf, MOST_HUNKS, showFates } from './hunks.ts'
import { counted } from './naming.ts'
import { countLines } from './remarks.ts'
import { type WrittenFile, writtenFile } from './rewrite.ts'
import { oneLine } from './wording.ts'

/** What `propose_file_edit` answers with. */
export interface Proposed {
  /** Those that were written. */
  readonly files: readonly WrittenFile[]
  /** What became of each hunk, by its number: the place of its edit in the call. */
  readonly hunks: readonly Fate[]
  /** The one name for `undo_change`, of all files together. */
  readonly undo: string
  /** What was done besides, as sentences: line ends that were kept, and the like. */
  readonly notes: readonly string[]
}

export const proposeFileEdit = defineTool({
  name: 'propose_file_edit',
  description:
    'Propose several edits as one change, in one file or in several: each edit is a hunk that a person is shown, and ' +
    'can accept, refuse with a reason, or write otherwise. The answer says for each hunk what became of it. What is ' +
    'accepted is done together, all files or none, and undo_change takes all of it back at once. Each old_str must ' +
    'stand in its file exactly once, as the file is before any of these edits; two edits may not touch the same ' +
    'line. An empty old_str makes a new file. Where all of it is wanted or nothing, edit_file and write_file will ' +
    'do. A refusal means stop, and not to try another way.',
  parameters: {
    edits: z
      .array(
        z.strictObject({
          path: PATH,
          old_str: z
            .string()
            .describe(
              'The text to replace, exactly as it stands in the file, with enough around it to occur only there; ' +
                'LF stands for the line ends of the file. Empty to make the file.',
            ),
          new_str: z.string().describe('What is to stand there instead; an empty text takes it out.'),
          why: z
            .string()
            .max(1_000)
            .optional()
            .describe('What this hunk is for, in one sentence, for the person who decides.'),
        }),
      )
      .min(1)
      .max(MOST_HUNKS)
      .describe('The hunks, numbered from 1 in this order.'),
  },
  parameterAliases: { hunks: 'edits', changes: 'edits' },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: [{ name: 'edits', each: 'path', confined: true }],
  examples: [
    {
      args: {
        edits: [
          {
            path: 'shop/orders.py',
            old_str: 'return 1 / rate',
            new_str: 'return 1 / (rate or 1)',
            why: 'A rate of zero is an order without discount.',
          },
          { path: 'shop/discounts.py', old_str: '', new_str: 'RATES = {"winter": 0.2}\n' },
        ],
      },
      shows: 'a hunk in one file, and a new file, each to be taken or left',
    },
  ],

  preview: ({ edits }) => ({
    title: `Propose ${counted(edits.length, 'hunk')}`,
    body: edits
      .map(({ path, old_str, new_str }) => `In ${oneLine(path)}, replace\n${old_str}\nwith\n${new_str}`)
      .join('\n\n'),
  }),

  async plan({ edits }, context: PlanContext) {
    const draft = await drafted(edits, context)
    if (draft.type !== 'drafted') return draft
    const hunks = draft.rewrites.flatMap(rewrite => rewrite.hunks)
    return proposalOf(draft.rewrites, {
      title: titleOf(draft),
      result: ({ rewrites, choices, committed: { files, undo } }): Proposed => ({
        files: rewrites.map((rewrite, index) => writtenFile(rewrite, files[index])),
        hunks: fatesOf(hunks, choices),
        undo,
        notes: rewrites.flatMap(({ notes }) => notes),
      }),
    })
  },

  show: result => showProposed(result as Proposed),
})

function titleOf({ rewrites }: Drafted): string {
  const hunks = counted(
    rewrites.reduce((sum, rewrite) => sum + rewrite.hunks.length, 0),
    'hunk',
  )
  const [first, ...others] = rewrites.map(({ file }) => oneLine(file.shown))
  return others.length === 0 ? `Edit ${first}: ${hunks}` : `Edit ${others.length + 1} files: ${hunks}`
}

function showProposed({ files, hunks, undo, notes }: Proposed): string {
  const each = files.map(({ path, created, lines_added: added, lines_removed: removed, bytes }) => {
    const lines = countLines({ added, removed })
    return `${created ? 'created' : 'edited'} ${oneLine(path)}: ${lines}; it has ${counted(bytes, 'byte')} now`
  })
  const untouched = hunks.every(({ outcome }) => outcome === 'applied')
  const fates = untouched ? [`${counted(hunks.length, 'hunk')} applied as proposed`] : showFates(hunks)
  return [...each, ...fates, ...notes, `to take it back: undo_change ${undo}`].join('\n')
}
