import { z } from 'zod'
import * as evaluation from '../../wire/contract/evaluation.ts'
import * as inspection from '../../wire/contract/inspection.ts'
import { LOOK_ANSWERS, LOOKS, notFound } from '../../wire/contract/looks.ts'
import * as names from '../../wire/contract/names.ts'
import * as suspensions from '../../wire/contract/suspensions.ts'
import * as values from '../../wire/contract/values.ts'

/** JSON Schema of a set of shapes, each under its name in `$defs`; what one has of another is a reference to it. */
export interface WireSchema {
  readonly $schema: string
  readonly $comment: string
  readonly $defs: Readonly<Record<string, object>>
}

/**
 * What a peer is sent and may answer, as JSON Schema. `globals.params` and `globals.result` are those of the look
 * `globals`, and so for each look; the rest has its name from the code. `strict` allows no field beside those that are
 * named: what the contract asks of our own peers, and not of one that may say more than this daemon reads.
 */
export function wireSchema({ strict = false }: { strict?: boolean } = {}): WireSchema {
  const registry = z.registry<{ id: string }>()
  const add = (id: string, shape: unknown) => {
    if (shape instanceof z.ZodObject || shape instanceof z.ZodUnion)
      if (!registry.has(shape)) registry.add(shape, { id })
  }
  for (const shapes of [values, evaluation, inspection, names, suspensions])
    for (const [id, shape] of Object.entries(shapes)) if (!id.endsWith('Query')) add(id, shape)
  add('notFound', notFound)
  for (const [name, { query }] of Object.entries(LOOKS))
    add(`${name}.params`, z.object({ ...query.shape, deadline_ms: values.count }))
  for (const [name, answer] of Object.entries(LOOK_ANSWERS)) add(`${name}.result`, answer)
  const { schemas } = z.toJSONSchema(registry, {
    io: strict ? 'output' : 'input',
    uri: id => `#/$defs/${id}`,
  })
  const defs = Object.entries(schemas).map(
    ([id, { $schema: _, $id: __, ...schema }]) => [id, schema] as const,
  )
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: 'Written from wire/contract by npm run docs. docs/wire.md says what each of these is for.',
    $defs: Object.fromEntries(defs.sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** One line for each shape. */
export function wireSchemaPage(): string {
  const { $defs, ...rest } = wireSchema()
  const lines = Object.entries($defs).map(
    ([id, schema]) => `    ${JSON.stringify(id)}: ${JSON.stringify(schema)}`,
  )
  const head = Object.entries(rest).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},`,
  )
  return ['{', ...head, '  "$defs": {', lines.join(',\n'), '  }', '}', ''].join('\n')
}
