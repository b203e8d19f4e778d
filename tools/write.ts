import { z } from 'zod'
import type { PlanContext, SeenFile } from './contract.ts'
import { defineTool } from './define.ts'
import { linesOf, type Newline, newlineOf, newlineWord, spelled, unspelled } from './newlines.ts'
import { type Failed, failed } from './outcome.ts'
import { CHANGES_ONE_FILE, CONTENT, halfCharacter, PATH } from './parameters.ts'
import {
  encodingWord,
  isText,
  nothingThere,
  notText,
  proposed,
  rewritten,
  showWritten,
  type Work,
  written,
} from './rewrite.ts'
import { beginning, counted, oneLine } from './text.ts'

export const writeFile = defineTool({
  name: 'write_file',
  description:
    'Write a whole text file of the project: a new one, or another content for one that is there. To change ' +
    'a part of a file use edit_file. An existing file keeps its encoding, its byte order mark and its line ' +
    'ends. A person is shown the difference and asked first; a refusal means stop, and not to try another ' +
    'way. undo_change takes the change back. If you have file tools of your own, go on using them: this one ' +
    'need not replace them.',
  parameters: {
    path: PATH,
    content: CONTENT,
    new: z
      .boolean()
      .default(false)
      .describe(
        'Only make a new file, and the folders that it needs: refused where something has that path. Without it ' +
          'the folder must be there.',
      ),
  },
  presets: { create_file: { new: true } },
  ...CHANGES_ONE_FILE,
  result: written,
  multiline: ['content'],
  examples: [
    { args: { path: 'shop/discounts.py', content: 'RATES = {"winter": 0.2}\n' }, shows: 'a file as a whole' },
    {
      args: { path: 'shop/rates/winter.py', content: 'RATE = 0.2\n', new: true },
      shows: 'a new file in a new folder',
    },
  ],

  preview: ({ path, content, new: isNew }) => ({
    title: `${isNew ? 'Create' : 'Write'} ${oneLine(path)}`,
    body: content,
  }),
  plan: async (args, context) => proposed(await writeWork(args, context)),
  show: result => showWritten('wrote', result),
})

interface WholeFile {
  readonly path: string
  readonly content: string
  readonly new: boolean
}

async function writeWork({ path, content, new: isNew }: WholeFile, { files }: PlanContext): Promise<Work> {
  const fault = halfCharacter('content', content) ?? (isNew ? folderNamed(path) : undefined)
  if (fault !== undefined) return fault
  const file = await (isNew ? files.lookForNew(path) : files.look(path))
  if (file.type === 'failed') return file
  const there = isNew ? somethingThere(file, TO_OVERWRITE) : undefined
  if (there !== undefined) return there
  if (file.exists && !isText(file)) return notText(file)
  const { text, notes } = asTheFile(file, content)
  const shown = oneLine(file.shown)
  return rewritten({
    file,
    text,
    files,
    notes: [...notes, ...madeFolders(file.newFolders)],
    does: file.exists ? `Replaces the whole content of ${shown}` : `Makes the new file ${shown}`,
    title: `${isNew ? 'Create' : 'Write'} ${shown}${isNew || file.exists ? '' : ', a new file'}`,
  })
}

const TO_OVERWRITE = 'To give it another content leave new out, or use edit_file for a part of it.'

/** What stands for itself in the file need not be said again: its byte order mark, and how its lines end. */
function asTheFile({ encoding, newline }: SeenFile, content: string): { text: string; notes: string[] } {
  const bare = encoding === 'utf-8-bom' && content.startsWith('\ufeff') ? content.slice(1) : content
  const text = newlineOf(bare) === '\n' ? spelled(bare, newline) : bare
  if (text === bare) return { text, notes: [] }
  return {
    text,
    notes: [`The line ends of the text were written as ${newlineWord(newline)}, as the file has them.`],
  }
}

export const insertAtLine = defineTool({
  name: 'insert_at_line',
  description:
    'Insert whole lines into a text file of the project, before the line of that number. They end as the ' +
    'other lines do. If the file was read a while ago, give expected, the line that stands there: then ' +
    'nothing is inserted at the wrong place. A person is shown the difference and asked first; a refusal ' +
    'means stop, and not to try another way. undo_change takes the change back.',
  parameters: {
    path: PATH,
    line: z
      .int()
      .min(0)
      .describe(
        'Before which line, from 1; 0 is the beginning too, and one more than the file has lines is its end.',
      ),
    content: z
      .string()
      .describe('The lines, exactly as they are to be; a line end is added where the last has none.'),
    expected: z
      .string()
      .optional()
      .describe(
        'The line that stands there now, without its line end; at the end of the file, the last line.',
      ),
  },
  parameterAliases: { line_number: 'line' },
  ...CHANGES_ONE_FILE,
  result: written,
  multiline: ['content'],
  examples: [
    { args: { path: 'shop/orders.py', line: 1, content: 'import math\n' }, shows: 'at the beginning' },
    {
      args: {
        path: 'shop/orders.py',
        line: 12,
        content: '    check(rate)\n',
        expected: '    return 1 / rate',
      },
      shows: 'before a line that is to be there',
    },
  ],

  preview: ({ path, line, content }) => ({
    title: `Insert at line ${line} of ${oneLine(path)}`,
    body: content,
  }),
  plan: async (args, context) => proposed(await insertWork(args, context)),
  show: result => showWritten('edited', result),
})

interface InsertArguments {
  readonly path: string
  readonly line: number
  readonly content: string
  readonly expected?: string | undefined
}

async function insertWork(args: InsertArguments, { files }: PlanContext): Promise<Work> {
  const { path, content } = args
  const fault = faultOf(args)
  if (fault !== undefined) return fault
  const file = await files.look(path)
  if (file.type === 'failed') return file
  if (!file.exists) return nothingThere(file)
  if (!isText(file)) return notText(file)
  const { newline } = file
  const shown = oneLine(file.shown)
  const lines = linesOf(unspelled(file.text, newline))
  const at = Math.max(0, args.line - 1)
  if (at > lines.length) return beyond({ shown, line: args.line, lines: lines.length })
  const other = unexpected({ expected: args.expected, lines, at, shown })
  if (other !== undefined) return other
  const inserted = wholeLines(content, newline)
  const above = lines.slice(0, at).join('')
  const ended = above !== '' && !above.endsWith('\n')
  const text = [above, ended ? '\n' : '', inserted, ...lines.slice(at)].join('')
  return rewritten({
    file,
    files,
    text: spelled(text, newline),
    notes: notesOn({ content, inserted, newline, ended }),
    does: `Inserts ${counted(linesOf(inserted).length, 'line')} ${placeWord(at, lines.length)} ${shown}`,
    title: `Insert into ${shown}`,
  })
}

/** What is to be inserted, as whole lines that end with LF. */
function wholeLines(content: string, newline: Newline): string {
  const text = newline === '\r' ? content.replace(/\r\n?/g, '\n') : content.replaceAll('\r\n', '\n')
  return text.endsWith('\n') ? text : `${text}\n`
}

function notesOn(o: {
  readonly content: string
  readonly inserted: string
  readonly newline: Newline
  readonly ended: boolean
}): string[] {
  const { content, inserted, newline, ended } = o
  const kind = newline === '\r\n' || newline === '\r' ? newline : '\n'
  const asFile = spelled(inserted, newline)
  const same = asFile === content || asFile === `${content}${kind}`
  return [
    ...(same ? [] : [`The line ends of the text were written as ${newlineWord(kind)}.`]),
    ...(ended ? ['The last line of the file had no line end, and has one now.'] : []),
  ]
}

function placeWord(at: number, lines: number): string {
  if (at === lines) return 'at the end of'
  return at === 0 ? 'at the beginning of' : `before line ${at + 1} of`
}

function faultOf({ content, expected }: InsertArguments): Failed | undefined {
  if (content === '')
    return failed('invalid_args', {
      message: 'content is empty, so that there is nothing to insert. Nothing was changed.',
      details: { parameter: 'content' },
      next: 'Give the lines to insert; an empty line is one line end.',
    })
  return halfCharacter('content', content) ?? halfCharacter('expected', expected ?? '')
}

function beyond({ shown, line, lines }: { shown: string; line: number; lines: number }): Failed {
  return failed('invalid_args', {
    message: `${shown} has ${counted(lines, 'line')}, so that nothing can be inserted at line ${line}. Nothing was changed.`,
    details: { parameter: 'line', lines },
    next: `Give a line of ${lines + 1} at most, which is the end of the file.`,
  })
}

/** Lines that are named where the one that was expected stands elsewhere. */
const NAMED = 20

function unexpected(o: {
  readonly expected: string | undefined
  readonly lines: readonly string[]
  readonly at: number
  readonly shown: string
}): Failed | undefined {
  const { lines, at, shown } = o
  const bare = lines.map(line => line.replace(/\n$/, ''))
  const number = Math.min(at, Math.max(0, lines.length - 1))
  const found = bare[number] ?? ''
  const expected = o.expected?.replace(/\r?\n$|\r$/, '')
  if (expected === undefined || found === expected) return undefined
  const elsewhere = bare.flatMap((line, index) => (line === expected ? [index + 1] : [])).slice(0, NAMED)
  const where = elsewhere.length === 0 ? 'It is not in the file.' : `It is line ${elsewhere.join(', ')}.`
  return failed('no_unique_match', {
    message: `Line ${number + 1} of ${shown} is not the one that was expected. ${where} Nothing was changed.`,
    details: { line: number + 1, text: beginning(found, SHOWN_CHARS), lines: elsewhere },
    next: 'Read the file again with read_file, and give the line where the text belongs now.',
  })
}

const SHOWN_CHARS = 500

// What the tools that make, move and take away whole files say alike.

/** Why nothing new can have that path; undefined where it can. `next` says what to do about a file that is there. */
export function somethingThere({ exists, isLink, shown, bytes }: SeenFile, next: string): Failed | undefined {
  if (exists)
    return failed('already_exists', {
      message: `${oneLine(shown)} is there already, a file of ${counted(bytes, 'byte')}. Nothing was changed.`,
      details: { path: shown, bytes },
      next,
    })
  if (!isLink) return undefined
  return failed('already_exists', {
    message: `A link is there already, which leads to ${oneLine(shown)}, where nothing is. Nothing was changed.`,
    details: { path: shown },
    next: `Use another path, or ${JSON.stringify(shown)} itself.`,
  })
}

/** Why a path that ends with a slash is none of a new file. */
export function folderNamed(path: string): Failed | undefined {
  if (!path.endsWith('/')) return undefined
  return failed('invalid_args', {
    message: `${oneLine(path)} ends with a slash, so that it names a folder, not a file. Nothing was changed.`,
    details: { path },
    next: 'Give the whole path, with the name that the file is to have in that folder.',
  })
}

/** A link is neither moved nor taken away: that would be done to the file that it leads to. */
export function onlyLink(path: string, { isLink, shown }: SeenFile): Failed | undefined {
  if (!isLink) return undefined
  return failed('path_refused', {
    message: `${oneLine(path)} is a link to ${oneLine(shown)}, not a file. Nothing was changed.`,
    details: { reason: 'not_a_regular_file', leads_to: shown },
    next: 'Name the file itself, if it is meant. A link can be moved or deleted by a person only.',
  })
}

/** `120 bytes of text, sha256 …`, `6 bytes that are no text, sha256 …`. */
export function contentWord(file: Pick<SeenFile, 'text' | 'encoding' | 'sha256' | 'bytes'>): string {
  const { text, encoding, sha256, bytes } = file
  const word = text === null ? null : encodingWord(encoding)
  const kind = text === null ? 'that are no text' : `of text${word === null ? '' : ` in ${word}`}`
  return `${counted(bytes, 'byte')} ${kind}, sha256 ${sha256}`
}

/** A file that only gets another path, as git shows it. */
export function renameText({ from, to }: { readonly from: string; readonly to: string }): string {
  const [old, now] = [oneLine(from), oneLine(to)]
  return `diff --git a/${old} b/${now}\nsimilarity index 100%\nrename from ${old}\nrename to ${now}\n`
}

/** `The folders lib and lib/rates are made for it.`; nothing where they are there. */
export function madeFolders(folders: readonly string[]): string[] {
  const names = folders.map(oneLine)
  const last = names.pop()
  if (last === undefined) return []
  if (names.length === 0) return [`The folder ${last} is made for it.`]
  return [`The folders ${names.join(', ')} and ${last} are made for it.`]
}

/** `Its folder lib/rates goes too, if nothing else is in it.`, of the innermost so many folders of a file that goes. */
export function goneFolders(path: string, count = 0): string[] {
  const names = path.split('/')
  const folders = Array.from({ length: count }, (_, up) => oneLine(names.slice(0, -1 - up).join('/')))
  const last = folders.pop()
  if (last === undefined) return []
  if (folders.length === 0) return [`Its folder ${last} goes too, if nothing else is in it.`]
  return [`Its folders ${folders.join(', ')} and ${last} go too, as far as nothing else is in them.`]
}
