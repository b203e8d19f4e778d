import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf } from '../../wire/errors.ts'

interface Names {
  /** The next name, each byte of it as one character (Latin-1), for not every name is UTF-8; undefined at the end. */
  next(): RawName | undefined
  close(): void
}

export interface RawName {
  readonly bytes: string
  readonly kind: Stat['kind']
}

export type OpenMode =
  | { readonly for: 'reading' }
  | { readonly for: 'looking into a folder' }
  /** Throws EEXIST where anything has that name, a link included. */
  | { readonly for: 'making'; readonly mode: number }

/** What one name or descriptor leads to. */
export interface Stat {
  readonly kind: 'file' | 'folder' | 'link' | 'pipe' | 'socket' | 'device'
  /** Device and inode: the same for two names exactly if they lead to the same thing. */
  readonly id: string
  /** Permissions only, as in `chmod`. */
  readonly mode: number
  readonly size: number
  /** How many names it has. */
  readonly names: number
  readonly uid: number
  readonly gid: number
  /** When its content last changed, in milliseconds since 1970, down to the microsecond. */
  readonly changedMs: number
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY, O_NOCTTY } = constants

const CAREFULLY = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY

/**
 * All that Imago ever asks of the file system for the files of a project: one small object, so that a test can fail the
 * Nth call, or act between any two. Every method throws what `node:fs` throws, with a `code`.
 */
export const NODE_DISK = {
  /** Of the name itself: a link is not followed. Undefined where nothing has that name. */
  lstat: (path: string) => statOf(lstatSync(path, { bigint: true, throwIfNoEntry: false })),
  /** Of what the name leads to. */
  stat: (path: string) => statOf(statSync(path, { bigint: true, throwIfNoEntry: false })),
  fstat: (fd: number) => statOf(fstatSync(fd, { bigint: true })),
  readlink: (path: string) => readlinkSync(path),
  readdir: (path: string) => readdirSync(path),
  /** The names in a folder, a few at a time and in no order, so that one with any number of them costs no memory. */
  names: (path: string) => namesOf(path),
  mkdir: (path: string, mode: number) => void mkdirSync(path, { mode }),
  /** Throws ENOTEMPTY where anything is in it. */
  rmdir: (path: string) => rmdirSync(path),
  /** Opens without following a last link, without waiting for the other end of a pipe, and closed in children. */
  open(path: string, how: OpenMode): number {
    switch (how.for) {
      case 'reading':
        return openSync(path, O_RDONLY | CAREFULLY)
      case 'looking into a folder':
        return openSync(path, O_RDONLY | O_DIRECTORY | CAREFULLY)
      case 'making':
        return openSync(path, O_WRONLY | O_CREAT | O_EXCL | CAREFULLY, how.mode)
      default:
        throw how satisfies never
    }
  },
  close: (fd: number) => closeSync(fd),
  /** How many bytes came; 0 at the end. */
  read: (fd: number, into: Uint8Array, { from, at }: { readonly from: number; readonly at: number }) =>
    readSync(fd, into, from, into.length - from, at),
  /** How many of the bytes were taken. */
  write: (fd: number, bytes: Uint8Array) => writeSync(fd, bytes),
  chmod: (fd: number, mode: number) => fchmodSync(fd, mode),
  chown: (fd: number, uid: number, gid: number) => fchownSync(fd, uid, gid),
  /** Until the disk has it. Works for a folder too. */
  sync: promisify(fsync),
  /** Replaces what has the new name, in one step. */
  rename: (from: string, to: string) => renameSync(from, to),
  /** A further name; throws EEXIST where it is taken. */
  link: (from: string, to: string) => linkSync(from, to),
  unlink: (path: string) => unlinkSync(path),
}

export type Disk = Readonly<typeof NODE_DISK>

/**
 * The same disk, which is asked once about each name: for one operation that pauses nowhere, and that sees all names as
 * they are at one moment. Not for longer.
 */
export function eachNameOnce(disk: Disk): Disk {
  const seen = new Map<string, Stat | undefined>()
  return {
    ...disk,
    lstat(path) {
      if (!seen.has(path)) seen.set(path, disk.lstat(path))
      return seen.get(path)
    },
  }
}

/** How many names the system is asked for at once. */
const NAMES_AT_ONCE = 256

function namesOf(path: string): Names {
  // Node knows this encoding here, its types do not.
  const folder = opendirSync(path, { encoding: 'buffer' as BufferEncoding, bufferSize: NAMES_AT_ONCE })
  return {
    next() {
      const entry = folder.readSync()
      if (entry === null) return undefined
      const name: unknown = entry.name
      return { bytes: Buffer.from(name as Uint8Array).toString('latin1'), kind: kindOf(entry) }
    },
    close: () => folder.closeSync(),
  }
}

function statOf(stat: BigIntStats): Stat

function statOf(stat: BigIntStats | undefined): Stat | undefined

function statOf(stat: BigIntStats | undefined): Stat | undefined {
  if (stat === undefined) return undefined
  return {
    kind: kindOf(stat),
    id: `${stat.dev}:${stat.ino}`,
    mode: Number(stat.mode) & 0o7777,
    size: Number(stat.size),
    names: Number(stat.nlink),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    changedMs: Number(stat.mtimeNs / 1_000n) / 1_000,
  }
}

function kindOf(stat: BigIntStats | Dirent): Stat['kind'] {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'folder'
  if (stat.isSymbolicLink()) return 'link'
  if (stat.isFIFO()) return 'pipe'
  return stat.isSocket() ? 'socket' : 'device'
}

/** The whole content, from the beginning. Undefined where it is longer than `most` bytes. */
export function readAll(disk: Disk, { fd, most }: { fd: number; most: number }): Uint8Array | undefined {
  let bytes = new Uint8Array(Math.min(disk.fstat(fd).size, most) + 1)
  let length = 0
  for (;;) {
    const count = disk.read(fd, bytes, { from: length, at: length })
    length += count
    if (length > most) return undefined
    if (count === 0) return bytes.slice(0, length)
    if (length < bytes.length) continue
    const longer = new Uint8Array(Math.min(length * 2, most) + 1)
    longer.set(bytes)
    bytes = longer
  }
}

/** A file for reading; undefined where the name leads to none any more, or to a link. */
export function openIfThere(disk: Disk, path: string): number | undefined {
  try {
    return disk.open(path, { for: 'reading' })
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENXIO'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}

export function closeQuietly(disk: Disk, fd: number): void {
  try {
    disk.close(fd)
  } catch {
    // It was only read.
  }
}

/** The content of the file of that name; undefined where it is longer than `most` bytes. */
export function readFileAt(disk: Disk, path: string, most: number): Uint8Array | undefined {
  const fd = disk.open(path, { for: 'reading' })
  try {
    return readAll(disk, { fd, most })
  } finally {
    closeQuietly(disk, fd)
  }
}

/** All of the bytes, in as many turns as it takes. */
export function writeAll(disk: Disk, { fd, bytes }: { fd: number; bytes: Uint8Array }): void {
  let done = 0
  while (done < bytes.length) {
    const count = disk.write(fd, bytes.subarray(done))
    if (count <= 0) throw Object.assign(new Error('EIO: nothing more was taken'), { code: 'EIO' })
    done += count
  }
}

/** A folder held by a descriptor: its names lead into it even where its own path leads elsewhere by now. */
export interface Folder {
  readonly fd: number
  /** Device and inode. */
  readonly id: string
  /** A path for the disk to that name in it. */
  at(name: string): string
  /** Whether its path still leads to it. */
  isHere(): boolean
  close(): void
}

/** How the names in a folder are reached; `true` where the system has `/proc/self/fd`. */
export interface FolderAccess {
  readonly disk: Disk
  readonly throughProc: boolean
}

/** Where Linux shows what is open. */
const OPEN_FILES = '/proc/self/fd'

export function hasOpenFiles(disk: Disk): boolean {
  return process.platform === 'linux' && disk.stat(OPEN_FILES)?.kind === 'folder'
}

/**
 * Opens the folder at a path without links. Undefined where it is not there, or the path leads elsewhere by now.
 *
 * Through `/proc/self/fd/N/name` a name counts from the descriptor, as `openat` has it: a folder that is swapped for a
 * link redirects nothing. Elsewhere a name counts from the path, and device and inode are compared before and after
 * each use; between the two is a window of one system call, which a racing process of the same user can hit.
 */
export function pinFolder({ disk, throughProc }: FolderAccess, path: string): Folder | undefined {
  const fd = openFolder(disk, path)
  if (fd === undefined) return undefined
  const close = () => closeQuietly(disk, fd)
  try {
    const { id } = disk.fstat(fd)
    const way = throughProc ? `${OPEN_FILES}/${fd}` : path
    const isHere = () => {
      if (throughProc && disk.readlink(way) !== path) return false
      const found = disk.lstat(path)
      return found?.kind === 'folder' && found.id === id
    }
    const folder: Folder = { fd, id, at: name => join(way, name), isHere, close }
    if (isHere()) return folder
    close()
    return undefined
  } catch (error) {
    close()
    throw error
  }
}

function openFolder(disk: Disk, path: string): number | undefined {
  try {
    return disk.open(path, { for: 'looking into a folder' })
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}

/** The file is not what the change was worked out from; the message is a clause. */
export class StaleFile extends Error {
  override readonly name = 'StaleFile'
}
