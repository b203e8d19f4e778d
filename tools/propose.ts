import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type { PlanContext, SeenFile } from './contract.ts'
import { defineTool } from './define.ts'
import {
  lineNumbers,
  miscounted,
  nothingToChange,
  notThere,
  occurrences,
  type Replacement,
  textFault,
} from './edit.ts'
import { type Edit, fate, fatesOf, hunksFrom, MOST_HUNKS, showFates, widened } from './hunks.ts'
import { newlineWord, spelled } from './newlines.ts'
import { type Failed, failed } from './outcome.ts'
import { halfCharacter, PATH } from './parameters.ts'
import {
  countLines,
  fileWritten,
  isText,
  nothingThere,
  notText,
  proposalOf,
  type Rewrite,
  rewritten,
  writtenFile,
} from './rewrite.ts'
import { counted, oneLine } from './text.ts'

/** One edit of a file, as it was asked for. */
export interface ProposedEdit extends Replacement {
  readonly path: string
  readonly why?: string | undefined
}

/** All files rewritten, each with the hunks that it has, and nothing of it written. */
interface Draft {
  readonly type: 'drafted'
  readonly rewrites: readonly Rewrite[]
}

/** One of them with its number, and the file that it is about. */
interface NumberedEdit extends ProposedEdit {
  readonly number: number
}

interface OfOneFile {
  readonly file: SeenFile
  readonly edits: NumberedEdit[]
}

/**
 * Works the edits of one call out, file by file, each file in the order in which it is first named. All are placed in
 * the files as they are now, so that none depends on another. A failure names its hunk, or the hunks that do not go
 * together.
 */
async function drafted(asked: readonly ProposedEdit[], context: PlanContext): Promise<Draft | Failed> {
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
async function filed(asked: readonly ProposedEdit[], { files }: PlanContext): Promise<OfOneFile[] | Failed> {
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
  readonly asked: NumberedEdit
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

interface FileEdits {
  readonly file: SeenFile
  readonly text: string
  readonly edits: readonly Edit[]
}

/** Two edits that want the same text, or a part of it. */
function clashing({ file, text, edits }: FileEdits): Failed | undefined {
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

/** What `propose_file_edit` answers with. */
const proposeResult = z.object({
  /** Those that were written. */
  files: z.array(fileWritten),
  /** What became of each hunk, by its number: the place of its edit in the call. */
  hunks: z.array(fate),
  /** The one name for `undo_change`, of all files together. */
  undo: z.string(),
  /** What was done besides, as sentences: line ends that were kept, and the like. */
  notes: z.array(z.string()),
})

export const proposeFileEdit = defineTool({
  name: 'propose_file_edit',
  description:
    'Propose several edits as one change of one or more files: each is a hunk that a person can accept, ' +
    'refuse with a reason, or write otherwise. The answer says what became of each. What is accepted is done ' +
    'together, all files or none, and undo_change takes it back at once. Each old_str has to stand in its ' +
    'file exactly once, as the file is before these edits; two edits may not touch the same line. An empty ' +
    'old_str makes a new file. Where all of it is wanted or nothing, use edit_file or write_file. A refusal ' +
    'means stop, and not to try another way.',
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
  result: proposeResult,
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
      result: ({ rewrites, choices, committed: { files, undo } }) => ({
        files: rewrites.map((rewrite, index) => writtenFile(rewrite, files[index])),
        hunks: fatesOf(hunks, choices),
        undo,
        notes: rewrites.flatMap(({ notes }) => notes),
      }),
    })
  },

  show: showProposed,
})

function titleOf({ rewrites }: Draft): string {
  const hunks = counted(
    rewrites.reduce((sum, rewrite) => sum + rewrite.hunks.length, 0),
    'hunk',
  )
  const [first, ...others] = rewrites.map(({ file }) => oneLine(file.shown))
  return others.length === 0 ? `Edit ${first}: ${hunks}` : `Edit ${others.length + 1} files: ${hunks}`
}

function showProposed({ files, hunks, undo, notes }: Of<typeof proposeResult>): string {
  const each = files.map(({ path, created, lines_added: added, lines_removed: removed, bytes }) => {
    const lines = countLines({ added, removed })
    return `${created ? 'created' : 'edited'} ${oneLine(path)}: ${lines}; it has ${counted(bytes, 'byte')} now`
  })
  const untouched = hunks.every(({ outcome }) => outcome === 'applied')
  const fates = untouched ? [`${counted(hunks.length, 'hunk')} applied as proposed`] : showFates(hunks)
  return [...each, ...fates, ...notes, `to take it back: undo_change ${undo}`].join('\n')
}
