import { z } from 'zod'
import { CONTAINED, PROFILES, type Profile } from '../../tools/contract.ts'
import { DefinitionError, type Tool } from '../../tools/define.ts'
import { nearest } from '../../tools/nearest.ts'
import { failed, type Outcome } from '../../tools/outcome.ts'
import { isRecord } from '../../tools/record.ts'
import { sentence } from '../../tools/text.ts'

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
  kernel: z.string().min(1).max(128).describe('Which kernel.').optional(),
  patience: z
    .number()
    .min(0)
    .max(1_000_000)
    .describe('Seconds to wait for running code; then it goes on as a job.')
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

function within(tools: readonly Tool[], profile: Profile): readonly Tool[] {
  const shown = [profile, ...CONTAINED[profile]]
  return Object.freeze(tools.filter(tool => shown.includes(tool.profile)))
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

/** What a schema accepts, in plain words that follow "must be". */
export function expected(schema: JsonSchema): string {
  if ('const' in schema) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum))
    return `one of ${schema.enum.map(value => JSON.stringify(value)).join(', ')}`
  const parts = schema.anyOf ?? schema.oneOf
  if (Array.isArray(parts)) return parts.map(part => expected(part)).join(' or ')
  if (Array.isArray(schema.type)) return schema.type.map(type => expected({ ...schema, type })).join(' or ')
  switch (schema.type) {
    case 'string':
      return text(schema)
    case 'integer':
      return `a whole number${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return list(schema)
    case 'object':
      return 'an object'
    case 'null':
      return 'null'
    default:
      return 'of another type'
  }
}

/** A value as somebody who passed it would recognise it, with its type where the look does not give it away. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return kindOf(value)
}

export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function text({ minLength, maxLength, pattern }: JsonSchema): string {
  const least = typeof minLength === 'number' && minLength > 0 ? ' that is not empty,' : ''
  const most = typeof maxLength === 'number' ? ` of at most ${maxLength} characters` : ''
  const form = typeof pattern === 'string' ? ` matching ${pattern}` : ''
  return `a text${least}${most}${form}`.replace(/,$/, '')
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  const bounds = [
    bound('≥', minimum),
    bound('>', exclusiveMinimum),
    bound('≤', maximum),
    bound('<', exclusiveMaximum),
  ].filter(part => part !== '')
  return bounds.length === 0 ? '' : ` ${bounds.join(' and ')}`
}

/** The ends of what a number can hold exactly are in every schema of a whole number, and say nothing. */
function bound(sign: string, limit: unknown): string {
  if (typeof limit !== 'number' || Math.abs(limit) === Number.MAX_SAFE_INTEGER) return ''
  return `${sign} ${limit}`
}

function list({ minItems, maxItems, items }: JsonSchema): string {
  const least = typeof minItems === 'number' ? `at least ${minItems}` : ''
  const most = typeof maxItems === 'number' ? `at most ${maxItems}` : ''
  const bounds = least !== '' && most !== '' ? `${minItems} to ${maxItems}` : least || most
  const count = bounds === '' ? '' : ` of ${bounds} items`
  const each = typeof items === 'object' && items !== null ? `, each ${expected(items as JsonSchema)}` : ''
  return `a list${count}${each}`
}

/** Arguments that fit, with the reserved ones apart. */
export interface Checked {
  readonly type: 'valid'
  readonly args: Readonly<Record<string, unknown>>
  readonly kernel: string | undefined
  /** Seconds; `undefined` leaves it to the configuration. */
  readonly patience: number | undefined
}

/** One thing that is wrong with the arguments; `path` is empty where it concerns them all. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

/**
 * The arguments of one call, judged by the strict schema of its tool. What does not fit is answered with
 * `invalid_args`: every problem in plain words, and each again as data in `details.issues`. `as`: the name that it was
 * called by, which may be an older one that presets some of them.
 */
export function validate(
  tool: Tool,
  args: unknown,
  registry: Pick<Registry, 'schema'>,
  as: string = tool.name,
): Checked | { readonly type: 'invalid'; readonly refusal: Outcome<never> } {
  if (!isRecord(args)) return refuse(tool, [notAnObject(tool, args)], 1)
  const called = tool.renamed(args)
  const preset = Object.entries(tool.presets[as] ?? {})
  const other = preset.find(([name, value]) => Object.hasOwn(called, name) && called[name] !== value)
  if (other !== undefined) return refuse(tool, [presetProblem(as, other)], 1)
  const named = { ...called, ...Object.fromEntries(preset) }
  const first = parse(tool, named)
  if (first.type === 'valid') return first
  const issues = first.issues.flatMap(single)
  const given = { tool, args: named, schema: registry.schema(tool) }
  const typed = withTypes(issues, given)
  const second = typed === undefined ? first : parse(tool, tool.renamed(typed))
  if (second.type === 'valid') return second
  const problems = issues.slice(0, SHOWN).map(issue => problemOf(issue, given))
  return refuse(tool, problems, issues.length)
}

type Parsed = Checked | { readonly type: 'misfit'; readonly issues: readonly z.core.$ZodIssue[] }

function parse(tool: Tool, args: Readonly<Record<string, unknown>>): Parsed {
  const { kernel, patience, ...others } = args
  const [own, reserved] = tool.needs.length > 0 ? [others, { kernel, patience }] : [args, {}]
  const checked = tool.parameters.safeParse(own)
  const beside = RESERVED_PARAMETERS.safeParse(reserved)
  if (!checked.success || !beside.success)
    return { type: 'misfit', issues: [...(checked.error?.issues ?? []), ...(beside.error?.issues ?? [])] }
  return { type: 'valid', args: checked.data, kernel: beside.data.kernel, patience: beside.data.patience }
}

/**
 * The arguments with each value of a wrong type read as models write it: null for an argument left out, and a list, a
 * number or a truth value as JSON text. Undefined where one of them can mean anything else.
 */
function withTypes(issues: readonly z.core.$ZodIssue[], { args, schema }: Given) {
  const typed: Record<string, unknown> = structuredClone(args)
  // A key that is unknown may belong to a list that is still a text.
  const misfits = issues.filter(({ code }) => code !== 'unrecognized_keys')
  const paths = new Map(misfits.map(({ path }) => [pathText(path.map(String)), path.map(String)]))
  for (const path of paths.values()) {
    const name = path.at(-1)
    const holder = path.length === 1 ? typed : valueAt(typed, path.slice(0, -1))
    const expected = schemaAt(schema, path)
    if (name === undefined || expected === undefined || typeof holder !== 'object' || holder === null)
      return undefined
    const value: unknown = Reflect.get(holder, name)
    const required = schemaAt(schema, path.slice(0, -1))?.required
    if (value === null && !Array.isArray(holder) && !(Array.isArray(required) && required.includes(name))) {
      Reflect.deleteProperty(holder, name)
      continue
    }
    const read = typeof value === 'string' ? jsonOf(value, expected.type) : undefined
    if (read === undefined) return undefined
    Reflect.set(holder, name, read)
  }
  return typed
}

/** The value that a text writes in JSON, where it is of that type of JSON Schema. */
function jsonOf(text: string, type: unknown): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (type === 'array') return Array.isArray(value) ? value : undefined
  if (type === 'object') return isRecord(value) ? value : undefined
  return typeof value === (type === 'integer' ? 'number' : type) && type !== 'string' ? value : undefined
}

const presetProblem = (as: string, [name, value]: readonly [string, unknown]): Problem => ({
  path: name,
  problem: `"${name}" is ${JSON.stringify(value)} in ${as}`,
})

/** Problems that are told one by one; of a caller that sends thousands, the others are counted. */
const SHOWN = 20

/** Each unknown key by itself. */
function single(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'unrecognized_keys') return [issue]
  return issue.keys.map(key => ({ ...issue, keys: [key] }))
}

interface Given {
  readonly tool: Tool
  readonly args: Readonly<Record<string, unknown>>
  readonly schema: JsonSchema
}

function problemOf(issue: z.core.$ZodIssue, given: Given): Problem {
  if (issue.code === 'unrecognized_keys') return unknownKey(issue.keys[0] ?? '', issue.path, given)
  const path = issue.path.map(String)
  const name = pathText(path)
  const value = valueAt(given.args, path)
  if (value === undefined) return { path: name, problem: `"${name}" is required${describing(path, given)}` }
  const schema = schemaAt(given.schema, path)
  if (issue.code === 'custom' || schema === undefined)
    return { path: name, problem: `"${name}": ${issue.message}` }
  const wrongSize = lengthProblem(value, schema) ?? countProblem(value, schema)
  if (wrongSize !== undefined) return { path: name, problem: `"${name}" ${wrongSize}` }
  return { path: name, problem: `"${name}" must be ${expected(schema)}, got ${shown(value)}` }
}

function unknownKey(key: string, path: readonly PropertyKey[], { tool, schema }: Given): Problem {
  const inside = path.map(String)
  const names = Object.keys((schemaAt(schema, inside)?.properties ?? {}) as object)
  const [likely] = nearest(key, names)
  const whose = inside.length === 0 ? `an argument of ${tool.name}` : `a field of "${pathText(inside)}"`
  const hint = likely === undefined ? takes(names) : `; did you mean "${likely}"?`
  return { path: pathText([...inside, key.slice(0, 64)]), problem: `${shown(key)} is not ${whose}${hint}` }
}

const takes = (names: readonly string[]) =>
  names.length === 0 ? ', which takes none' : `; it takes ${names.map(name => `"${name}"`).join(', ')}`

function lengthProblem(value: unknown, schema: JsonSchema): string | undefined {
  const most = schema.maxLength
  if (typeof value !== 'string' || typeof most !== 'number' || value.length <= most) return undefined
  return `is ${grouped(value.length)} characters long; the limit is ${grouped(most)}`
}

function countProblem(value: unknown, { minItems, maxItems }: JsonSchema): string | undefined {
  if (!Array.isArray(value)) return undefined
  const has = `has ${grouped(value.length)} ${value.length === 1 ? 'item' : 'items'}`
  if (typeof maxItems === 'number' && value.length > maxItems)
    return `${has}; the limit is ${grouped(maxItems)}`
  if (typeof minItems === 'number' && value.length < minItems) return `${has}; it needs at least ${minItems}`
  return undefined
}

const grouped = (count: number) => count.toLocaleString('en-US')

function describing(path: readonly string[], { schema }: Given): string {
  const description = schemaAt(schema, path)?.description
  return typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
}

function notAnObject(tool: Tool, args: unknown): Problem {
  return {
    path: '',
    problem: `the arguments of ${tool.name} must be one object, such as ${example(tool)}; got ${kindOf(args)}`,
  }
}

const example = (tool: Tool) => JSON.stringify(tool.examples[0]?.args ?? {})

function refuse(tool: Tool, issues: readonly Problem[], total: number) {
  const more = total > issues.length ? `; and ${total - issues.length} more` : ''
  const refusal = failed('invalid_args', {
    message: `${sentence(`${issues.map(({ problem }) => problem).join('; ')}${more}`)} Nothing ran.`,
    details: { tool: tool.name, issues },
    next: `Correct the arguments and call ${tool.name} again.`,
  })
  return { type: 'invalid', refusal } as const
}

function schemaAt(schema: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let here: unknown = schema
  for (const step of path) {
    if (!isRecord(here)) return undefined
    here =
      isRecord(here.properties) && Object.hasOwn(here.properties, step) ? here.properties[step] : here.items
  }
  return isRecord(here) ? here : undefined
}

function valueAt(here: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return here
  const isThere = typeof here === 'object' && here !== null && Object.hasOwn(here, step)
  return isThere ? valueAt(Reflect.get(here, step), rest) : undefined
}

const pathText = (path: readonly string[]) => path.join('.')
