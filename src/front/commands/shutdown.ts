import { EXIT, type ExitCode } from '../../failure.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { printEnvelope } from '../envelopes.ts'
import type { ShutdownWhen } from '../protocol.ts'
import { NoDaemon } from '../reach.ts'

/** `imago shutdown`: waits until the daemon has ended in order. None there is done too. */
export async function shutdown({ options, printer }: CommandInput): Promise<ExitCode> {
  const when = options.force ? 'always' : 'nothing_runs'
  const ended = await end(when)
  if (options.json) printEnvelope(printer, { ok: true, result: { ended_kernels: ended ?? [] } })
  else if (ended === undefined) printer.out('No daemon runs.\n')
  else printer.out(`The daemon ended.${ended.length > 0 ? ` With it: ${ended.join(', ')}.` : ''}\n`)
  return EXIT.done
}

/** The kernels that ended with the daemon; `undefined` if there was none. */
async function end(when: ShutdownWhen): Promise<readonly string[] | undefined> {
  try {
    const client = await connectDaemon({ name: 'imago shutdown', start: 'never', root: process.cwd() })
    const { ended_kernels } = await client.request('shutdown', { when })
    await client.ended
    return ended_kernels
  } catch (error) {
    if (error instanceof NoDaemon) return undefined
    throw error
  }
}
