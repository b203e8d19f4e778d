import type { Level, Tool } from '../../tools/define.ts'
import type { JsonSchema } from './registry.ts'

/** A tool as all forms are made from it: one definition, and nothing restated. */
export interface Described {
  readonly tool: Tool
  /** Final, with its placeholders filled. */
  readonly description: string
  /** Of all arguments, the reserved ones included; without a `$schema`, which no provider wants. */
  readonly schema: JsonSchema
}

export type Form = 'json' | 'openai' | 'anthropic' | 'gemini' | 'mcp'

/** The tools of each form, as the value that its requests call `tools`. */
export const FORMS: Readonly<Record<Form, (tools: readonly Described[]) => unknown[]>> = {
  json: tools => tools.map(asJson),
  openai: tools => tools.map(asOpenAi),
  anthropic: tools => tools.map(asAnthropic),
  gemini: tools => [{ functionDeclarations: tools.map(asGemini) }],
  mcp: tools => tools.map(asMcp),
}

function asJson({ tool, description, schema }: Described) {
  const { name, aliases, level, profile, categories, needs, examples } = tool
  return { name, aliases, description, level, profile, categories, needs, parameters: schema, examples }
}

function asOpenAi({ tool, description, schema }: Described) {
  return { type: 'function', function: { name: tool.name, description, parameters: schema } }
}

function asAnthropic({ tool, description, schema }: Described) {
  return { name: tool.name, description, input_schema: schema }
}

function asGemini({ tool, description, schema }: Described) {
  return { name: tool.name, description, parameters: geminiSchema(schema) }
}

export interface McpTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly annotations: McpAnnotations
}

/** A tool as MCP's `tools/list` shows it. */
export function asMcp({ tool, description, schema }: Described): McpTool {
  return { name: tool.name, description, inputSchema: schema, annotations: annotations(tool.level) }
}

export interface McpAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/**
 * All four hints, always: clients decide by them, and fill in the worst for one that is missing. What runs code
 * can destroy whatever code can reach, so everything but a safe tool says so, whatever its level.
 */
export function annotations(level: Level): McpAnnotations {
  const safe = level === 'safe'
  return { readOnlyHint: safe, destructiveHint: !safe, idempotentHint: safe, openWorldHint: !safe }
}

/** A schema without the name of its dialect. */
export function plainSchema({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  return schema
}

/** Words of JSON Schema that Gemini's function declarations have too, with the same meaning. */
const GEMINI_WORDS: readonly string[] = [
  'title',
  'description',
  'nullable',
  'format',
  'default',
  'enum',
  'required',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
]

/**
 * A schema in the part of OpenAPI 3.0 that Gemini reads: types in capitals, and none of the words that it
 * refuses. What is lost is checked by our own validation all the same.
 */
export function geminiSchema(schema: JsonSchema): JsonSchema {
  const kept = Object.fromEntries(Object.entries(schema).filter(([word]) => GEMINI_WORDS.includes(word)))
  const { type, properties, items, anyOf, oneOf } = schema
  const choices = anyOf ?? oneOf
  return {
    ...geminiType(type),
    ...kept,
    ...('const' in schema && { enum: [schema.const] }),
    ...(isSchema(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inner(part)])),
      propertyOrdering: Object.keys(properties),
    }),
    ...(isSchema(items) && { items: geminiSchema(items) }),
    ...(Array.isArray(choices) && { anyOf: choices.map(inner) }),
  }
}

const inner = (part: unknown): unknown => (isSchema(part) ? geminiSchema(part) : part)

function geminiType(type: unknown): JsonSchema {
  if (typeof type === 'string') return { type: type.toUpperCase() }
  if (!Array.isArray(type)) return {}
  const named = type.filter(one => one !== 'null').map(one => String(one).toUpperCase())
  return {
    ...(named.length === 1 ? { type: named[0] } : { anyOf: named.map(one => ({ type: one })) }),
    ...(named.length < type.length && { nullable: true }),
  }
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
