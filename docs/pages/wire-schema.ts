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
    if (shape instanceof z.ZodType && !registry.has(shape) && shape._zod.def.type !== 'string')
      registry.add(shape, { id })
  }
  for (const shapes of [values, evaluation, inspection, names, suspensions])
    for (const [id, shape] of Object.entries(shapes)) add(id, shape)
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

export const wireSchemaPage = (): string => `${JSON.stringify(wireSchema(), undefined, 1)}\n`
