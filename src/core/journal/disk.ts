import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  mkdirSync,
  open,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  unlink,
  writeSync,
} from 'node:fs'
import { promisify } from 'node:util'

/** All of `node:fs` that the journal uses. A test passes one that fails, or ends the process, at its Nth call. */
export interface JournalFiles {
  /** The names in a directory; none where it is missing. */
  list(dir: string): readonly string[]
  /** For its owner only, with those above it; nothing where it is there. */
  makeDirectory(dir: string): void
  /** A new file for its owner only, to append to and to read; throws where there is one. */
  create(path: string): number
  /** One that is there, to append to and to read. */
  open(path: string): number
  openToRead(path: string): number
  /** `links` is 0 once the file was removed. */
  stat(fd: number): { readonly size: number; readonly links: number }
  /** How many bytes were there. */
  read(fd: number, into: Uint8Array, at: number): number
  /** The same, without holding up whatever else this process does. */
  readLater(fd: number, into: Uint8Array, at: number): Promise<number>
  /** How many of the bytes were taken. */
  write(fd: number, bytes: Uint8Array): number
  truncate(fd: number, size: number): void
  /** What was written is on the disk once this resolves. */
  sync(fd: number): Promise<void>
  /** The names in a directory are on the disk once this resolves. */
  syncDirectory(dir: string): Promise<void>
  rename(from: string, to: string): void
  remove(path: string): Promise<void>
  close(fd: number): void
}

const fileSync = promisify(fdatasync)
const wholeSync = promisify(fsync)
const opened = promisify(open)
const readAsync = promisify(read)

export const NODE_FILES: JournalFiles = {
  list(dir) {
    try {
      return readdirSync(dir)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
  },
  makeDirectory: dir => void mkdirSync(dir, { recursive: true, mode: 0o700 }),
  create: path => openSync(path, 'ax+', 0o600),
  open: path => openSync(path, constants.O_RDWR | constants.O_APPEND),
  openToRead: path => openSync(path, 'r'),
  stat(fd) {
    const { size, nlink } = fstatSync(fd)
    return { size, links: nlink }
  },
  read: (fd, into, at) => readSync(fd, into, 0, into.length, at),
  readLater: async (fd, into, at) => (await readAsync(fd, into, 0, into.length, at)).bytesRead,
  write: (fd, bytes) => writeSync(fd, bytes),
  truncate: (fd, size) => ftruncateSync(fd, size),
  sync: fd => fileSync(fd),
  async syncDirectory(dir) {
    const fd = await opened(dir, 'r')
    try {
      await wholeSync(fd)
    } finally {
      closeSync(fd)
    }
  },
  rename: renameSync,
  remove: promisify(unlink),
  close: closeSync,
}

/** The system's name of an error, `ENOSPC`; undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
