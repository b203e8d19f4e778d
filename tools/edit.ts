import { z } from 'zod'
import { defineTool, type PlanContext } from './define.ts'
import { PATH } from './file-arguments.ts'
import { counted } from './naming.ts'
import { notThere } from './nearly.ts'
import { newlineWord, spelled } from './newlines.ts'
import { type Found, miscounted, occurrences, textFault } from './placing.ts'
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
import { oneLine } from './wording.ts'

export const editFile = defineTool({
  name: 'edit_file',
  description:
    'Replace a piece of text in a file of the project. old_str must stand in the file exactly as you give it, ' +
    'blanks and indentation included, and exactly once, or as often as count says; otherwise nothing is changed, ' +
    'and you are told where it occurs or what is nearest. Line ends are the exception: LF in old_str and new_str ' +
    'stands for the kind of line end that the file has. A person is shown the exact difference and asked first; ' +
    'a refusal means stop, and not to try another way. The answer has a name with which undo_change takes the ' +
    'change back. After editing code that is loaded, use load_file or reload so that the program runs it.',
  parameters: {
    path: PATH,
    old_str: z
      .string()
      .describe('The text to replace, as it stands in the file, with enough around it to occur only there.'),
    new_str: z.string().describe('What is to stand there instead; an empty text takes it out.'),
    count: z
      .int()
      .min(1)
      .max(100_000)
      .default(1)
      .describe('How often old_str occurs. All of them are replaced; any other number of them fails.'),
  },
  parameterAliases: {
    file_path: 'path',
    old_string: 'old_str',
    new_string: 'new_str',
    old_text: 'old_str',
    new_text: 'new_str',
    expected_replacements: 'count',
  },
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
  examples: [
    {
      args: { path: 'shop/orders.py', old_str: 'return 1 / rate', new_str: 'return 1 / (rate or 1)' },
      shows: 'one place',
    },
    {
      args: { path: 'shop/orders.py', old_str: 'rate', new_str: 'discount', count: 3 },
      shows: 'three places at once',
    },
  ],

  preview: ({ path, old_str, new_str }) => ({
    title: `Edit ${oneLine(path)}`,
    body: `Replace\n${old_str}\nwith\n${new_str}`,
  }),
  plan: async (args, context) => proposed(await work(args, context)),
  show: result => showWritten('edited', result as Written),
})

interface Arguments {
  readonly path: string
  readonly old_str: string
  readonly new_str: string
  readonly count: number
}

async function work(args: Arguments, { files }: PlanContext): Promise<Work> {
  const { path, old_str, new_str, count } = args
  const fault = textFault(args)
  if (fault !== undefined) return fault
  const file = await files.look(path)
  if (file.type === 'failed') return file
  if (!file.exists) return nothingThere(file)
  if (!isText(file)) return notText(file)
  const { newline } = file
  const wanted = spelled(old_str, newline)
  const replacement = spelled(new_str, newline)
  const places = occurrences(file.text, wanted)
  const shown = oneLine(file.shown)
  if (places.length === 0) return notThere({ path: shown, text: file.text, wanted: old_str, name: 'old_str' })
  const miscount = miscounted({ text: file.text, places, length: wanted.length, count, shown, counts: true })
  if (miscount !== undefined) return miscount
  const respelled = replacement !== new_str
  const note = `The line ends of new_str were written as ${newlineWord(newline)}, as the file has them.`
  return rewritten({
    file,
    files,
    text: replaced(file.text, { places, length: wanted.length, replacement }),
    notes: respelled ? [note] : [],
    does: `Replaces ${counted(count, 'place')} in ${shown}`,
    title: `Edit ${shown}`,
  })
}

/** Everything outside the places stays as it is, to the last character. */
function replaced(
  text: string,
  { places, length, replacement }: Omit<Found, 'text'> & { readonly replacement: string },
): string {
  const parts: string[] = []
  let from = 0
  for (const place of places) {
    parts.push(text.slice(from, place), replacement)
    from = place + length
  }
  return parts.join('') + text.slice(from)
}
