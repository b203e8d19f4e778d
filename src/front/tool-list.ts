import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { Tool } from '../../tools/define.ts'
import { OF_ONE_LANGUAGE } from '../../tools/languages.ts'
import { abilityFor } from '../../tools/parameters.ts'
import type { Ability, Kernel } from '../../wire/kernel.ts'
import { asMcp, describeTool } from '../registry/descriptions.ts'
import type { JsonSchema, Registry } from '../registry/registry.ts'

/** What lives in the project of a client, as far as the list of its tools depends on it. */
export interface Living {
  /** Whether a call may have to name its kernel. */
  readonly several: boolean
  readonly can: (ability: Ability) => boolean
}

/** Of the kernels of a project. Where none lives, what only one language has is taken for absent. */
export function livingOf(kernels: readonly Pick<Kernel, 'identity'>[]): Living {
  return {
    several: kernels.length > 1,
    can: ability =>
      kernels.length === 0
        ? !OF_ONE_LANGUAGE.includes(ability)
        : kernels.some(({ identity }) => identity.abilities.has(ability)),
  }
}

/**
 * Tools as MCP lists them, in the order of the registry. What no kernel of the project can do is left out, and so are
 * arguments that make no difference there; all of them are accepted in a call.
 */
export function listedFor(
  living: Living,
  { tools, registry }: { readonly tools: readonly Tool[]; readonly registry: Registry },
): ListedTool[] {
  return tools
    .filter(({ needs }) => needs.every(living.can))
    .map(tool => {
      const { name, description, inputSchema, annotations } = asMcp(describeTool({ registry, tool }))
      return { name, description, inputSchema: shortSchema(inputSchema, { tool, living }), annotations }
    })
}

function shortSchema(schema: JsonSchema, { tool, living }: { tool: Tool; living: Living }) {
  const isListed = (name: string) => {
    if (tool.needs.length > 0 && name === 'patience') return false
    if (tool.needs.length > 0 && name === 'kernel') return living.several
    const ability = abilityFor(tool.parameters.shape[name] as z.ZodType)
    return ability === undefined || living.can(ability)
  }
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    .filter(([name]) => isListed(name))
    .map(([name, property]) => [name, withoutBounds(property)])
  const { additionalProperties: _, ...short } = schema
  return { ...short, type: 'object' as const, properties: Object.fromEntries(properties) }
}

/** Bounds that nobody meets who means well: a model need not read them, and who breaks one is told. */
function withoutBounds(schema: JsonSchema): JsonSchema {
  const { minLength: _, maxLength: __, pattern: ___, ...short } = schema
  if (typeof short.maximum === 'number' && short.maximum >= 1_000_000)
    delete (short as Record<string, unknown>).maximum
  return 'items' in short ? { ...short, items: withoutBounds(short.items as JsonSchema) } : short
}
