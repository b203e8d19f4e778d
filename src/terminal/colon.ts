import { z } from 'zod'
import { nearest } from '../../tools/nearest.ts'
import { isRunning } from '../../tools/outcome.ts'
import { WAIT_SECONDS } from '../front/client.ts'
import type { Image } from '../front/image.ts'
import type { Display } from './answers.ts'
import type { ConsoleApprovals } from './console-seat.ts'
import type { History } from './history.ts'
import type { Runner } from './run.ts'
import type { Stage } from './screen.ts'
import type { Spoken } from './spoken.ts'
import type { ConsoleSuspensions } from './suspensions.ts'

export interface CommandParts {
  readonly image: Image
  readonly stage: Stage
  readonly showing: Display
  readonly running: Runner
  readonly history: History
  readonly approvals: ConsoleApprovals
  readonly suspended: ConsoleSuspensions
  readonly spoken: Spoken
}

export interface Context extends CommandParts {
  readonly tools: Tools
  /** The names of all commands. */
  readonly commands: readonly string[]
  say(text: string): void
}

export interface Command {
  readonly name: string
  readonly usage: string
  readonly summary: string
  /** What its operand is one of. */
  readonly of?: 'tool' | 'kernel' | 'program' | 'suspension' | 'restart' | 'tracepoint' | 'error'
  /** It is for those who sit: the console takes a seat first, or says why it has none. */
  readonly seat?: true
  run(operand: string, context: Context): Promise<unknown>
}

/** Calls a tool with what stands behind its name. */
export async function callTool(
  { name, rest }: { name: string; rest: string },
  context: Context,
): Promise<void> {
  const { running, showing, spoken, tools, say } = context
  const tool = (await tools.list()).find(one => one.name === name || one.aliases.includes(name))
  if (tool === undefined) {
    const names = [...context.commands, ...tools.known.map(one => one.name)]
    const listed = context.suspended.current(context.image.kernel) === undefined ? LISTED : RESTARTS
    return say(unknown({ what: 'command or tool', name, names, sign: ':', listed }))
  }
  const args = argumentsFor(tool, rest)
  if (typeof args === 'string') return say(args)
  const runsCode = tool.needs.some(need => need === 'evaluate' || need === 'load')
  const patience = tool.needs.includes('evaluate') ? { patience: WAIT_SECONDS } : {}
  const envelope = await running.call(name, { ...patience, ...args })
  if (runsCode) spoken.heard(envelope)
  if (envelope?.ok && !isRunning(envelope.result)) await showing.tool(tool.name, envelope)
  else if (envelope !== undefined) await running.ended(envelope)
}

/** Beside an error, a name is often meant for a restart. */
const RESTARTS = 'A restart is taken by :resume NAME.'

/** Where they are listed, which are too many to be listed here. */
export const LISTED = ':help lists the commands, :tools the tools.'

interface Unknown {
  readonly what: string
  readonly name: string
  readonly names: readonly string[]
  readonly sign?: string
  /** Said in place of all the names. */
  readonly listed?: string
}

export function unknown({ what, name, names, sign = '', listed }: Unknown): string {
  const like = nearest(name, new Set(names)).map(one => sign + one)
  const all = listed ?? `There are: ${names.map(one => sign + one).join(' ')}`
  const meant = like.length > 0 ? `Did you mean ${like.join(' or ')}?` : all
  return name === '' ? `Which ${what}? ${meant}` : `There is no ${what} ${sign}${name}. ${meant}`
}

/** The first word, and all the rest. */
export function split(text: string, { keepBlank = false } = {}): string[] {
  const [, first = '', blank = '', rest = ''] = /^(\S*)(\s*)([\s\S]*)$/.exec(text) ?? []
  return blank === '' && rest === '' && keepBlank ? [first] : [first, rest]
}

/** What the console knows of a tool. */
export interface ToolFacts {
  readonly name: string
  readonly aliases: readonly string[]
  readonly summary: string
  readonly needs: readonly string[]
  readonly parameters: readonly ToolParameter[]
  readonly parameter_aliases: Readonly<Record<string, string>>
}

interface ToolParameter {
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
    parameter_aliases: z.record(z.string(), z.string()),
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
      const stands = tool.parameter_aliases[name]
      // What looks so in code is an assignment.
      const meant = stands === undefined || stands === 'expr' ? name : stands
      const parameter = tool.parameters.find(one => one.name === meant)
      if (parameter === undefined) return whole
      args[parameter.name] = asValue(value, parameter)
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
