import { z } from 'zod'
import type { Image } from '../image.ts'

/** What the console knows of a tool. */
export interface ToolFacts {
  readonly name: string
  readonly aliases: readonly string[]
  readonly summary: string
  readonly needs: readonly string[]
  readonly parameters: readonly ToolParameter[]
}

export interface ToolParameter {
  readonly name: string
  readonly type: string
  readonly required: boolean
}

export interface Tools {
  /** All of them; asked for once. */
  list(): Promise<readonly ToolFacts[]>
  /** As far as they were asked for. */
  readonly known: readonly ToolFacts[]
}

const SCHEMA = z.object({
  properties: z.record(z.string(), z.object({ type: z.unknown().optional() })).default({}),
  required: z.array(z.string()).default([]),
})
const LISTING = z.array(
  z.object({
    name: z.string(),
    aliases: z.array(z.string()),
    description: z.string(),
    needs: z.array(z.string()),
    parameters: SCHEMA,
  }),
)

export function openTools(image: Pick<Image, 'request'>): Tools {
  let known: readonly ToolFacts[] = []
  let asked: Promise<readonly ToolFacts[]> | undefined

  return {
    list() {
      asked ??= ask().catch(error => {
        asked = undefined
        throw error
      })
      return asked
    },
    get known() {
      return known
    },
  }

  async function ask() {
    const { text } = await image.request('tools', { profile: 'full', format: 'json' })
    known = LISTING.parse(JSON.parse(text)).map(({ description, parameters, ...tool }) => ({
      ...tool,
      summary: /^.*?[.!?](?=\s|$)/s.exec(description)?.[0] ?? description,
      parameters: Object.entries(parameters.properties)
        .filter(([name]) => name !== 'kernel' && name !== 'patience')
        .map(([name, { type }]) => ({
          name,
          type: typeof type === 'string' ? type : '',
          required: parameters.required.includes(name),
        })),
    }))
    return known
  }
}

/**
 * The arguments in a line: JSON; words such as `limit=5`; or one word or text, which is the first argument. Where it
 * cannot be read, a sentence that says so.
 */
export function argumentsFor(tool: ToolFacts, line: string): Record<string, unknown> | string {
  const text = line.trim()
  if (text === '') return {}
  if (text.startsWith('{')) return fromJson(text)
  const args: Record<string, unknown> = {}
  const rest = text.replace(
    /(^|\s)([a-z_]+)=("(?:[^"\\]|\\.)*"|\S+)(?=\s|$)/g,
    (whole, blank, name, value) => {
      const parameter = tool.parameters.find(one => one.name === name)
      if (parameter === undefined) return whole
      args[name] = asValue(value, parameter)
      return blank
    },
  )
  const first = tool.parameters.find(one => one.required && !(one.name in args)) ?? tool.parameters[0]
  if (rest.trim() === '') return args
  if (first === undefined) return `${tool.name} takes no arguments.`
  return { ...args, [first.name]: asValue(rest.trim(), first) }
}

function fromJson(text: string): Record<string, unknown> | string {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    return `The arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

function asValue(text: string, { type }: ToolParameter): unknown {
  const quoted = /^"([\s\S]*)"$/.exec(text)?.[1]
  if (type === 'string') return quoted === undefined ? text : quoted.replace(/\\(.)/g, '$1')
  try {
    return JSON.parse(text)
  } catch {
    return type === 'array' ? text.split(/[\s,]+/) : text
  }
}
