import { basename } from 'node:path'
import type { FileChange } from '../../../tools/proposal.ts'
import { type Disk, errnoOf, readAll, type Stat } from './disk.ts'
import type { Folder } from './folder.ts'
import { causeOf, identityOf, markOf, sameBytes } from './mark.ts'

/** The file is not what the change was worked out from; the message is a clause. */
export class Moved extends Error {
  override readonly name = 'Moved'
}

/** A file that a change is about to replace, held open. */
export interface OldFile {
  readonly fd: number
  readonly stat: Stat
}

export interface Comparing {
  readonly disk: Disk
  readonly change: FileChange
  readonly folder: Folder
  /** Bytes of the largest file. */
  readonly most: number
}

/**
 * Throws `Moved` unless folder and file are those of the plan, and the file holds what it held. Answers the file, for
 * the caller to close; undefined where none is there, and none is to be.
 */
export function openCompared(o: Comparing): OldFile | undefined {
  const { disk, change, folder } = o
  const { shown, identity, before } = change
  if (!folder.isHere() || folder.id !== identity?.folder)
    throw new Moved(`the folder of ${shown} is another one now`)
  const path = folder.at(basename(change.path))
  const named = disk.lstat(path)
  if (named !== undefined && named.kind !== 'file')
    throw new Moved(`${shown} was replaced by a ${named.kind}`)
  if (named === undefined) {
    if (before !== null) throw new Moved(`${shown} was deleted`)
    return undefined
  }
  const fd = openUnless(disk, path, `${shown} was deleted or replaced at the last moment`)
  try {
    const stat = disk.fstat(fd)
    if (stat.id !== named.id) throw new Moved(`${shown} is another file now`)
    compareOpen(o, fd)
    return { fd, stat }
  } catch (error) {
    closeQuietly(disk, fd)
    throw error
  }
}

/** Bytes, mode, owner and identity of the open file. Throws `Moved` where one of them is another. */
export function compareOpen({ disk, change, most }: Comparing, fd: number): void {
  const { shown, before, identity } = change
  const stat = disk.fstat(fd)
  const bytes = readAll(disk, { fd, most })
  if (bytes === undefined) throw new Moved(`${shown} has grown beyond ${most} bytes`)
  const now = markOf(stat, bytes)
  if (before === null) throw new Moved(`${shown} ${causeOf(undefined, now)}`)
  if (!sameBytes(before, bytes)) throw new Moved(`${shown} ${causeOf(markOf(stat, before), now)}`)
  if (identityOf(stat) !== identity?.file) throw new Moved(`${shown} ${otherIdentity(identity?.file, stat)}`)
}

export function closeQuietly(disk: Disk, fd: number): void {
  try {
    disk.close(fd)
  } catch {
    // It was only read.
  }
}

function openUnless(disk: Disk, path: string, moved: string): number {
  try {
    return disk.open(path, { for: 'reading' })
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENXIO'].includes(errnoOf(error) ?? '')) throw new Moved(moved)
    throw error
  }
}

function otherIdentity(was: string | null | undefined, now: Stat): string {
  const [id, mode, owner] = (was ?? '').split(' ')
  if (id !== now.id) return 'is another file of the same content'
  const octal = now.mode.toString(8)
  if (mode !== octal) return `has another mode: ${mode} before, ${octal} now`
  return `has another owner: ${owner} before, ${now.uid}:${now.gid} now`
}
