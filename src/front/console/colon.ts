import type { DebugState } from '../../../tools/debug-look.ts'
import { conditionLine } from '../../../tools/suspension-text.ts'
import { oneLine } from '../../../tools/wording.ts'
import { WireError } from '../../../wire/errors.ts'
import type { Traces } from '../../../wire/kernel.ts'
import { messageOf } from '../../failure.ts'
import {
  COMMANDS,
  type Command,
  type CommandParts,
  type Context,
  callTool,
  helpSpans,
  QUIT,
  signature,
  split,
} from './colon-table.ts'
import type { Edit } from './edit.ts'
import type { Offers } from './menu.ts'
import { prose, type Span } from './style.ts'
import { openTools, type ToolFacts, type Tools } from './tool-line.ts'

/** Commands to the console itself: what begins with a colon. */
export interface Commands {
  /** Does one, and says what went wrong with it. */
  run(line: string): Promise<'quit' | undefined>
  /** What is known of the command that is being written, in a line. */
  hint(text: string): string
  /** How it may go on. */
  complete(edit: Edit): Promise<Offers | undefined>
}

export function openCommands(parts: CommandParts): Commands {
  const { stage } = parts
  const tools = openTools(parts.image)
  const context: Context = {
    ...parts,
    tools,
    say: text => stage.print([prose('hint', `${text}\n`)]),
  }

  return {
    async run(line) {
      const { name, operand } = read(line)
      try {
        const command =
          COMMANDS.find(one => one.name === name) ?? only(COMMANDS.filter(one => one.name.startsWith(name)))
        if (name === '') await parts.showing.page('help', helpSpans())
        else if (command !== undefined) {
          if (command.seat === true && !(await parts.approvals.seated())) return undefined
          return (await command.run(operand, context)) === QUIT ? QUIT : undefined
        } else await callTool({ name, rest: operand }, context)
      } catch (error) {
        if (error instanceof WireError && error.remote === undefined && error.code !== 'LINK_CLOSED')
          throw error
        const remote = error instanceof WireError ? error.remote : undefined
        stage.print([prose('error', `${remote?.message ?? messageOf(error)}\n`), ...nextOf(remote?.data)])
      }
      return undefined
    },

    hint(text) {
      if (!/^\s*:/.test(text)) return ''
      // Its tools are asked for when somebody first may want one.
      if (tools.known.length === 0)
        void tools.list().then(
          () => stage.repaint(),
          () => {},
        )
      const [name = '', operand] = split(text.trim().slice(1), { keepBlank: true })
      const exact = COMMANDS.find(one => one.name === (/^\d+$/.test(name) ? 'resume' : name))
      if (exact !== undefined) return `${signature(exact)}  ${exact.summary}`
      const tool = tools.known.find(one => one.name === name)
      if (tool !== undefined) return toolHint(tool)
      const begun = operand === undefined ? COMMANDS.filter(one => one.name.startsWith(name)) : []
      if (begun.length === 0) return name === '' ? '' : ':help lists the commands, :tools the tools'
      return begun.map(signature).join('  ')
    },

    async complete({ text, cursor }) {
      const before = text.slice(0, cursor)
      const name = /^\s*:\s*(\w*)$/.exec(before)
      if (name !== null) {
        const known = [...COMMANDS, ...(await tools.list())]
        return offersOf({ begun: name[1] ?? '', cursor, known })
      }
      const [, command = '', begun = ''] = /^\s*:\s*(\w+)\s+(\S*)$/.exec(before) ?? []
      const of = COMMANDS.find(one => one.name === command)?.of
      if (of === undefined) return undefined
      const known = await knownOf(of, { ...parts, tools })
      return offersOf({ begun, cursor, known })
    },
  }
}

/** The name of a command, and what stands behind it; a number stands for the restart of that number. */
function read(line: string): { readonly name: string; readonly operand: string } {
  const [name = '', operand = ''] = split(line.slice(1).trim())
  return /^\d+$/.test(name) ? { name: 'resume', operand: `${name} ${operand}` } : { name, operand }
}

type Parts = Pick<CommandParts, 'image' | 'suspended'> & { readonly tools: Tools }

/** What an operand may be one of. */
async function knownOf(of: NonNullable<Command['of']>, parts: Parts): Promise<readonly Known[]> {
  const { image, tools, suspended } = parts
  switch (of) {
    case 'tool':
      return tools.list()
    case 'kernel': {
      const { kernels } = await image.request('kernels', {})
      return kernels.map(({ name, state, language }) => ({ name, summary: `${language}, ${state}` }))
    }
    case 'program': {
      const { announced } = await image.request('kernels', {})
      return announced.map(({ name, pid }) => ({ name, summary: `process ${pid}` }))
    }
    case 'suspension': {
      const { suspensions } = await image.request('suspensions', {})
      return suspensions.map(row => ({ name: row.id, summary: oneLine(conditionLine(row)) }))
    }
    case 'restart': {
      const { id: suspension, kernel } = suspended.current(image.kernel) ?? {}
      if (suspension === undefined) return []
      const envelope = await image.call({ tool: 'debug_state', args: { suspension, kernel, count: 1 } })
      const restarts = envelope.ok ? (envelope.result as DebugState).restarts : []
      return restarts.map(({ name, description }) => ({ name, summary: oneLine(description) }))
    }
    case 'error': {
      // Only those who sit are told of them.
      const { errors } = await image
        .request('theirs', { kernel: image.kernel ?? '' })
        .catch(() => ({ errors: [] }))
      return errors.map(error => ({ name: error.id, summary: oneLine(conditionLine(error)) }))
    }
    case 'tracepoint': {
      const envelope = await image.call({ tool: 'trace_calls', args: {} })
      const tracepoints = envelope.ok ? (envelope.result as Traces).tracepoints : []
      return tracepoints.map(({ id, name }) => ({ name: id, summary: oneLine(name) }))
    }
    default:
      return of satisfies never
  }
}

interface Known {
  readonly name: string
  readonly summary: string
}

function offersOf({
  begun,
  cursor,
  known,
}: {
  begun: string
  cursor: number
  known: readonly Known[]
}): Offers {
  const offers = known
    .filter(({ name }) => name.startsWith(begun))
    .map(({ name, summary }) => ({ text: name, detail: summary }))
  return { from: cursor - begun.length, to: cursor, offers, total: offers.length }
}

function nextOf(data: unknown): Span[] {
  const next = typeof data === 'object' && data !== null ? Reflect.get(data, 'next') : undefined
  return typeof next === 'string' ? [prose('hint', `${next}\n`)] : []
}

const toolHint = ({ name, parameters, summary }: ToolFacts) =>
  `:${[name, ...parameters.map(one => (one.required ? one.name : `[${one.name}]`))].join(' ')}  ${summary}`

const only = <Item>(items: readonly Item[]): Item | undefined => (items.length === 1 ? items[0] : undefined)
