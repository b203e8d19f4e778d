import { type BenchDaemon, benchDaemon } from './daemon.ts'

/** What several rows are measured on: there from the first of them to the last, whichever are run. */
export interface Ground {
  readonly daemon: BenchDaemon
  setUp(): Promise<void>
  tearDown(): Promise<void>
}

/** A daemon that is prepared once, by whichever of its rows comes first. What `prepare` returns ends with it. */
export function sharedGround(
  prepare: (daemon: BenchDaemon) => Promise<(() => void) | undefined> = async () => undefined,
  config?: string,
): Ground {
  let users = 0
  let daemon: BenchDaemon | undefined
  let end: (() => void) | undefined
  return {
    get daemon() {
      if (daemon === undefined) throw new Error('the row was not set up')
      return daemon
    },
    async setUp() {
      users++
      if (daemon !== undefined) return
      daemon = await benchDaemon(config)
      end = await prepare(daemon)
    },
    async tearDown() {
      if (users > 0 && --users > 0) return
      end?.()
      await daemon?.close()
      daemon = undefined
    },
  }
}

/** For rows that show the same measurement: in each round it is taken once, for whichever row comes first. */
export function roundsFor<Name extends string, Measured>(
  rows: readonly Name[],
  measure: () => Promise<Measured>,
): (row: Name) => Promise<Measured> {
  const taken = new Map(rows.map(row => [row, 0]))
  const rounds: Measured[] = []
  return async row => {
    const round = taken.get(row) ?? 0
    taken.set(row, round + 1)
    rounds[round] ??= await measure()
    return rounds[round]
  }
}
