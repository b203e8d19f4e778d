import { rmSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import {
  type ErrorSummary,
  errorRecords,
  errorSummaries,
  futuresLines,
  getLastError,
  unreadLines,
} from '../../../tools/activity.ts'
import { isGroupAnswer } from '../../../tools/group.ts'
import type { Envelope } from '../../../tools/outcome.ts'
import { showResult } from '../../../tools/show.ts'
import { counted, oneLine, placeOf } from '../../../tools/text.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { escapeJson } from '../../text/escape.ts'
import { connectHere, type DaemonClient } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { clock } from '../log/lines.ts'
import type { Topic } from '../operations/operation.ts'
import { print, printFailed, untilLeft } from '../print.ts'
import type { SubscriptionEvent } from '../subscriptions.ts'

const SHOWS_ONE = 'imago errors N shows one with its values'

const NONE = 'No error of the program has reached Imago.'

/**
 * `imago errors`: the errors that the program had by itself, and those of processes of the project that have gone, a line
 * each, oldest first; `imago errors 3`, or `imago errors 4242#3`: that one, with its traceback and locals. With
 * `--follow`, those that come, until Ctrl-C. `--forget` removes what processes have left that have gone.
 */
export async function errors(input: CommandInput): Promise<ExitCode> {
  const which = whichOf(input)
  await using client = await connectHere('imago errors')
  if (input.options.follow) return await follow(input, client)
  if (input.options.forget) return await forget(input, client)
  const envelope = await asked(client, input, which)
  if (!envelope.ok) return printFailed(input, envelope.error)
  if (which.number !== undefined) return printOne(input, envelope.result)
  const found = errorsOf(envelope.result)
  const besides = besidesIn(envelope.result)
  const lines = [...(found.length === 0 && besides.length === 0 ? [NONE] : found.map(errorLine)), ...besides]
  // A script reads lines of errors.
  const more = found.length > 0 && process.stdout.isTTY ? [SHOWS_ONE] : []
  return print(input, { result: { errors: found }, text: [...lines, ...more].join('\n') })
}

interface Which {
  readonly number?: number
  readonly process?: number
}

/** `3`, or `#3` as the list has it; `4242#3` of a process that has gone. */
function whichOf({ operands: [given], options: { follow, forget } }: CommandInput): Which {
  const usage = (message: string) => new Failure(message, { exit: EXIT.usage })
  if (follow && forget) throw usage('--follow goes without --forget.')
  if (given === undefined) return {}
  const [, pid, number] = /^(?:([1-9]\d*)?#)?([1-9]\d*)$/.exec(given) ?? []
  const [of, which] = [Number(pid ?? 1), Number(number)]
  if (!Number.isSafeInteger(which) || !Number.isSafeInteger(of))
    throw usage(`${oneLine(given)} is not the number of an error.`)
  if (follow || forget) throw usage(`--${follow ? 'follow' : 'forget'} goes without a number.`)
  return { number: which, ...(pid !== undefined && { process: of }) }
}

/** Removes the records of processes of the project that have gone, and their last words. Those that live keep theirs. */
async function forget(input: CommandInput, client: DaemonClient): Promise<ExitCode> {
  const envelope = await client.call({ tool: 'get_last_error', args: { whose: 'gone' } })
  if (!envelope.ok) return printFailed(input, envelope.error)
  const folder = join(findPaths().stateDir, 'errors')
  const left = errorRecords(envelope.result)
  const isWord = (file: string) => basename(dirname(file)) === 'programs'
  const files = left.filter(file => !isWord(file)).map(file => join(folder, basename(file)))
  const words = left.filter(isWord).map(file => join(findPaths().runtimeDir, 'programs', basename(file)))
  for (const file of [...files, ...words]) rmSync(file, { force: true })
  const text = `Forgotten: the errors of ${counted(files.length, 'process', 'processes')} of this project that ${files.length === 1 ? 'has' : 'have'} gone.`
  return print(input, { result: { forgotten: files.length }, text })
}

/** Each change of the topic has the list asked for again, which says of each where it was. */
async function follow(input: CommandInput, client: DaemonClient): Promise<ExitCode> {
  const { json = false } = input.options
  const ended = untilLeft()
  let shown = new Set<string>()
  for await (const _ of changesOf(client, { topics: ['errors', 'kernels'], signal: ended })) {
    const envelope = await asked(client, input, { signal: ended })
    if (ended.aborted) break
    if (!envelope.ok) return printFailed(input, envelope.error)
    const found = errorsOf(envelope.result)
    for (const one of found.filter(one => !shown.has(keyOf(one))))
      input.printer.out(`${json ? escapeJson(JSON.stringify(one)) : errorLine(one)}\n`)
    shown = new Set(found.map(keyOf))
  }
  return EXIT.done
}

interface Following {
  readonly topics: Topic[]
  readonly signal: AbortSignal
  /** Whether an event is of interest. Left out: each is. */
  isNews?(event: SubscriptionEvent): boolean
  /** How long it waits for the next event, in milliseconds. Left out, or undefined: as long as it takes. */
  waitMs?(): number | undefined
}

/** Once at first, and again after changes of those topics, however many come while the last ones are dealt with. */
export async function* changesOf(
  client: DaemonClient,
  { topics, signal, isNews = () => true, waitMs }: Following,
): AsyncGenerator<void> {
  let hasNews = true
  let isOver = false
  let wake = () => {}
  const take = () => {
    hasNews = true
    wake()
  }
  const following = client.subscribe({
    topics,
    signal,
    heard: event => isNews(event) && take(),
  })
  const over = () => {
    isOver = true
    wake()
  }
  following.then(over, over)
  while (!isOver) {
    if (hasNews) {
      hasNews = false
      yield
    } else {
      const ms = waitMs?.()
      const timer = ms === undefined ? undefined : setTimeout(take, ms)
      await new Promise<void>(resolve => {
        wake = resolve
      })
      clearTimeout(timer)
    }
  }
  await following
}

function asked(
  client: DaemonClient,
  { options: { kernel } }: CommandInput,
  { signal, ...which }: Which & { readonly signal?: AbortSignal },
): Promise<Envelope> {
  return client.call({
    tool: 'get_last_error',
    args: { whose: 'program', ...which, ...(kernel !== undefined && { kernel }) },
    ...(signal && { signal }),
  })
}

/** An error, and of several programs the one that had it. */
export type Found = ErrorSummary & { readonly kernel?: string }

/** Oldest first; of several programs one after the other, behind what processes have left that have gone. */
export function errorsOf(result: unknown): readonly Found[] {
  if (!isGroupAnswer(result)) return errorSummaries(result).toReversed()
  const found = result.members.flatMap(one =>
    one.ok ? errorsOf(one.result).map(found => ({ ...found, kernel: one.kernel })) : [],
  )
  // Each member tells of the same ones.
  const gone = found.flatMap(({ kernel: _, ...one }) => (one.of === undefined ? [] : [one]))
  const once = new Map(gone.map(one => [`${one.of?.pid} ${keyOf(one)}`, one]))
  return [...once.values(), ...found.filter(({ of }) => of === undefined)]
}

/** What else is told of the errors of a program, or of each of several, a line each. */
function besidesIn(result: unknown): readonly string[] {
  const all = isGroupAnswer(result)
    ? result.members.flatMap(one => (one.ok ? besidesIn(one.result) : []))
    : [...futuresLines(result), ...unreadLines(result)]
  return [...new Set(all)]
}

/** The one error, or that of each program, without the others that a model is told of beside it. */
function printOne(input: CommandInput, result: unknown): ExitCode {
  const alone = (result: unknown) => ({ ...(result as object), others: [] })
  if (!isGroupAnswer(result))
    return print(input, { result: alone(result), text: getLastError.show(alone(result)) })
  const members = result.members.map(one => (one.ok ? { ...one, result: alone(one.result) } : one))
  return print(input, { result: { members }, text: showResult({ members }, getLastError) })
}

/** One that comes again does so at another time, and a program that was started again counts anew. */
export const keyOf = ({ kernel, number, at }: Found) => `${kernel} ${number} ${at}`

/** `#3  2026-11-23 13:22:05  request GET /orders/  KeyError: 'tea'  shop/orders.py:12  (12 times)` */
export function errorLine({ kernel, number, at, where, what, times, file, line, of }: Found): string {
  const often = times === 1 ? [] : [`(${times} times)`]
  const place = placeOf({ file: file === null ? null : within(file), line })
  const gone = of === undefined ? [] : [`(${goneWords(of)})`]
  return [
    ...(kernel === undefined ? [] : [oneLine(kernel)]),
    `${of?.pid ?? ''}#${number}`,
    clock(at),
    oneLine(where ?? '-'),
    what,
    ...(place === '' ? [] : [place]),
    ...often,
    ...gone,
  ].join('  ')
}

/** As seen from here, where it is below. */
function within(file: string): string {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}

/** `crash ended with it at 01:21:05` */
function goneWords({ name, ended_at: at, by_it }: NonNullable<ErrorSummary['of']>): string {
  const who = oneLine(name)
  if (!by_it || at === null) return `${who} has gone`
  return `${who} ended with it at ${clock(at).split(' ').at(-1)}`
}
