import type { Profile } from '../../tools/contract.ts'
import { checkDescription, type Tool } from '../../tools/define.ts'
import { isRecord } from '../../tools/record.ts'
import { shellWord } from '../text/escape.ts'
import { type JsonSchema, RESERVED_PARAMETERS, type Registry } from './registry.ts'

/** `text` is for people, `json` is Imago's own, and the others are what each provider takes as its `tools`. */
export const FORMATS = ['text', 'json', 'openai', 'anthropic', 'gemini', 'mcp'] as const

export type Format = (typeof FORMATS)[number]

interface DescribeRequest {
  readonly registry: Registry
  readonly profile: Profile
  /** A name, or what writes them otherwise. */
  readonly format: Format | ((tools: readonly Described[], facts: DescribeRequest['facts']) => string)
  /** One tool, by name or alias, whether or not the profile shows it. */
  readonly name?: string
  /** What placeholders in descriptions are filled with. */
  readonly facts?: Readonly<Record<string, string>>
}

type Description =
  | { readonly type: 'described'; readonly text: string }
  | { readonly type: 'unknown'; readonly name: string; readonly nearest: readonly string[] }

/** What `imago tools` prints: usage, or JSON. */
export function describe({ registry, profile, format, name, facts }: DescribeRequest): Description {
  const tools =
    name === undefined ? registry.list(profile) : [registry.find(name)].filter(tool => tool !== undefined)
  if (name !== undefined && tools.length === 0)
    return { type: 'unknown', name, nearest: registry.nearest(name) }
  const described = tools.map(tool => describeTool({ registry, tool, ...(facts !== undefined && { facts }) }))
  if (typeof format === 'function') return { type: 'described', text: format(described, facts) }
  if (format !== 'text')
    return { type: 'described', text: JSON.stringify(listing(described, format), null, 2) }
  const text = name === undefined ? usageList(described) : described.map(usage).join('\n')
  return { type: 'described', text }
}

/** The `tools` of a request to a provider, of an answer to MCP's `tools/list`, or of Imago's own JSON. */
function listing(tools: readonly Described[], format: Form): unknown[] {
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

/** A tool as all forms are made from it: one definition, and nothing restated. */
export interface Described {
  readonly tool: Tool
  /** Final, with its placeholders filled. */
  readonly description: string
  /** Of all arguments, the reserved ones included; without a `$schema`, which no provider wants. */
  readonly schema: JsonSchema
}

type Form = 'json' | 'openai' | 'anthropic' | 'gemini' | 'mcp'

/** The tools of each form, as the value that its requests call `tools`. */
const FORMS: Readonly<Record<Form, (tools: readonly Described[]) => unknown[]>> = {
  json: tools => tools.map(asJson),
  openai: tools => tools.map(asOpenAi),
  anthropic: tools => tools.map(asAnthropic),
  gemini: tools => [{ functionDeclarations: tools.map(asGemini) }],
  mcp: tools => tools.map(asMcp),
}

function asJson({ tool, description, schema }: Described) {
  const { name, aliases, presets, parameterAliases, level, profile, categories, needs, examples } = tool
  return {
    name,
    aliases,
    presets,
    description,
    level,
    profile,
    categories,
    needs,
    parameters: schema,
    parameter_aliases: parameterAliases,
    examples,
  }
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

interface McpTool {
  readonly name: string
  /** For people: hosts show no model this. */
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly annotations: McpAnnotations
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** A tool as MCP's `tools/list` shows it. */
export function asMcp({ tool, description, schema }: Described): McpTool {
  return {
    name: tool.name,
    title: titleOf(tool.name),
    description,
    inputSchema: schema,
    annotations: annotations(tool),
    // Claude Code has a person asked at each such call, also where its rules and its mode allow that.
    ...(tool.level === 'dangerous' && { _meta: { 'anthropic/requiresUserInteraction': true } }),
  }
}

/** `read_more` is `Read more`. */
const titleOf = (name: string) => name.replaceAll('_', ' ').replace(/^./, first => first.toUpperCase())

interface McpAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/**
 * All four hints, always: clients decide by them, and fill in the worst for one that is missing. What runs code
 * can destroy whatever code can reach, so everything but a safe tool says so, whatever its level. A tool that only
 * attaches runs none; about a program outside the project the gate asks a person.
 */
export function annotations({ level, attaches }: Pick<Tool, 'level' | 'attaches'>): McpAnnotations {
  const safe = level === 'safe'
  const reaches = !safe && attaches === undefined
  return { readOnlyHint: safe, destructiveHint: reaches, idempotentHint: !reaches, openWorldHint: reaches }
}

/** A schema without the name of its dialect. */
function plainSchema({ $schema: _, ...schema }: JsonSchema): JsonSchema {
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
function geminiSchema(schema: JsonSchema): JsonSchema {
  const kept = Object.fromEntries(Object.entries(schema).filter(([word]) => GEMINI_WORDS.includes(word)))
  const { type, properties, items, anyOf, oneOf } = schema
  const choices = anyOf ?? oneOf
  return {
    ...geminiType(type),
    ...kept,
    ...('const' in schema && { enum: [schema.const] }),
    ...(isRecord(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inner(part)])),
      propertyOrdering: Object.keys(properties),
    }),
    ...(isRecord(items) && { items: geminiSchema(items) }),
    ...(Array.isArray(choices) && { anyOf: choices.map(inner) }),
  }
}

const inner = (part: unknown): unknown => (isRecord(part) ? geminiSchema(part) : part)

function geminiType(type: unknown): JsonSchema {
  if (typeof type === 'string') return { type: type.toUpperCase() }
  if (!Array.isArray(type)) return {}
  const named = type.filter(one => one !== 'null').map(one => String(one).toUpperCase())
  return {
    ...(named.length === 1 ? { type: named[0] } : { anyOf: named.map(one => ({ type: one })) }),
    ...(named.length < type.length && { nullable: true }),
  }
}

const WIDTH = 96

/** Every tool in two lines: how it is called, and what it is for. */
function usageList(tools: readonly Described[]): string {
  return tools
    .flatMap(({ tool, description, schema }) => [
      `${signature(tool.name, withoutReserved(schema))}  ${tool.level}`,
      ...wrapped(firstSentence(description), '    '),
    ])
    .join('\n')
}

/** The older names of a tool, each with what it says of the arguments. */
export const olderNames = ({ aliases, presets }: Tool) =>
  aliases.map(name => ({ name, says: presets[name] && JSON.stringify(presets[name]) }))

/** All about one tool, for people. */
function usage({ tool, description, schema }: Described): string {
  const { name, level, profile, examples } = tool
  const older = olderNames(tool).map(({ name, says }) => `${name}${says === undefined ? '' : ` (${says})`}`)
  const also = older.length === 0 ? '' : `, also called ${older.join(', ')}`
  return [
    signature(name, schema),
    `${level}; from profile ${profile} on${also}`,
    '',
    ...wrapped(description, ''),
    '',
    ...parametersWithin(schema).flatMap(({ name, type, description }) => [
      `  ${name}: ${type}`,
      ...wrapped(description, '      '),
    ]),
    '',
    ...examples.flatMap(({ args, shows }) => [
      `  # ${shows}`,
      `  imago call ${name} ${shellWord(JSON.stringify(args))}`,
    ]),
  ].join('\n')
}

interface Parameter {
  readonly name: string
  /** What it accepts, in words: `integer, 1 to 1000, default 100`, or `string, optional`. */
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** The parameters of a schema, in its order. */
export function parameters({ properties, required }: JsonSchema): Parameter[] {
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  return Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) => ({
    name,
    type: [...typeWords(schema), ...(needed.includes(name) || 'default' in schema ? [] : ['optional'])].join(
      ', ',
    ),
    required: needed.includes(name),
    description: String(schema.description ?? ''),
  }))
}

/** The same, each with those of the objects in it if it is a list of some: `edits`, `edits[].path`. */
export function parametersWithin(schema: JsonSchema): Parameter[] {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  return parameters(schema).flatMap(parameter => {
    const { items } = properties[parameter.name] ?? {}
    const parts = parametersWithin((items ?? {}) as JsonSchema)
    return [parameter, ...parts.map(part => ({ ...part, name: `${parameter.name}[].${part.name}` }))]
  })
}

function typeWords(schema: JsonSchema): string[] {
  const { default: fallback, minimum, maximum, maxLength, pattern, minItems, maxItems } = schema
  const words = [typeWord(schema)]
  if (maxItems !== undefined) words.push(`${minItems ?? 0} to ${maxItems}`)
  if (minimum !== undefined && maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER)
    words.push(`${minimum} to ${maximum}`)
  else if (minimum !== undefined) words.push(`${minimum} or more`)
  if (pattern !== undefined) words.push(`like ${pattern}`)
  else if (maxLength !== undefined) words.push(`at most ${maxLength} characters`)
  if (fallback !== undefined) words.push(`default ${JSON.stringify(fallback)}`)
  return words
}

function typeWord({ type, items, enum: choices, anyOf, const: only }: JsonSchema): string {
  if (Array.isArray(anyOf)) return anyOf.map(typeWord).join(' or ')
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(choices)) return choices.map(one => JSON.stringify(one)).join(' | ')
  if (type !== 'array') return String(type ?? 'value')
  const each = (items ?? {}) as JsonSchema
  return `list of ${typeWord(each)}${Array.isArray(each.enum) ? '' : 's'}`
}

/** `inspect <expr> [kernel]` */
/** What every tool takes that is about a kernel is said once, and not of each. */
function withoutReserved({ properties, ...schema }: JsonSchema): JsonSchema {
  const own = Object.entries((properties ?? {}) as Record<string, JsonSchema>)
  const left = own.filter(([name]) => !Object.hasOwn(RESERVED_PARAMETERS.shape, name))
  return { ...schema, properties: Object.fromEntries(left) }
}

function signature(name: string, schema: JsonSchema): string {
  const words = parameters(schema).map(one => (one.required ? `<${one.name}>` : `[${one.name}]`))
  return [name, ...words].join(' ')
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text
}

function wrapped(text: string, margin: string): string[] {
  return text.split('\n').flatMap(line => {
    const lines = ['']
    for (const word of line.split(' ')) {
      const last = lines.at(-1) ?? ''
      if (last !== '' && margin.length + last.length + 1 + word.length > WIDTH) lines.push(word)
      else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
    }
    return lines.map(one => margin + one)
  })
}
