import { z } from 'zod'
import { defineTool, type PlanContext } from './define.ts'
import { halfCharacter, PATH } from './file-arguments.ts'
import { counted } from './naming.ts'
import { linesOf, type Newline, newlineWord, spelled, unspelled } from './newlines.ts'
import { type Failed, failed } from './outcome.ts'
import {
  isText,
  nothingThere,
  notText,
  proposed,
  rewritten,
  showWritten,
  type Work,
  type Written,
} from './rewrite.ts'
import { beginning, oneLine } from './wording.ts'

export const insertAtLine = defineTool({
  name: 'insert_at_line',
  description:
    'Insert whole lines into a text file of the project, before the line of that number. The lines of the file keep ' +
    'what they are, and those that are inserted end as the others do. Give expected, the line that stands there, ' +
    'if it was read a while ago: then nothing is inserted at the wrong place. A person is shown the exact ' +
    'difference and asked first; a refusal means stop, and not to try another way. The answer has a name with ' +
    'which undo_change takes the change back.',
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
  parameterAliases: { file_path: 'path', line_number: 'line', text: 'content' },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
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
  plan: async (args, context) => proposed(await work(args, context)),
  show: result => showWritten('edited', result as Written),
})

interface Arguments {
  readonly path: string
  readonly line: number
  readonly content: string
  readonly expected?: string | undefined
}

async function work(args: Arguments, { files }: PlanContext): Promise<Work> {
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

function faultOf({ content, expected }: Arguments): Failed | undefined {
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
