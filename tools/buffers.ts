import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type { SeenFile, ToolContext } from './contract.ts'
import { defineTool } from './define.ts'
import { fileRead, PART, type ReadFile, readPart, showFile } from './files.ts'
import { newlineOf, unspelled } from './newlines.ts'
import { type Failed, type Outcome, ok } from './outcome.ts'
import { LOOKS_AT_PATH, PATH } from './parameters.ts'
import { isText, nothingThere, notText } from './rewrite.ts'
import { type Found, faultOfText, foundFile, foundLines, openMatcher, scan } from './search-files.ts'
import { counted, oneLine } from './text.ts'

/** Whose text it is. */
const origin = z.object({
  /** The editor that has the file open, as it calls itself; null: none offers it, and this is the file. */
  editor: z.string().nullable(),
  /** The text differs from the file. */
  unsaved: z.boolean(),
})
type Origin = Of<typeof origin>

type ReadBuffer = ReadFile & Origin

export const readBuffer = defineTool({
  name: 'read_buffer',
  description:
    'Read a text file as an editor of the project has it open, with what the person has not saved yet. Where no ' +
    'editor has it open, the answer is the file, and says so. edit_file changes the file. Runs no code.',
  parameters: { path: PATH, ...PART },
  parameterAliases: { line: 'from' },
  result: fileRead.extend(origin.shape),
  ...LOOKS_AT_PATH,
  examples: [{ args: { path: 'shop/orders.py' }, shows: 'what a person is typing' }],

  async handler({ path, ...part }, context): Promise<Outcome<ReadBuffer>> {
    const found = await textAt(path, context)
    if (found.type === 'failed') return found
    const read = readPart(found.file, part)
    return read.type === 'ok' ? ok({ ...read.result, ...found.origin }) : read
  },

  show: result => `${originWords(result)}\n${showFile(result)}`,
})

type BufferMatches = Found & Origin

export const searchInBuffer = defineTool({
  name: 'search_in_buffer',
  description:
    'Find a text in one file as an editor of the project has it open, saved or not; in the file where none has. ' +
    'The text is taken literally and within one line. Runs no code.',
  parameters: {
    path: PATH,
    text: z
      .string()
      .min(1)
      .max(1_000)
      .describe('A text that a line has to hold, exactly as it is written here.'),
    ignore_case: z.boolean().default(false).describe('Take upper and lower case for the same.'),
    context: z.int().min(0).max(10).default(0).describe('How many lines to show around each line found.'),
    limit: z.int().min(1).max(1_000).default(100).describe('How many lines to show at most.'),
  },
  parameterAliases: { query: 'text', pattern: 'text' },
  ...LOOKS_AT_PATH,
  categories: ['files', 'search'],
  result: foundFile.extend(origin.shape),
  examples: [{ args: { path: 'shop/orders.py', text: 'total' }, shows: 'the lines with a text' }],

  async handler(
    { path, text, ignore_case, context: around, limit },
    context,
  ): Promise<Outcome<BufferMatches>> {
    const fault = faultOfText(text)
    if (fault !== undefined) return fault
    const found = await textAt(path, context)
    if (found.type === 'failed') return found
    const { file, origin } = found
    const matcher = openMatcher({ text, ignoreCase: ignore_case, wholeWord: false })
    const scanned = await scan({
      text: file.text,
      matcher,
      context: around,
      most: limit,
      isOver: () => context.signal.aborted,
    })
    const { count, lines, shown } = scanned ?? { count: 0, lines: [], shown: 0 }
    const more = count > shown ? { more: count - shown } : {}
    return ok({ path: file.shown, kind: 'file', matches: count, lines, ...more, ...origin })
  },

  show(found) {
    const count = found.matches ? counted(found.matches, 'line') : 'not found'
    return [`${originWords(found)}; ${count}`, ...foundLines(found)].join('\n')
  },
})

interface FoundText {
  readonly type: 'found'
  readonly file: SeenFile & { readonly text: string }
  readonly origin: Origin
}

/** The file with the text that an editor has of it, or with its own. */
async function textAt(path: string, { files, buffer }: ToolContext): Promise<FoundText | Failed> {
  const file = await files.look(path)
  if (file.type === 'failed') return file
  const open = await buffer(file.path)
  if (open === undefined) {
    if (!file.exists) return nothingThere(file)
    return isText(file) ? { type: 'found', file, origin: { editor: null, unsaved: false } } : notText(file)
  }
  const { editor, text } = open
  const unsaved = !file.exists || file.text === null || unspelled(file.text, newlineOf(file.text)) !== text
  const seen = unsaved ? { newline: newlineOf(text), bytes: new TextEncoder().encode(text).length } : {}
  return { type: 'found', file: { ...file, ...seen, text }, origin: { editor, unsaved } }
}

function originWords({ editor, unsaved }: Origin): string {
  if (editor === null) return 'no editor offers it; this is the file'
  return `open in ${oneLine(editor)}${unsaved ? ', not saved' : ', as it is in the file'}`
}
