import { defineTool, type PlanContext } from './define.ts'
import { CONTENT, CONTENT_ALIASES, halfCharacter, PATH } from './file-arguments.ts'
import { proposed, rewritten, showWritten, type Work, type Written } from './rewrite.ts'
import { folderNamed, madeFolders, somethingThere } from './whole-file.ts'
import { oneLine } from './wording.ts'

export const createFile = defineTool({
  name: 'create_file',
  description:
    'Make a new text file of the project, and the folders that it needs. Refused where something has that path ' +
    'already: to give a file another content use write_file, to change a part of one edit_file. A person is shown ' +
    'the whole text and asked first; a refusal means stop, and not to try another way. The answer has a name with ' +
    'which undo_change takes the file away again, and the folders that were made for it if nothing else is in them.',
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
    {
      args: { path: 'shop/rates/winter.py', content: 'RATE = 0.2\n' },
      shows: 'a new file in a new folder',
    },
  ],

  preview: ({ path, content }) => ({ title: `Create ${oneLine(path)}`, body: content }),
  plan: async (args, context) => proposed(await work(args, context)),
  show: result => showWritten('created', result as Written),
})

interface Arguments {
  readonly path: string
  readonly content: string
}

async function work({ path, content }: Arguments, { files }: PlanContext): Promise<Work> {
  const half = halfCharacter('content', content)
  const fault = half ?? folderNamed(path)
  if (fault !== undefined) return fault
  const file = await files.lookForNew(path)
  if (file.type === 'failed') return file
  const there = somethingThere(
    file,
    'To give it another content use write_file, or edit_file for a part of it.',
  )
  if (there !== undefined) return there
  const shown = oneLine(file.shown)
  return rewritten({
    file,
    text: content,
    files,
    notes: madeFolders(file.newFolders),
    does: `Makes the new file ${shown}`,
    title: `Create ${shown}`,
  })
}
