import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { messageOf } from '../../wire/errors.ts'
import {
  CallHistory,
  type JournalTrouble,
  LineSplitter,
  lastWord,
  type OpenCall,
  type OpenSuspension,
} from './entries.ts'
import { type JournalFiles, NODE_FILES } from './files.ts'
import { headerOf, type Segment, segmentsIn } from './segments.ts'
import { checkSegment, findings, original, type SegmentCheck } from './verify.ts'

/** What a reader may find in a line, whatever its type: the entries of `JournalEntry` and `JournalNote`. */
const LINE = z.looseObject({
  v: z.number(),
  time: z.string(),
  type: z.string(),
  call: z.string().exactOptional(),
  tool: z.string().exactOptional(),
  level: z.string().nullish(),
  kernel: z.string().nullish(),
  epoch: z.string().nullish(),
  members: z
    .array(z.looseObject({ kernel: z.string() }))
    .optional()
    .catch(undefined),
  caller: z.string().exactOptional(),
  who: z.string().exactOptional(),
  decision: z.string().nullish(),
  outcome: z.string().exactOptional(),
  elapsed_ms: z.number().nullish(),
})

/** One entry as it was read. Members that a line of another type has are there too, and not looked at. */
export type EntryRead = z.output<typeof LINE>

/** One line of the journal, and where it is: `line` counts from 1 in its file, `byte` is where it begins there. */
export type LineRead =
  | {
      readonly type: 'entry'
      readonly entry: EntryRead
      /** The line as it stands there. */
      readonly text: string
      readonly file: string
      readonly line: number
      readonly byte: number
    }
  /** No entry: damaged, or of a later version. */
  | {
      readonly type: 'unreadable'
      readonly text: string
      readonly file: string
      readonly line: number
      readonly byte: number
      /** Why all of the file is left out. */
      readonly why?: string
    }

export interface ReadOptions {
  /** Leaves out what was written before. */
  readonly from?: Date
  /** Begins with so many lines before the end. */
  readonly last?: number
  /** Goes on with what is written from now on, until `signal` aborts. */
  readonly follow?: boolean
  readonly signal?: AbortSignal
  readonly files?: JournalFiles
  /** How often `follow` looks, in milliseconds. */
  readonly pollMs?: number
}

/**
 * The lines of a journal in the order in which they were written, of quarantined segments too. `dir` is
 * `journalDir(stateDir)`; one that is missing holds no lines. A line that is just being written is not there yet: at
 * the end it is left out, with `follow` it comes when it is whole. Nothing is verified. A file that cannot be opened is
 * one unreadable line. Ends early where reading fails, by throwing the error of the system.
 */
export async function* readEntries(dir: string, options: ReadOptions = {}): AsyncGenerator<LineRead> {
  const { files = NODE_FILES, from } = options
  const time = from?.toISOString()
  let { segment, skip } = beginning(dir, options)
  while (segment !== undefined || options.follow === true) {
    if (segment === undefined) {
      if (!(await pause(options))) return
      segment = segmentsIn(dir, files)[0]
      continue
    }
    let hasNext = false
    const closed = () => {
      hasNext = true
    }
    for await (const line of linesOf(segment, { dir, closed, ...options })) {
      if (line.line <= skip) continue
      if (line.type === 'entry' && time !== undefined && line.entry.time < time) continue
      yield line
    }
    skip = 0
    if (options.signal?.aborted === true) return
    const rest = later(segment, segmentsIn(dir, files))
    // A next one that came just now came after more lines of this one.
    if (!hasNext) return yield* rest.flatMap(one => leftOut(one, files))
    segment = rest[0]
  }
}

function beginning(dir: string, { from, last, files = NODE_FILES }: ReadOptions) {
  const segments = segmentsIn(dir, files)
  if (last !== undefined) return lastLines(segments, { last, files })
  if (from === undefined) return { segment: segments[0], skip: 0 }
  const time = from.toISOString()
  // A segment ends where the next one begins.
  const before = segments.findLastIndex(segment => (headerOf(segment, files)?.time ?? '~') <= time)
  return { segment: segments[Math.max(0, before)], skip: 0 }
}

function lastLines(segments: readonly Segment[], { last, files }: { last: number; files: JournalFiles }) {
  let wanted = last
  for (const segment of segments.toReversed()) {
    const count = countLines(segment, files)
    if (count >= wanted) return { segment, skip: count - wanted }
    wanted -= count
  }
  return { segment: segments[0], skip: 0 }
}

const later = ({ number, name }: Segment, segments: readonly Segment[]) =>
  segments.filter(
    other => other.number > number || (other.number === number && other.name > name && !other.aside),
  )

/** What is told in place of a file that cannot be opened; nothing for one that can, or that has gone meanwhile. */
function leftOut({ name, path }: Segment, files: JournalFiles): LineRead[] {
  try {
    files.close(files.openToRead(path))
    return []
  } catch (error) {
    if (files.named(path) === undefined) return []
    return [{ type: 'unreadable', text: '', file: name, line: 1, byte: 0, why: messageOf(error) }]
  }
}

const CHUNK = 64 * 1024

function countLines(segment: Segment, files: JournalFiles): number {
  const told = leftOut(segment, files)
  if (told.length > 0) return told.length
  const fd = files.openToRead(segment.path)
  try {
    const chunk = Buffer.allocUnsafe(16 * CHUNK)
    let lines = 0
    let at = 0
    for (let count = files.read(fd, chunk, at); count > 0; count = files.read(fd, chunk, at)) {
      at += count
      const bytes = chunk.subarray(0, count)
      for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, end + 1)) lines++
    }
    return lines
  } finally {
    files.close(fd)
  }
}

/** Until the file has an end: there is a later segment, which is told by `closed`, or nobody follows. */
async function* linesOf(
  segment: Segment,
  options: ReadOptions & { dir: string; closed(): void },
): AsyncGenerator<LineRead> {
  const { dir, files = NODE_FILES } = options
  const told = leftOut(segment, files)
  yield* told
  const fd = told.length > 0 ? undefined : files.openToRead(segment.path)
  // What is written goes on here as long as all that is later cannot be opened.
  const isFollowed = () =>
    later(segment, segmentsIn(dir, files)).some(one => leftOut(one, files).length === 0)
  try {
    const chunk = Buffer.allocUnsafe(CHUNK)
    const splitter = new LineSplitter()
    let read = 0
    let line = 0
    let byte = 0
    let closed = false
    for (;;) {
      const count = fd === undefined ? 0 : await files.readLater(fd, chunk, read)
      if (count === 0) {
        if (closed || options.signal?.aborted === true) break
        // Once there is a later one, nothing more comes; but it may have come since this one was read.
        closed = isFollowed()
        if (closed) options.closed()
        else if (options.follow !== true) break
        else if (!(await pause(options))) return
        continue
      }
      read += count
      for (const bytes of splitter.push(chunk.subarray(0, count))) {
        line++
        yield lineRead(bytes.toString(), { file: segment.name, line, byte })
        byte += bytes.length + 1
      }
    }
    if (byte < read && isFollowed())
      yield { type: 'unreadable', text: splitter.rest.toString(), file: segment.name, line: line + 1, byte }
  } finally {
    if (fd !== undefined) files.close(fd)
  }
}

function lineRead(text: string, where: { file: string; line: number; byte: number }): LineRead {
  try {
    const read = LINE.safeParse(JSON.parse(text))
    if (read.success) return { type: 'entry', entry: read.data, text, ...where }
  } catch {
    // It is shown as it is.
  }
  return { type: 'unreadable', text, ...where }
}

/** False once there is no point in waiting on. */
const pause = ({ signal, pollMs = 150 }: ReadOptions): Promise<boolean> =>
  wait(pollMs, true, { signal }).catch(() => false)

interface PassOptions {
  readonly files: JournalFiles
  /** As they were when the journal was opened, oldest first. */
  readonly segments: readonly Segment[]
  /** How many bytes of the last one earlier daemons wrote; undefined where nothing more is written to it. */
  readonly lastBytes: number | undefined
  /** The files whose trouble is known. */
  readonly known: readonly string[]
  /** What earlier daemons began and never ended; called once, before `recent` resolves. */
  readonly unended: (open: OpenWork) => void
  /** Something is not what was written; undefined where there is no segment to set aside. */
  readonly report: (trouble: JournalTrouble, segment: Segment | undefined) => void
}

export interface OpenWork {
  readonly calls: readonly OpenCall[]
  readonly suspended: readonly OpenSuspension[]
}

/** How many segments are read for calls; more, where what was open lies further back. */
const RECENT = 2

/**
 * What is done with a journal after it was opened, piece by piece beside everything else: the newest segments are
 * read for the calls of earlier daemons, then all others are verified.
 */
export class BackgroundPass {
  readonly #options: PassOptions
  readonly #known: Set<string>
  readonly #checks = new Map<Segment, SegmentCheck>()
  readonly #stopping = new AbortController()
  /** What earlier daemons wrote of their last calls. Rejects where the pass was stopped before it knew. */
  readonly recent: Promise<CallHistory>
  /** Whether all was verified: false where the pass was stopped before. */
  readonly done: Promise<boolean>

  constructor(options: PassOptions) {
    this.#options = options
    this.#known = new Set(options.known.map(original))
    this.recent = this.#recent()
    this.done = this.recent
      .then(() => this.#older())
      .then(
        () => true,
        () => false,
      )
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.done
  }

  async #recent(): Promise<CallHistory> {
    // Whoever opened it goes on first.
    await this.#wait(0)
    const { segments, files, unended } = this.#options
    const history = new CallHistory()
    const from = recentFrom(segments, files)
    const [first] = segments.slice(from)
    const header = first && headerOf(first, files)
    history.open.add(header?.open ?? [])
    history.suspended.add(header?.suspended ?? [])
    for (const segment of segments.slice(from)) await this.#check(segment, line => history.read(line))
    for (const { problem, segment } of this.#checks.values())
      if (problem !== undefined && !segment.aside) this.#report(problem, segment)
    const open = history.open.all
    for (const call of open) history.end(call, lastWord(call))
    unended({ calls: open, suspended: history.suspended.all })
    return history
  }

  async #older(): Promise<void> {
    const { segments } = this.#options
    for (const segment of segments) if (!this.#checks.has(segment)) await this.#check(segment)
    const { problems } = findings(segments.flatMap(segment => this.#checks.get(segment) ?? []))
    for (const trouble of problems)
      this.#report(
        trouble,
        segments.find(({ name }) => name === trouble.file),
      )
  }

  async #check(segment: Segment, onLine?: (line: Buffer) => void): Promise<void> {
    const { files, segments, lastBytes } = this.#options
    const last = segment === segments.at(-1)
    const check = await checkSegment(segment, {
      files,
      last,
      upTo: last ? lastBytes : undefined,
      signal: this.#stopping.signal,
      // Nobody waits for what is only verified, so others may go first.
      ...(onLine === undefined ? { pause: () => this.#wait(1) } : { onLine }),
    })
    this.#checks.set(segment, check)
  }

  #report(trouble: JournalTrouble, segment: Segment | undefined): void {
    if (this.#known.has(original(trouble.file))) return
    this.#known.add(original(trouble.file))
    // What could not be read may be in order.
    const corrupt = trouble.line !== null && segment?.aside === false
    this.#options.report(trouble, corrupt ? segment : undefined)
  }

  async #wait(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#stopping.signal })
  }
}

/** From where on what was open is known, and those that ended last. */
function recentFrom(segments: readonly Segment[], files: JournalFiles): number {
  let from = Math.max(0, segments.length - RECENT)
  for (; from > 0; from--) {
    const segment = segments[from]
    const header = segment && headerOf(segment, files)
    if (header !== undefined && header.open !== null && header.suspended !== null) break
  }
  return from
}
