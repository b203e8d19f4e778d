import type { Approvals } from '../../core/approvals.ts'
import type { Journal } from '../../core/journal.ts'
import type { Kernels } from '../../core/kernels.ts'
import { type Doubt, openHosts } from './hosts.ts'
import { type Barred, proveTerminal } from './proof.ts'
import { type OpenSeats, openSeats } from './seats.ts'

export interface SeatingOptions {
  readonly runtimeDir: string
  readonly approvals: Approvals
  readonly journal: Journal
  readonly kernels: Kernels
}

/** Seats as a daemon has them: a real terminal, below none of the programs that a model works through. */
export interface Seating {
  readonly seats: OpenSeats
  /** Remembers what started this bridge, for as long as `work` goes on and as long as that lives. */
  whileBridged<Result>(
    options: Readonly<Record<string, unknown>>,
    work: (bridged: Bridged) => Promise<Result>,
  ): Promise<Result>
}

/** What is known of the program behind a bridge. */
export interface Bridged {
  /** Undefined where it is unknown. */
  readonly origin: string | undefined
  /** Why its answers may not be a person's; undefined where nothing speaks against that. */
  doubt(): Doubt | undefined
}

export function openSeating({ runtimeDir, approvals, journal, kernels }: SeatingOptions): Seating {
  const hosts = openHosts({ runtimeDir })
  const ours = (): Barred[] => [
    { pid: process.pid, what: 'the daemon' },
    ...kernels.list().flatMap(({ pid, name, owned }) => {
      if (pid === null) return []
      return [{ pid, what: owned ? `the kernel ${name}` : `${name}, a program that is attached` }]
    }),
  ]
  const barred = () => [...ours(), ...hosts.list()]
  return {
    seats: openSeats({
      approvals,
      journal,
      prove: challenge => proveTerminal({ runtimeDir, barred, challenge }),
    }),
    async whileBridged(options, work) {
      const { host, doubt, gone } = hosts.came(options)
      try {
        return await work({ origin: host, doubt: () => doubt(ours()) })
      } finally {
        gone()
      }
    },
  }
}
