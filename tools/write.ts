import { defineTool, type PlanContext, type SeenFile } from './define.ts'
import { CONTENT, CONTENT_ALIASES, halfCharacter, PATH } from './file-arguments.ts'
import { newlineOf, newlineWord, spelled } from './newlines.ts'
import { isText, notText, proposed, rewritten, showWritten, type Work, type Written } from './rewrite.ts'
import { oneLine } from './wording.ts'

export const writeFile = defineTool({
  name: 'write_file',
  description:
    'Write a whole text file of the project: a new one, or another content for one that is there. Use it to make ' +
    'files; to change a part of one, use edit_file. A person is shown the exact difference and asked first; a ' +
    'refusal means stop, and not to try another way. An existing file keeps its encoding, its byte order mark and ' +
    'its kind of line ends, and the answer has a name with which undo_change takes the change back. The folder ' +
    'must be there. If you have file tools of your own, go on using them: this one need not replace them.',
  parameters: {
    path: PATH,
    content: CONTENT,
  },
  parameterAliases: CONTENT_ALIASES,
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
  examples: [
    { args: { path: 'shop/discounts.py', content: 'RATES = {"winter": 0.2}\n' }, shows: 'a new file' },
  ],

  preview: ({ path, content }) => ({ title: `Write ${oneLine(path)}`, body: content }),
  plan: async (args, context) => proposed(await work(args, context)),
  show: result => showWritten('wrote', result as Written),
})

interface Arguments {
  readonly path: string
  readonly content: string
}

async function work({ path, content }: Arguments, { files }: PlanContext): Promise<Work> {
  const half = halfCharacter('content', content)
  if (half !== undefined) return half
  const file = await files.look(path)
  if (file.type === 'failed') return file
  if (file.exists && !isText(file)) return notText(file)
  const { text, notes } = asTheFile(file, content)
  const shown = oneLine(file.shown)
  const does = file.exists ? `Replaces the whole content of ${shown}` : `Makes the new file ${shown}`
  const title = file.exists ? `Write ${shown}` : `Write ${shown}, a new file`
  return rewritten({ file, text, files, notes, does, title })
}

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
