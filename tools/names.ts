import { z } from 'zod'
import {
  type Apropos,
  type AproposQuery,
  type Completion,
  type Completions,
  type CompletionsQuery,
  type GlobalsPage,
  type GlobalsQuery,
  LOOKS,
  type ModulePage,
  type ModuleQuery,
} from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import { characters } from './definition.ts'
import { type Terms, type Told, termsOf } from './languages.ts'
import { aName, anExpression, lookUp } from './look.ts'
import { failed, type Outcome, ok, packageRefused } from './outcome.ts'
import { NAME_LENGTH, NAMED_IN, PAGED, parameterFor, SOURCE_LENGTH } from './parameters.ts'
import { NAMES_OF, namesOf, notLoaded, scopeOf } from './scope.ts'
import { counted, fittingNames, given, indent, nameLine, nameSize, oneLine, pageLine } from './text.ts'
import { tokensAtMost } from './tokens.ts'

const NAMES = ['name', 'names'] as const

/** What is at fault where an image could not read a name: the package, or where the page before has ended. */
const unread = (after: string | undefined) =>
  after === undefined
    ? { parameter: 'package', wanted: 'a module or package' }
    : { parameter: 'package or after', wanted: 'a name' }

export const aproposSearch = defineTool({
  name: 'apropos_search',
  description:
    'Find names that contain a text, in all loaded modules or packages: one line each, with kind and first ' +
    'line of documentation. Runs no code, loads nothing. Use it when you know a part of a name but not where ' +
    'it lives; for the names of one module use list_globals.',
  parameters: {
    filter: z
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
  result: LOOKS.apropos.found,
  examples: [
    { args: { filter: 'checkout' }, shows: 'every name that contains “checkout”' },
    { args: { filter: 'connect', package: 'shop' }, shows: 'the same within one package' },
  ],

  async handler({ filter: pattern, package: module, after, limit }, context) {
    const words = {
      ...aName(context.kernel),
      ...unread(after),
      search: 'Leave package out to search everything that is loaded.',
      narrow: 'Give a longer filter, or a package.',
    }
    const query = given<AproposQuery>({ pattern, module, after, limit })
    const outcome = await lookUp({ look: 'apropos', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { matches, next: following, ...rest } = outcome.result
    const { items, next } = fittingNames({ items: matches, next: following }, nameSize)
    return ok<Apropos & Told>({ matches: items, ...rest, ...next })
  },

  show: showApropos,
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

export const listGlobals = defineTool({
  name: 'list_globals',
  description:
    'List the names at the top level of the live image with their types, or with `package` those of one loaded ' +
    'module. Runs no code. When you know a name, go straight to inspect.',
  parameters: {
    filter: z.string().min(1).max(200).optional().describe('Only names that contain this text, in any case.'),
    after: PAGED.after,
    package: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .optional()
      .describe('A loaded module or package, such as `shop.orders` or `SHOP`.'),
    detail: parameterFor(
      'symbols',
      z
        .enum(['types', 'docs'])
        .default('types')
        .describe('docs: what the package offers, with kind and documentation.'),
    ),
    include_internal: parameterFor(
      'symbols',
      z.boolean().default(false).describe('With docs: also private and imported names.'),
    ),
    modules: z.boolean().default(false).describe('Also list names that stand for modules or packages.'),
    limit: z.int().min(1).max(1_000).default(100).describe('How many names a page has at most.'),
  },
  presets: { list_package_symbols: { detail: 'docs' } },
  level: 'safe',
  profile: 'core',
  categories: ['introspection'],
  needs: ['globals'],
  result: z.union([LOOKS.globals.found, LOOKS.symbols.found]),
  examples: [
    { args: {}, shows: 'the first hundred names' },
    { args: { filter: 'config', modules: true }, shows: 'names that contain “config”, modules included' },
    { args: { package: 'shop.orders' }, shows: 'the names of a module, private ones too' },
    { args: { package: 'shop.orders', detail: 'docs' }, shows: 'what a module offers' },
  ],

  async handler({ package: module, detail, include_internal: internal, modules, ...page }, context) {
    if (detail === 'docs') return offered({ module, internal, ...page }, context)
    const words = {
      ...anExpression(context.kernel),
      parameter: module === undefined ? 'after' : 'package',
      wanted: module === undefined ? 'a name' : 'a module or package',
      search: LOADED,
    }
    const query = given<GlobalsQuery>({ modules, module, ...page })
    const outcome = await lookUp({ look: 'globals', query, words }, context)
    return outcome.type === 'ok' ? ok(fitted(outcome.result)) : outcome
  },

  show: result => ('symbols' in result ? showModule(result) : showGlobals(result)),
})

const LOADED =
  'Only what is loaded can be listed: apropos_search, or list_globals with modules, shows what is.'

async function offered(
  { module, ...page }: { readonly [Key in keyof ModuleQuery]: ModuleQuery[Key] | undefined },
  context: KernelContext,
): Promise<Outcome<ModulePage & Told>> {
  if (module === undefined)
    return failed('invalid_args', {
      message: 'detail "docs" is about one package, and none is named.',
      details: { parameter: 'package' },
      next: 'Name a package, or leave detail out to list the top level.',
    })
  const words = { ...aName(context.kernel), ...unread(page.after), search: LOADED }
  const query = given<ModuleQuery>({ module, ...page })
  const outcome = await lookUp({ look: 'symbols', query, words }, context)
  if (outcome.type !== 'ok') return outcome
  const { symbols, next: following, ...rest } = outcome.result
  const { items, next } = fittingNames({ items: symbols, next: following }, nameSize)
  return ok<ModulePage & Told>({ ...rest, symbols: items, ...next })
}

/** The page, ended earlier where its names are long. */
function fitted({ globals, next: after, ...rest }: GlobalsPage & Told): GlobalsPage & Told {
  const { items, next } = fittingNames({ items: globals, next: after }, ({ name, type_name }) =>
    tokensAtMost(`${name}: ${type_name}\n`),
  )
  return { globals: items, ...rest, ...next }
}

function showGlobals(found: GlobalsPage & Told): string {
  const { globals, total, hidden, next, package: inside, elsewhere = [] } = found
  const terms = termsOf(found)
  const [one] = elsewhere
  const others =
    one === undefined
      ? []
      : [
          `${terms.module[1]} that have names: ${elsewhere.map(oneLine).join(', ')}`,
          `next: list_globals ${JSON.stringify({ package: one })}`,
        ]
  const left =
    hidden === undefined
      ? ''
      : `; ${hidden === 1 ? '1 name of IPython is' : `${hidden} names of IPython are`} left out`
  if (total === 0) {
    const [where, ...next] = others
    const none = `${inside === undefined ? 'no names' : `no names in ${oneLine(inside)}`}${left}`
    return [where === undefined ? none : `${none}; ${where}`, ...next].join('\n')
  }
  const count = `${total === 1 ? '1 name' : `${total} names`}${terms.listed ?? ''}`
  const page = globals.length === total ? count : `${globals.length} of ${count}`
  const more = next === undefined ? '' : `; for more: after ${JSON.stringify(next)}`
  return [`${page}${left}${more}`, ...globals.map(globalLine), ...others].join('\n')
}

/** `orders: dict`, and of a Lisp package `shop: package`, whose name ends with a colon. */
const globalLine = ({ name, type_name }: GlobalsPage['globals'][number]): string =>
  `${oneLine(name)}${name.endsWith(':') ? '' : ':'} ${oneLine(type_name)}`

export const complete = defineTool({
  name: 'complete',
  description:
    'Tell how a piece of code might go on at the cursor, from the names of the live image, and which ' +
    'parameter of a call comes next; in Lisp also from abbreviations such as `m-v-b`. Runs no code. Meant ' +
    'for editors and consoles; to understand a value use inspect.',
  parameters: {
    text: z.string().max(SOURCE_LENGTH).describe('The code so far, and what stands after the cursor.'),
    cursor: z
      .int()
      .min(0)
      .max(SOURCE_LENGTH)
      .optional()
      .describe('Where the cursor is: characters before it. Left out: at the end of the text.'),
    package: NAMED_IN,
    file: NAMES_OF,
    limit: z.int().min(1).max(500).default(50).describe('How many completions are given at most.'),
  },
  level: 'safe',
  typed: ['text'],
  profile: 'full',
  categories: ['introspection', 'editing'],
  needs: ['complete'],
  multiline: ['text'],
  result: LOOKS.complete.found,
  examples: [
    { args: { text: 'orders[0].cust' }, shows: 'attributes that begin with “cust”' },
    { args: { text: 'total = sum(x)', cursor: 11 }, shows: 'what may stand at a place within the code' },
  ],

  async handler({ text, cursor, package: named, file, limit }, context) {
    const scope = await scopeOf({ file, package: named, line: undefined }, context)
    if ('type' in scope) return scope
    const { package: inside } = scope
    const refused =
      notLoaded(scope, context) ??
      packageRefused(inside, context.kernel, 'package says in what names are read')
    if (refused !== undefined) return refused
    const length = characters(text)
    if (cursor !== undefined && cursor > length)
      return failed('invalid_args', {
        message: `The cursor is at ${cursor}, and the text has ${length} characters.`,
        details: { parameter: 'cursor' },
        next: 'Leave cursor out to complete at the end of the text.',
      })
    const words = { ...anExpression(context.kernel), parameter: 'text', wanted: 'code that can be completed' }
    const query = given<CompletionsQuery>({ text, cursor: cursor ?? length, limit, package: inside })
    const found = await lookUp({ look: 'complete', query, words }, context)
    return found.type === 'ok' ? ok({ ...found.result, ...namesOf(scope, file) }) : found
  },

  show: showCompletions,
})

function showCompletions(found: Completions & Told): string {
  const { from, to, completions, total, call, because } = found
  const terms = termsOf(found)
  const lines = []
  if (call !== null) {
    const parameter = call.parameter === null ? '' : `, at parameter ${call.parameter + 1}`
    lines.push(`in ${oneLine(call.call ?? `${call.name}${call.signature}`)}${parameter}`)
  }
  if (because !== null) lines.push(`nothing is offered: ${oneLine(because)}`)
  else if (completions.length === 0) lines.push('no completions')
  else {
    const cut = completions.length === total ? '' : ` of ${total}`
    lines.push(`${completions.length}${cut}, each in place of characters ${from} to ${to}:`)
  }
  return [...lines, ...completions.map(one => completionLine(one, terms))].join('\n')
}

/** The type is worth saying of a value only. */
function completionLine({ text, kind, type_name }: Completion, terms: Terms): string {
  const typed = (kind === 'variable' || kind === 'constant') && type_name !== null
  return `${oneLine(text)}  ${terms.kind(kind)}${typed ? `, ${oneLine(type_name)}` : ''}`
}
