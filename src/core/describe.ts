import type { Profile, Tool } from '../../tools/define.ts'
import { checkDescription } from '../../tools/define.ts'
import { type Described, FORMS, type Form, plainSchema } from './forms.ts'
import type { Registry } from './registry.ts'
import { usage, usageList } from './usage.ts'

/** `text` is for people, `json` is Imago's own, and the others are what each provider takes as its `tools`. */
export const FORMATS = ['text', 'json', 'openai', 'anthropic', 'gemini', 'mcp'] as const
export type Format = (typeof FORMATS)[number]

export interface DescribeRequest {
  readonly registry: Registry
  readonly profile: Profile
  readonly format: Format
  /** One tool, by name or alias, whether or not the profile shows it. */
  readonly name?: string
  /** What placeholders in descriptions are filled with. */
  readonly facts?: Readonly<Record<string, string>>
}

export type Description =
  | { readonly type: 'described'; readonly text: string }
  | { readonly type: 'unknown'; readonly name: string; readonly nearest: readonly string[] }

/** What `imago tools` prints: usage, or JSON. */
export function describe({ registry, profile, format, name, facts }: DescribeRequest): Description {
  const tools =
    name === undefined ? registry.list(profile) : [registry.find(name)].filter(tool => tool !== undefined)
  if (name !== undefined && tools.length === 0)
    return { type: 'unknown', name, nearest: registry.nearest(name) }
  const described = tools.map(tool => describeTool({ registry, tool, ...(facts !== undefined && { facts }) }))
  if (format !== 'text')
    return { type: 'described', text: JSON.stringify(listing(described, format), null, 2) }
  const text = name === undefined ? usageList(described) : described.map(usage).join('\n')
  return { type: 'described', text }
}

/** The `tools` of a request to a provider, of an answer to MCP's `tools/list`, or of Imago's own JSON. */
export function listing(tools: readonly Described[], format: Form): unknown[] {
  return FORMS[format](tools)
}

/** One tool with its whole schema and its final description. Throws `DefinitionError` if filling it in spoilt it. */
export function describeTool(o: {
  readonly registry: Registry
  readonly tool: Tool
  readonly facts?: Readonly<Record<string, string>>
}): Described {
  const { registry, tool, facts = {} } = o
  const description = tool.finalizeDocumentation(tool.description, facts)
  checkDescription(tool.name, description)
  return { tool, description, schema: plainSchema(registry.schema(tool)) }
}
