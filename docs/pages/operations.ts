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
  const { name, does, who, level, topics, recorded, params, result, event } = row
  const changes = topics.length === 0 ? '' : ` It changes ${topics.join(', ')}.`
  const journal = recorded ? ' It is in the journal.' : ''
  return [
    `## \`${name}\``,
    does,
    `For ${who.join(' or ')}; level *${level}*.${changes}${journal}`,
    ...fields('Parameter', params),
    ...fields('Result', result),
    ...events(event),
  ].join('\n\n')
}

/** What the events of the operation say; of a subscription, the rows of each topic too. */
function events(event: JsonSchema | undefined): readonly string[] {
  if (event === undefined) return []
  const { snapshot } = (variants(event)[0]?.properties ?? {}) as { snapshot?: JsonSchema }
  const rows = snapshot === undefined ? [] : variants(snapshot.items as JsonSchema)
  return [
    ...fields('Event', event),
    ...rows.flatMap(({ properties }) => {
      const { topic, value } = properties as { topic: JsonSchema; value: JsonSchema }
      return fields(`Value of \`${topic.const}\``, value)
    }),
  ]
}

/** What a value can be, where that is said; itself else. */
function variants(schema: JsonSchema): readonly JsonSchema[] {
  const kinds = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined
  return kinds?.flatMap(variants) ?? [schema]
}

/** The fields of an object, or of each that it can be, one after the other; nothing where there is none. */
function fields(heading: string, schema: JsonSchema): readonly string[] {
  const found = variants(schema).flatMap(parametersWithin)
  if (found.length === 0) return []
  return [
    table(
      [heading, 'Type', 'Meaning'],
      found.map(one => [one.name, one.type.replace(/(?:object or )+objects/, 'rows'), one.description]),
    ),
  ]
}
