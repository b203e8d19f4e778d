import { z } from 'zod'
import type { GlobalsPage, GlobalsQuery } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { fittingNames } from './fit.ts'
import type { Told } from './languages.ts'
import { anExpression, lookUp } from './looked.ts'
import { given, NAME_LENGTH } from './naming.ts'
import { ok } from './outcome.ts'
import { SOURCE_LENGTH } from './source.ts'
import { oneLine } from './wording.ts'

export const listGlobals = defineTool({
  name: 'list_globals',
  description:
    'List the names at the top level of the live image and the type of each, sorted, a page at a time. ' +
    'Runs no code. Use it to discover what exists when you do not know a name; ' +
    'when you know it, go straight to inspect. With `package`, all names of one loaded module or package.',
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
    package: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .optional()
      .describe(
        'The loaded module or package whose variables and functions are listed, such as `shop.orders` or `SHOP`; ' +
          'left out: those of the top level.',
      ),
    modules: z.boolean().default(false).describe('Also list names that stand for modules or packages.'),
    limit: z.int().min(1).max(1_000).default(100).describe('How many names a page has at most.'),
  },
  parameterAliases: { module: 'package' },
  level: 'safe',
  profile: 'core',
  categories: ['introspection'],
  needs: ['globals'],
  examples: [
    { args: {}, shows: 'the first hundred names' },
    { args: { filter: 'config', modules: true }, shows: 'names that contain “config”, modules included' },
    { args: { package: 'shop.orders' }, shows: 'the names of a module, private ones too' },
  ],

  async handler({ filter, after, package: module, modules, limit }, context) {
    const words = {
      ...anExpression(context.kernel),
      parameter: module === undefined ? 'after' : 'package',
      wanted: module === undefined ? 'a name' : 'a module or package',
      search:
        'Only what is loaded can be listed: apropos_search, or list_globals with modules, shows what is.',
    }
    const query = given<GlobalsQuery>({ modules, limit, module, filter, after })
    const outcome = await lookUp({ look: 'globals', query, words }, context)
    return outcome.type === 'ok' ? ok(fitted(outcome.result)) : outcome
  },

  show: result => showGlobals(result as GlobalsPage),
})

/** The page, ended earlier where its names are long. */
function fitted({ globals, next: after, ...rest }: GlobalsPage & Told): GlobalsPage & Told {
  const { items, next } = fittingNames(
    { items: globals, next: after },
    ({ name, type_name }) => name.length + type_name.length + 30,
  )
  return { globals: items, ...rest, ...next }
}

function showGlobals({ globals, total, next, package: inside, elsewhere }: GlobalsPage): string {
  if (total === 0) return noNames(inside, elsewhere)
  const count = total === 1 ? '1 name' : `${total} names`
  const page = globals.length === total ? count : `${globals.length} of ${count}`
  const more = next === undefined ? '' : `; for more: after ${JSON.stringify(next)}`
  return [`${page}${more}`, ...globals.map(globalLine)].join('\n')
}

/** `orders: dict`, and of a Lisp package `shop: package`, whose name ends with a colon. */
const globalLine = ({ name, type_name }: GlobalsPage['globals'][number]): string =>
  `${oneLine(name)}${name.endsWith(':') ? '' : ':'} ${oneLine(type_name)}`

/** Where the top level is empty, a program may have its names in packages of its own. */
function noNames(inside: string | undefined, elsewhere: readonly string[] | undefined): string {
  const where = inside === undefined ? 'no names' : `no names in ${oneLine(inside)}`
  const [one] = elsewhere ?? []
  if (one === undefined) return where
  const ask = `list_globals ${JSON.stringify({ package: one })}`
  return `${where}; packages that have names: ${elsewhere?.map(oneLine).join(', ')}\nnext: ${ask}`
}
