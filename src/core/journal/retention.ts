import type { JournalFiles } from './disk.ts'
import { headerOf, type Segment } from './segments.ts'

/** How much of a journal is kept. */
export interface Kept {
  /** In all segments together. */
  readonly bytes: number
  /** Since the last line of a segment, in milliseconds. */
  readonly ms: number
}

export const KEPT: Kept = { bytes: 512 * 1024 * 1024, ms: 7 * 24 * 60 * 60 * 1000 }

export interface Outdated {
  readonly segments: readonly Segment[]
  readonly files: JournalFiles
  readonly now: Date
  readonly kept: Kept
  /** Whether a person has still to look at it. */
  readonly wanted: (segment: Segment) => boolean
}

/** The oldest segments, as far as they are beyond what is kept; never the last one, and none behind a wanted one. */
export function outdated({ segments, files, now, kept, wanted }: Outdated): Segment[] {
  const facts = segments.map(segment => factsOf(segment, files))
  let total = facts.reduce((sum, { bytes }) => sum + bytes, 0)
  const oldest = new Date(now.getTime() - kept.ms).toISOString()
  const old: Segment[] = []
  for (const [index, segment] of segments.slice(0, -1).entries()) {
    // A segment ends when the next one begins.
    const ended = facts[index + 1]?.began
    const tooOld = ended !== undefined && ended < oldest
    if (wanted(segment) || !(tooOld || total > kept.bytes)) break
    old.push(segment)
    total -= facts[index]?.bytes ?? 0
  }
  return old
}

function factsOf(segment: Segment, files: JournalFiles): { bytes: number; began: string | undefined } {
  const began = headerOf(segment, files)?.time
  let fd: number | undefined
  try {
    fd = files.openToRead(segment.path)
    return { bytes: files.stat(fd).size, began }
  } catch {
    return { bytes: 0, began }
  } finally {
    if (fd !== undefined) files.close(fd)
  }
}
