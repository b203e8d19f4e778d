import { url } from 'node:inspector'
import { EXIT, Failure } from './failure.ts'

/**
 * Throws a `Failure` of exit code 2 where a debugger can connect to this process: whoever does runs code in it, and so
 * answers for the person, or does what was never approved. Node opens one for `--inspect`, and for a SIGUSR1 that comes
 * before the entry has begun. There is no exception.
 */
export function refuseDebugger(): void {
  const address = url()
  if (address === undefined) return
  throw new Failure(
    `A debugger listens in this process (${address}), so any program of yours could approve for you. It ends here. Run it again without --inspect, also in NODE_OPTIONS; if you set neither, a program sent it SIGUSR1: find out which.`,
    { exit: EXIT.usage },
  )
}
