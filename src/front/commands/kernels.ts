import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { type ToolError, toolError } from '../../../tools/outcome.ts'
import { duration, oneLine, sentence } from '../../../tools/text.ts'
import { messageOf } from '../../../wire/errors.ts'
import { namesOf, SERVERS } from '../../../wire/languages.ts'
import { readSecretFile } from '../../../wire/secret-file.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import type { AnnouncedRow } from '../../kernels/announced-row.ts'
import { leftBy } from '../../kernels/families.ts'
import type { KernelRow } from '../../kernels/rows.ts'
import { findPaths } from '../../paths.ts'
import { connectHere, request } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { checkOpenFiles } from '../open-files.ts'
import { type Line, print, printFailed, readMore, table } from '../print.ts'
import type { Methods, ShutdownResult, ShutdownWhen } from '../protocol.ts'
import { NoDaemon } from '../reach.ts'
import { lostText } from '../suspension-news.ts'
import { changesIn } from '../topic-news.ts'

/** `imago kernels`: a table of them, and one of the programs that can be attached to. */
export async function kernels(input: CommandInput): Promise<ExitCode> {
  const result = await request('kernels', {})
  return print(input, { result, text: kernelsText(result, homedir(), input.options.all === true) })
}

/** `imago start LANG`: answers once the kernel can be spoken to, even if its script goes on; fails if that has failed. */
export async function start(input: CommandInput): Promise<ExitCode> {
  const [language = ''] = input.operands
  const { name, script } = input.options
  const params = {
    language,
    ...(name === undefined ? {} : { name }),
    ...(script === undefined ? {} : { script: fileOf(script) }),
    ...(input.rest.length === 0 ? {} : { args: input.rest }),
  }
  const isIt = (row: KernelRow) => row.language === language && (name === undefined || row.name === name)
  return printBegun(input, await tellingStart(input, { method: 'start', params, isIt }))
}

/** `imago stop NAME`: says first what is suspended there and ends with it. */
export async function stop(input: CommandInput): Promise<ExitCode> {
  await tellWaiting(input)
  const result = await request('stop', named(input))
  return print(input, { result, text: kernelLine(result, homedir()) })
}

/** `imago restart NAME`: says first what is suspended there and ends with it. */
export async function restart(input: CommandInput): Promise<ExitCode> {
  await tellWaiting(input)
  const { name } = named(input)
  const isIt = (row: KernelRow) => row.name === name
  return printBegun(input, await tellingStart(input, { method: 'restart', params: { name }, isIt }))
}

/** What has begun; while that is waited for, a person reads what the start does, a line for each step. */
async function tellingStart<M extends 'start' | 'restart'>(
  { printer }: CommandInput,
  { method, params, isIt }: { method: M; params: Methods[M]['params']; isIt(row: KernelRow): boolean },
): Promise<KernelRow> {
  await using client = await connectHere(`imago ${method}`)
  const over = new AbortController()
  const told = new Set<string>()
  void client.subscribe({
    topics: ['kernels'],
    signal: over.signal,
    heard(event) {
      for (const { value } of changesIn(event)) {
        const row = value as KernelRow | null
        if (row?.state !== 'starting' || row.message === null || told.has(row.message) || !isIt(row)) continue
        printer.err(`${row.name} is ${oneLine(row.message)}\n`)
        told.add(row.message)
      }
    },
  })
  try {
    return await client.request(method, params)
  } finally {
    over.abort()
  }
}

async function tellWaiting({ operands: [name], printer }: CommandInput): Promise<void> {
  const { kernels } = await request('kernels', {})
  // What is attached is not ended by us: that is refused, and nothing is lost.
  if (kernels.find(row => row.name === name)?.owned === false) return
  const { suspensions } = await request('suspensions', {})
  printer.err(lostText(suspensions, name))
}

/** `imago interrupt NAME`: says what was seen, with exit code 5 if the code was asked to stop and goes on. */
export async function interrupt(input: CommandInput): Promise<ExitCode> {
  const result = await request('interrupt', named(input))
  const offer = result.offer === undefined ? '' : `\n${lastResort(input)}`
  print(input, { result, text: `${result.outcome}: ${result.message}${offer}` })
  return result.outcome === 'still_running' ? EXIT.stillRunning : EXIT.done
}

const lastResort = ({ operands: [name = ''] }: CommandInput) =>
  `imago restart ${name} ends its process by force and begins another: what is in the image is lost then.`

/** The path of a program; one that is not there is told before anything starts. */
function fileOf(script: string): string {
  const path = resolve(script)
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path
  throw new Failure(`There is no file ${path} to run.`, { exit: EXIT.usage })
}

/** A kernel that was started, or why it is not what was wanted. */
function printBegun(input: CommandInput, row: KernelRow): ExitCode {
  const error = failureOf(row)
  return error === undefined
    ? print(input, { result: row, text: kernelLine(row, homedir()) })
    : printFailed(input, error)
}

function failureOf(row: KernelRow): ToolError | undefined {
  const { name, script, message, background } = row
  const what = basename(script ?? '')
  const why = message ?? 'it did not say why.'
  const next = background === null ? {} : { next: `What it printed: ${readMore(background.handle)}` }
  if (row.script_state === 'failed') {
    const stays = row.state === 'ended' ? '' : ' The kernel lives, with what there was by then.'
    return toolError('exception', {
      message: `${what} failed in kernel ${name}: ${sentence(why)}${stays}`,
      details: { kernel: row },
      ...next,
    })
  }
  if (row.state !== 'ended' && row.state !== 'crash_loop') return undefined
  return toolError('kernel_unavailable', {
    message: `The kernel ${name} ended as soon as it had begun: ${sentence(why)}`,
    details: { kernel: row },
    ...next,
  })
}

const named = ({ operands: [name = ''] }: CommandInput) => ({ name })

/** What `imago kernels` prints: the kernels, what can be attached to, and what was passed over. */
export function kernelsText(
  { kernels, announced, skipped, others }: Methods['kernels']['result'],
  home: string,
  all = true,
): string {
  const shown = kernels.filter(({ state, owned }) => all || !owned || state !== 'ended')
  const ended = kernels.length - shown.length
  const hidden = `${ended}${shown.length === 0 ? '' : ' more'} ${ended === 1 ? 'has' : 'have'} ended`
  const passed = skipped.map(({ file, reason }) => `Passed over: ${shortened(file, home)} ${reason}`)
  const blocks = [
    ...(kernels.length + announced.length === 0 ? [NONE] : []),
    ...(shown.length === 0 ? [] : [table([HEAD, ...shown.map(row => kernelCells(row, home))])]),
    ...(ended === 0 ? [] : [`${hidden}: imago kernels --all`]),
    ...(announced.length === 0 ? [] : [`Can be attached to:\n${programs(announced, home)}`]),
    ...(passed.length === 0 ? [] : [passed.join('\n')]),
    ...(others ? ['Others live in other projects: imago kernels lists them at a terminal.'] : []),
  ]
  return blocks.join('\n\n')
}

/** One of them, for a command that had to do with it. */
export function kernelLine(row: KernelRow, home: string): string {
  return table([kernelCells(row, home)])
}

const [FIRST, ...OTHERS] = namesOf()

const NONE = `No kernels. Start one with: imago start ${FIRST} (or ${OTHERS.join(', ')})`

const HEAD: Line = { cells: ['KERNEL', 'STATE', 'PROCESS', 'PROJECT', 'WHAT IT IS'], below: [] }

function kernelCells(row: KernelRow, home: string): Line {
  const { name, pid, root, message, background } = row
  const printed = background === null ? [] : [`What it printed by itself: ${readMore(background.handle)}`]
  return {
    cells: [name, stateOf(row), pid === null ? '-' : String(pid), shortened(root, home), whatItIs(row)],
    below: [...(message === null ? [] : message.trimEnd().split('\n')), ...printed],
  }
}

function stateOf({ state, running, suspended }: KernelRow): string {
  const word = state.replace('_', ' ')
  const now = running === null ? word : `${word} ${duration(running.elapsed_ms)}`
  return suspended === 0 ? now : `${now}, ${suspended} suspended`
}

function whatItIs({ implementation, language, script, script_state, attached }: KernelRow): string {
  const fate = script_state === null ? '' : ` (${script_state})`
  const ran = script === null ? [] : [`${basename(script)}${fate}`]
  const program = attached === null ? [] : [`attached to ${programOf(attached)}`]
  const noted = attached?.errors ? ['its errors are noted'] : []
  const working = attached?.helper ? ['a helper'] : []
  return [implementation ?? language, ...ran, ...program, ...noted, ...working].map(oneLine).join(', ')
}

type Attached = NonNullable<KernelRow['attached']>

const programOf = ({ program, announced, address }: Attached) =>
  program === null ? (announced ?? address) : calledOf(program)

/** A package that is run is called by its folder. */
const calledOf = (program: string) =>
  basename(program) === '__main__.py' ? basename(dirname(program)) : basename(program)

/** Ready to be typed. */
function programs(announced: readonly AnnouncedRow[], home: string): string {
  return table(
    besideParents(announced).map(
      ({ attach, standing, pid, parent, cwd, implementation, program, name, keyed }) => ({
        cells: [
          `  imago attach ${oneLine(/^[\w.:/-]+$/.test(attach) ? attach : String(pid))}${keyed ? ' --key-file FILE' : ''}`,
          parent === null ? `process ${pid}` : `process ${pid}, child of ${parent}`,
          oneLine(shortened(cwd, home)),
          [
            oneLine([implementation, program === '' ? name : calledOf(program)].join(', ')),
            ...WHAT_IT_DOES[standing](name, parent),
          ].join(', '),
        ],
        below: [],
      }),
    ),
  )
}

const WHAT_IT_DOES: Readonly<
  Record<AnnouncedRow['standing'], (name: string, parent: number | null) => readonly string[]>
> = {
  program: () => [],
  supervisor: () => ['starts the program again'],
  helper: () => ['a helper: calls go there by its name alone'],
  orphan: (name, parent) => [oneLine(leftBy(name, parent))],
}

/** A process follows the one in the list that started it. */
function besideParents(announced: readonly AnnouncedRow[]): readonly AnnouncedRow[] {
  const isBelow = (one: AnnouncedRow) =>
    one.standing !== 'program' && announced.some(({ pid }) => pid === one.parent)
  const withChildren = (one: AnnouncedRow): readonly AnnouncedRow[] => [
    one,
    ...announced.filter(child => isBelow(child) && child.parent === one.pid).flatMap(withChildren),
  ]
  return announced.filter(one => !isBelow(one)).flatMap(withChildren)
}

function shortened(path: string, home: string): string {
  if (path === home) return '~'
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/** `imago attach TARGET`: its program is a kernel from then on, and calls of this project go to it. */
export async function attach(input: CommandInput): Promise<ExitCode> {
  const [target = ''] = input.operands
  const { name, anywhere, 'no-secret': open, errors } = input.options
  if (target === '') throw new Failure(NO_TARGET, { exit: EXIT.usage })
  const result = await request('attach', {
    target,
    ...(name === undefined ? {} : { name }),
    ...(open ? {} : keyFrom(input.options['key-file'])),
    ...(anywhere && { anywhere }),
    ...(open && { no_secret: open }),
    ...(errors && { errors }),
  })
  const goes = result.owned
    ? `stop ${result.name} ends it`
    : `detach ${result.name} lets go of it, and nothing ends it`
  const how = `Calls without --kernel go there from now on; imago ${goes}.`
  const noted = result.attached?.errors
    ? `\nimago errors --kernel ${result.name} has the errors that it has by itself.`
    : errors
      ? `\nNo Hunchentoot, Clack or lparallel was there to have its errors noted, or --errors was left out. When one is: imago detach ${result.name}, and attach again.`
      : ''
  return print(input, { result, text: `${kernelLine(result, homedir())}\n${how}${noted}` })
}

const NO_TARGET =
  'The name of the program is empty. Name one that imago kernels lists, by its name or process number, or ' +
  `${SERVERS.map(({ title, scheme }) => `a ${title} as ${scheme}://PORT`).join(', or ')}: imago attach NAME`

/** `imago detach NAME`: the program runs on. */
export async function detach(input: CommandInput): Promise<ExitCode> {
  const [name = ''] = input.operands
  const result = await request('detach', { name })
  const { state, pid, message } = result
  const process = pid === null ? '' : ` (process ${pid})`
  const text =
    state === 'ended'
      ? `${name} has ended, and is forgotten.`
      : `Let go of ${name}${process}, which runs on.${message === null ? '' : ` ${message}`}`
  return print(input, { result, text })
}

/** The key in a file that was named and nobody else can read, or in the environment. It is sent to the daemon, and kept by nobody. */
function keyFrom(file: string | undefined): { key?: string; key_file?: string } {
  if (file === undefined) {
    const key = process.env.IMAGO_KEY?.trim()
    return key ? { key } : {}
  }
  const path = resolve(file)
  try {
    return { key: readSecretFile(path).trim(), key_file: path }
  } catch (error) {
    throw new Failure(`The key file cannot be read: ${messageOf(error)}`, { exit: EXIT.usage, cause: error })
  }
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined || (/^\d{1,5}$/.test(text) && Number(text) <= 65_535))
    return text === undefined ? text : Number(text)
  throw new Failure(`--web takes the number of a port, such as 7777; not ${JSON.stringify(text)}.`, {
    exit: EXIT.usage,
  })
}

/** `imago serve`: the daemon, until it is asked to end or has had nothing to do for long. */
export async function serve({ options, printer, openDaemon }: CommandInput): Promise<ExitCode> {
  checkOpenFiles()
  const paths = findPaths()
  const daemon = await openDaemon(paths, portOf(options.web))
  printer.out(`imago serves at ${daemon.address}; its log is ${paths.log}\n`)
  if (daemon.web !== undefined)
    printer.out(`WebSockets connect to ${daemon.web}; the token is in ${paths.web}\n`)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void daemon.close())
  await daemon.ended
  return EXIT.done
}

/**
 * `imago shutdown`: waits until the daemon has ended in order, and says first what is suspended in images that end with
 * it. None there is done too.
 */
export async function shutdown(input: CommandInput): Promise<ExitCode> {
  const when = input.options.force ? 'always' : 'nothing_runs'
  const ended = await end(when, input.printer)
  const text = ended === undefined ? 'No daemon runs.' : endText(ended)
  return print(input, { result: ended ?? NOTHING, text })
}

const NOTHING: ShutdownResult = { ended_kernels: [], detached_kernels: [] }

function endText({ ended_kernels: ended, detached_kernels: detached }: ShutdownResult): string {
  const runOn = `, which ${detached.length === 1 ? 'runs' : 'run'} on and will be joined again`
  return [
    'The daemon ended.',
    ...(ended.length > 0 ? [`With it: ${ended.join(', ')}.`] : []),
    ...(detached.length > 0 ? [`It has let go of ${detached.join(', ')}${runOn}.`] : []),
  ].join(' ')
}

/** What became of the kernels; `undefined` if there was no daemon. */
async function end(
  when: ShutdownWhen,
  printer: CommandInput['printer'],
): Promise<ShutdownResult | undefined> {
  try {
    const client = await connectHere('imago shutdown', 'never')
    const waiting = await client.request('suspensions', {}).catch(() => ({ suspensions: [] }))
    const ended = await client.request('shutdown', { when })
    const lost = waiting.suspensions.filter(({ kernel }) => ended.ended_kernels.includes(kernel))
    printer.err(lostText(lost))
    await client.ended
    return ended
  } catch (error) {
    if (error instanceof NoDaemon) return undefined
    throw error
  }
}
