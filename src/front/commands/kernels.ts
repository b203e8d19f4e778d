import { resolve } from 'node:path'
import { duration } from '../../../tools/wording.ts'
import { EXIT, type ExitCode } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { printEnvelope } from '../envelopes.ts'
import type { KernelRow, Method, Methods } from '../protocol.ts'

/** `imago kernels`: one line each. */
export async function kernels(input: CommandInput): Promise<ExitCode> {
  const result = await request('kernels', {})
  const none = 'No kernels. Start one with: imago start python'
  return print(input, { result, text: result.kernels.length === 0 ? none : table(result.kernels) })
}

/** `imago start LANG`: answers once the kernel can be spoken to, even if its script goes on. */
export async function start(input: CommandInput): Promise<ExitCode> {
  const [language = ''] = input.operands
  const { name, script } = input.options
  const result = await request('start', {
    language,
    ...(name === undefined ? {} : { name }),
    ...(script === undefined ? {} : { script: resolve(script) }),
    ...(input.rest.length === 0 ? {} : { args: input.rest }),
  })
  return print(input, { result, text: table([result]) })
}

/** `imago stop NAME` */
export async function stop(input: CommandInput): Promise<ExitCode> {
  const result = await request('stop', named(input))
  return print(input, { result, text: table([result]) })
}

/** `imago restart NAME` */
export async function restart(input: CommandInput): Promise<ExitCode> {
  const result = await request('restart', named(input))
  return print(input, { result, text: table([result]) })
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

function where({ root, script, pid, message }: KernelRow): string {
  const process = pid === null ? [] : [`process ${pid}`]
  const facts = [root, ...(script === null ? [] : [script]), ...process]
  return `${facts.join(', ')}${message === null ? '' : `: ${message}`}`
}
