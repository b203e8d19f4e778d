import { z } from 'zod'
import type { GlobalsPage } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { fittingNames } from './fit.ts'
import { unfound } from './looked.ts'
import { ok } from './outcome.ts'
import { SOURCE_LENGTH } from './source.ts'
import { oneLine } from './wording.ts'

export const listGlobals = defineTool({
  name: 'list_globals',
  description:
    'List the names at the top level of the live image and the type of each, sorted, a page at a time. ' +
    'Runs no code. Use it to discover what exists when you do not know a name; ' +
    'when you know it, go straight to inspect.',
  parameters: {
    filter: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only names that contain this text, in upper or lower case.'),
    after: z
      .string()
      .min(1)
      .max(SOURCE_LENGTH)
      .optional()
      .describe('Only names after this one: the `next` of the page before.'),
    modules: z.boolean().default(false).describe('Also list names that stand for modules or packages.'),
    limit: z.int().min(1).max(1_000).default(100).describe('How many names a page has at most.'),
  },
  level: 'safe',
  profile: 'core',
  categories: ['introspection'],
  needs: ['globals'],
  examples: [
    { args: {}, shows: 'the first hundred names' },
    { args: { filter: 'config', modules: true }, shows: 'names that contain “config”, modules included' },
  ],

  async handler({ filter, after, modules, limit }, { kernel, lookMs, signal, jobs }) {
    const looked = await kernel.look(
      'globals',
      { modules, limit, ...(filter !== undefined && { filter }), ...(after !== undefined && { after }) },
      { deadlineMs: lookMs, signal },
    )
    return looked.type === 'found' ? ok(fitted(looked.value)) : unfound(looked, { jobs })
  },

  show: result => showGlobals(result as GlobalsPage),
})

/** The page, ended earlier where its names are long. */
function fitted({ globals, total, next: after }: GlobalsPage): GlobalsPage {
  const { items, next } = fittingNames(
    { items: globals, next: after },
    ({ name, type_name }) => name.length + type_name.length + 30,
  )
  return { globals: items, total, ...next }
}

function showGlobals({ globals, total, next }: GlobalsPage): string {
  if (total === 0) return 'no names'
  const count = total === 1 ? '1 name' : `${total} names`
  const page = globals.length === total ? count : `${globals.length} of ${count}`
  const more = next === undefined ? '' : `; for more: after ${JSON.stringify(next)}`
  return [`${page}${more}`, ...globals.map(one => `${oneLine(one.name)}: ${oneLine(one.type_name)}`)].join(
    '\n',
  )
}
