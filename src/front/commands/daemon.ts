import { EXIT, type ExitCode } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { printEnvelope } from '../print.ts'
import type { ShutdownResult, ShutdownWhen } from '../protocol.ts'
import { NoDaemon } from '../reach.ts'
import { lostText } from '../suspension-news.ts'

/** `imago serve`: the daemon, until it is asked to end or has had nothing to do for long. */
export async function serve({ printer, openDaemon }: CommandInput): Promise<ExitCode> {
  const paths = findPaths()
  const daemon = await openDaemon(paths)
  printer.out(`imago serves at ${daemon.address}; its log is ${paths.log}\n`)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void daemon.close())
  await daemon.ended
  return EXIT.done
}

/**
 * `imago shutdown`: waits until the daemon has ended in order, and says first what is suspended in images that end with
 * it. None there is done too.
 */
export async function shutdown({ options, printer }: CommandInput): Promise<ExitCode> {
  const when = options.force ? 'always' : 'nothing_runs'
  const ended = await end(when, printer)
  if (options.json) printEnvelope(printer, { ok: true, result: ended ?? NOTHING })
  else printer.out(ended === undefined ? 'No daemon runs.\n' : `${said(ended)}\n`)
  return EXIT.done
}

const NOTHING: ShutdownResult = { ended_kernels: [], detached_kernels: [] }

function said({ ended_kernels: ended, detached_kernels: detached }: ShutdownResult): string {
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
    const client = await connectDaemon({ name: 'imago shutdown', start: 'never', root: process.cwd() })
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
