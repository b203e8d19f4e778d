import { close, openSync, readSync, unlinkSync, write } from 'node:fs'

/** Characters of one text; the file holds two bytes for each, so that any place in it is found without reading. */
const MOST_CHARS = 32 * 1024 * 1024
/** So much is held in memory before a file is made, and then between two writes. */
const MEMORY_CHARS = 64 * 1024
/** So much may wait while the disk is slow; what comes then is refused. */
const WAITING_CHARS = 8 * 1024 * 1024
/** So much is written at a time, from one buffer. */
const BATCH_CHARS = 256 * 1024
/** Short texts are put together to pieces of about this length. */
const PIECE_CHARS = 16 * 1024

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
  /** Characters that are in the file. Those after them are in memory, in pieces. */
  #filed = 0
  #pieces: string[] = []
  #waiting = 0
  /** Only while characters are being written. */
  #buffer: Buffer | undefined
  #state: 'open' | 'full' | 'disposed' = 'open'

  constructor({ path, text = '', log }: LongTextOptions) {
    this.#path = path
    this.#log = log
    this.#take(text)
  }

  /** Characters taken so far. */
  get total(): number {
    return this.#filed + this.#waiting
  }

  /** How many of the characters were taken; the others had to be dropped. */
  add(text: string): number {
    if (this.#state !== 'open') return 0
    const room = Math.max(0, Math.min(MOST_CHARS - this.total, WAITING_CHARS - this.#waiting))
    const taken = text.length <= room ? text : text.slice(0, room)
    this.#take(taken)
    return taken.length
  }

  read(from: number, count: number): string {
    const to = Math.min(this.total, from + count)
    const filed = this.#readFile(from, Math.min(to, this.#filed))
    if (to <= this.#filed) return filed
    return filed + this.#pieces.join('').slice(Math.max(0, from - this.#filed), to - this.#filed)
  }

  /** Lets go of the text and of its file. */
  dispose(): void {
    this.#state = 'disposed'
    this.#pieces = []
    if (this.#buffer === undefined) this.#closeFile()
  }

  #take(text: string): void {
    const last = this.#pieces.length - 1
    const piece = this.#pieces[last]
    if (piece !== undefined && piece.length < PIECE_CHARS) this.#pieces[last] = piece + text
    else if (text !== '') this.#pieces.push(text)
    this.#waiting += text.length
    if (this.#waiting > MEMORY_CHARS && this.#buffer === undefined && this.#state === 'open') this.#spill()
  }

  #spill(): void {
    try {
      this.#fd ??= this.#openFile()
      this.#buffer ??= Buffer.allocUnsafe(BATCH_CHARS * 2)
      const bytes = this.#encode(this.#buffer)
      write(this.#fd, this.#buffer, 0, bytes, this.#filed * 2, (error, count) => this.#written(error, count))
    } catch (error) {
      this.#fail(error)
    }
  }

  /** As many of the first pieces as there is room for; answers how many bytes. */
  #encode(buffer: Buffer): number {
    let bytes = 0
    for (const piece of this.#pieces) {
      bytes += buffer.write(piece, bytes, 'utf16le')
      if (buffer.length - bytes < 2) break
    }
    return bytes
  }

  /** What is in the file is let go of in memory; a character that was cut in half is written again. */
  #written(error: Error | null, count: number): void {
    const characters = Math.floor(count / 2)
    if (this.#state === 'disposed') this.#closeFile()
    else if (error !== null || characters === 0) this.#fail(error ?? new Error('nothing was written'))
    else {
      this.#letGo(characters)
      if (this.#waiting > MEMORY_CHARS) this.#spill()
      else this.#buffer = undefined
    }
  }

  #letGo(characters: number): void {
    this.#filed += characters
    this.#waiting -= characters
    let left = characters
    let whole = 0
    for (const piece of this.#pieces) {
      if (piece.length > left) break
      left -= piece.length
      whole++
    }
    this.#pieces.splice(0, whole)
    const [first] = this.#pieces
    if (first !== undefined && left > 0) this.#pieces[0] = first.slice(left)
  }

  /** What is in memory stays there, and no more is taken. */
  #fail(error: unknown): void {
    this.#state = 'full'
    this.#buffer = undefined
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
    this.#buffer = undefined
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
