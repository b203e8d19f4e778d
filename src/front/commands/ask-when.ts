import { mkdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { getLastError } from '../../../tools/activity.ts'
import { oneLine } from '../../../tools/text.ts'
import { WireError } from '../../../wire/errors.ts'
import type { EntryOf } from '../../agent/entries.ts'
import { keptRun, runNames } from '../../agent/run-file.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import type { DaemonClient } from '../client.ts'
import type { Printer } from '../print.ts'
import { changesOf, errorLine, errorsOf, type Found, keyOf } from './errors.ts'

/** The errors that are waited for. */
interface WantedErrors {
  /** A kernel, or a program with all of its processes. */
  readonly program: string
  /** The name of the type; undefined: any. */
  readonly type: string | undefined
}

/** `web raises KeyError`, or `web raises`. */
export function wantedErrors(when: string): WantedErrors {
  const [, program, type] = /^\s*(\S+)\s+raises(?:\s+(\S+))?\s*$/.exec(when) ?? []
  if (program !== undefined) return { program, type }
  throw new Failure(`--when takes 'PROGRAM raises' or 'PROGRAM raises TYPE', not ${JSON.stringify(when)}.`, {
    exit: EXIT.usage,
  })
}

/** An error that wakes a run. */
export interface Woken {
  /** `KeyError: 'tea'`, for people. */
  readonly what: string
  /** Errors of one kind wake one run in an hour. */
  readonly kind: string
  /** With its frames and their values, as a model reads it. */
  readonly text: string
}

interface Waking {
  /** To the daemon, or the next one. */
  connect(): Promise<DaemonClient>
  readonly wanted: WantedErrors
  readonly printer: Printer
  /** Ends the waiting, and cancels the run of that moment. */
  readonly left: AbortSignal
  /** Runs that may be woken in a day, by all that wait so. */
  readonly most: number
}

/** One kind of error wakes a run once in that time, in milliseconds; of all that wait for it together. */
const AGAIN_MS = 3_600_000
const DAY_MS = 24 * AGAIN_MS

/**
 * Begins a run at each error that comes, one after another, until Ctrl-C; errors from before are passed over. What kills
 * the program is one, too: its process has left it behind. A daemon that breaks off is replaced. Throws a `Failure`
 * where a person has ended it.
 */
export async function whenRaised(
  { connect, left, ...waking }: Waking,
  begin: (client: DaemonClient, woken: Woken) => Promise<ExitCode>,
): Promise<ExitCode> {
  const known: Known = { seen: undefined }
  while (!left.aborted) {
    await using client = await connect()
    await untilLost({ ...waking, client, left, known }, woken => begin(client, woken)).catch(error => {
      if (!isLost(error)) throw error
      // It names the run that was broken off.
      if (error instanceof Failure) waking.printer.err(`imago: ${error.message}\n`)
    })
    if (left.aborted) break
    const { message = '' } = (await client.closed) ?? {}
    if (message.includes('(ending)'))
      throw new Failure('The daemon has ended. To wait again: imago ask --when')
    waking.printer.err(`imago: ${message} Another one goes on.\n`)
  }
  return EXIT.done
}

const isLost = (error: unknown): boolean =>
  error instanceof Failure ? isLost(error.cause) : error instanceof WireError && error.code === 'LINK_CLOSED'

/** Of errors, over lives of the daemon. */
interface Known {
  seen: ReadonlySet<string> | undefined
}

interface Following extends Omit<Waking, 'connect'> {
  readonly client: DaemonClient
  readonly known: Known
}

async function untilLost(
  { client, wanted, printer, most, left, known }: Following,
  begin: (woken: Woken) => Promise<ExitCode>,
): Promise<void> {
  const lost = new AbortController()
  void client.closed.then(() => lost.abort())
  joinsPrograms(client, { wanted, left: AbortSignal.any([left, lost.signal]) })
  for await (const _ of changesOf(client, { topics: ['errors', 'kernels'], signal: left })) {
    const { seen } = known
    const found = await errorsNow(client, wanted)
    const news = seen === undefined ? [] : found.filter(one => !seen?.has(keyOf(one)))
    if (seen === undefined) printer.err(await waitingText(client, wanted))
    known.seen = new Set([...(seen ?? []), ...found.map(keyOf)])
    for (const one of news) {
      const kind = `${wanted.program} ${typeOf(one)} ${one.file}:${one.line}`
      if (wokenBefore(kind)) continue
      if (left.aborted) break
      if (wokenSince(Date.now() - DAY_MS).length >= most) {
        printer.err(`imago: ${most} runs were woken in a day, which is the most: ${errorLine(one)}\n`)
        continue
      }
      printer.err(`imago: ${errorLine(one)}\n`)
      await begin({ what: oneLine(one.what), kind, text: await textOf(client, one) })
    }
  }
}

/** Which error is waited for, and whether its program is there. */
async function waitingText(
  client: DaemonClient,
  { program, type = 'errors' }: WantedErrors,
): Promise<string> {
  const { kernels, announced } = await client.request('kernels', {})
  const names = [...kernels.filter(({ state }) => LIVES.has(state)), ...announced].map(({ name }) => name)
  const there = names.length === 0 ? 'No program is there.' : `There are: ${[...new Set(names)].join(', ')}.`
  const missing = names.some(name => isOf(name, program)) ? '' : ` No program has that name yet. ${there}`
  return `imago: waiting for ${type} of ${program}. Ctrl-C ends that.${oneLine(missing)}\n`
}

/** A program that begins to listen is joined, so that its errors are told; it is seen by its file. */
function joinsPrograms(
  client: DaemonClient,
  { wanted, left }: { readonly wanted: WantedErrors; readonly left: AbortSignal },
): void {
  const joined = new Set<string>()
  async function joinAll() {
    const { announced } = await client.request('kernels', {})
    for (const { name, pid, announced_at } of announced) {
      const program = `${pid} ${announced_at}`
      if (!isOf(name, wanted.program) || joined.has(program)) continue
      joined.add(program)
      // A parent that starts it again has its name, and may have been joined by it.
      const args = { whose: 'program', kernel: `${name}-${pid}` }
      const { ok } = await client.call({ tool: getLastError.name, args })
      if (!ok) joined.delete(program)
    }
  }
  const programs = join(findPaths().runtimeDir, 'programs')
  mkdirSync(programs, { recursive: true, mode: 0o700 })
  const watcher = watch(programs, { signal: left }, () => void joinAll().catch(() => {}))
  watcher.on('error', () => watcher.close())
  void joinAll().catch(() => {})
}

/** Of each process of the program that lives, and of those that have gone. */
async function errorsNow(client: DaemonClient, { program, type }: WantedErrors): Promise<readonly Found[]> {
  const { kernels } = await client.request('kernels', {})
  const living = kernels.filter(({ name, state }) => isOf(name, program) && LIVES.has(state))
  const ofLiving = living.map(async ({ name }) =>
    (await errorsIn(client, { whose: 'program', kernel: name }))
      .filter(({ of }) => of === undefined)
      .map(one => ({ ...one, kernel: name })),
  )
  // Together: where the daemon ends, all of them reject.
  const [gone, ...lived] = await Promise.all([errorsIn(client, { whose: 'gone' }), ...ofLiving])
  return [...gone.filter(({ of }) => of !== undefined && isOf(of.name, program)), ...lived.flat()].filter(
    one => type === undefined || typeOf(one) === type,
  )
}

const LIVES: ReadonlySet<string> = new Set(['ready', 'busy', 'unresponsive'])

async function errorsIn(client: DaemonClient, args: Readonly<Record<string, string>>) {
  const envelope = await client.call({ tool: getLastError.name, args })
  return envelope.ok ? errorsOf(envelope.result) : []
}

/** `web`, or a member of its group: `web/2`. */
const isOf = (name: string, program: string): boolean => name === program || name.startsWith(`${program}/`)

const typeOf = ({ what }: Found): string => what.split(':', 1)[0]?.split('.').at(-1) ?? ''

async function textOf(client: DaemonClient, one: Found): Promise<string> {
  const { number, of, kernel } = one
  const args = { whose: 'program', number, ...(of && { process: of.pid }), ...(kernel && { kernel }) }
  const envelope = await client.call({ tool: getLastError.name, args })
  return (await client.request('show', { tool: getLastError.name, envelope })).text
}

/** Runs of all programs that an error has woken since then. One that cannot be used is passed over. */
function wokenSince(then: number): readonly EntryOf<'begun'>[] {
  const { stateDir } = findPaths()
  const found: EntryOf<'begun'>[] = []
  for (const run of runNames(stateDir)) {
    const begun = beginningOf(stateDir, run)
    if (begun === undefined) continue
    if (begun.at < then) break
    if (begun.woken !== undefined) found.push(begun)
  }
  return found
}

/** Whether an error of that kind has woken a run within the hour: `run`, another one, that was begun first. */
export function wokenBefore(kind: string, run?: string): boolean {
  const others = wokenSince(Date.now() - AGAIN_MS).filter(begun => begun.kind === kind)
  return others.some(begun => run === undefined || numberOf(begun.run) < numberOf(run))
}

const numberOf = (run: string) => Number(run.replace('run-', ''))

function beginningOf(stateDir: string, run: string): EntryOf<'begun'> | undefined {
  try {
    const [begun] = keptRun(stateDir, run).entries
    return begun?.type === 'begun' ? begun : undefined
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
