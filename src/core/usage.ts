import type { Described } from './forms.ts'
import type { JsonSchema } from './registry.ts'

const WIDTH = 96

/** Every tool in two lines: how it is called, and what it is for. */
export function usageList(tools: readonly Described[]): string {
  return tools
    .flatMap(({ tool, description, schema }) => [
      `${signature(tool.name, schema)}  ${tool.level}`,
      ...wrapped(firstSentence(description), '    '),
      '',
    ])
    .join('\n')
    .trimEnd()
}

/** All about one tool, for people. */
export function usage({ tool, description, schema }: Described): string {
  const { name, level, profile, aliases, examples } = tool
  const also = aliases.length === 0 ? '' : `, also called ${aliases.join(', ')}`
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

export interface Parameter {
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
  const {
    enum: choices,
    default: fallback,
    minimum,
    maximum,
    maxLength,
    pattern,
    minItems,
    maxItems,
  } = schema
  const words = [
    Array.isArray(choices) ? choices.map(one => JSON.stringify(one)).join(' | ') : typeWord(schema),
  ]
  if (maxItems !== undefined) words.push(`${minItems ?? 0} to ${maxItems}`)
  if (minimum !== undefined && maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER)
    words.push(`${minimum} to ${maximum}`)
  else if (minimum !== undefined) words.push(`${minimum} or more`)
  if (pattern !== undefined) words.push(`like ${pattern}`)
  else if (maxLength !== undefined) words.push(`at most ${maxLength} characters`)
  if (fallback !== undefined) words.push(`default ${JSON.stringify(fallback)}`)
  return words
}

function typeWord({ type, items }: JsonSchema): string {
  if (type !== 'array') return String(type ?? 'value')
  return `list of ${typeWord((items ?? {}) as JsonSchema)}s`
}

/** `inspect <expr> [kernel]` */
function signature(name: string, schema: JsonSchema): string {
  const words = parameters(schema).map(one => (one.required ? `<${one.name}>` : `[${one.name}]`))
  return [name, ...words].join(' ')
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text
}

/** One argument in single quotes, for a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
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
