import { messageOf } from '../../wire/errors.ts'
import { follows, GENESIS, type JournalTrouble, LineSplitter } from './entries.ts'
import { type JournalFiles, NODE_FILES } from './files.ts'
import { type HeaderRead, headerIn, type Segment, segmentName, segmentsIn, sizeOf } from './segments.ts'

/** What `verifyJournal` found. */
export interface Verification {
  /** Segments, quarantined ones included; lines in them; and their bytes. */
  readonly segments: number
  readonly entries: number
  readonly bytes: number
  /** The first place where the journal is not what was written, and nobody has acknowledged it. */
  readonly problem?: JournalTrouble
  /** Sentences for a person: what was acknowledged, what is not whole, and what a chain cannot show. */
  readonly notes: readonly string[]
}

interface VerifyOptions {
  readonly files?: JournalFiles
  /** Bytes that were read, of all. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly of: number }) => void
}

/**
 * Reads all of a journal, and changes nothing. `dir` is `journalDir(stateDir)`; a daemon may go on writing there, and
 * what it writes meanwhile is left for the next time. Never rejects.
 */
export async function verifyJournal(dir: string, options: VerifyOptions = {}): Promise<Verification> {
  const { files = NODE_FILES, onProgress } = options
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
    checks.push(await checkSegment(segment, { files, last, onRead }))
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
interface Findings {
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
    const [own, gap] = [problemOf(check), gapBefore(check, before)]
    // That others are missing before it is told by its name alone.
    if (check.problem?.line === null) return [...own, ...gap]
    return [...gap, ...linkBefore(check, { before, notes }), ...own]
  })
  const { mentioned, current, told } = troublesIn(checks)
  const acknowledged = ({ file }: JournalTrouble) =>
    mentioned.has(original(file)) && !current.has(original(file))
  // A copy in the place of a file bears its chain. What the daemon saw of that is in the headers alone.
  const seen = new Set(found.map(({ file }) => original(file)))
  found.push(...told.filter(({ file }) => !seen.has(original(file))))
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

/** What headers tell of trouble, and its files: any of them, and the newest, which names those not acknowledged yet. */
function troublesIn(checks: readonly SegmentCheck[]) {
  const headers = checks.flatMap(({ header }) => header ?? [])
  const told = new Map(headers.flatMap(({ trouble }) => trouble).map(each => [sentence(each), each]))
  const files = (list: readonly JournalTrouble[]) => list.map(({ file }) => original(file))
  return {
    mentioned: new Set(headers.flatMap(({ trouble }) => files(trouble))),
    current: new Set(files(headers.at(-1)?.trouble ?? [])),
    told: [...told.values()],
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

interface LinkContext {
  readonly before: SegmentCheck | undefined
  readonly notes: string[]
}

/** Whether a segment follows the end of the one before. Where one of them is corrupt, it cannot be said. */
function linkBefore(
  { header, segment, problem }: SegmentCheck,
  { before, notes }: LinkContext,
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

interface CheckOptions {
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
