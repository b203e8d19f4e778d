import type { z } from 'zod'
import type { Tool } from '../../tools/define.ts'
import { failed, type Outcome } from '../../tools/outcome.ts'
import { expected, kindOf, shown } from './expected.ts'
import { nearest } from './nearest.ts'
import { type JsonSchema, RESERVED_PARAMETERS, type Registry } from './registry.ts'

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
 * `invalid_args`: every problem in plain words, and each again as data in `details.issues`.
 */
export function validate(
  tool: Tool,
  args: unknown,
  registry: Pick<Registry, 'schema'>,
): Checked | { readonly type: 'invalid'; readonly refusal: Outcome<never> } {
  if (!isRecord(args)) return refuse(tool, [notAnObject(tool, args)], 1)
  const named = tool.renamed(args)
  const { own, reserved } = split(tool, named)
  const checked = tool.parameters.safeParse(own)
  const beside = reserved === undefined ? NONE : RESERVED_PARAMETERS.safeParse(reserved)
  if (checked.success && beside.success)
    return {
      type: 'valid',
      args: checked.data,
      kernel: beside.data.kernel,
      patience: beside.data.patience,
    }
  const issues = [...(checked.error?.issues ?? []), ...(beside.error?.issues ?? [])].flatMap(single)
  const given = { tool, args: named, schema: registry.schema(tool) }
  const problems = issues.slice(0, SHOWN).map(issue => problemOf(issue, given))
  return refuse(tool, problems, issues.length)
}

/** Problems that are told one by one; of a caller that sends thousands, the others are counted. */
const SHOWN = 20

/** Each unknown key by itself. */
function single(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'unrecognized_keys') return [issue]
  return issue.keys.map(key => ({ ...issue, keys: [key] }))
}

type Reserved = ReturnType<typeof RESERVED_PARAMETERS.safeParse>
const NONE: Reserved = { success: true, data: {} }

function split(tool: Tool, args: Readonly<Record<string, unknown>>) {
  const mixed = tool.needs.length > 0 && (Object.hasOwn(args, 'kernel') || Object.hasOwn(args, 'patience'))
  if (!mixed) return { own: args, reserved: undefined }
  const { kernel, patience, ...own } = args
  return { own, reserved: { kernel, patience } }
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

/** With one mark at its end, whether or not it brought one. */
const sentence = (text: string) => (/[.?!]$/.test(text) ? text : `${text}.`)

function schemaAt(schema: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let here: unknown = schema
  for (const step of path) {
    if (!isRecord(here)) return undefined
    here =
      isRecord(here.properties) && Object.hasOwn(here.properties, step) ? here.properties[step] : here.items
  }
  return isRecord(here) ? here : undefined
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let here = args
  for (const step of path)
    here =
      typeof here === 'object' && here !== null && Object.hasOwn(here, step)
        ? Reflect.get(here, step)
        : undefined
  return here
}

const pathText = (path: readonly string[]) => path.join('.')

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
