import { describedOperations } from '../../src/front/description.ts'
import { parametersWithin } from '../../src/registry/descriptions.ts'
import type { JsonSchema } from '../../src/registry/registry.ts'
import { GENERATED, table } from './markdown.ts'

/** `docs/operations.md`: every operation of the client protocol, from the table. */
export function operationsPage(): string {
  return `${[
    '# Operations',
    GENERATED,
    'All that a client can ask of the daemon; [editor-protocol.md](editor-protocol.md) says how. `imago describe NAME` prints ' +
      'the same as JSON Schema, tools included.',
    '*Who* may ask: *anyone*, and is then told of its own project alone; a client of the *project* of the kernel, or one that ' +
      'a rule lets in; a *person* at a terminal; a *seat*. A call, and each operation that is *in the journal*, is written ' +
      'there as somebody’s.',
    ...describedOperations().map(section),
  ].join('\n\n')}\n`
}

function section(row: ReturnType<typeof describedOperations>[number]): string {
  const { name, does, who, level, topics, recorded, params, result } = row
  const changes = topics.length === 0 ? '' : ` It changes ${topics.join(', ')}.`
  const journal = recorded ? ' It is in the journal.' : ''
  return [
    `## \`${name}\``,
    does,
    `For ${who.join(' or ')}; level *${level}*.${changes}${journal}`,
    ...fields('Parameter', params),
    ...fields('Result', result),
  ].join('\n\n')
}

/** The fields of an object; nothing where there is none. */
function fields(heading: string, schema: JsonSchema): readonly string[] {
  const found = parametersWithin(schema)
  if (found.length === 0) return []
  return [
    table(
      [heading, 'Type', 'Meaning'],
      found.map(one => [one.name, one.type, one.description]),
    ),
  ]
}
