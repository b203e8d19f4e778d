import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, resolve } from 'node:path'
import { type ToolError, toolError } from '../../../tools/outcome.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { exitOf, printEnvelope, printError } from '../envelopes.ts'
import { kernelLine, kernelsText, readMore } from '../kernel-table.ts'
import type { KernelRow, Method, Methods } from '../protocol.ts'
import { lostText } from '../suspension-news.ts'

/** `imago kernels`: a table of them, and one of the programs that can be attached to. */
export async function kernels(input: CommandInput): Promise<ExitCode> {
  const result = await request('kernels', {})
  return print(input, { result, text: kernelsText(result, homedir()) })
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

/** `imago stop NAME`: says first what is suspended there and ends with it. */
export async function stop(input: CommandInput): Promise<ExitCode> {
  await tellWaiting(input)
  const result = await request('stop', named(input))
  return print(input, { result, text: kernelLine(result, homedir()) })
}

/** `imago restart NAME`: says first what is suspended there and ends with it. */
export async function restart(input: CommandInput): Promise<ExitCode> {
  await tellWaiting(input)
  return printBegun(input, await request('restart', named(input)))
}

async function tellWaiting({ operands: [name], printer }: CommandInput): Promise<void> {
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

export async function request<M extends Exclude<Method, 'call'>>(
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
  if (error === undefined) return print(input, { result: row, text: kernelLine(row, homedir()) })
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

const named = ({ operands: [name = ''] }: CommandInput) => ({ name })

export function print(
  { options, printer }: CommandInput,
  { result, text }: { result: unknown; text: string },
) {
  if (options.json) printEnvelope(printer, { ok: true, result })
  else printer.out(`${text}\n`)
  return EXIT.done
}
