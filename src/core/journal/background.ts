import { setTimeout as wait } from 'node:timers/promises'
import { checkSegment, type SegmentCheck } from './checking.ts'
import type { JournalFiles } from './disk.ts'
import type { JournalTrouble, OpenCall } from './entries.ts'
import { CallHistory, lastWord } from './open-calls.ts'
import type { OpenSuspension } from './open-suspensions.ts'
import { headerOf, type Segment } from './segments.ts'
import { findings, original } from './verification.ts'

export interface PassOptions {
  readonly files: JournalFiles
  /** As they were when the journal was opened, oldest first. */
  readonly segments: readonly Segment[]
  /** How many bytes of the last one earlier daemons wrote; undefined where nothing more is written to it. */
  readonly lastBytes: number | undefined
  /** The files whose trouble is known. */
  readonly known: readonly string[]
  /** What earlier daemons began and never ended; called once, before `recent` resolves. */
  readonly unended: (open: Unended) => void
  /** Something is not what was written; undefined where there is no segment to set aside. */
  readonly report: (trouble: JournalTrouble, segment: Segment | undefined) => void
}

export interface Unended {
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
