import { closeSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** The part of `node:fs` that appending uses; a test passes one that fails at its Nth call. */
export interface LineFiles {
  /** Opens for appending, and says whether the file ends in the middle of a line. */
  open(path: string): { readonly fd: number; readonly torn: boolean }
  /** How many of the bytes were taken. */
  write(fd: number, bytes: Uint8Array): number
  close(fd: number): void
}

/** Not all lines are in the file. `written` of them are, and none of the others counts for a reader. */
export class AppendError extends Error {
  override readonly name = 'AppendError'
  readonly written: number

  constructor(message: string, { written, cause }: { written: number; cause: unknown }) {
    super(message, { cause })
    this.written = written
  }
}

// A reader skips lines that do not parse. Closing a torn line so keeps it from being taken for a whole one.
const TORN = ' #torn\n'

/** A text file that only grows, by whole lines. A line that was torn by a failure is marked, and left behind. */
export class LineFile {
  readonly path: string
  readonly #files: LineFiles
  #fd: number | undefined
  #torn = false

  /** Makes the file and its directory, for their owner only; throws `AppendError` where it cannot be written. */
  constructor(path: string, files: LineFiles = NODE_FILES) {
    this.path = path
    this.#files = files
    this.#open()
  }

  /** Each line ends in a newline. They are in the file when this returns; throws `AppendError` if not all are. */
  append(lines: readonly string[]): void {
    const fd = this.#fd ?? this.#open()
    const mark = this.#torn ? TORN : ''
    const bytes = Buffer.from(mark + lines.join(''))
    let done = 0
    try {
      while (done < bytes.length) done += this.#took(fd, done === 0 ? bytes : bytes.subarray(done))
      this.#torn = false
    } catch (cause) {
      this.#torn ||= done > 0
      this.close()
      const written = wholeLines(lines, done - mark.length)
      throw new AppendError(`${this.path} could not be written: ${messageOf(cause)}`, { written, cause })
    }
  }

  /** Let go of the descriptor; the next `append` opens the file again. */
  close(): void {
    const fd = this.#fd
    this.#fd = undefined
    try {
      if (fd !== undefined) this.#files.close(fd)
    } catch {
      // It is given up either way.
    }
  }

  #took(fd: number, bytes: Uint8Array): number {
    const count = this.#files.write(fd, bytes)
    if (count <= 0) throw new Error('nothing more was taken')
    return count
  }

  #open(): number {
    try {
      const { fd, torn } = this.#files.open(this.path)
      this.#fd = fd
      this.#torn ||= torn
      return fd
    } catch (cause) {
      throw new AppendError(`${this.path} cannot be opened for writing: ${messageOf(cause)}`, {
        written: 0,
        cause,
      })
    }
  }
}

function wholeLines(lines: readonly string[], bytes: number): number {
  let left = bytes
  const cut = lines.findIndex(line => {
    left -= Buffer.byteLength(line)
    return left < 0
  })
  return cut === -1 ? lines.length : cut
}

export const NODE_FILES: LineFiles = {
  open(path) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const fd = openSync(path, 'a+', 0o600)
    const { size } = fstatSync(fd)
    const last = Buffer.alloc(1)
    return { fd, torn: size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a }
  },
  write: (fd, bytes) => writeSync(fd, bytes),
  close: closeSync,
}

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))
