import { messageOf } from '../../../wire/errors.ts'
import { follows, LineSplitter } from './chain.ts'
import type { JournalFiles } from './disk.ts'
import type { JournalTrouble } from './entries.ts'
import { type HeaderRead, headerIn, type Segment } from './segments.ts'

/** One segment as it is checked, from its first byte on. */
export class SegmentCheck {
  readonly segment: Segment
  /** The header, once it has been read; undefined where the first line is none. */
  header: HeaderRead | undefined
  /** Whole lines so far, and their bytes. */
  lines = 0
  bytes = 0
  /** What the last line bears, as long as there is no problem. */
  chain = ''
  /** The bytes of a last line that is not whole, where that is no problem. */
  torn = 0
  /** The first place where it is not what was written. */
  problem: JournalTrouble | undefined
  readonly #splitter = new LineSplitter()

  constructor(segment: Segment) {
    this.segment = segment
  }

  /** The lines that are whole now, right or wrong. They may lie in `chunk`: use them before it changes. */
  take(chunk: Buffer): Buffer[] {
    const lines = this.#splitter.push(chunk)
    for (const line of lines) {
      this.lines++
      if (this.problem === undefined) this.#check(line)
      this.bytes += line.length + 1
    }
    return lines
  }

  /** There is no more. Only the last segment of all may end in the middle of a line. */
  end({ last }: { last: boolean }): void {
    if (this.problem !== undefined) return
    const { rest } = this.#splitter
    this.lines++
    // A write that was cut short never ends with more than a line: something took the place of its newline.
    const overwritten = rest.length > 0 && this.chain !== '' && follows(rest.subarray(0, -1), this.chain)
    if (overwritten) this.#wrong('does not end as a line does')
    else if (rest.length > 0 && !last) this.#wrong('is not whole, and is not the last')
    else if (this.bytes === 0 && !last) this.#wrong('is missing: the file is empty')
    this.lines--
    this.torn = this.problem === undefined ? rest.length : 0
  }

  #check(line: Buffer): void {
    if (this.lines === 1) this.#checkHeader(line)
    else if (!follows(line, this.chain)) this.#wrong('is not what was written after the line before it')
    if (this.problem === undefined) this.chain = line.toString('latin1', line.length - 34, line.length - 2)
  }

  #checkHeader(line: Buffer): void {
    this.header = headerIn(line)
    if (this.header === undefined || !follows(line, this.header.previous)) {
      this.header = undefined
      this.#wrong('is not the beginning of a segment that was written')
    } else if (this.header.number !== this.segment.number) {
      this.#wrong(`is the beginning of segment ${this.header.number}, under another name`)
    }
  }

  #wrong(what: string): void {
    this.problem = {
      file: this.segment.name,
      line: this.lines,
      byte: this.bytes,
      what: `Line ${this.lines} ${what}`,
    }
  }
}

export interface CheckOptions {
  readonly files: JournalFiles
  /** Nothing may follow it. */
  readonly last: boolean
  /** Bytes beyond are left alone; the end of the file where it is not given. */
  readonly upTo?: number | undefined
  /** Each whole line, before the next bytes are read. */
  readonly onLine?: (line: Buffer) => void
  /** How many bytes were read, each time. */
  readonly onRead?: (bytes: number) => void
  /** Awaited between pieces. */
  readonly pause?: () => Promise<void>
  readonly signal?: AbortSignal | undefined
}

/** What is read at once: little enough that whatever else the process does hardly waits for its hashes. */
const PIECE = 64 * 1024

/** Checks a segment piece by piece. A file that cannot be read has a problem; an abort is thrown. */
export async function checkSegment(segment: Segment, options: CheckOptions): Promise<SegmentCheck> {
  const { files, last, onLine, onRead, pause, signal } = options
  const check = new SegmentCheck(segment)
  let fd: number | undefined
  try {
    fd = files.openToRead(segment.path)
    const upTo = options.upTo ?? files.stat(fd).size
    const piece = Buffer.allocUnsafe(PIECE)
    for (let at = 0; at < upTo; ) {
      const count = await files.readLater(fd, piece.subarray(0, Math.min(PIECE, upTo - at)), at)
      signal?.throwIfAborted()
      if (count === 0) break
      at += count
      for (const line of check.take(piece.subarray(0, count))) onLine?.(line)
      onRead?.(count)
      await pause?.()
      signal?.throwIfAborted()
    }
    check.end({ last })
  } catch (error) {
    signal?.throwIfAborted()
    check.problem ??= unreadable(segment, error)
  } finally {
    if (fd !== undefined) files.close(fd)
  }
  return check
}

/** The same in one go, of an open file: for the rare case in which nothing can go on without. */
export function checkNow(segment: Segment, { fd, files }: { fd: number; files: JournalFiles }): SegmentCheck {
  const check = new SegmentCheck(segment)
  const piece = Buffer.allocUnsafe(PIECE)
  for (let at = 0, count = 1; count > 0; at += count) {
    count = files.read(fd, piece, at)
    check.take(piece.subarray(0, count))
  }
  check.end({ last: true })
  return check
}

function unreadable({ name }: Segment, error: unknown): JournalTrouble {
  return { file: name, line: null, byte: null, what: `It cannot be read: ${messageOf(error)}` }
}
