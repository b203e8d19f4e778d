import type { EventEmitter } from 'node:events'
import type { Log } from './log.ts'

interface Guarding {
  readonly log: Pick<Log, 'error'>
  /** Ends the daemon in order. */
  end(): void
  /** This process, but in tests. */
  readonly process?: EventEmitter
}

/**
 * What nobody caught. A promise that nobody waited for, and an error of the system on some stream, concern one client
 * or one kernel: they are logged. After anything else the state is in doubt, and the daemon ends. Returns what stops
 * guarding.
 */
export function guard({ log, end, process: guarded = process }: Guarding): () => void {
  const rejected = (error: unknown) => log.error({ error }, 'A rejection that nobody handled.')
  const thrown = (error: unknown) => {
    const ofSystem = error instanceof Error && 'syscall' in error
    log.error({ error }, ofSystem ? 'A stream failed, and nobody listened.' : 'A fault. The daemon ends.')
    if (!ofSystem) end()
  }
  guarded.on('unhandledRejection', rejected)
  guarded.on('uncaughtException', thrown)
  return () => {
    guarded.off('unhandledRejection', rejected)
    guarded.off('uncaughtException', thrown)
  }
}
