import { isRunning } from '../../../tools/running.ts'
import { duration } from '../../../tools/wording.ts'
import { nearest } from '../../core/nearest.ts'
import { findPaths } from '../../paths.ts'
import { type Image, WAIT_SECONDS } from '../image.ts'
import type { ConsoleApprovals } from './approvals.ts'
import { DEBUG_COMMANDS } from './colon-debug.ts'
import type { History } from './history.ts'
import { journalSpans } from './journal-tail.ts'
import type { Spoken } from './languages.ts'
import type { Running } from './running.ts'
import type { Showing } from './showing.ts'
import type { Stage } from './stage.ts'
import { looking, plain, type Span } from './style.ts'
import type { ConsoleSuspensions } from './suspensions.ts'
import { argumentsFor, type Tools } from './tool-line.ts'

export interface CommandParts {
  readonly image: Image
  readonly stage: Stage
  readonly showing: Showing
  readonly running: Running
  readonly history: History
  readonly approvals: ConsoleApprovals
  readonly suspended: ConsoleSuspensions
  readonly spoken: Spoken
}

export interface Context extends CommandParts {
  readonly tools: Tools
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

/** What a command answers with that ends the console; of others nothing is asked. */
export const QUIT = 'quit'

/** How many lines are shown where no number is given. */
const LINES = 20

/** The commands, in the order in which they are listed. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'help',
    usage: '',
    summary: 'the keys and the commands',
    run: (_operand, { showing }) => showing.page('help', helpSpans()),
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
    async run(target, { image, running, say }) {
      if (target === '') return say('To what? :kernels lists the programs that can be attached to.')
      const { name } = await running.during(image.request('attach', { target }))
      image.use(name)
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
    async run(operand, { image, running, suspended, say }) {
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

/** Calls a tool with what stands behind its name. */
export async function callTool(
  { name, rest }: { name: string; rest: string },
  context: Context,
): Promise<void> {
  const { running, showing, tools, say } = context
  const tool = (await tools.list()).find(one => one.name === name || one.aliases.includes(name))
  if (tool === undefined) {
    const names = [...COMMANDS.map(one => one.name), ...tools.known.map(one => one.name)]
    const restart = context.suspended.current(context.image.kernel) === undefined ? '' : ` ${RESTARTS}`
    return say(`${unknown({ what: 'command or tool', name, names, sign: ':', listed: LISTED })}${restart}`)
  }
  const args = argumentsFor(tool, rest)
  if (typeof args === 'string') return say(args)
  const patience = tool.needs.includes('evaluate') ? { patience: WAIT_SECONDS } : {}
  const envelope = await running.call(tool.name, { ...patience, ...args })
  if (envelope?.ok && !isRunning(envelope.result)) await showing.tool(tool.name, envelope)
  else if (envelope !== undefined) await running.ended(envelope)
}

async function kernelName(operand: string, image: Image): Promise<string> {
  return operand || image.kernel || (await image.row())?.name || ''
}

const RESTARTS = 'A restart is taken by :resume NAME.'

/** Where they are listed, which are too many to be listed here. */
const LISTED = ':help lists the commands, :tools the tools.'

interface Unknown {
  readonly what: string
  readonly name: string
  readonly names: readonly string[]
  readonly sign?: string
  /** Said in place of all the names. */
  readonly listed?: string
}

function unknown({ what, name, names, sign = '', listed }: Unknown): string {
  const like = nearest(name, new Set(names)).map(one => sign + one)
  const all = listed ?? `There are: ${names.map(one => sign + one).join(' ')}`
  const meant = like.length > 0 ? [`Did you mean ${like.join(' or ')}?`, listed].join(' ').trim() : all
  return name === '' ? `Which ${what}? ${meant}` : `There is no ${what} ${sign}${name}. ${meant}`
}

export const signature = ({ name, usage }: Command) => `:${name}${usage && ` ${usage}`}`

/** The first word, and all the rest. */
export function split(text: string, { keepBlank = false } = {}): string[] {
  const [, first = '', blank = '', rest = ''] = /^(\S*)(\s*)([\s\S]*)$/.exec(text) ?? []
  return blank === '' && rest === '' && keepBlank ? [first] : [first, rest]
}

export function helpSpans(): Span[] {
  const width = Math.max(...COMMANDS.map(one => signature(one).length)) + 2
  const rows = COMMANDS.flatMap(one => [
    looking('decorator', `  ${signature(one).padEnd(width)}`),
    plain(`${one.summary}\n`),
  ])
  return [looking('title', 'Commands\n'), ...rows, looking('title', '\nKeys\n'), ...KEYS.flatMap(keyRow)]
}

const keyRow = ([keys, what]: readonly [string, string]) => [
  looking('decorator', `  ${keys.padEnd(22)}`),
  plain(`${what}\n`),
]

const KEYS: readonly (readonly [string, string])[] = [
  ['Enter', 'runs what is complete, and else begins a new line'],
  ['Alt-Enter, Ctrl-J', 'begins a new line, whatever is complete'],
  ['Up, Down', 'a line up or down, and what was entered before'],
  ['Right', 'takes what is offered in dim letters; Alt-F a word'],
  ['Ctrl-R', 'searches what was entered before'],
  ['Tab', 'completes; again, and the arrows, choose'],
  ['name?  name??', 'what a name stands for; its source'],
  ['Ctrl-C', 'drops what is being written; interrupts what runs'],
  ['Ctrl-D', 'leaves; the image stays, and what errors have suspended here is given up'],
  ['Ctrl-T', 'what waits for your approval; again, and the line is as it was'],
  ['Ctrl-Z', 'suspends; fg comes back'],
  ['Ctrl-X Ctrl-E', 'goes on writing in $EDITOR'],
  ['Ctrl-_', 'undoes; Ctrl-A -E -K -U -W -Y, Alt-B -F -D -Y as in emacs'],
]
