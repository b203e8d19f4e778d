import { close, openSync, readSync, unlinkSync, write } from 'node:fs'

/** Characters of one text; the file holds two bytes for each, so that any place in it is found without reading. */
const MOST_CHARS = 32 * 1024 * 1024
/** So much is held in memory before a file is made, and then between two writes. */
const MEMORY_CHARS = 64 * 1024
/** So much may wait while the disk is slow; what comes then is refused. */
const WAITING_CHARS = 2 * 1024 * 1024

export interface LongTextOptions {
  /** Where the file would be made. Its directory exists. */
  readonly path: string
  /** What the text begins with, however long it is: it is in memory already. */
  readonly text?: string
  readonly log: (message: string, error: unknown) => void
}

/**
 * A text that grows at its end and can be read anywhere. Up to 64 Ki characters stay in memory, the rest goes to a
 * file, in batches and without waiting for the disk. Nothing that was taken is lost, not even when the disk fails.
 */
export class LongText {
  readonly #path: string
  readonly #log: LongTextOptions['log']
  #fd: number | undefined
  /** Characters in the file; after them come those being written, then those that wait. */
  #filed = 0
  #writing = ''
  #waiting: string[] = []
  #waitingChars = 0
  #state: 'open' | 'full' | 'disposed' = 'open'

  constructor({ path, text = '', log }: LongTextOptions) {
    this.#path = path
    this.#log = log
    this.#wait(text)
  }

  /** Characters taken so far. */
  get total(): number {
    return this.#filed + this.#writing.length + this.#waitingChars
  }

  /** How many of the characters were taken; the others had to be dropped. */
  add(text: string): number {
    if (this.#state !== 'open') return 0
    const room = Math.min(MOST_CHARS - this.total, WAITING_CHARS - this.#waitingChars)
    const taken = text.length <= room ? text : text.slice(0, Math.max(0, room))
    this.#wait(taken)
    return taken.length
  }

  read(from: number, count: number): string {
    const to = Math.min(this.total, from + count)
    const filed = this.#readFile(from, Math.min(to, this.#filed))
    if (to <= this.#filed) return filed
    const memory = this.#writing + this.#memory()
    return filed + memory.slice(Math.max(0, from - this.#filed), to - this.#filed)
  }

  /** Lets go of the text and of its file. */
  dispose(): void {
    this.#state = 'disposed'
    this.#waiting = []
    this.#waitingChars = 0
    if (this.#writing === '') this.#closeFile()
  }

  #wait(text: string): void {
    if (text === '') return
    this.#waiting.push(text)
    this.#waitingChars += text.length
    if (this.#waitingChars > MEMORY_CHARS) this.#spill()
  }

  #memory(): string {
    if (this.#waiting.length > 1) this.#waiting = [this.#waiting.join('')]
    return this.#waiting[0] ?? ''
  }

  #spill(): void {
    if (this.#writing !== '') return
    try {
      this.#fd ??= this.#openFile()
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#writing = this.#memory()
    this.#waiting = []
    this.#waitingChars = 0
    this.#writeRest(this.#fd, Buffer.from(this.#writing, 'utf16le'))
  }

  #writeRest(fd: number, bytes: Buffer): void {
    const at = (this.#filed + this.#writing.length) * 2 - bytes.length
    write(fd, bytes, 0, bytes.length, at, (error, count) => {
      if (this.#state === 'disposed') return this.#closeFile()
      if (error !== null || count === 0) return this.#fail(error ?? new Error('nothing was written'))
      if (count < bytes.length) return this.#writeRest(fd, bytes.subarray(count))
      this.#filed += this.#writing.length
      this.#writing = ''
      if (this.#waitingChars > MEMORY_CHARS) this.#spill()
    })
  }

  /** What is in memory stays there, and no more is taken. */
  #fail(error: unknown): void {
    this.#state = 'full'
    this.#waiting = [this.#writing + this.#memory()]
    this.#waitingChars += this.#writing.length
    this.#writing = ''
    this.#log('Output could not be written to a file; the rest of it is dropped.', error)
  }

  /** The name goes at once: nobody else can open the file, and none is left behind when the daemon is killed. */
  #openFile(): number {
    const fd = openSync(this.#path, 'wx+', 0o600)
    unlinkSync(this.#path)
    return fd
  }

  #closeFile(): void {
    const fd = this.#fd
    this.#fd = undefined
    this.#writing = ''
    this.#filed = 0
    if (fd !== undefined) close(fd, () => undefined)
  }

  #readFile(from: number, to: number): string {
    if (this.#fd === undefined || from >= to) return ''
    const bytes = Buffer.alloc((to - from) * 2)
    let done = 0
    while (done < bytes.length) {
      const count = readSync(this.#fd, bytes, done, bytes.length - done, from * 2 + done)
      if (count === 0) break
      done += count
    }
    return bytes.toString('utf16le', 0, done)
  }
}
