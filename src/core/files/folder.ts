import { join } from 'node:path'
import { type Disk, errnoOf } from './disk.ts'

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
export interface Pinning {
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
export function pinFolder({ disk, throughProc }: Pinning, path: string): Folder | undefined {
  const fd = openFolder(disk, path)
  if (fd === undefined) return undefined
  const close = () => {
    try {
      disk.close(fd)
    } catch {
      // It was only looked into.
    }
  }
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
