import { z } from 'zod'
import {
  LOOKS,
  RELATIONS,
  type Reference,
  type References,
  type ReferencesQuery,
  type Relation,
} from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import { lookUpName } from './look.ts'
import { type Failed, failed, type Ok, ok } from './outcome.ts'
import { NAMED_IN, named } from './parameters.ts'
import { counted, dataTokens, fitting, given, oneLine, placeOf } from './text.ts'

export const whoReferences = defineTool({
  name: 'who_references',
  description:
    'Find who uses a function, class or value in the live image: code that names it, and variables, ' +
    'containers and objects that hold it, which no search through files finds. Runs no code. Says where a ' +
    'reference could still hide. Use it before you change or remove something. In Lisp each use says what it ' +
    'is, such as a call, a binding or a specialized method.',
  parameters: {
    name: named('A name such as `shop.Order.total` or `shop:total`, or a handle.'),
    relation: z
      .enum(RELATIONS)
      .optional()
      .describe('Only this kind: `uses` (any use in code) or `holds`; the others only in Lisp.'),
    package: NAMED_IN,
    limit: z.int().min(1).max(500).default(50).describe('How many references are shown at most.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'xref'],
  needs: ['references'],
  result: LOOKS.references.found,
  examples: [
    { args: { name: 'shop.Order.total' }, shows: 'who calls a method, and who keeps it' },
    { args: { name: 'shop:*rate*', relation: 'sets' }, shows: 'who assigns to a Lisp variable' },
  ],

  async handler({ name, relation, package: inside, limit }, context) {
    const relations = relation === undefined ? undefined : [relation]
    return findReferences({ name, package: inside, limit, relations }, context)
  },

  show: showReferences,
})

/** What every image can tell; the others need one that tells uses apart. */
const TOLD_BY_ALL: readonly Relation[] = ['uses', 'holds']

/** Asks who stands so to a name, and answers with as many as fit. What the image cannot tell is a failure. */
async function findReferences(
  asked: { readonly [Key in keyof ReferencesQuery]: ReferencesQuery[Key] | undefined },
  context: KernelContext,
): Promise<Ok<References> | Failed> {
  const { kernel, kernelName } = context
  const untold = (asked.relations ?? []).find(relation => !TOLD_BY_ALL.includes(relation))
  if (untold !== undefined && !kernel.identity.abilities.has('callers'))
    return untellable(untold, { language: kernel.identity.language, kernel: kernelName })
  const query = given<ReferencesQuery>(asked)
  const outcome = await lookUpName({ look: 'references', query }, context)
  if (outcome.type !== 'ok') return outcome
  const found = outcome.result
  return ok({ ...found, references: fitting(found.references, dataTokens) })
}

function untellable(
  relation: Relation,
  { language, kernel }: { readonly language: string; readonly kernel: string },
): Failed {
  return failed('not_available', {
    message: `The image ${kernel} (${language}) does not tell ${relation} apart from other uses. This does not say that there are none.`,
    details: { relation, kernel, available: TOLD_BY_ALL },
    next: 'Leave relation out, or give "uses".',
  })
}

/** `found` is what a reference is called where only one kind was asked for. */
function showReferences(
  { qualified, references, total, searched, complete, uncallable }: References,
  found: { readonly one: string; readonly many: string } = { one: 'reference', many: 'references' },
): string {
  if (uncallable !== undefined) return expanded(qualified, uncallable)
  const early = complete ? '' : '; the search was ended early, there may be more'
  const shown = references.length === total ? '' : `, ${references.length} of them shown`
  const count = total === 0 ? `no ${found.many} found` : `${counted(total, found.one, found.many)}${shown}`
  return [
    `${oneLine(qualified)} · ${count}${early}`,
    ...RELATIONS.flatMap(kind => ofKind(TITLES[kind], references, kind)),
    ...listed('looked through', searched.map(oneLine)),
  ].join('\n')
}

/** What is said of callers of a name that has none, for code expands it. */
function expanded(name: string, what: string): string {
  const ask = `who_references ${JSON.stringify({ name })}`
  return `${oneLine(name)} · a ${oneLine(what)}: code does not call it, so it has no callers\nnext: ${ask}`
}

const TITLES = {
  uses: 'used by',
  holds: 'held by',
  calls: 'called by',
  references: 'referenced by',
  binds: 'bound by',
  sets: 'set by',
  macroexpands: 'expanded in',
  specializes: 'specialized on by',
} as const satisfies Record<Relation, string>

function ofKind(title: string, references: readonly Reference[], kind: Reference['kind']): string[] {
  const these = references.filter(one => one.kind === kind)
  return listed(
    title,
    these.map(one => [oneLine(one.from), placeOf(one)].filter(Boolean).join('  ')),
  )
}

const listed = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map(line => `  ${line}`)]

export const whoCalls = defineTool({
  name: 'who_calls',
  description:
    'Find the functions and methods of the live image that call a function, each with its place in a file. ' +
    'Runs no code. Calls from code that was never compiled, and through a variable, cannot be seen; the ' +
    'answer says what was looked through. For every other use of a name use who_references.',
  parameters: {
    name: named('A function, such as `shop::total`, or a handle.'),
    package: NAMED_IN,
    limit: z.int().min(1).max(500).default(50).describe('How many callers are shown at most.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'xref'],
  needs: ['references', 'callers'],
  result: LOOKS.references.found,
  examples: [{ args: { name: 'shop:total' }, shows: 'who calls a Lisp function' }],

  handler: ({ name, package: inside, limit }, context) =>
    findReferences({ name, package: inside, limit, relations: ['calls'] }, context),

  show: result => showReferences(result, { one: 'caller', many: 'callers' }),
})
