import { EXIT, type ExitCode } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import type { CommandInput } from '../commands.ts'

/** `imago serve`: the daemon, until it is asked to end or has had nothing to do for long. */
export async function serve({ printer, openDaemon }: CommandInput): Promise<ExitCode> {
  const paths = findPaths()
  const daemon = await openDaemon(paths)
  printer.out(`imago serves at ${daemon.address}; its log is ${paths.log}\n`)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void daemon.close())
  await daemon.ended
  return EXIT.done
}
