import { join } from 'node:path'
import type { Of } from '../../wire/kernel.ts'
import { HEADER, type JournalTrouble, type SegmentHeader, type SegmentReason } from './entries.ts'
import type { JournalFiles } from './files.ts'

/** Where the segments of a state directory are. */
export const journalDir = (stateDir: string) => join(stateDir, 'journal')

/** One file of the journal. `000003.jsonl`, or `000003.quarantined.jsonl` once it was set aside as corrupt. */
export interface Segment {
  readonly number: number
  readonly name: string
  readonly path: string
  readonly aside: boolean
}

const NAME = /^(\d{6,12})(\.quarantined)?\.jsonl$/

/** The segments in a directory, oldest first. Other files are none of ours. */
export function segmentsIn(dir: string, files: JournalFiles): Segment[] {
  return files
    .list(dir)
    .flatMap(name => {
      const [, digits, aside] = NAME.exec(name) ?? []
      return digits === undefined
        ? []
        : [{ number: Number(digits), name, path: join(dir, name), aside: aside !== undefined }]
    })
    .sort((one, other) => one.number - other.number || one.name.localeCompare(other.name))
}

/** The name of a segment that is in order; `aside`, of one that is not. */
export const segmentName = (number: number, { aside = false } = {}) =>
  `${String(number).padStart(6, '0')}${aside ? '.quarantined' : ''}.jsonl`

/** A header as it was read. */
export type HeaderRead = Of<typeof HEADER>

/** The header in the first line of a segment; undefined where that line is none. */
export function headerIn(line: Buffer): HeaderRead | undefined {
  try {
    const read = HEADER.safeParse(JSON.parse(line.toString()))
    return read.success ? read.data : undefined
  } catch {
    return undefined
  }
}

/** Nearly every header is shorter; one that carries many open calls is read in more than one go. */
const FIRST_READ = 4 * 1024

const MOST_READ = 4 * 1024 * 1024

/** The header of an open file; undefined where its first line is none. Nothing else of the file is read. */
export function readHeader(fd: number, files: JournalFiles): HeaderRead | undefined {
  for (let size = FIRST_READ; size <= MOST_READ; size *= 4) {
    const bytes = Buffer.allocUnsafe(size)
    const count = files.read(fd, bytes, 0)
    const end = bytes.subarray(0, count).indexOf(0x0a)
    if (end !== -1) return headerIn(bytes.subarray(0, end))
    if (count < size) return undefined
  }
  return undefined
}

/** What is read of a segment; undefined where it cannot be. */
export function readSegment<Value>(
  { path }: Segment,
  files: JournalFiles,
  read: (fd: number) => Value,
): Value | undefined {
  let fd: number | undefined
  try {
    fd = files.openToRead(path)
    return read(fd)
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) files.close(fd)
  }
}

/** The header of a segment; undefined where its first line is none, or where it cannot be read. */
export const headerOf = (segment: Segment, files: JournalFiles): HeaderRead | undefined =>
  readSegment(segment, files, fd => readHeader(fd, files))

/** The bytes of a segment; 0 where it cannot be read. */
export const sizeOf = (segment: Segment, files: JournalFiles): number =>
  readSegment(segment, files, fd => files.stat(fd).size) ?? 0

/** A line that is not in the file yet: its object without the closing brace, and what it says of a call. */
export interface Line {
  readonly body: string
  /** Told once the line is in the file. */
  readonly written?: (() => void) | undefined
}

/** Where writing goes on: what opening a journal found out. */
export interface Place {
  readonly number: number
  /** Undefined where that file must not be written any more: a fresh segment is begun. */
  readonly fd: number | undefined
  /** The bytes of its whole lines. What lies beyond them is cut off before anything is written. */
  readonly size: number
  /** What the last of them bears; in an empty file, the last one before it. */
  readonly chain: string
  /** Why a segment is begun, where that is to be done, or where it was begun and is empty. */
  readonly why: SegmentReason | undefined
}

export interface WriterOptions {
  readonly dir: string
  readonly files: JournalFiles
  /** A segment that has so many bytes is the last but one. */
  readonly segmentBytes: number
  /** The first line of a segment. */
  readonly header: (about: Omit<SegmentHeader, 'type' | 'version' | 'trouble' | 'open' | 'suspended'>) => Line
  /** The file that is written is not what was written to it. */
  readonly spoilt: (trouble: JournalTrouble) => void
  /** A segment was begun. */
  readonly begun: () => void
}
