import type { DebugState } from '../../tools/debug-look.ts'
import { conditionLine } from '../../tools/suspension-text.ts'
import { duration, oneLine } from '../../tools/text.ts'
import { messageOf, WireError } from '../../wire/errors.ts'
import type { Traces } from '../../wire/kernel.ts'
import type { Image } from '../front/image.ts'
import { findPaths } from '../paths.ts'
import { journalSpans } from './answers.ts'
import {
  type Command,
  type CommandParts,
  type Context,
  callTool,
  LISTED,
  openTools,
  split,
  type ToolFacts,
  type Tools,
  unknown,
} from './colon.ts'
import { DEBUG_COMMANDS } from './colon-debug.ts'
import type { Offers } from './editor.ts'
import { looking, plain, prose, type Span } from './layout.ts'
import type { Edit } from './line.ts'

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
    commands: NAMES,
    say: text => stage.print([prose('hint', `${text}\n`)]),
  }

  return {
    async run(line) {
      const { name, operand } = read(line)
      try {
        const command =
          COMMANDS.find(one => one.name === name) ?? only(COMMANDS.filter(one => one.name.startsWith(name)))
        if (name === '') await parts.showing.page('help', shortHelp())
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
      const envelope = await image.call({ tool: 'debug_state', args: { suspension, kernel, limit: 1 } })
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

/** What a command answers with that ends the console; of others nothing is asked. */
const QUIT = 'quit'

/** How many lines are shown where no number is given. */
const LINES = 20

/** The commands, in the order in which they are listed. */
const COMMANDS: readonly Command[] = [
  {
    name: 'help',
    usage: '[NAME | all]',
    summary: 'the keys and the commands; one of them, or all with what they do',
    run: (operand, { showing, say }) => {
      const spans = helpSpans(operand)
      return spans === undefined
        ? Promise.resolve(
            say(unknown({ what: 'command', name: operand, names: NAMES, sign: ':', listed: LISTED })),
          )
        : showing.page('help', spans)
    },
  },
  {
    name: 'more',
    usage: '',
    summary: 'all of what was last shown only in part',
    run: (_operand, { showing }) => showing.more(),
  },
  {
    name: 'time',
    usage: '[CODE]',
    summary: 'how long it takes, or how long the last entry took',
    async run(code, { running, say }) {
      if (code !== '') await running.run(code)
      const { took } = running
      if (took === undefined) return say('Nothing was run yet.')
      const there = took.there === undefined ? '' : `${duration(took.there)} in the image, `
      say(`${there}${duration(took.here)} until it was shown`)
    },
  },
  {
    name: 'tools',
    usage: '[NAME]',
    summary: 'what the daemon offers, or all about one tool',
    of: 'tool',
    async run(name, { image, showing }) {
      const { text } = await image.request('tools', { profile: 'full', ...(name !== '' && { name }) })
      await showing.page(name || 'tools', [plain(`${text.trimEnd()}\n`)])
    },
  },
  {
    name: 'call',
    usage: 'TOOL [ARGUMENTS]',
    summary: 'call a tool, as :TOOL does; JSON, or words as limit=5',
    of: 'tool',
    async run(operand, context) {
      const [name = '', rest = ''] = split(operand)
      if (name === '') return context.say('Which one? :tools lists them.')
      await callTool({ name, rest }, context)
    },
  },
  {
    name: 'kernels',
    usage: '',
    summary: 'the kernels, and what can be attached to',
    run: (_operand, { showing }) => showing.kernels(),
  },
  {
    name: 'use',
    usage: 'NAME',
    summary: 'speak to another kernel from now on',
    of: 'kernel',
    async run(name, { image, say }) {
      const { kernels } = await image.request('kernels', {})
      const names = kernels.map(row => row.name)
      if (!names.includes(name)) return say(unknown({ what: 'kernel', name, names }))
      image.use(name)
      say(`From now on ${name}.`)
    },
  },
  {
    name: 'attach',
    usage: 'PROGRAM',
    summary: 'speak to a program that listens: name, PID or address',
    of: 'program',
    async run(target, { image, running, spoken, say }) {
      if (target === '') return say('To what? :kernels lists the programs that can be attached to.')
      const { name } = await running.during(image.request('attach', { target }))
      image.use(name)
      spoken.heard()
      say(`Attached to ${name}, and speaking to it. imago detach ${name} lets go of it.`)
    },
  },
  {
    name: 'detach',
    usage: 'NAME',
    summary: 'let go of such a program, which runs on',
    of: 'kernel',
    async run(operand, { image, running, say }) {
      const name = await kernelName(operand, image)
      await running.during(image.request('detach', { name }))
      say(`Let go of ${name}, which runs on. :use speaks to another kernel.`)
    },
  },
  {
    name: 'interrupt',
    usage: '[NAME]',
    summary: 'stop what runs there, whoever began it',
    of: 'kernel',
    async run(operand, context) {
      const name = await kernelName(operand, context.image)
      const { image, running } = context
      const { outcome, message } = await running.during(image.request('interrupt', { name }))
      context.say(`${outcome.replaceAll('_', ' ')}: ${message}`)
    },
  },
  {
    name: 'restart',
    usage: '[NAME]',
    summary: 'end the image and begin an empty one',
    of: 'kernel',
    async run(operand, { image, running, spoken, suspended, say }) {
      const name = await kernelName(operand, image)
      const { kernels } = await image.request('kernels', {})
      const row = kernels.find(one => one.name === name)
      if (row === undefined && suspended.current(image.kernel) !== undefined)
        return say(`There is no kernel ${name}. :resume ${name} takes a restart of that name or number.`)
      // An image that is not ours is not to be lost: the daemon says so.
      if (row?.owned === false) return void (await image.request('restart', { name }))
      const prompt = `All that is in ${name} is lost. Restart it? [y/N] `
      const answer = await running.ask({ type: 'stdin', prompt, secret: false }).catch(() => '')
      if (!/^y(es)?$/i.test(answer.trim())) return say('Nothing was done.')
      const { implementation, language } = await running.during(image.request('restart', { name }))
      spoken.heard()
      say(`${name} begins anew: ${implementation ?? language}.`)
    },
  },
  {
    name: 'approvals',
    usage: '',
    summary: 'what waits for your approval, as Ctrl-T shows it',
    run: (_operand, { approvals }) => approvals.open(),
  },
  {
    name: 'threads',
    usage: '[TEXT]',
    summary: 'where every thread and task stands now',
    run: (operand, context) => callTool({ name: 'threads', rest: operand && `filter=${operand}` }, context),
  },
  ...DEBUG_COMMANDS,
  {
    name: 'history',
    usage: '[COUNT | TEXT]',
    summary: 'what was entered here before',
    async run(operand, { history, showing }) {
      const count = Number(operand || LINES)
      const found = Number.isInteger(count)
        ? history.entries.slice(-count)
        : history.entries.filter(entry => entry.includes(operand))
      await showing.page('history', [plain(found.map(entry => `${entry}\n`).join(''))])
    },
  },
  {
    name: 'log',
    usage: '[COUNT]',
    summary: 'the last calls, of every client, and what became of suspended evaluations',
    async run(operand, { showing, stage }) {
      const count = Number(operand) || 100
      const spans = await journalSpans({ stateDir: findPaths().stateDir, count, columns: stage.size.columns })
      await showing.page('journal', spans)
    },
  },
  { name: 'quit', usage: '', summary: 'leave; the image stays', run: async () => QUIT },
]

const NAMES = COMMANDS.map(({ name }) => name)

async function kernelName(operand: string, image: Image): Promise<string> {
  return operand || image.kernel || (await image.row())?.name || ''
}

const signature = ({ name, usage }: Command) => `:${name}${usage && ` ${usage}`}`

/** What `:help` shows: what fits on a screen, all, or one command. Undefined for a command that there is not. */
export function helpSpans(operand: string): Span[] | undefined {
  if (operand === '') return shortHelp()
  if (operand === 'all') return longHelp(COMMANDS)
  const name = operand.replace(/^:/, '')
  const found = COMMANDS.filter(one => one.name === name)
  return found.length === 0 ? undefined : commandRows(found)
}

/** The names of the commands, and the keys that are used most: at most 22 lines of at most 80 columns. */
function shortHelp(): Span[] {
  const others = COMMANDS.filter(one => !DEBUG_COMMANDS.includes(one))
  return [
    looking('title', 'Commands\n'),
    ...namesOf(others),
    looking('title', 'What errors have suspended, and traces\n'),
    ...namesOf(DEBUG_COMMANDS),
    looking('title', 'Keys\n'),
    ...KEYS.slice(0, MOST_USED).flatMap(keyRow),
    looking('hint', ':help NAME tells of one, :help all of all with more keys, :tools of tools.\n'),
  ]
}

const longHelp = (commands: readonly Command[]): Span[] => [
  looking('title', 'Commands\n'),
  ...commandRows(commands),
  looking('title', '\nKeys\n'),
  ...KEYS.flatMap(keyRow),
]

function commandRows(commands: readonly Command[]): Span[] {
  const width = Math.max(...commands.map(one => signature(one).length)) + 2
  return commands.flatMap(one => [
    looking('decorator', `  ${signature(one).padEnd(width)}`),
    plain(`${one.summary}\n`),
  ])
}

/** Names in columns, as many in a line as are read at a terminal. */
function namesOf(commands: readonly Command[]): Span[] {
  const names = commands.map(({ name }) => `:${name}`.padEnd(COLUMN))
  const lines = Array.from({ length: Math.ceil(names.length / COLUMNS) }, (_, line) =>
    names
      .slice(line * COLUMNS, (line + 1) * COLUMNS)
      .join('')
      .trimEnd(),
  )
  return lines.map(line => looking('decorator', `  ${line}\n`))
}

const COLUMN = 12

const COLUMNS = 6

const keyRow = ([keys, what]: readonly [string, string]) => [
  looking('decorator', `  ${keys.padEnd(22)}`),
  plain(`${what}\n`),
]

/** How many of the keys are in the short help. */
const MOST_USED = 8

const KEYS: readonly (readonly [string, string])[] = [
  ['Enter', 'runs what is complete, and else begins a new line'],
  ['Up, Down', 'a line up or down, and what was entered before'],
  ['Ctrl-R', 'searches what was entered before'],
  ['Tab', 'completes; again, and the arrows, choose'],
  ['name?  name??', 'what a name stands for; its source'],
  ['Ctrl-C', 'drops what is being written; interrupts what runs'],
  ['Ctrl-D', 'leaves; the image stays, what is suspended here ends'],
  ['Ctrl-T', 'what waits for your approval; again goes back'],
  ['Alt-Enter, Ctrl-J', 'begins a new line, whatever is complete'],
  ['Right', 'takes what is offered in dim letters; Alt-F a word'],
  ['Ctrl-Z', 'suspends; fg comes back'],
  ['Ctrl-X Ctrl-E', 'goes on writing in $EDITOR'],
  ['Ctrl-_', 'undoes; Ctrl-A -E -K -U -W -Y, Alt-B -F -D -Y as in emacs'],
]
