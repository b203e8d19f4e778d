import { text as readAll } from 'node:stream/consumers'
import { isRunning } from '../../../tools/outcome.ts'
import { isRecord } from '../../../tools/record.ts'
import { messageOf } from '../../../wire/errors.ts'
import type { Question } from '../../../wire/kernel.ts'
import type { CallEvent } from '../../calls/contract.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { shellWord } from '../../text/escape.ts'
import { connectHere, type DaemonClient, WAIT_SECONDS } from '../client.ts'
import { type CommandInput, profileOf, type ToolCommand } from '../command.ts'
import { askPerson, type Lines, openLines } from '../lines.ts'
import { exitOf, printEnvelope, printError, printEvaluated, withoutOutput } from '../print.ts'
import type { Methods } from '../protocol.ts'
import { askHere, untilAnswered } from '../seat/at-terminal.ts'

/** All commands that are one call are one caller: the context or package that one of them goes to, the next is in. */
const CALLER = 'imago call'

/**
 * `imago call`: one call of one tool. What the code prints is shown as it comes, on standard error with `--json`.
 * The first Ctrl-C cancels the call and reports what came of that; the second leaves it to itself.
 */
export async function call(input: CommandInput): Promise<ExitCode> {
  const [tool = '', ...words] = input.operands
  const given = await wordsOf(words)
  const reserved = reservedOf(input)
  const args = async (client: DaemonClient) => ({
    ...(await typed(given, { as: CALLER, tool, client })),
    ...reserved,
  })
  return callTool({ as: CALLER, tool, args, answers: given === words }, input)
}

/** `imago eval` and its like: a call of one tool, whose first argument is typed without its name. */
export async function callAs(command: ToolCommand, input: CommandInput): Promise<ExitCode> {
  const { tool, runs = false } = command
  return callTool({ as: CALLER, tool, values: runs, ...(await argumentsOf(command, input)) }, input)
}

/** What such a command was given. Where it is code, `-` reads it from standard input. */
export async function argumentsOf(
  { name, tool, first, runs = false, optional = false }: ToolCommand,
  input: CommandInput,
): Promise<Pick<CommandCall, 'args' | 'answers'>> {
  const { operands } = input
  const [operand, ...rest] = operands
  // Where it may be left out, it is told from the others by its form.
  const isFirst = operand !== undefined && !(optional && NAMED.test(operand))
  const words = isFirst ? rest : operands
  const stray = words.find(word => !NAMED.test(word))
  if (stray !== undefined)
    throw new Failure(
      `${JSON.stringify(stray)} is not name=value. Quote what has blanks in it: imago ${name} ${shellWord(operands.join(' '))}`,
      { exit: EXIT.usage },
    )
  const isRead = runs && operand === '-'
  const fixed = {
    ...(runs && { on_error: 'end', patience: WAIT_SECONDS }),
    ...(isFirst && { [first]: isRead ? await readAll(process.stdin) : operand }),
    ...(input.options.all && { all: true }),
  }
  const reserved = reservedOf(input)
  return {
    args: async client => ({ ...fixed, ...(await named(words, { tool, client })), ...reserved }),
    answers: !isRead,
  }
}

/** One call, as a command makes it. */
interface CommandCall {
  /** The name of the client, for people. */
  readonly as: string
  readonly tool: string
  args(client: DaemonClient): Promise<Arguments>
  /** Whether somebody at the terminal may answer what the code asks. */
  readonly answers: boolean
  /** Whether the answer is shown as a prompt shows that of code: the values alone, and the language's own report. */
  readonly values?: boolean
  /**
   * Whether it is a person's own doing: they are asked for approval here, where nobody has a seat, and what went wrong is
   * told to them as by any other command, and not as to a model.
   */
  readonly approves?: boolean
}

/** Makes the call, prints its answer, and says what that means for the exit code. */
async function callTool(
  { as, tool, args, answers, values = false, approves = false }: CommandCall,
  { options, printer }: Pick<CommandInput, 'options' | 'printer'>,
): Promise<ExitCode> {
  await using client = await connectHere(as)

  let printed = false
  // The last line that was printed has no end yet.
  let open = false
  let asking: string | undefined
  let waiting = false
  const live = (event: CallEvent) => {
    if (event.type === 'progress' && event.plan !== undefined && event.plan !== asking) {
      asking = event.plan
      printer.err(`imago: ${asking} is before a person; nothing ran yet\n`)
    }
    if (event.type === 'progress' && event.behind !== undefined && !waiting) {
      waiting = true
      printer.err(`imago: ${event.behind}\n`)
    }
    if (event.type !== 'output') return
    printed = true
    open = !event.text.endsWith('\n')
    if (options.json || event.stream === 'stderr') printer.err(event.text)
    else printer.out(event.text)
  }
  const checked = await args(client)
  const cancel = onInterrupt(() => printer.err('\nimago: cancelling; once more leaves it running\n'))
  const lines = answers ? person() : undefined
  const made = (left?: AbortSignal) =>
    client.call({
      tool,
      args: checked,
      signal: left === undefined ? cancel : AbortSignal.any([cancel, left]),
      on: live,
      ...(lines && { ask: (question: Question) => askPerson(lines(), question) }),
    })
  const envelope =
    approves && !options.json
      ? await askHere({ client, printer }, async left =>
          untilAnswered(client, { first: await made(left), left }),
        )
      : await made()

  if (open) printer[envelope.ok && !options.json ? 'out' : 'err']('\n')
  if (options.json) printEnvelope(printer, envelope)
  else if (approves && !envelope.ok) printError(printer, envelope.error)
  else if (values && !(envelope.ok && isRunning(envelope.result)))
    return printEvaluated(printer, envelope).exit
  else {
    const shown = printed ? withoutOutput(envelope) : envelope
    const { text } = await client.request('show', { tool, envelope: shown })
    if (envelope.ok) printer.out(`${text}\n`)
    else printer.err(`${text}\n`)
  }
  return exitOf(envelope)
}

/** Who answers when the code asks for input: whoever sits at the terminal, if anybody. Opened at the first question. */
function person(): (() => Lines) | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined
  let lines: Lines | undefined
  return () => {
    lines ??= openLines(process.stdin, process.stderr)
    lines.onInterrupt(() => process.kill(process.pid, 'SIGINT'))
    return lines
  }
}

/** A parameter and its value. No JSON looks like that. */
const NAMED = /^([A-Za-z_]\w*)=([\s\S]*)$/

/** The words that arguments are given in. A single `-` is what standard input holds; else they are the same list. */
export async function wordsOf(words: readonly string[]): Promise<readonly string[]> {
  return words.length === 1 && words[0] === '-' ? [await readAll(process.stdin)] : words
}

/** Arguments as a person types them: one object of JSON, or each as `name=value`. `as`: the command, for what is wrong. */
export async function typed(
  words: readonly string[],
  asked: ToolAsked & { readonly as: string },
): Promise<Arguments> {
  const stray = words.find(word => !NAMED.test(word))
  if (stray === undefined) return named(words, asked)
  const object = words.length === 1 ? objectIn(stray) : 'it stands beside others'
  if (typeof object !== 'string') return object
  throw new Failure(await bothWays(stray, { ...asked, why: object }), { exit: EXIT.usage })
}

/** The object, or why that is none. */
function objectIn(text: string): Arguments | string {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : 'it is no object'
  } catch (error) {
    return messageOf(error)
  }
}

type Arguments = Readonly<Record<string, unknown>>

interface ToolAsked {
  readonly tool: string
  readonly client: Pick<DaemonClient, 'request'>
}

/** What is wrong with the word, and the two ways to write it. */
async function bothWays(
  word: string,
  { as, why, ...asked }: ToolAsked & { readonly as: string; readonly why: string },
) {
  const names = [...(await parametersOf(asked)).keys()]
  // `expr = o`: a blank beside the =, or a name alone.
  const [, typed = '', behind = ''] = /^\s*(\w+)\s*(?:=\s*(.*))?$/s.exec(word) ?? []
  const isName = names.includes(typed)
  const parameter = isName ? typed : (names[0] ?? 'name')
  const value = (isName ? behind : /^[{["]/.test(word) ? '' : word.replace(/^=/, '')) || 'value'
  const call = `${as} ${asked.tool}`
  return (
    `The arguments are not JSON, and not name=value: ${why}. Write\n` +
    `  ${call} ${shellWord(`${parameter}=${value}`)}\n` +
    `  ${call} ${shellWord(JSON.stringify({ [parameter]: value }))}`
  )
}

/** A part of a JSON Schema, as far as it says what a value may be. */
interface ValueSchema {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly ValueSchema[]
  readonly enum?: readonly unknown[]
}

/** The parameters of a tool by name, those that are needed first, and then by their other names. Empty for a tool that there is not: its call says so. */
async function parametersOf({ tool, client }: ToolAsked): Promise<ReadonlyMap<string, ValueSchema>> {
  const listed = await client.request('tools', { name: tool, format: 'json' }).catch(() => ({ text: '[]' }))
  const [found] = JSON.parse(listed.text) as readonly [
    {
      parameters: { properties?: Record<string, ValueSchema>; required?: readonly string[] }
      parameter_aliases: Record<string, string>
    }?,
  ]
  const { properties = {}, required = [] } = found?.parameters ?? {}
  const isNeeded = (name: string) => (required.includes(name) ? 0 : 1)
  const own = Object.entries(properties).sort(([one], [other]) => isNeeded(one) - isNeeded(other))
  const others = Object.entries(found?.parameter_aliases ?? {})
  return new Map([...own, ...others.map(([alias, name]) => [alias, properties[name] ?? {}] as const)])
}

/** The arguments that are given as `name=value`; only for them the daemon is asked what the tool takes. */
async function named(words: readonly string[], asked: ToolAsked): Promise<Arguments> {
  const args: Record<string, unknown> = {}
  if (words.length === 0) return args
  const parameters = await parametersOf(asked)
  for (const word of words) {
    const [, name = '', text = ''] = NAMED.exec(word) ?? []
    if (Object.hasOwn(args, name)) throw new Failure(`${name} is given twice.`, { exit: EXIT.usage })
    args[name] = valueFrom(text, typesOf(parameters.get(name)))
  }
  return args
}

/** JSON where the parameter takes what that is; else the text itself. What fits in neither way is told by the call. */
function valueFrom(text: string, types: ReadonlySet<string>): unknown {
  const value = jsonOf(text)
  if (value === undefined) return text
  if (types.size === 0 || !types.has('string')) return value
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  const fits = types.has(type) || (type === 'number' && types.has('integer'))
  return type !== 'string' && fits ? value : text
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The types that a value may have. Empty where nothing is known. */
function typesOf(schema: ValueSchema | undefined): ReadonlySet<string> {
  const { type = [], anyOf = [], enum: choices = [] } = schema ?? {}
  return new Set([type, anyOf.flatMap(one => [...typesOf(one)]), choices.map(one => typeof one)].flat())
}

/** The arguments that every tool has, as options say them. */
const reservedOf = ({ options: { kernel, patience } }: CommandInput) => ({
  ...(kernel !== undefined && { kernel }),
  ...(patience !== undefined && { patience: seconds(patience) }),
})

function seconds(text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isFinite(number) && number >= 0) return number
  throw new Failure(`--patience takes a number of seconds, not ${text}.`, { exit: EXIT.usage })
}

function onInterrupt(said: () => void): AbortSignal {
  const cancel = new AbortController()
  process.on('SIGINT', () => {
    if (cancel.signal.aborted) process.exit(EXIT.stillRunning)
    said()
    cancel.abort()
  })
  return cancel.signal
}

/** `imago undo NAME`: a call of `undo_change`, which a person is asked about: on the seats, or else at this terminal. */
export async function undo(input: CommandInput): Promise<ExitCode> {
  const [change = ''] = input.operands
  return callTool(
    { as: 'imago undo', tool: 'undo_change', args: async () => ({ change }), answers: false, approves: true },
    input,
  )
}

const START = `Start with these; imago tools NAME tells all about one.
  get_last_error  what went wrong in the program (imago errors)
  threads         where it stands now (imago threads)
  inspect         what a value is (imago inspect EXPR)
Whatever is about a program also takes kernel=NAME.

`

/** `imago tools`: what the registry says of its tools, in the form that was asked for. */
export async function tools({ operands: [name], options, printer }: CommandInput): Promise<ExitCode> {
  const profile = profileOf(options.profile)
  await using client = await connectHere('imago tools')
  const { text } = await client.request('tools', {
    ...(profile === undefined ? {} : { profile }),
    ...(options.format === undefined ? {} : { format: options.format }),
    ...(name === undefined ? {} : { name }),
  })
  const isWhole = name === undefined && profile === undefined && (options.format ?? 'text') === 'text'
  printer.out(`${isWhole ? START : ''}${text.trimEnd()}\n`)
  return EXIT.done
}

/** `imago describe`: what a client can ask of the daemon, a line for each operation, or one as JSON. */
export async function describe({ operands: [name], options, printer }: CommandInput): Promise<ExitCode> {
  await using client = await connectHere('imago describe')
  const { operations } = await client.request('describe', name === undefined ? {} : { name })
  if (options.json) printEnvelope(printer, { ok: true, result: { operations } })
  else if (name === undefined) printer.out(operations.map(operationLine).join(''))
  else for (const one of operations) printer.out(`${JSON.stringify(one, null, 2)}\n`)
  return EXIT.done
}

const operationLine = ({ name, who, level, does }: Methods['describe']['result']['operations'][number]) =>
  `${name.padEnd(18)}  ${level.padEnd(9)}  ${who.join(', ').padEnd(22)}  ${does.split(/(?<=\.)\s/, 1)[0]}\n`
