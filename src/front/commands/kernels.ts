import { statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { type ToolError, toolError } from '../../../tools/outcome.ts'
import { duration } from '../../../tools/wording.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { exitOf, printEnvelope, printError } from '../envelopes.ts'
import type { KernelRow, Method, Methods } from '../protocol.ts'

/** `imago kernels`: one line each. */
export async function kernels(input: CommandInput): Promise<ExitCode> {
  const result = await request('kernels', {})
  const none = 'No kernels. Start one with: imago start python'
  return print(input, { result, text: result.kernels.length === 0 ? none : table(result.kernels) })
}

/** `imago start LANG`: answers once the kernel can be spoken to, even if its script goes on; fails if that has failed. */
export async function start(input: CommandInput): Promise<ExitCode> {
  const [language = ''] = input.operands
  const { name, script } = input.options
  const result = await request('start', {
    language,
    ...(name === undefined ? {} : { name }),
    ...(script === undefined ? {} : { script: fileOf(script) }),
    ...(input.rest.length === 0 ? {} : { args: input.rest }),
  })
  return printBegun(input, result)
}

/** `imago stop NAME` */
export async function stop(input: CommandInput): Promise<ExitCode> {
  const result = await request('stop', named(input))
  return print(input, { result, text: table([result]) })
}

/** `imago restart NAME` */
export async function restart(input: CommandInput): Promise<ExitCode> {
  return printBegun(input, await request('restart', named(input)))
}

/** `imago interrupt NAME`: says what was seen, with exit code 5 if the code was asked to stop and goes on. */
export async function interrupt(input: CommandInput): Promise<ExitCode> {
  const result = await request('interrupt', named(input))
  print(input, { result, text: `${result.outcome}: ${result.message}` })
  return result.outcome === 'still_running' ? EXIT.stillRunning : EXIT.done
}

async function request<M extends Exclude<Method, 'call'>>(
  method: M,
  params: Methods[M]['params'],
): Promise<Methods[M]['result']> {
  const root = findRoot(process.cwd())
  await using client = await connectDaemon({ name: `imago ${method}`, start: 'if-needed', root })
  return await client.request(method, params)
}

/** The path of a program; one that is not there is told before anything starts. */
function fileOf(script: string): string {
  const path = resolve(script)
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path
  throw new Failure(`There is no file ${path} to run.`, { exit: EXIT.usage })
}

/** A kernel that was started, or why it is not what was wanted. */
function printBegun(input: CommandInput, row: KernelRow): ExitCode {
  const error = failureOf(row)
  if (error === undefined) return print(input, { result: row, text: table([row]) })
  if (input.options.json) printEnvelope(input.printer, { ok: false, error })
  else printError(input.printer, error)
  return exitOf({ ok: false, error })
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

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)

const readMore = (handle: string) => `imago call read_more '{"handle":"${handle}"}'`

const named = ({ operands: [name = ''] }: CommandInput) => ({ name })

function print({ options, printer }: CommandInput, { result, text }: { result: unknown; text: string }) {
  if (options.json) printEnvelope(printer, { ok: true, result })
  else printer.out(`${text}\n`)
  return EXIT.done
}

function table(rows: readonly KernelRow[]): string {
  const cells = rows.map(row => [row.name, state(row), row.implementation ?? row.language, where(row)])
  const widths = [0, 1, 2].map(column => Math.max(...cells.map(line => line[column]?.length ?? 0)))
  return cells.map(line => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}

function state({ state, running }: KernelRow): string {
  return running === null ? state : `${state} ${duration(running.elapsed_ms)}`
}

function where({ root, script, script_state, pid, background, message }: KernelRow): string {
  const process = pid === null ? [] : [`process ${pid}`]
  const fate = script_state === null ? '' : ` (${script_state})`
  const program = script === null ? [] : [`${script}${fate}`]
  const printed = background === null ? [] : [`background output ${background.handle}`]
  const facts = [root, ...program, ...process, ...printed]
  return `${facts.join(', ')}${message === null ? '' : `: ${message}`}`
}
