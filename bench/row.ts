/** One line of the table in `docs/performance.md`: something measured beside its reference, in the same run. */
export interface Row {
  /** What is measured, in the words of the design. */
  readonly what: string
  /** How it is measured and what the reference is. */
  readonly how: string
  readonly bar: Bar | Stated
  /** Why it cannot be run on this machine, where that is so: it is then said, and left out. */
  lack?(): string | undefined
  /** One round. The runner takes the median, and calls them interleaved with those of other rows. */
  measure(): Promise<Round>
  /** Each row can be run without the others: what several need is set up by whichever comes first. */
  setUp?(): Promise<void>
  tearDown?(): Promise<void>
}

/** `figure` of a round is compared with `limit`; `unit` is `×` for a ratio against the reference. */
export interface Bar {
  readonly relation: '≤' | '≥'
  readonly limit: number
  readonly unit: string
}

/** A row that is to be known, and is held to nothing. */
export interface Stated {
  readonly relation: 'stated'
  readonly unit: string
}

export interface Round {
  /** What the bar is about. */
  readonly figure: number
  /** The measurements behind it, by name, each with its unit in the name (`ours_us`, `reference_us`). */
  readonly parts: Readonly<Record<string, number>>
}

export const ratio = (ours: number, reference: number, parts: Record<string, number> = {}): Round => ({
  figure: ours / reference,
  parts,
})

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[middle]]
  return (low + high) / 2
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Runs two things in turn, a block of each at a time, and returns the microseconds that each single run took. */
export async function interleaved(
  options: { readonly blocks: number; readonly each: number },
  ...bodies: readonly (() => Promise<unknown>)[]
): Promise<number[][]> {
  const times: number[][] = bodies.map(() => [])
  for (let block = 0; block < options.blocks; block++)
    for (const [index, body] of bodies.entries())
      for (let run = 0; run < options.each; run++) {
        const begun = process.hrtime.bigint()
        await body()
        times[index]?.push(Number(process.hrtime.bigint() - begun) / 1000)
      }
  return times
}
