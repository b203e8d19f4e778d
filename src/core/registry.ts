import { z } from 'zod'
import { DefinitionError, PROFILES, type Profile, type Tool } from '../../tools/define.ts'
import { nearest } from './nearest.ts'

/** JSON Schema 2020-12 of one tool's arguments. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** All tools, by name. Finding one costs the same among ten and among ten thousand. */
export interface Registry {
  /** By name or alias. */
  find(name: string): Tool | undefined
  /** The listed names of the tools most like this one, best first, at most three. */
  nearest(name: string): string[]
  /** What a profile shows, in the order in which the tools were given. Aliases are not listed. */
  list(profile: Profile): readonly Tool[]
  /** What a caller may pass, the reserved arguments included. Made once per tool. */
  schema(tool: Tool): JsonSchema
}

/** The arguments that every tool on a kernel takes besides its own. */
export const RESERVED_PARAMETERS = z.strictObject({
  kernel: z
    .string()
    .min(1)
    .max(128)
    .describe('Which kernel to use, by name. Left out: the one that lives in the project.')
    .optional(),
  patience: z
    .number()
    .min(0)
    .max(1_000_000)
    .describe(
      'Seconds to wait for running code. After them the answer is a job, and the code goes on. 0 answers at once.',
    )
    .optional(),
})

/** Throws `DefinitionError` if two tools share a name or an alias; both are named. */
export function openRegistry(tools: readonly Tool[]): Registry {
  const byName = indexed(tools)
  const shown = Object.fromEntries(PROFILES.map(profile => [profile, within(tools, profile)]))
  const schemas = new WeakMap<Tool, JsonSchema>()

  return {
    find: name => byName.get(name),
    nearest(name) {
      const found = nearest(name, byName.keys()).map(known => byName.get(known)?.name ?? known)
      return [...new Set(found)]
    },
    list: profile => shown[profile] ?? [],
    schema(tool) {
      const known = schemas.get(tool)
      if (known !== undefined) return known
      const made = withReserved(tool)
      schemas.set(tool, made)
      return made
    },
  }
}

function indexed(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map<string, Tool>()
  for (const tool of tools)
    for (const name of [tool.name, ...tool.aliases]) {
      const other = byName.get(name)
      if (other !== undefined)
        throw new DefinitionError(tool.name, 'unique', `"${name}" is already a name of ${other.name}`)
      byName.set(name, tool)
    }
  return byName
}

/** A profile contains the ones before it. */
function within(tools: readonly Tool[], profile: Profile): readonly Tool[] {
  const reach = PROFILES.indexOf(profile)
  return Object.freeze(tools.filter(tool => PROFILES.indexOf(tool.profile) <= reach))
}

function withReserved(tool: Tool): JsonSchema {
  const own = z.toJSONSchema(tool.parameters, { io: 'input' }) as JsonSchema
  if (tool.needs.length === 0) return Object.freeze(own)
  const reserved = z.toJSONSchema(RESERVED_PARAMETERS, { io: 'input' }) as JsonSchema
  return Object.freeze({
    ...own,
    properties: { ...(own.properties as object), ...(reserved.properties as object) },
  })
}
