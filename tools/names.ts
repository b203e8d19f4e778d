import { z } from 'zod'
import type {
  Apropos,
  AproposQuery,
  Arglist,
  Completion,
  Completions,
  CompletionsQuery,
  Description,
  GlobalsPage,
  GlobalsQuery,
  ModulePage,
  ModuleQuery,
  NameQuery,
  Text,
} from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { characters } from './definition.ts'
import { type Terms, type Told, termsOf } from './languages.ts'
import { aName, anExpression, lookUp, lookUpName } from './look.ts'
import { failed, ok } from './outcome.ts'
import { NAME_LENGTH, NAMED_IN, named, PAGED, SOURCE_LENGTH } from './parameters.ts'
import { packageRefused } from './source.ts'
import {
  counted,
  cutNote,
  fittingNames,
  given,
  indent,
  nameLine,
  nameSize,
  oneLine,
  pageLine,
  placeOf,
  typeWord,
} from './text.ts'
import { tokensAtMost } from './tokens.ts'

export const describeSymbol = defineTool({
  name: 'describe_symbol',
  description:
    'Tell in a few lines what a name stands for: its kind and type, value or signature, documentation, where it ' +
    'was defined, and under which other names it is known. Runs no code. Shorter than inspect, which also shows ' +
    'members and contents; for the source use symbol_definition.',
  parameters: {
    name: named('A name, a path such as `shop.Order.total` or `shop:total`, or a handle.'),
    package: NAMED_IN,
  },
  // As Agent-Q's contract writes it; its code says `name`.
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection'],
  needs: ['describe'],
  examples: [
    { args: { name: 'shop.Order.total' }, shows: 'what a method is' },
    { args: { name: 'config' }, shows: 'what a variable holds' },
  ],

  handler({ name, package: inside }, context) {
    const query = given<NameQuery>({ name, package: inside })
    return lookUpName({ look: 'describe', query }, context)
  },

  show: result => showDescription(result as Description & Told),
})

function showDescription(found: Description & Told): string {
  const terms = termsOf(found)
  const { name, qualified, kind, type, signature, module, also, facts, doc, value, handle } = found
  const valued = kind === 'variable' || kind === 'constant' || kind === 'property'
  const words = [oneLine(qualified === '' ? name : qualified), terms.kind(kind)]
  if (valued) words.push(typeWord(type))
  const place = placeOf(found)
  if (place !== '') words.push(place)
  if (handle !== undefined) words.push(handle)
  const lines = [words.join(' · ')]
  if (qualified !== '' && qualified !== name) lines.push(`asked for as ${oneLine(name)}`)
  if (signature !== null) lines.push(`signature: ${oneLine(signature)}`)
  if (module !== null) lines.push(`${terms.module[0]}: ${oneLine(module)}`)
  if (facts.length > 0) lines.push(`facts: ${facts.map(oneLine).join('; ')}`)
  const others = also.filter(one => one !== name && one !== qualified)
  if (others.length > 0) lines.push(`also known as: ${others.map(oneLine).join(', ')}`)
  if (value !== undefined) lines.push(...textLines('value', value))
  if (doc !== null) lines.push(...textLines('doc', doc))
  return lines.join('\n')
}

function textLines(title: string, text: Text): string[] {
  const more = text.handle === undefined ? '' : `; more: read_more ${text.handle}`
  const cut = text.truncated ? ` (${cutNote(text)}${more})` : ''
  return text.text.includes('\n') ? [`${title}${cut}:`, indent(text.text)] : [`${title}${cut}: ${text.text}`]
}

export const functionArglist = defineTool({
  name: 'function_arglist',
  description:
    'Tell how a function, method or class is called: its signature, with defaults and annotations, and the first ' +
    'line of its documentation. Runs no code. Use it before writing a call; for what the function does use ' +
    'symbol_definition.',
  parameters: {
    name: named('A function, method or class: a name, a path such as `shop:total`, or a handle.'),
    package: NAMED_IN,
  },
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection'],
  needs: ['arglist'],
  examples: [{ args: { name: 'shop.Order.total' }, shows: 'the parameters of a method' }],

  handler({ name, package: inside }, context) {
    const query = given<NameQuery>({ name, package: inside })
    return lookUpName({ look: 'arglist', query }, context)
  },

  show: result => showArglist(result as Arglist),
})

function showArglist(found: Arglist): string {
  const { name, qualified, signature, because, parameters, returns, doc, call } = found
  const whose = oneLine(qualified === '' ? name : qualified)
  const lines = [
    call === undefined ? `${whose}${signature === null ? '' : oneLine(signature)}` : oneLine(call),
  ]
  if (signature === null) {
    lines.push(`its signature is not known: ${oneLine(because ?? 'the image does not tell')}`)
    if (parameters.length > 0)
      lines.push(`parameters: ${parameters.map(one => oneLine(one.name)).join(', ')}`)
    if (returns !== null) lines.push(`returns: ${oneLine(returns)}`)
  }
  if (doc !== null && doc !== '') lines.push(oneLine(doc))
  const place = placeOf(found)
  if (place !== '') lines.push(place)
  return lines.join('\n')
}

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

export const listGlobals = defineTool({
  name: 'list_globals',
  description:
    'List the names at the top level of the live image with their types, or with `package` those of one loaded ' +
    'module. Runs no code. When you know a name, go straight to inspect.',
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
  const { items, next } = fittingNames({ items: globals, next: after }, ({ name, type_name }) =>
    tokensAtMost(`${name}: ${type_name}\n`),
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

export const complete = defineTool({
  name: 'complete',
  description:
    'Tell how a piece of code might go on at the cursor, from the names that the live image really has, and which ' +
    'parameter of a call comes next; in Lisp also from abbreviations, as `m-v-b`. Runs no code, so what only running it could tell is not offered. Meant for ' +
    'editors and consoles; to understand a value use inspect.',
  parameters: {
    text: z.string().max(SOURCE_LENGTH).describe('The code so far, and what stands after the cursor.'),
    cursor: z
      .int()
      .min(0)
      .max(SOURCE_LENGTH)
      .optional()
      .describe('Where the cursor is: characters before it. Left out: at the end of the text.'),
    package: NAMED_IN,
    limit: z.int().min(1).max(500).default(50).describe('How many completions are given at most.'),
  },
  level: 'safe',
  typed: ['text'],
  profile: 'full',
  categories: ['introspection', 'editing'],
  needs: ['complete'],
  multiline: ['text'],
  examples: [
    { args: { text: 'orders[0].cust' }, shows: 'attributes that begin with “cust”' },
    { args: { text: 'total = sum(x)', cursor: 11 }, shows: 'what may stand at a place within the code' },
  ],

  handler({ text, cursor, package: inside, limit }, context) {
    const refused = packageRefused(inside, context.kernel, 'package says in what names are read')
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
    return lookUp({ look: 'complete', query, words }, context)
  },

  show: result => showCompletions(result as Completions & Told),
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
