import { z } from 'zod'
import {
  type Definition,
  type DefinitionPart,
  type DefinitionQuery,
  definition,
  definitionPart,
  type Of,
  type Proof,
  SECTIONS,
} from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import { termsOf } from './languages.ts'
import { aName, lookUpName } from './look.ts'
import { type Failed, failed, type Ok, type Outcome, ok, packageRefused } from './outcome.ts'
import { NAME_LENGTH, NAMED_IN, parameterFor } from './parameters.ts'
import { definitionProved } from './proof.ts'
import { NAMES_OF, namesOf, notLoaded, scopeOf } from './scope.ts'
import { toolErrorShape } from './shapes.ts'
import { oneLine, placeOf } from './text.ts'

/** Characters of source in one answer, over all its symbols: as much as any client shows its model uncut. */
const TOTAL_LENGTH = 16_000

/** How many symbols one answer is about, and how many of the names beyond those it repeats. */
const SYMBOLS = 20
const LEFT_OUT = 50

/** The most that `max_length` can be; more is taken for that. */
const MOST_LENGTH = 1_000_000

/** One symbol: everything but its source, which is in the page; or why there is nothing. */
const symbolFacts = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true),
    ...definition.omit({ source: true, parts: true, running: true, page: true }).shape,
    /** Other things of that name, and methods; the page has their source. */
    parts: z.array(definitionPart.omit({ source: true, running: true })).exactOptional(),
    truncated: z.boolean(),
    original_len: z.number().nullable(),
    /** For `read_more`, where the source was cut. */
    handle: z.string().exactOptional(),
  }),
  z.object({ ok: z.literal(false), name: z.string(), error: toolErrorShape }),
])
type SymbolFacts = Of<typeof symbolFacts>

/** What `symbol_definition` answers with: a page to read, and the facts of each symbol, in the order asked for. */
const definitionsAnswer = z.object({
  markdown: z.string(),
  symbols: z.array(symbolFacts),
  /** Whether the source of any symbol was cut. */
  truncated: z.boolean(),
})
export type Definitions = Of<typeof definitionsAnswer>

export const symbolDefinition = defineTool({
  name: 'symbol_definition',
  description:
    'Show the source of functions, classes, methods or modules as the live image runs them, with file and lines, ' +
    'also of what was typed in. Says so where the file differs by now. Runs no code.',
  parameters: {
    symbols: z
      .preprocess(listed, z.array(z.string().trim()).min(1))
      .describe(`Up to ${SYMBOLS} names, paths such as \`shop.Order.total\`, or handles.`),
    package: NAMED_IN,
    file: NAMES_OF,
    include_context_details: z.boolean().default(false).describe('Also list the names they use.'),
    max_length: z.int().min(1).default(10_000).describe('Characters per symbol; read_more has the rest.'),
    include: parameterFor(
      'sections',
      z.array(z.enum(SECTIONS)).optional().describe('Also show these sections.'),
    ),
  },
  // As issues and other tools of the kind write it.
  aliases: ['SymbolDefinition'],
  parameterAliases: {
    maxLength: 'max_length',
    includeContextDetails: 'include_context_details',
    function: 'symbols',
    class: 'symbols',
    variable: 'symbols',
  },
  level: 'safe',
  profile: 'live',
  categories: ['introspection'],
  needs: ['definition'],
  result: definitionsAnswer,
  examples: [
    { args: { symbols: ['shop.Order.total'] }, shows: 'the source of one method' },
    {
      args: { symbols: ['checkout', 'shop.Order'], max_length: 2_000 },
      shows: 'two at once, each cut short',
    },
    { args: { symbols: ['checkout'], include_context_details: true }, shows: 'and whose names it uses' },
  ],

  async handler(given, context) {
    const { symbols, include_context_details: contexts, include = [] } = given
    const max_length = Math.min(given.max_length, MOST_LENGTH)
    const scope = await scopeOf({ file: given.file, package: given.package }, context)
    if ('type' in scope) return scope
    const { package: inside } = scope
    const refused =
      notLoaded(scope, context) ??
      packageRefused(inside, context.kernel, 'package says in what names are read') ??
      sectionsRefused(include, context.kernel)
    if (refused !== undefined) return refused
    // Of a name that is too long, what is more than enough for the image to say so.
    const all = [...new Set(symbols.map(name => name.slice(0, NAME_LENGTH + 1)))]
    const asked = { names: all.slice(0, SYMBOLS), max_length, contexts, include, inside }
    const found = withLeftOut(await answer(asked, context), all.slice(SYMBOLS))
    return found.type === 'ok' ? ok({ ...found.result, ...namesOf(scope, given.file) }) : found
  },

  show: ({ markdown }) => markdown,
})

async function answer(asked: DefinitionsQuery, context: KernelContext): Promise<Outcome<Definitions>> {
  const looked = await lookAll(asked, context)
  const pages = pagesOf(asked.names, looked)
  if (pages !== undefined) return unreadable(pages) ?? ok(bound(pages, context))
  const lengths = looked.map(one => (one.type === 'ok' ? lengthOf(one.result) : 0))
  const share = fairShare(lengths, TOTAL_LENGTH)
  // What is too long for its share is asked for again, so that what is cut has its handle.
  const long = asked.names.filter((_, index) => (lengths[index] ?? 0) > share)
  const again = await lookAll({ ...asked, names: long, max_length: share }, context)
  const all = await Promise.all(
    asked.names.map(async (name, index) => {
      const at = long.indexOf(name)
      const found = (at < 0 ? looked[index] : again[at]) ?? noneOf(name)
      const length = Math.min(share, asked.max_length)
      return { name, looked: within(await proved(found, length, context), share) }
    }),
  )
  return all.some(one => one.looked.type === 'ok') ? ok(definitions(all)) : noneFound(all)
}

/** The answer about the first names, which says of the others that they have to be asked for again. */
function withLeftOut(outcome: Outcome<Definitions>, names: readonly string[]): Outcome<Definitions> {
  if (names.length === 0) return outcome
  const shown = names.slice(0, LEFT_OUT).map(name => short(oneLine(name)))
  const more = names.length > LEFT_OUT ? `, and ${names.length - LEFT_OUT} more` : ''
  const line = `... [left out, beyond the first ${SYMBOLS} names: ${shown.join(', ')}${more}: ask again for them]`
  if (outcome.type === 'ok') {
    const { markdown } = outcome.result
    return ok({ ...outcome.result, markdown: `${markdown}\n\n${line}`, truncated: true })
  }
  if (outcome.type !== 'failed') return outcome
  return { type: 'failed', error: { ...outcome.error, message: `${outcome.error.message} ${line}` } }
}

const short = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name)

function sectionsRefused(
  include: readonly string[],
  { identity }: KernelContext['kernel'],
): Failed | undefined {
  if (include.length === 0 || identity.abilities.has('sections')) return undefined
  return failed('invalid_args', {
    message: `include asks for ${include.join(', ')}, which ${identity.language} does not keep apart from a definition. Nothing was run.`,
    details: { parameter: 'include', language: identity.language },
    next: 'Leave include out; inspect tells the facts of a name.',
  })
}

/** A page that the image has written of a name, and its facts. */
interface Paged {
  readonly name: string
  readonly page: string
  readonly facts: SymbolFacts
}

/** Those of a language that has a form of its own for them, which says of each name what is wrong with it. */
function pagesOf(
  names: readonly string[],
  looked: readonly (Ok<Definition> | Failed)[],
): Paged[] | undefined {
  const all = looked
    .map((one, index) => ({ name: names[index] ?? '', one }))
    .filter(({ name }) => name !== '' || looked.length === 1)
  return all.some(({ one }) => hasPage(one)) ? all.map(({ name, one }) => paged(name, one)) : undefined
}

const hasPage = (looked: Ok<Definition> | Failed): boolean =>
  typeof (looked.type === 'ok' ? looked.result : looked.error.details).page === 'string'

function paged(name: string, looked: Ok<Definition> | Failed): Paged {
  if (looked.type === 'failed') {
    const { page, ...details } = looked.error.details
    const error = { ...looked.error, details }
    return {
      name,
      page: typeof page === 'string' ? page : failureLines(name, error).join('\n').trimEnd(),
      facts: { ok: false, name, error },
    }
  }
  const { page = '', ...found } = looked.result
  return { name, page, facts: facts({ name, looked: ok(found) }) }
}

/** A list of which nothing is a name has failed as a whole. */
function unreadable(pages: readonly Paged[]): Failed | undefined {
  const errors = pages.flatMap(({ name, facts }) => (facts.ok ? [] : [{ name, error: facts.error }]))
  const isUnreadable =
    errors.length === pages.length && errors.every(one => one.error.code === 'invalid_args')
  const found = isUnreadable
    ? noneFound(errors.map(({ name, error }) => ({ name, looked: { type: 'failed', error } })))
    : undefined
  return found?.type === 'failed' ? found : undefined
}

/** What is too much for one answer is left out from one symbol on, and has a handle. */
function bound(pages: readonly Paged[], { sources }: KernelContext): Definitions {
  let left = TOTAL_LENGTH
  const cut = pages.findIndex(({ page }, index) => {
    left -= characters(page)
    return left < 0 && index > 0
  })
  const [shown, rest] = cut < 0 ? [pages, []] : [pages.slice(0, cut), pages.slice(cut)]
  const markdown = shown.map(({ page }) => page)
  if (rest.length > 0) {
    const names = rest.map(({ name }) => name).join(', ')
    const handle = sources.keep(rest.map(({ page }) => page).join('\n\n'))
    markdown.push(`... [left out, to fit: ${oneLine(names)}: read_more ${handle}]`)
  }
  for (const { name, facts } of shown)
    if (facts.ok && facts.handle !== undefined)
      markdown.push(`... [more of ${oneLine(name)}: read_more ${facts.handle}]`)
  return {
    markdown: markdown.join('\n\n'),
    symbols: pages.map(one => one.facts),
    truncated: rest.length > 0 || pages.some(one => one.facts.ok && one.facts.truncated),
  }
}

async function proved(
  found: Ok<Definition> | Failed,
  length: number,
  context: KernelContext,
): Promise<Ok<Definition & { readonly proof?: Proof }> | Failed> {
  return found.type === 'ok' ? ok(await definitionProved(found.result, { length, context })) : found
}

/** A list may also come as one text: with commas, or as the JSON of one, which is taken as such elsewhere. */
function listed(value: unknown): unknown {
  return typeof value === 'string' && !/^\s*\[\s*"/.test(value) ? value.split(',') : value
}

interface DefinitionsQuery extends Required<Pick<DefinitionQuery, 'max_length' | 'contexts' | 'include'>> {
  readonly names: readonly string[]
  readonly inside: string | undefined
}

interface LookedUp {
  readonly name: string
  readonly looked: Ok<Definition & { readonly proof?: Proof }> | Failed
}

function lookAll({ names, max_length, contexts, include, inside }: DefinitionsQuery, context: KernelContext) {
  const named = aName(context.kernel)
  const whole = 'Give the whole path, such as module.name; list_globals shows what is at the top level.'
  const words = {
    ...named,
    parameter: 'symbols',
    search: termsOf(context.kernel.identity).name.search ?? whole,
  }
  const kept = include.length > 0 && { include }
  const more = { ...(contexts && { contexts }), ...kept, ...(inside !== undefined && { package: inside }) }
  return Promise.all(
    names.map(async name =>
      name === ''
        ? emptyName(named.reread)
        : lookUpName(
            {
              look: 'definition',
              query: { name, max_length, ...more },
              words: LISTED.test(name) ? { ...words, reread: `${words.reread} ${COMMAS}` } : words,
            },
            context,
          ),
    ),
  )
}

/** A name that may be several, with what is no comma between them. */
const LISTED = /[\s;]/

const COMMAS = 'Commas stand between several.'

/** The most that each may have so that all fit: what is short keeps its length, and the long ones share the rest. */
export function fairShare(lengths: readonly number[], total: number): number {
  let left = total
  const sorted = [...lengths].sort((one, other) => one - other)
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index))
    if (length > share) return share
    left -= length
  }
  return total
}

/** Characters of source, that of its parts included. */
const lengthOf = ({ source, parts = [] }: Definition): number =>
  [source, ...parts.map(part => part.source)].reduce((sum, text) => sum + characters(text?.text ?? ''), 0)

/** The definition with the source of its parts for which `length` characters suffice; the others say where to look. */
function within<Looked extends LookedUp['looked']>(looked: Looked, length: number): Looked | Ok<Definition> {
  if (looked.type !== 'ok' || looked.result.parts === undefined) return looked
  let left = length - characters(looked.result.source?.text ?? '')
  const parts = looked.result.parts.map(part => {
    const needed = characters(part.source?.text ?? '')
    if (needed > left) return { ...part, source: null, because: NOT_SHOWN }
    left -= needed
    return part
  })
  return ok({ ...looked.result, parts })
}

const NOT_SHOWN = 'left out, to fit. Ask for this symbol alone, or read its place in the file.'

function definitions(all: readonly LookedUp[]): Definitions {
  const found = all.flatMap(({ looked }) => (looked.type === 'ok' ? [looked.result] : []))
  const lines = all.map(({ name, looked }) =>
    looked.type === 'ok' ? definitionLines(looked.result) : failureLines(name, looked.error),
  )
  return {
    markdown: [...lines, contextLines(found)].flat().join('\n').trimEnd(),
    symbols: all.map(facts),
    truncated: found.some(({ source, parts = [] }) =>
      [{ source, because: null }, ...parts].some(
        one => one.source?.truncated === true || one.because === NOT_SHOWN,
      ),
    ),
  }
}

function facts({ name, looked }: LookedUp): SymbolFacts {
  if (looked.type === 'failed') return { ok: false, name, error: looked.error }
  const { source, parts, ...rest } = looked.result
  return {
    ok: true,
    ...rest,
    ...(parts !== undefined && { parts: parts.map(({ source: _, ...part }) => part) }),
    truncated: source?.truncated ?? false,
    original_len: source?.original_len ?? null,
    ...(source?.handle !== undefined && { handle: source.handle }),
  }
}

/**
 * What fails one symbol is the error, and so is what fails all in the same words, as a busy kernel does. Several that
 * fail alike have one of what they have in common, and otherwise `not_found`.
 */
function noneFound(all: readonly LookedUp[]): Outcome<never> {
  const errors = all.flatMap(({ name, looked }) =>
    looked.type === 'ok' ? [] : [{ name, error: looked.error }],
  )
  const [first, ...others] = errors
  if (first === undefined) return noneOf('')
  if (others.every(({ error }) => error.message === first.error.message))
    return { type: 'failed', error: first.error }
  const alike = others.every(({ error }) => error.code === first.error.code)
  const { details, message: _, code, ...rest } = first.error
  const reason = alike && typeof details.reason === 'string' ? { reason: details.reason } : {}
  return {
    type: 'failed',
    error: {
      ...rest,
      code: alike ? code : 'not_found',
      retryable: alike && rest.retryable,
      message: together([...new Set(errors.map(({ error }) => error.message))]),
      details: { ...reason, symbols: errors.map(({ name, error }) => ({ ok: false, name, error })) },
    },
  }
}

/** One sentence where all begin alike, as with what is not a name. */
function together([first = '', ...others]: readonly string[]): string {
  const start = first.slice(0, first.indexOf(': ') + 2)
  if (start.length < 2 || !others.every(one => one.startsWith(start))) return [first, ...others].join(' ')
  return [first, ...others.map(one => one.slice(start.length))].join('; ')
}

/** Of one name among several that are looked up, so that the others are. */
const emptyName = (next: string): Failed =>
  failed('invalid_args', {
    message: 'One of the symbols is an empty text.',
    details: { parameter: 'symbols' },
    next,
  })

const noneOf = (name: string): Failed =>
  failed('not_found', { message: `Nothing is called ${name}.`, details: { what: name, nearest: [] } })

function definitionLines(found: Definition & { readonly proof?: Proof }): string[] {
  const { name, language, parts = [] } = found
  return [
    `# ${oneLine(name)}`,
    '',
    ...aboutLines(found),
    '',
    '## Definition',
    '',
    ...sourceLines(found, language),
    ...parts.flatMap(part => partLines(part, language)),
  ]
}

/** The source in a fence that nothing in it can end, or why there is none. */
function sourceLines(
  { source, because }: Pick<Definition, 'source' | 'because'>,
  language: string,
): string[] {
  if (source === null) return [`No source: ${oneLine(because ?? 'the image has none')}`, '']
  const fence = fenceFor(source.text)
  const lines = [`${fence}${language}`, source.text.replace(/\n$/, ''), fence]
  if (source.error !== undefined) lines.push(oneLine(source.error))
  if (source.truncated) lines.push(cutLine(source))
  return [...lines, '']
}

/** A method of a generic function, or something else that the name stands for. */
function partLines(part: DefinitionPart, language: string): string[] {
  const place = placeOf(part)
  const about = `${termsOf({ language }).kind(part.kind)}${place === '' ? '' : ` · ${place}`}`
  const stale = part.current === false ? [STALE] : []
  const why = part.proof?.because ?? null
  const said = [...stale, about, ...(why === null ? [] : [why]), ...(part.notes ?? [])].map(oneLine)
  const title = `${part.wraps === true ? 'Around it: ' : ''}${oneLine(part.name)}`
  return [`### ${title}`, '', ...said, '', ...sourceLines(part, language)]
}

const STALE = '**The file’s text is not what runs:** it has changed since this was loaded.'

/** What is known of a definition besides its text. */
function aboutLines(found: Definition & { readonly proof?: Proof }): string[] {
  const { name, qualified, kind, origin, wrappers, notes, current, proof } = found
  const words: string[] = [termsOf(found).kind(kind)]
  const place = placeLine(found)
  if (place !== '') words.push(place)
  if (qualified !== name) words.push(`defined as \`${oneLine(qualified)}\``)
  if (origin === 'typed') words.push('typed in, not in a file')
  if (origin === 'built_in') words.push('built in')
  const lines = current === false ? [STALE] : []
  lines.push(words.join(' · '))
  if (wrappers.length > 0)
    lines.push(`seen through, outermost first: ${wrappers.map(one => wrapperWord(one)).join(', ')}`)
  if (proof !== undefined && proof.because !== null) lines.push(oneLine(proof.because))
  else if (current === null && origin === 'file' && notes.length === 0)
    lines.push('Whether the file has changed since it was loaded cannot be told.')
  lines.push(...notes.map(oneLine))
  return lines
}

function placeLine({ file, line, end_line }: Definition): string {
  const place = placeOf({ file, line })
  return line !== null && end_line !== null && end_line > line && place !== ''
    ? `${place}-${end_line}`
    : place
}

function wrapperWord({ name, file, line }: Definition['wrappers'][number]): string {
  const place = placeOf({ file, line })
  return `\`${oneLine(name)}\`${place === '' ? '' : ` (${place})`}`
}

/** Longer than any row of backticks in the text, so that nothing in it can end it. */
function fenceFor(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(row => row.length))
  return '`'.repeat(longest + 1)
}

function cutLine({ text, original_len, handle }: NonNullable<Definition['source']>): string {
  const shown = characters(text)
  const rest = handle === undefined ? '' : `; the rest: read_more ${handle} from ${shown}`
  return `... [truncated, showing ${shown}/${original_len ?? 'unknown'} characters${rest}]`
}

/** Characters as an image counts them, which takes no account of surrogates. */
export function characters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function failureLines(name: string, { code, message }: Failed['error']): string[] {
  return [`# ${short(oneLine(name)) || '""'}`, '', `Error: ${code}: ${oneLine(message)}`, '']
}

/** Whose names the definitions use, once for all of them. */
function contextLines(found: readonly Definition[]): string[] {
  const contexts = new Map<string, Set<string>>()
  for (const [module, names] of found.flatMap(one => Object.entries(one.contexts ?? {}))) {
    const known = contexts.get(module) ?? new Set()
    for (const name of names) known.add(name)
    contexts.set(module, known)
  }
  if (contexts.size === 0) return []
  const sorted = [...contexts].sort(([one], [other]) => (one < other ? -1 : 1))
  const rows = sorted.map(([module, names]) => `  ${JSON.stringify(module)}: ${JSON.stringify([...names])}`)
  return ['# Contexts', '', '```json', '{', rows.join(',\n'), '}', '```', '']
}
