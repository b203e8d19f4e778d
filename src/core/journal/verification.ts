import { GENESIS } from './chain.ts'
import { checkSegment, type SegmentCheck } from './checking.ts'
import { type JournalFiles, NODE_FILES } from './disk.ts'
import type { JournalTrouble } from './entries.ts'
import { type Segment, segmentName, segmentsIn } from './segments.ts'

/** What `verifyJournal` found. */
export interface Verified {
  /** Segments, quarantined ones included; lines in them; and their bytes. */
  readonly segments: number
  readonly entries: number
  readonly bytes: number
  /** The first place where the journal is not what was written, and nobody has acknowledged it. */
  readonly problem?: JournalTrouble
  /** Sentences for a person: what was acknowledged, what is not whole, and what a chain cannot show. */
  readonly notes: readonly string[]
}

export interface VerifyOptions {
  readonly files?: JournalFiles
  /** Bytes that were read, of all. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly of: number }) => void
  readonly signal?: AbortSignal
}

/**
 * Reads all of a journal, and changes nothing. `dir` is `journalDir(stateDir)`; a daemon may go on writing there, and
 * what it writes meanwhile is left for the next time. Rejects only when `signal` aborts.
 */
export async function verifyJournal(dir: string, options: VerifyOptions = {}): Promise<Verified> {
  const { files = NODE_FILES, onProgress, signal } = options
  const segments = segmentsIn(dir, files)
  const sizes = segments.map(segment => sizeOf(segment, files))
  const of = sizes.reduce((sum, size) => sum + size, 0)
  let bytes = 0
  const onRead = (count: number) => {
    bytes += count
    onProgress?.({ bytes, of })
  }
  const checks: SegmentCheck[] = []
  for (const segment of segments) {
    const last = segment === segments.at(-1)
    checks.push(await checkSegment(segment, { files, last, onRead, signal }))
  }
  // What was too old went while this was reading.
  const there = new Set(segmentsIn(dir, files).map(({ name }) => name))
  const read = checks.filter(({ segment, lines }) => lines > 0 || there.has(segment.name))
  const { problems, notes } = findings(read)
  return {
    segments: read.length,
    entries: read.reduce((sum, { lines }) => sum + lines, 0),
    bytes,
    ...(problems[0] !== undefined && { problem: problems[0] }),
    notes,
  }
}

/** What segments that were checked one by one are together, from the oldest to the newest. */
export interface Findings {
  /** In order; those that a person has acknowledged are not among them. */
  readonly problems: readonly JournalTrouble[]
  readonly notes: readonly string[]
}

export function findings(checks: readonly SegmentCheck[]): Findings {
  const notes: string[] = []
  const [first] = checks
  if (first !== undefined && first.segment.number > 1)
    notes.push(
      `What came before ${first.segment.name} is not here: the oldest segments are removed in time. What its first line says of them is taken on trust.`,
    )
  const found = checks.flatMap((check, index) => {
    const before = checks[index - 1]
    return [...gapBefore(check, before), ...linkBefore(check, { before, notes }), ...problemOf(check)]
  })
  const { mentioned, current } = troublesIn(checks)
  const acknowledged = ({ file }: JournalTrouble) =>
    mentioned.has(original(file)) && !current.has(original(file))
  for (const trouble of found.filter(acknowledged))
    notes.push(`${sentence(trouble)} A person has acknowledged this.`)
  const torn = checks.at(-1)?.torn ?? 0
  if (torn > 0)
    notes.push(
      `The last ${torn} bytes are no whole line: one is being written, or writing it was cut short. The next daemon cuts them off and says so.`,
    )
  notes.push(
    'A chain without a key cannot show that lines at the very end were removed, or that all of it was written anew.',
  )
  return { problems: found.filter(trouble => !acknowledged(trouble)), notes }
}

/** What is wrong and where, in one sentence. */
export function sentence({ file, line, byte, what }: JournalTrouble): string {
  return line === null ? `${file}: ${what}.` : `${file}, byte ${byte}: ${what}.`
}

/** The name that a segment had before it was set aside. */
export const original = (file: string) => file.replace('.quarantined', '')

/** The files that headers name as corrupt: any of them, and the newest, which names those not acknowledged yet. */
export function troublesIn(checks: readonly SegmentCheck[]) {
  const headers = checks.flatMap(({ header }) => header ?? [])
  const files = (list: readonly JournalTrouble[]) => list.map(({ file }) => original(file))
  return {
    mentioned: new Set(headers.flatMap(({ trouble }) => files(trouble))),
    current: new Set(files(headers.at(-1)?.trouble ?? [])),
  }
}

function problemOf({ problem, segment }: SegmentCheck): JournalTrouble[] {
  if (problem !== undefined) return [problem]
  if (!segment.aside) return []
  return [{ file: segment.name, line: null, byte: null, what: 'It was set aside as corrupt' }]
}

function gapBefore({ segment }: SegmentCheck, before: SegmentCheck | undefined): JournalTrouble[] {
  const missing = before === undefined ? segment.number : before.segment.number + 1
  if (before === undefined || segment.number <= missing) return []
  const upTo = segment.number - 1
  const which = upTo === missing ? 'It is' : `It and those up to ${segmentName(upTo)} are`
  return [{ file: segmentName(missing), line: null, byte: null, what: `${which} missing` }]
}

interface Linking {
  readonly before: SegmentCheck | undefined
  readonly notes: string[]
}

/** Whether a segment follows the end of the one before. Where one of them is corrupt, it cannot be said. */
function linkBefore(
  { header, segment, problem }: SegmentCheck,
  { before, notes }: Linking,
): JournalTrouble[] {
  if (header === undefined || problem !== undefined) return []
  if (before === undefined) {
    if (segment.number > 1 || header.previous === GENESIS) return []
    return [{ file: segment.name, line: 1, byte: 0, what: 'Line 1 follows another line, which is not here' }]
  }
  const { segment: earlier, lines, bytes } = before
  const sound = before.problem === undefined && !earlier.aside && segment.number === earlier.number + 1
  if (!sound || header.previous === before.chain) return []
  if (header.uncertain?.file === earlier.name) {
    notes.push(`The end of ${earlier.name} is missing; the disk had failed to say that it was kept.`)
    return []
  }
  const what = `Lines are missing at its end: ${segment.name} follows another one`
  return [{ file: earlier.name, line: lines + 1, byte: bytes, what }]
}

function sizeOf(segment: Segment, files: JournalFiles): number {
  let fd: number | undefined
  try {
    fd = files.openToRead(segment.path)
    return files.stat(fd).size
  } catch {
    return 0
  } finally {
    if (fd !== undefined) files.close(fd)
  }
}
