import { messageOf } from '../../wire/errors.ts'
import type { CallId } from '../../wire/kernel.ts'
import {
  type Earlier,
  type JournalEntry,
  type JournalNote,
  type JournalTrouble,
  lastWord,
  OpenCalls,
  type OpenSuspension,
  OpenSuspensions,
} from './entries.ts'
import { type JournalFiles, NODE_FILES } from './files.ts'
import { BackgroundPass, type OpenWork } from './reader.ts'
import { type Recovery, recover } from './recovery.ts'
import { entryBody, noteBody, redacted } from './redaction.ts'
import { headerOf, journalDir, type Line, type Segment, segmentName, segmentsIn, sizeOf } from './segments.ts'
import { original, sentence } from './verify.ts'
import { AppendError, LineQueue, SegmentWriter } from './writer.ts'

/** The journal could not be written. `cause` says why. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
  /** The line is in the file all the same; it is the disk that may not have it. */
  readonly written: boolean

  constructor(message: string, { cause, written = false }: { cause?: unknown; written?: boolean } = {}) {
    super(message, { cause })
    this.written = written
  }
}

export interface JournalOptions {
  /** Made if it is missing, for its owner only. */
  readonly stateDir: string
  readonly files?: JournalFiles
  readonly now?: () => Date
  /** Of the daemon, for whoever reads the journal. */
  readonly version?: string
  /** A segment that has so many bytes is followed by the next one. */
  readonly segmentBytes?: number
  readonly kept?: Kept
}

/** Callers whose last look is remembered. */
const LOOKING = 100

const callerOf = (entry: JournalEntry): string => ('caller' in entry ? entry.caller : '')

/** A look without its own name and time: a client that follows something makes the same one on and on. */
const repeatable = ({ call: _, ...look }: Extract<JournalEntry, { type: 'looked' }>): string =>
  JSON.stringify({ ...look, elapsed_ms: 0 })

const SEGMENT_BYTES = 16 * 1024 * 1024

/**
 * Opens the journal in the state directory, in time that does not grow with its length: what earlier daemons wrote is
 * verified in the background. Throws `JournalError` where it cannot be written at all.
 */
export function openJournal(options: JournalOptions): OpenJournal {
  const { files = NODE_FILES, stateDir } = options
  return new SegmentedJournal(
    options,
    explained(() => recover(journalDir(stateDir), files)),
  )
}

export type OpenJournal = Pick<SegmentedJournal, keyof SegmentedJournal>

/** A journal as those have it who write to it. */
export type Journal = Omit<OpenJournal, 'verified' | 'lost'>

/** The append-only record of every call. */
class SegmentedJournal {
  readonly #dir: string
  readonly #files: JournalFiles
  readonly #now: () => Date
  readonly #version: string
  readonly #kept: Kept
  readonly #writer: SegmentWriter
  readonly #queue: LineQueue
  readonly #troubles: Troubles
  readonly #pass: BackgroundPass
  readonly #open = new OpenCalls()
  readonly #suspended = new OpenSuspensions()
  /** Whether `#open` and `#suspended` have those of earlier daemons too. */
  #openKnown: boolean
  /** The last look of each caller that has done nothing since; the same one again is not written. */
  readonly #looks = new Map<string, string>()
  #removing: Promise<unknown> = Promise.resolve()
  #acknowledging: Promise<void> | undefined
  /** Resolves once what earlier daemons wrote has been verified, or the journal was closed before that. */
  readonly verified: Promise<void>
  /**
   * What was suspended under daemons that were lost: with its daemon, each has ended, which is written. Resolves once
   * their last lines were read; with nothing, where the journal was closed before that.
   */
  readonly lost: Promise<readonly OpenSuspension[]>

  constructor(options: JournalOptions, found: Recovery) {
    this.#dir = journalDir(options.stateDir)
    this.#files = options.files ?? NODE_FILES
    this.#now = options.now ?? (() => new Date())
    this.#version = options.version ?? 'unknown'
    this.#kept = options.kept ?? KEPT
    this.#troubles = new Troubles(found.troubles)
    this.#openKnown = found.segments.length === 0
    this.#writer = new SegmentWriter(found.place, {
      dir: this.#dir,
      files: this.#files,
      segmentBytes: options.segmentBytes ?? SEGMENT_BYTES,
      header: about => this.#note({ type: 'segment', ...about, ...this.#inForce() }),
      spoilt: trouble => this.#spoilt(trouble),
      begun: () => void setImmediate(() => this.#retain()).unref(),
    })
    this.#queue = new LineQueue({
      append: lines => this.#writer.append(lines),
      lost: lines => this.#entry({ type: 'lost', lines }),
    })
    for (const note of found.notes) this.#queue.later(this.#note(note))
    const { corrupt } = found
    const aside = corrupt === undefined ? undefined : this.#setAside(corrupt.trouble, corrupt.segment)
    this.#pass = new BackgroundPass({
      files: this.#files,
      segments: found.segments.map(segment => (segment === corrupt?.segment ? (aside ?? segment) : segment)),
      lastBytes: corrupt === undefined && found.place.fd !== undefined ? found.place.size : undefined,
      known: this.#troubles.list.map(({ file }) => file),
      unended: open => this.#endAll(open),
      report: (trouble, segment) => void this.#setAside(trouble, segment),
    })
    this.lost = this.#pass.recent.then(
      ({ suspended }) => suspended.all,
      () => [],
    )
    this.verified = this.#pass.done.then(whole => {
      if (whole) this.#retain()
    })
  }

  /** Why dangerous calls are refused: a part of it is not what was written. Undefined while it is in order. */
  get trouble(): string | undefined {
    return this.#troubles.sentence
  }

  /** The line is in the file before this returns; throws `JournalError` if it is not. */
  write(entry: JournalEntry): void {
    this.#looks.delete(callerOf(entry))
    explained(() => this.#queue.now([this.#entry(entry)]))
  }

  /** The line is in the file soon, and before any later one. Never throws; lines that are lost are counted there. */
  later(entry: JournalEntry): void {
    const caller = callerOf(entry)
    const before = this.#looks.get(caller)
    const look = entry.type === 'looked' ? repeatable(entry) : undefined
    if (look !== undefined && look === before) return
    this.#looks.delete(caller)
    if (this.#looks.size >= LOOKING) this.#looks.clear()
    if (look !== undefined) this.#looks.set(caller, look)
    this.#queue.later(this.#entry(entry))
  }

  /** As `write`, and on the disk when it resolves. Rejects with `JournalError` if it may not be. */
  async sync(entry: JournalEntry): Promise<void> {
    this.#looks.delete(callerOf(entry))
    await this.#durable(this.#entry(entry))
  }

  /** A person has taken note of the trouble; rejects where that cannot be written down. */
  async acknowledge(by: string): Promise<void> {
    this.#acknowledging ??= this.#acknowledge(by).finally(() => {
      this.#acknowledging = undefined
    })
    await this.#acknowledging
  }

  /** What earlier daemons wrote of a call of that name, so that none runs twice. */
  async earlier(call: CallId): Promise<Earlier | undefined> {
    try {
      return (await this.#pass.recent).of(call)
    } catch (cause) {
      throw new JournalError('The journal was closed before it was read.', { cause })
    }
  }

  /** Writes what waits. Rejects with `JournalError` if that fails. */
  async close(): Promise<void> {
    await this.#pass.stop()
    try {
      explained(() => this.#queue.close())
    } finally {
      await this.#removing
      await this.#writer.close()
    }
  }

  #entry(entry: JournalEntry): Line {
    const body = entryBody(entry, this.#now())
    if (entry.type === 'suspension') return { body, written: () => this.#suspended.note(redacted(entry)) }
    return 'call' in entry ? { body, written: () => void this.#open.note(entry) } : { body }
  }

  #note(note: JournalNote): Line {
    return { body: noteBody(note, this.#now()) }
  }

  #inForce() {
    const [open, suspended] = this.#openKnown ? [this.#open.list, this.#suspended.list] : [null, null]
    return { version: this.#version, trouble: this.#troubles.list, open, suspended }
  }

  async #durable(line: Line): Promise<void> {
    explained(() => this.#queue.now([line]))
    try {
      await this.#writer.durable()
    } catch (cause) {
      throw new JournalError(
        `The disk did not say that it has the journal: ${messageOf(cause)}. Whether the last lines outlast this machine is not certain; look after the disk.`,
        { cause, written: true },
      )
    }
  }

  /** The header of the segment that begins with it names the trouble no more. */
  async #acknowledge(by: string): Promise<void> {
    const trouble = this.#troubles.acknowledging()
    if (trouble.length === 0) return
    this.#writer.begin('acknowledged')
    try {
      await this.#durable(this.#note({ type: 'acknowledged', by, trouble }))
    } catch (error) {
      this.#troubles.restore()
      this.#writer.begin('quarantine')
      throw error
    }
    this.#troubles.acknowledged()
  }

  #endAll({ calls, suspended }: OpenWork): void {
    this.#open.add(calls)
    this.#suspended.add(suspended)
    this.#openKnown = true
    for (const open of calls)
      this.later({ type: 'ended', call: open.call, outcome: lastWord(open), elapsed_ms: null })
    for (const open of suspended) this.later(lostWith(open))
  }

  /**
   * A fresh segment is begun, which says why; then the corrupt one gets a name that says so. Where that cannot be
   * written, the next line does; and the next daemon finds it again.
   */
  #setAside(trouble: JournalTrouble, segment: Segment | undefined): Segment | undefined {
    this.#troubles.add(trouble)
    this.#writer.begin('quarantine')
    const name = segment === undefined ? null : segmentName(segment.number, { aside: true })
    try {
      this.#queue.now([this.#note({ type: 'quarantined', ...trouble, kept: name })])
      if (segment === undefined || name === null) return undefined
      const path = `${this.#dir}/${name}`
      this.#files.rename(segment.path, path)
      return { ...segment, name, path, aside: true }
    } catch {
      return undefined
    }
  }

  /** Found while a line is being written, so this waits for its turn. */
  #spoilt(trouble: JournalTrouble): void {
    this.#troubles.add(trouble)
    queueMicrotask(() => this.#queue.later(this.#note({ type: 'quarantined', ...trouble, kept: null })))
  }

  #retain(): void {
    const old = this.#outdated()
    if (old.length === 0) return
    this.#queue.later(this.#note({ type: 'removed', files: old.map(({ name }) => name) }))
    // What could not be removed is tried again with the next segment.
    this.#removing = Promise.allSettled(old.map(({ path }) => this.#files.remove(path)))
  }

  #outdated(): Segment[] {
    try {
      return outdated({
        segments: segmentsIn(this.#dir, this.#files),
        files: this.#files,
        now: this.#now(),
        kept: this.#kept,
        wanted: ({ name }) => !this.#openKnown || this.#troubles.names(name),
      })
    } catch {
      return []
    }
  }
}

function explained<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (!(cause instanceof AppendError)) throw cause
    throw new JournalError(
      `The journal ${cause.message}. Make room, or set IMAGO_STATE_DIR to a directory that can be written.`,
      { cause },
    )
  }
}

/** How one ended whose daemon was lost: images leave none waiting for a daemon that is not there. */
const lostWith = ({ call, ...open }: OpenSuspension): JournalEntry => ({
  ...open,
  type: 'suspension',
  what: 'lost',
  ...(call !== undefined && { call }),
  by: null,
  why: 'The daemon that kept it has ended, and it with that one.',
})

/** How much of a journal is kept. */
interface Kept {
  /** In all segments together. */
  readonly bytes: number
  /** Since the last line of a segment, in milliseconds. */
  readonly ms: number
}

const KEPT: Kept = { bytes: 512 * 1024 * 1024, ms: 7 * 24 * 60 * 60 * 1000 }

interface Retention {
  readonly segments: readonly Segment[]
  readonly files: JournalFiles
  readonly now: Date
  readonly kept: Kept
  /** Whether a person has still to look at it. */
  readonly wanted: (segment: Segment) => boolean
}

/** The oldest segments, as far as they are beyond what is kept; never the last one, and none behind a wanted one. */
function outdated({ segments, files, now, kept, wanted }: Retention): Segment[] {
  const facts = segments.map(segment => ({
    bytes: sizeOf(segment, files),
    began: headerOf(segment, files)?.time,
  }))
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

/** What was found not to be what was written, until a person has taken note of it. */
class Troubles {
  #list: readonly JournalTrouble[]
  /** Taken note of, and not yet written down. */
  #settling: readonly JournalTrouble[] = []

  constructor(list: readonly JournalTrouble[]) {
    this.#list = list
  }

  /** What the next header names. */
  get list(): readonly JournalTrouble[] {
    return this.#list
  }

  /** All of it for a person; undefined where there is none. */
  get sentence(): string | undefined {
    const all = [...this.#settling, ...this.#list]
    return all.length === 0 ? undefined : all.map(sentence).join(' ')
  }

  names(file: string): boolean {
    return [...this.#settling, ...this.#list].some(trouble => original(trouble.file) === original(file))
  }

  add(trouble: JournalTrouble): void {
    this.#list = [...this.#list, trouble]
  }

  /** A person has taken note of all there is; the answer is what. It counts once `acknowledged` is called. */
  acknowledging(): string[] {
    this.#settling = this.#list
    this.#list = []
    return this.#settling.map(sentence)
  }

  acknowledged(): void {
    this.#settling = []
  }

  restore(): void {
    this.#list = [...this.#settling, ...this.#list]
    this.#settling = []
  }
}
