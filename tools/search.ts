import { z } from 'zod'
import type { Apropos, AproposQuery, ModulePage, ModuleQuery } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { fittingNames } from './fit.ts'
import { type Told, termsOf } from './languages.ts'
import { aName, lookUp } from './looked.ts'
import { counted, given, NAME_LENGTH, named, nameLine, nameSize, PAGED, pageLine } from './naming.ts'
import { ok } from './outcome.ts'
import { indent, oneLine } from './wording.ts'

const NAMES = ['name', 'names'] as const

/** What is at fault where an image could not read a name: the package, or where the page before has ended. */
const unread = (after: string | undefined) =>
  after === undefined
    ? { parameter: 'package', wanted: 'a module or package' }
    : { parameter: 'package or after', wanted: 'a name' }

export const aproposSearch = defineTool({
  name: 'apropos_search',
  description:
    'Find names in the whole image, its loaded modules or packages included, that contain a text: one line each, ' +
    'with kind and first line of documentation. Runs no code, loads nothing. Use it when you know a part of a ' +
    'name but not where it lives; for the names of one module use list_package_symbols.',
  parameters: {
    pattern: z
      .string()
      .max(200)
      .describe('Part of a name, in upper or lower case; an empty text is a part of every name.'),
    package: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .optional()
      .describe('Only in this module or package, and in what is below it.'),
    ...PAGED,
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'search'],
  needs: ['apropos'],
  examples: [
    { args: { pattern: 'checkout' }, shows: 'every name that contains “checkout”' },
    { args: { pattern: 'connect', package: 'shop' }, shows: 'the same within one package' },
  ],

  async handler({ pattern, package: module, after, limit }, context) {
    const words = {
      ...aName(context.kernel),
      ...unread(after),
      search: 'Leave package out to search everything that is loaded.',
      narrow: 'Give a longer pattern, or a package.',
    }
    const query = given<AproposQuery>({ pattern, module, after, limit })
    const outcome = await lookUp({ look: 'apropos', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { matches, next: following, ...rest } = outcome.result
    const { items, next } = fittingNames({ items: matches, next: following }, nameSize)
    return ok<Apropos & Told>({ matches: items, ...rest, ...next })
  },

  show: result => showApropos(result as Apropos & Told),
})

function showApropos(found: Apropos & Told): string {
  const { matches, total, searched, next } = found
  const terms = termsOf(found)
  const where = `${counted(searched, ...terms.module)} searched`
  if (matches.length === 0) return `no such name; ${where}`
  const ended = total === null ? '; the search was ended early, there may be more' : ''
  const heading = pageLine({ shown: matches.length, total, what: NAMES, next })
  return [`${heading}; ${where}${ended}`, ...matches.map(one => nameLine(one, terms))].join('\n')
}

export const listPackageSymbols = defineTool({
  name: 'list_package_symbols',
  description:
    'List the names that a loaded module or package offers, a page at a time: one line each, with kind and first ' +
    'line of documentation. Runs no code, loads nothing. For the names at the top level use list_globals; to find ' +
    'a name anywhere use apropos_search.',
  parameters: {
    package: named('A loaded module or package, such as `shop.orders`.'),
    include_internal: z
      .boolean()
      .default(false)
      .describe('Also list private names, and what the module has imported from others.'),
    filter: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only names that contain this text, in upper or lower case.'),
    ...PAGED,
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection'],
  needs: ['symbols'],
  examples: [
    { args: { package: 'shop.orders' }, shows: 'what a module offers' },
    {
      args: { package: 'json', include_internal: true, filter: 'scan' },
      shows: 'also what is private to it',
    },
  ],

  async handler({ package: module, include_internal: internal, filter, after, limit }, context) {
    const words = {
      ...aName(context.kernel),
      ...unread(after),
      search:
        'Only what is loaded can be listed: list_globals with modules, or apropos_search, shows what is.',
    }
    const query = given<ModuleQuery>({ module, internal, filter, after, limit })
    const outcome = await lookUp({ look: 'symbols', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { symbols, next: following, ...rest } = outcome.result
    const { items, next } = fittingNames({ items: symbols, next: following }, nameSize)
    return ok<ModulePage & Told>({ ...rest, symbols: items, ...next })
  },

  show: result => showModule(result as ModulePage & Told),
})

function showModule(page: ModulePage & Told): string {
  const { module, file, doc, symbols, total, next } = page
  const terms = termsOf(page)
  const heading = file === null ? oneLine(module) : `${oneLine(module)} · ${oneLine(file)}`
  const lines = [heading]
  const [about = ''] = (doc ?? '').trim().split(/\n\s*\n/)
  if (about !== '') lines.push(indent(about))
  if (symbols.length === 0) return [...lines, 'no names'].join('\n')
  lines.push(pageLine({ shown: symbols.length, total, what: NAMES, next }))
  return [
    ...lines,
    ...symbols.map(one => `${nameLine(one, terms)}${one.exported ? '' : ' (internal)'}`),
  ].join('\n')
}
