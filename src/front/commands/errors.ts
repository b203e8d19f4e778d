import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorSummary, errorSummaries, getLastError } from '../../../tools/activity.ts'
import { isGroupAnswer } from '../../../tools/group.ts'
import type { Envelope } from '../../../tools/outcome.ts'
import { showResult } from '../../../tools/show.ts'
import { oneLine } from '../../../tools/text.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { escapeJson } from '../../text/escape.ts'
import { connectDaemon, type DaemonClient } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { clock } from '../log/lines.ts'
import { exitOf, print, printEnvelope, printError } from '../print.ts'

/** How often `--follow` asks, in milliseconds. */
const AGAIN_MS = 1_000

const SHOWS_ONE = 'imago errors N shows one with its values'

const NONE = 'No error of the program has been noted.'

/**
 * `imago errors`: the errors that the program had by itself, a line each, oldest first; `imago errors 3`: that one, with
 * its traceback and locals. With `--follow`, those that come, until Ctrl-C.
 */
export async function errors(input: CommandInput): Promise<ExitCode> {
  const number = numberOf(input)
  await using client = await connectDaemon({
    name: 'imago errors',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  if (input.options.follow) return await follow(input, client)
  const envelope = await asked(client, input, { number })
  if (!envelope.ok) return printFailed(input, envelope)
  if (number !== undefined) return printOne(input, envelope.result)
  const found = errorsOf(envelope.result)
  const lines = found.length === 0 ? [NONE] : found.map(errorLine)
  // A script reads lines of errors.
  const more = found.length > 0 && process.stdout.isTTY ? [SHOWS_ONE] : []
  return print(input, { result: { errors: found }, text: [...lines, ...more].join('\n') })
}

/** `3`, or `#3` as the list has it. */
function numberOf({ operands: [given], options: { follow } }: CommandInput): number | undefined {
  if (given === undefined) return undefined
  const number = Number(/^#?([1-9]\d*)$/.exec(given)?.[1])
  if (!Number.isSafeInteger(number))
    throw new Failure(`${oneLine(given)} is not the number of an error.`, { exit: EXIT.usage })
  if (follow) throw new Failure('--follow goes without a number.', { exit: EXIT.usage })
  return number
}

async function follow(input: CommandInput, client: DaemonClient): Promise<ExitCode> {
  const { json = false } = input.options
  const ended = untilEnded()
  let shown = new Set<string>()
  while (!ended.aborted) {
    const envelope = await asked(client, input, { signal: ended })
    if (ended.aborted) break
    if (!envelope.ok) return printFailed(input, envelope)
    const found = errorsOf(envelope.result)
    for (const one of found.filter(one => !shown.has(keyOf(one))))
      input.printer.out(`${json ? escapeJson(JSON.stringify(one)) : errorLine(one)}\n`)
    shown = new Set(found.map(keyOf))
    await sleep(AGAIN_MS, undefined, { signal: ended }).catch(() => {})
  }
  return EXIT.done
}

function asked(
  client: DaemonClient,
  { options: { kernel } }: CommandInput,
  { number, signal }: { readonly number?: number | undefined; readonly signal?: AbortSignal },
): Promise<Envelope> {
  const which = { ...(number !== undefined && { number }), ...(kernel !== undefined && { kernel }) }
  return client.call({
    tool: 'get_last_error',
    args: { whose: 'program', ...which },
    ...(signal && { signal }),
  })
}

/** An error, and of several programs the one that had it. */
type Found = ErrorSummary & { readonly kernel?: string }

/** Oldest first; of several programs one after the other. */
function errorsOf(result: unknown): readonly Found[] {
  if (!isGroupAnswer(result)) return errorSummaries(result).toReversed()
  return result.members.flatMap(one =>
    one.ok ? errorsOf(one.result).map(found => ({ ...found, kernel: one.kernel })) : [],
  )
}

/** The one error, or that of each program, without the others that a model is told of beside it. */
function printOne(input: CommandInput, result: unknown): ExitCode {
  const alone = (result: unknown) => ({ ...(result as object), others: [] })
  if (!isGroupAnswer(result))
    return print(input, { result: alone(result), text: getLastError.show(alone(result)) })
  const members = result.members.map(one => (one.ok ? { ...one, result: alone(one.result) } : one))
  return print(input, { result: { members }, text: showResult({ members }, getLastError) })
}

function printFailed(
  { options, printer }: CommandInput,
  envelope: Extract<Envelope, { ok: false }>,
): ExitCode {
  if (options.json) printEnvelope(printer, envelope)
  else printError(printer, envelope.error)
  return exitOf(envelope)
}

/** One that comes again does so at another time, and a program that was started again counts anew. */
const keyOf = ({ kernel, number, at }: Found) => `${kernel} ${number} ${at}`

/** `#3  2026-11-23 13:22:05  request GET /orders/  KeyError: 'tea'  (12 times)` */
function errorLine({ kernel, number, at, where, what, times }: Found): string {
  const often = times === 1 ? [] : [`(${times} times)`]
  return [
    ...(kernel === undefined ? [] : [oneLine(kernel)]),
    `#${number}`,
    clock(at),
    oneLine(where ?? '-'),
    what,
    ...often,
  ].join('  ')
}

/** Aborted when nobody wants more: Ctrl-C, or the reader has gone. */
function untilEnded(): AbortSignal {
  const ended = new AbortController()
  process.once('SIGINT', () => ended.abort())
  process.stdout.on('error', () => ended.abort())
  return ended.signal
}
