import { z } from 'zod'
import { PROFILES } from '../../tools/contract.ts'
import { progress } from '../../tools/job.ts'
import { nearest } from '../../tools/nearest.ts'
import { besides, toolErrorShape } from '../../tools/shapes.ts'
import { Refusal } from '../../wire/link/calls.ts'
import { describeTool } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { OPERATIONS } from './operations/index.ts'
import type { Operation } from './operations/operation.ts'
import type { Methods } from './protocol.ts'

type Described = Methods['describe']['result']['operations'][number]

/**
 * All operations, then all tools, or those of that name, which may be an old one of a tool. Throws the `Refusal`
 * `invalid_params` for a name of none.
 */
export function describeOperations(registry: Registry, name?: string): Methods['describe']['result'] {
  const operations = [...describedOperations(), ...describedTools(registry)]
  if (name === undefined) return { operations }
  const found = operations.filter(one => one.name === name || one.name === registry.find(name)?.name)
  if (found.length > 0) return { operations: found }
  const near = nearest(
    name,
    operations.map(one => one.name),
  )
  const next = near.length === 0 ? 'Without a name, all are described.' : `Did you mean ${near.join(' or ')}?`
  throw new Refusal('invalid_params', `There is no operation or tool ${JSON.stringify(name)}. ${next}`)
}

/** The rows of the table, as data. */
export const describedOperations = (): readonly Described[] =>
  Object.entries<Operation>(OPERATIONS).map(
    ([name, { does, who, level, topics, recorded = false, params, result, event }]) => ({
      name,
      does,
      who,
      level,
      topics,
      recorded: recorded !== false,
      params: schemaOf(params, 'input'),
      result: schemaOf(result, 'output'),
      ...(event && { event: schemaOf(event, 'output') }),
    }),
  )

/** The envelope of a result. A call may go on as a job, or all of a group of kernels be asked, each by an envelope. */
export const envelopeOf = (result: z.ZodType) =>
  z.union([
    z.object({ ok: z.literal(true), result: z.union([withBesides(result), PROGRESS, OF_GROUP, AS_TEXT]) }),
    z.object({ ok: z.literal(false), error: toolErrorShape }),
  ])

function withBesides(result: z.ZodType): z.ZodType {
  if (result instanceof z.ZodObject) return result.extend({ ...besides.shape, ...result.shape })
  return result instanceof z.ZodUnion
    ? z.union(result.options.map(one => withBesides(one as z.ZodType)))
    : result
}

const PROGRESS = withBesides(progress)

const OF_GROUP = z.object({ members: z.array(z.object({ kernel: z.string(), ok: z.boolean() })) })

/** A result that is too long with everything in it cut. */
const AS_TEXT = z.object({ truncated: z.literal(true), text: z.string() })

/** A tool is asked for by `call`, whose answer is an envelope. */
const describedTools = (registry: Registry): readonly Described[] =>
  PROFILES.flatMap(profile => registry.list(profile).filter(tool => tool.profile === profile)).map(tool => {
    const { description, schema } = describeTool({ registry, tool })
    return {
      name: tool.name,
      does: description,
      who: ['project', 'person', 'model'],
      level: tool.level,
      topics: OPERATIONS.call.topics,
      recorded: true,
      params: schema,
      // The schema of the input, which allows more fields.
      result: schemaOf(envelopeOf(tool.result), 'input'),
    }
  })

function schemaOf(shape: z.ZodType, io: 'input' | 'output'): Described['params'] {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' })
  return schema
}
