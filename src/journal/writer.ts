import { join } from 'node:path'
import { errnoOf, messageOf } from '../../wire/errors.ts'
import { chained, type SegmentHeader, type SegmentReason } from './entries.ts'
import { type Line, type Place, segmentName, type WriterOptions } from './segments.ts'

/**
 * The end of the journal: lines are chained and appended to the last segment, and to the next one when that is full.
 * A line that was cut short is cut off again, so what is in the file are whole lines. One daemon writes a journal.
 */
export class SegmentWriter {
  readonly #options: WriterOptions
  #number: number
  #fd: number | undefined
  #size: number
  /** Device and inode of the file that is written; undefined while that is not known. */
  #id: string | undefined
  #chain: string
  /** In bytes: what is beyond it may be lost when the machine fails. */
  #synced = 0
  /** The file may hold more than its whole lines. */
  #unclean: boolean
  #due: SegmentReason | undefined
  /** Nothing may be written to this file any more. */
  #over: boolean
  /** Why the segment was begun that has no header yet. */
  #why: SegmentReason
  #uncertain: SegmentHeader['uncertain']
  /** Files that are written no more, and whose end may not be on the disk. */
  #retired: number[] = []
  #nameSynced = false
  /** The disk did not say that it has the end of this file, and is not asked again. */
  #failed = false
  readonly #syncing = new GroupSync(() => this.#sync())

  constructor(place: Place, options: WriterOptions) {
    this.#options = options
    this.#number = place.number
    this.#fd = place.fd
    this.#size = place.size
    this.#chain = place.chain
    this.#unclean = place.fd !== undefined
    this.#why = place.why ?? 'full'
    this.#over = place.fd === undefined
    this.#due = this.#over ? this.#why : undefined
  }

  /** The file that is written. */
  get file(): string {
    return segmentName(this.#number)
  }

  /** The next line begins a fresh segment. */
  begin(why: SegmentReason): void {
    this.#due = why
  }

  /** The lines are in the file when this returns; throws `AppendError` if not all are. */
  append(lines: readonly Line[]): void {
    const fd = this.#ready()
    const wanted = this.#size === 0 ? [this.#header(), ...lines] : lines
    const made = this.#chained(wanted)
    const bytes = Buffer.from(
      made.length === 1 ? (made[0]?.text ?? '') : made.map(({ text }) => text).join(''),
    )
    let done = 0
    try {
      while (done < bytes.length) done += this.#took(fd, done === 0 ? bytes : bytes.subarray(done))
      this.#size += bytes.length
      this.#chain = made.at(-1)?.chain ?? this.#chain
      if (wanted !== lines) this.#uncertain = undefined
      for (const { written } of wanted) written?.()
    } catch (cause) {
      const kept = this.#keep(made, done)
      for (const { written } of wanted.slice(0, kept)) written?.()
      this.#cut(fd)
      const written = Math.max(0, kept - (wanted.length - lines.length))
      throw new AppendError(`${this.#path} could not be written: ${messageOf(cause)}`, { written, cause })
    }
  }

  /**
   * What has been appended is on the disk when this resolves. Where the disk fails to say so, it never claims it
   * later: what comes after goes into a fresh segment.
   */
  durable(): Promise<void> {
    return this.#syncing.durable()
  }

  /** Lets go of all files; the next `append` opens the last one again. */
  async close(): Promise<void> {
    await this.#syncing.idle()
    for (const fd of this.#retired.splice(0)) this.#close(fd)
    if (this.#fd !== undefined) this.#close(this.#fd)
    this.#fd = undefined
  }

  get #path(): string {
    return join(this.#options.dir, this.file)
  }

  /** The file to append to, without anything that is no whole line. */
  #ready(): number {
    if (this.#fd !== undefined && !this.#over && !this.#isInPlace(this.#fd)) this.#spoilt()
    const full = this.#size >= this.#options.segmentBytes
    if (this.#over || full || (this.#due !== undefined && this.#size > 0)) return this.#advance()
    // An empty file can begin for another reason than it was made for.
    this.#why = this.#due ?? this.#why
    this.#due = undefined
    if (this.#fd === undefined) return this.#reopen()
    if (this.#unclean) this.#clean(this.#fd)
    return this.#fd
  }

  #header(): Line {
    const uncertain = this.#uncertain
    return this.#options.header({
      number: this.#number,
      previous: this.#chain,
      why: this.#why,
      ...(uncertain !== undefined && { uncertain }),
    })
  }

  #chained(lines: readonly Line[]) {
    let chain = this.#chain
    return lines.map(({ body }) => {
      const made = chained(chain, body)
      chain = made.chain
      return made
    })
  }

  #took(fd: number, bytes: Uint8Array): number {
    const count = this.#options.files.write(fd, bytes)
    if (count <= 0) throw new Error('nothing more was taken')
    return count
  }

  /** How many lines are whole in so many bytes; they count. */
  #keep(made: readonly { text: string; chain: string }[], bytes: number): number {
    let left = bytes
    let kept = 0
    for (const { text, chain } of made) {
      const length = Buffer.byteLength(text)
      left -= length
      if (left < 0) break
      kept++
      this.#size += length
      this.#chain = chain
    }
    return kept
  }

  /** The rest of a line is taken away; where that fails, before the next one is written. */
  #cut(fd: number): void {
    this.#unclean = true
    try {
      this.#clean(fd)
    } catch {
      // It is tried again.
    }
  }

  #clean(fd: number): void {
    try {
      if (this.#options.files.stat(fd).size > this.#size) this.#options.files.truncate(fd, this.#size)
      this.#unclean = false
    } catch (cause) {
      throw new AppendError(`${this.#path} could not be cut back to its whole lines: ${messageOf(cause)}`, {
        cause,
      })
    }
  }

  /** Opens the last file again, as it was left; where it is not as it was left, begins the next one. */
  #reopen(): number {
    const { files } = this.#options
    try {
      const fd = files.open(this.#path)
      this.#fd = fd
      this.#id = undefined
      if (files.stat(fd).size >= this.#size) {
        this.#clean(fd)
        return fd
      }
    } catch (cause) {
      if (errnoOf(cause) !== 'ENOENT') throw cannotOpen(this.#path, cause)
    }
    this.#spoilt()
    return this.#advance()
  }

  /**
   * Whether whoever reads the file of that name reads what is written here. Asked before each write: one who puts a copy
   * in its place, or a link to a device, would have all that follows go where nobody looks.
   */
  #isInPlace(fd: number): boolean {
    const { files } = this.#options
    try {
      this.#id ??= files.stat(fd).id
      const named = files.named(this.#path)
      return named?.id === this.#id && (this.#unclean ? named.size >= this.#size : named.size === this.#size)
    } catch (cause) {
      throw cannotOpen(this.#path, cause)
    }
  }

  #spoilt(): void {
    this.#due = 'quarantine'
    this.#over = true
    const what = 'It is not the file that was written, of that length: another one has its name, or none'
    this.#options.spoilt({ file: this.file, line: null, byte: this.#size, what })
  }

  #advance(): number {
    const number = this.#number + 1
    const path = join(this.#options.dir, segmentName(number))
    const fd = this.#created(path)
    const old = this.#fd
    this.#id = undefined
    this.#why = this.#due ?? 'full'
    this.#due = undefined
    this.#over = false
    this.#number = number
    this.#fd = fd
    this.#size = 0
    this.#synced = 0
    this.#unclean = false
    this.#nameSynced = false
    if (old !== undefined) this.#leave(old)
    this.#options.begun()
    return fd
  }

  #created(path: string): number {
    const { files, dir } = this.#options
    try {
      // Its directory may have been removed.
      files.makeDirectory(dir)
      return files.create(path)
    } catch (cause) {
      throw cannotOpen(path, cause)
    }
  }

  /** Lines are to be on the disk before any later one that somebody waits for. */
  #leave(fd: number): void {
    if (this.#failed) {
      this.#failed = false
      this.#close(fd)
      return
    }
    this.#retired.push(fd)
    void this.durable().catch(() => undefined)
  }

  async #sync(): Promise<void> {
    const { files, dir } = this.#options
    const retired = this.#retired.splice(0)
    const fd = this.#fd
    const size = this.#size
    try {
      for (const old of retired) await files.sync(old)
      if (fd !== undefined) await this.#syncWhole(fd)
      if (!this.#nameSynced) await files.syncDirectory(dir)
      if (fd === this.#fd) {
        this.#synced = size
        this.#nameSynced = true
      }
    } catch (cause) {
      this.#failed = true
      this.#due ??= 'unsynced'
      this.#uncertain ??= { file: this.file, byte: this.#synced }
      throw cause
    } finally {
      for (const old of retired) this.#close(old)
    }
  }

  async #syncWhole(fd: number): Promise<void> {
    const { links, size } = this.#options.files.stat(fd)
    if (fd === this.#fd && (links === 0 || size < this.#size)) {
      this.#spoilt()
      throw new Error('it is not as long as what was written to it, or gone')
    }
    await this.#options.files.sync(fd)
  }

  #close(fd: number): void {
    try {
      this.#options.files.close(fd)
    } catch {
      // It is given up either way.
    }
  }
}

/**
 * One way to the disk for many who wait: whoever comes while it is under way is served by the next one, together with
 * all others who came meanwhile. Where it fails, those who wait for the next one are failed too: what they wait for
 * was written before, and the system says only once that it gave something up.
 */
class GroupSync {
  readonly #sync: () => Promise<void>
  #round: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(sync: () => Promise<void>) {
    this.#sync = sync
  }

  /** What was written before is on the disk when this resolves. */
  durable(): Promise<void> {
    if (this.#round === undefined) {
      this.#round = this.#sync().finally(() => {
        this.#round = undefined
      })
      return this.#round
    }
    this.#next ??= this.#after(this.#round)
    return this.#next
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    for (let wait = this.#next ?? this.#round; wait !== undefined; wait = this.#next ?? this.#round)
      await wait.catch(() => undefined)
  }

  async #after(round: Promise<void>): Promise<void> {
    try {
      await round
    } finally {
      this.#next = undefined
    }
    return this.durable()
  }
}

/** How long a line may wait, in milliseconds, and how many characters may, while the disk takes none. */
const FLUSH_MS = 20

const WAITING_CHARS = 1024 * 1024

interface QueueOptions {
  /** Throws `AppendError` where not all are in the file. */
  readonly append: (lines: readonly Line[]) => void
  /** A line that stands for so many that were lost. */
  readonly lost: (lines: number) => Line
}

/** Lines on their way into the file, in their order: those that may wait a moment, and those that may not. */
export class LineQueue {
  readonly #options: QueueOptions
  #waiting: Line[] = []
  #chars = 0
  #lost = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** All that waits and then `more`. What could not be written goes on waiting, except `more` itself. */
  now(more: readonly Line[]): void {
    const { append, lost } = this.#options
    const waiting = this.#waiting
    const gap = this.#lost > 0 ? [lost(this.#lost)] : []
    try {
      append(waiting.length + gap.length === 0 ? more : [...waiting, ...gap, ...more])
      this.#waiting = []
      this.#lost = 0
    } catch (error) {
      const written = error instanceof AppendError ? error.written : 0
      if (written > waiting.length) this.#lost = 0
      this.#waiting = waiting.slice(written)
      this.#schedule()
      throw error
    } finally {
      this.#chars = this.#waiting.reduce((sum, { body }) => sum + body.length, 0)
    }
  }

  /** The line is in the file soon, and before any later one; where too much waits, it is counted as lost. */
  later(line: Line): void {
    this.#schedule()
    if (this.#chars + line.body.length > WAITING_CHARS) {
      this.#lost++
      return
    }
    this.#waiting.push(line)
    this.#chars += line.body.length
  }

  /** Writes what waits; throws `AppendError` where that fails. */
  flush(): void {
    this.#unschedule()
    if (this.#waiting.length + this.#lost > 0) this.now([])
  }

  /** The same for the last time: nothing is tried again by itself. */
  close(): void {
    try {
      this.flush()
    } finally {
      this.#unschedule()
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#flushed(), FLUSH_MS).unref()
  }

  #unschedule(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #flushed(): void {
    try {
      this.flush()
    } catch {
      // What waits is tried again, with the next line or by the timer that has been set.
    }
  }
}

/** Not all lines are in the file. `written` of them are, and none of the others counts for a reader. */
export class AppendError extends Error {
  override readonly name = 'AppendError'
  readonly written: number

  constructor(message: string, { written = 0, cause }: { written?: number; cause: unknown }) {
    super(message, { cause })
    this.written = written
  }
}

export function cannotOpen(path: string, cause: unknown): AppendError {
  return new AppendError(`${path} cannot be opened for writing: ${messageOf(cause)}`, { cause })
}
