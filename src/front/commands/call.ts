import { text as readAll } from 'node:stream/consumers'
import { PROFILES } from '../../../tools/contract.ts'
import { messageOf } from '../../../wire/errors.ts'
import type { Question } from '../../../wire/kernel.ts'
import type { CallEvent } from '../../calls/contract.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { askPerson, type Lines, openLines } from '../lines.ts'
import { exitOf, printEnvelope, printError, withoutOutput } from '../print.ts'
import { askHere, untilAnswered } from '../seat/at-terminal.ts'

/**
 * `imago call`: one call of one tool. What the code prints is shown as it comes, on standard error with `--json`.
 * The first Ctrl-C cancels the call and reports what came of that; the second leaves it to itself.
 */
export async function call(input: CommandInput): Promise<ExitCode> {
  const { operands, options } = input
  const [tool = '', given = '{}'] = operands
  const args = withReserved(parseArguments(given === '-' ? await readAll(process.stdin) : given), {
    ...(options.kernel === undefined ? {} : { kernel: options.kernel }),
    ...(options.patience === undefined ? {} : { patience: seconds(options.patience) }),
  })
  return callTool({ as: 'imago call', tool, args, answers: given !== '-' }, input)
}

/** One call, as a command makes it. */
interface CommandCall {
  /** The name of the client, for people. */
  readonly as: string
  readonly tool: string
  readonly args: unknown
  /** Whether somebody at the terminal may answer what the code asks. */
  readonly answers: boolean
  /**
   * Whether it is a person's own doing: they are asked for approval here, where nobody has a seat, and what went wrong is
   * told to them as by any other command, and not as to a model.
   */
  readonly approves?: boolean
}

/** Makes the call, prints its answer, and says what that means for the exit code. */
async function callTool(
  { as, tool, args, answers, approves = false }: CommandCall,
  { options, printer }: Pick<CommandInput, 'options' | 'printer'>,
): Promise<ExitCode> {
  await using client = await connectDaemon({
    name: as,
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })

  let printed = false
  // The last line that was printed has no end yet.
  let open = false
  let asking: string | undefined
  const live = (event: CallEvent) => {
    if (event.type === 'progress' && event.plan !== undefined && event.plan !== asking) {
      asking = event.plan
      printer.err(`imago: ${asking} is before a person, at imago watch; nothing ran yet\n`)
    }
    if (event.type !== 'output') return
    printed = true
    open = !event.text.endsWith('\n')
    if (options.json || event.stream === 'stderr') printer.err(event.text)
    else printer.out(event.text)
  }
  const cancel = onInterrupt(() => printer.err('\nimago: cancelling; once more leaves it running\n'))
  const lines = answers ? person() : undefined
  const made = (left?: AbortSignal) =>
    client.call({
      tool,
      args,
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

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Failure(`The arguments are not JSON: ${messageOf(error)}`, { exit: EXIT.usage, cause: error })
  }
}

/** What is not an object is left as it is: the call path says what is wrong with it. */
function withReserved(args: unknown, reserved: Readonly<Record<string, unknown>>): unknown {
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? { ...args, ...reserved } : args
}

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
    { as: 'imago undo', tool: 'undo_change', args: { change }, answers: false, approves: true },
    input,
  )
}

/** `imago tools`: what the registry says of its tools, in the form that was asked for. */
export async function tools({ operands: [name], options, printer }: CommandInput): Promise<ExitCode> {
  const profile = PROFILES.find(known => known === options.profile)
  if (options.profile !== undefined && profile === undefined)
    throw new Failure(`There is no profile ${options.profile}. Profiles: ${PROFILES.join(', ')}.`, {
      exit: EXIT.usage,
    })
  await using client = await connectDaemon({
    name: 'imago tools',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  const { text } = await client.request('tools', {
    ...(profile === undefined ? {} : { profile }),
    ...(options.format === undefined ? {} : { format: options.format }),
    ...(name === undefined ? {} : { name }),
  })
  printer.out(text.endsWith('\n') ? text : `${text}\n`)
  return EXIT.done
}
