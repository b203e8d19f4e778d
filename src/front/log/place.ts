import { type LineRead, type ReadOptions, readEntries } from '../../core/journal/reading.ts'

/** Where the journal is, and until when it is read. */
export interface Place {
  readonly dir: string
  readonly signal: AbortSignal
}

/** How far reading has come. */
export class Mark {
  lines = 0
  last: LineRead | undefined
  #time: string | undefined
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  /** The same lines, noticed as they pass. */
  async *passing(lines: AsyncIterable<LineRead>): AsyncGenerator<LineRead> {
    for await (const line of lines) {
      this.lines++
      this.last = line
      if (line.type === 'entry') this.#time = line.entry.time
      yield line
      if (this.#place.signal.aborted) return
    }
  }

  /** All that is written after it, as it comes, until the signal aborts. */
  async *after(): AsyncGenerator<LineRead> {
    const { last } = this
    const { dir, signal } = this.#place
    const from = this.#time === undefined ? Number.NaN : Date.parse(this.#time) - CLOCK_MS
    const options: ReadOptions = { follow: true, signal, ...(from > 0 && { from: new Date(from) }) }
    let past = last === undefined
    for await (const line of readEntries(dir, options)) {
      past ||= last === undefined || isLater(line, last)
      if (past) yield line
    }
  }
}

/** A clock may have been set back by less than that. */
const CLOCK_MS = 3_600_000

function isLater(line: LineRead, last: LineRead): boolean {
  const [one, other] = [Number.parseInt(line.file, 10), Number.parseInt(last.file, 10)]
  return one > other || (one === other && line.line > last.line)
}

/** How much more is read with each try. */
const FURTHER = 8

/**
 * Reads the end of the journal, further and further back, until `enough` says that it is, or all of it was read. A try
 * gets the lines, and begins anew each time.
 */
export async function readingBack<Found>(
  place: Place,
  o: {
    readonly lines: number
    attempt(lines: AsyncIterable<LineRead>): Promise<Found>
    enough(found: Found): boolean
  },
): Promise<{ found: Found; mark: Mark }> {
  const { dir, signal } = place
  for (let last = o.lines; ; last *= FURTHER) {
    const mark = new Mark(place)
    const found = await o.attempt(mark.passing(readEntries(dir, { last, signal })))
    if (mark.lines < last || signal.aborted || o.enough(found)) return { found, mark }
  }
}
