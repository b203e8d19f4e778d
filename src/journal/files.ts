import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  type Stats,
  unlink,
  writeSync,
} from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf } from '../../wire/errors.ts'

const wholeSync = promisify(fsync)

const opened = promisify(open)

const readAsync = promisify(read)

/** All of `node:fs` that the journal uses. A test passes one that fails, or ends the process, at its Nth call. */
export const NODE_FILES = {
  /** The names in a directory; none where it is missing. */
  list(dir: string): readonly string[] {
    try {
      return readdirSync(dir)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    }
  },
  /** For its owner only, with those above it; nothing where it is there. */
  makeDirectory: (dir: string) => void mkdirSync(dir, { recursive: true, mode: 0o700 }),
  /** A new file for its owner only, to append to and to read; throws where there is one. */
  create: (path: string) => openSync(path, 'ax+', 0o600),
  /** One that is there, to append to and to read. */
  open: (path: string) => openSync(path, constants.O_RDWR | constants.O_APPEND),
  /** Throws for what is no regular file: a device has no end, and a pipe has none yet. */
  openToRead(path: string): number {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (fstatSync(fd).isFile()) return fd
    closeSync(fd)
    throw new Error(`${path} is not a regular file`)
  },
  /** `links` is 0 once the file was removed; `id` is its device and inode. */
  stat(fd: number) {
    const stat = fstatSync(fd)
    return { size: stat.size, links: stat.nlink, id: idOf(stat) }
  },
  /** What the name itself leads to, also where that is a link; undefined where nothing has it. */
  named(path: string) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat && { size: stat.size, id: idOf(stat) }
  },
  /** How many bytes were there. */
  read: (fd: number, into: Uint8Array, at: number) => readSync(fd, into, 0, into.length, at),
  /** The same, without holding up whatever else this process does. */
  readLater: async (fd: number, into: Uint8Array, at: number) =>
    (await readAsync(fd, into, 0, into.length, at)).bytesRead,
  /** How many of the bytes were taken. */
  write: (fd: number, bytes: Uint8Array) => writeSync(fd, bytes),
  truncate: (fd: number, size: number) => ftruncateSync(fd, size),
  /** What was written is on the disk once this resolves. */
  sync: promisify(fdatasync),
  /** The names in a directory are on the disk once this resolves. */
  async syncDirectory(dir: string): Promise<void> {
    const fd = await opened(dir, 'r')
    try {
      await wholeSync(fd)
    } finally {
      closeSync(fd)
    }
  },
  rename: (from: string, to: string) => renameSync(from, to),
  remove: promisify(unlink),
  close: (fd: number) => closeSync(fd),
}

export type JournalFiles = Readonly<typeof NODE_FILES>

const idOf = ({ dev, ino }: Stats) => `${dev}:${ino}`
