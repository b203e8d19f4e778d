import type { JournalFiles } from './disk.ts'
import type { JournalTrouble, SegmentHeader, SegmentReason } from './entries.ts'

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
