import type { Approvals } from '../../core/approvals.ts'
import type { Journal } from '../../core/journal.ts'
import type { Kernels } from '../../core/kernels.ts'
import { openHosts } from './hosts.ts'
import { type Barred, proveTerminal } from './proof.ts'
import { openSeats, type Seats } from './seats.ts'

export interface SeatingOptions {
  readonly runtimeDir: string
  readonly approvals: Approvals
  readonly journal: Journal
  readonly kernels: Kernels
}

/** Seats as a daemon has them: a real terminal, below none of the programs that a model works through. */
export interface Seating {
  readonly seats: Seats
  /**
   * Remembers what started this bridge, for as long as `work` goes on and as long as that lives. `work` is told what
   * it is, where that is known.
   */
  whileBridged<Result>(
    options: Readonly<Record<string, unknown>>,
    work: (host: string | undefined) => Promise<Result>,
  ): Promise<Result>
}

export function openSeating({ runtimeDir, approvals, journal, kernels }: SeatingOptions): Seating {
  const hosts = openHosts({ runtimeDir })
  const barred = (): Barred[] => [
    { pid: process.pid, what: 'the daemon' },
    ...kernels.list().flatMap(({ pid, name, owned }) => {
      if (pid === null) return []
      return [{ pid, what: owned ? `the kernel ${name}` : `${name}, a program that is attached` }]
    }),
    ...hosts.list(),
  ]
  return {
    seats: openSeats({
      approvals,
      journal,
      prove: challenge => proveTerminal({ runtimeDir, barred, challenge }),
    }),
    async whileBridged(options, work) {
      const { host, gone } = hosts.came(options)
      try {
        return await work(host)
      } finally {
        gone()
      }
    },
  }
}
