import { z } from 'zod'
import type { Reference, References } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { dataSize, fitting } from './fit.ts'
import { A_NAME, lookUp } from './looked.ts'
import { counted, named, placeOf } from './naming.ts'
import { ok } from './outcome.ts'
import { oneLine } from './wording.ts'

export const whoReferences = defineTool({
  name: 'who_references',
  description:
    'Find who uses a function, class or value in the live image: code that names it, and variables, containers and ' +
    'objects that hold it, which a search through files cannot see. Runs no code. Says what was looked through and ' +
    'where a reference could still hide. Use it before changing or removing something.',
  parameters: {
    name: named('A name, a dotted path such as `shop.Order.total`, or a handle.'),
    limit: z.int().min(1).max(500).default(50).describe('How many references are shown at most.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'xref'],
  needs: ['references'],
  examples: [{ args: { name: 'shop.Order.total' }, shows: 'who calls a method, and who keeps it' }],

  async handler({ name, limit }, context) {
    const outcome = await lookUp({ look: 'references', query: { name, limit }, words: A_NAME }, context)
    if (outcome.type !== 'ok') return outcome
    const found = outcome.result
    return ok<References>({ ...found, references: fitting(found.references, dataSize) })
  },

  show: result => showReferences(result as References),
})

function showReferences({ qualified, references, total, searched, complete }: References): string {
  const early = complete ? '' : '; the search was ended early, there may be more'
  const shown = references.length === total ? '' : `, ${references.length} of them shown`
  const count = total === 0 ? 'no references found' : `${counted(total, 'reference')}${shown}`
  return [
    `${oneLine(qualified)} · ${count}${early}`,
    ...ofKind('used by', references, 'uses'),
    ...ofKind('held by', references, 'holds'),
    ...listed('looked through', searched.map(oneLine)),
  ].join('\n')
}

function ofKind(title: string, references: readonly Reference[], kind: Reference['kind']): string[] {
  const these = references.filter(one => one.kind === kind)
  return listed(
    title,
    these.map(one => [oneLine(one.from), placeOf(one)].filter(Boolean).join('  ')),
  )
}

const listed = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map(line => `  ${line}`)]
