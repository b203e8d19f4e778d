import type { FileChange } from '../../../tools/proposal.ts'
import { closeQuietly, Moved } from './comparing.ts'
import { type Disk, errnoOf, readAll, type Stat, writeAll } from './disk.ts'
import { sameBytes } from './mark.ts'

export interface Staging {
  readonly disk: Disk
  /** Where the disk makes it. */
  readonly path: string
  readonly bytes: Uint8Array
  /** What it takes the place of; undefined for a new file. */
  readonly old: Stat | undefined
  readonly identity: FileChange['identity']
  /** Told what is being done to it, as a participle. */
  doing(what: string): void
}

/** Writes new content under a temporary name, to the disk. Throws what the disk throws. */
export async function stage(o: Staging): Promise<Stat> {
  const { disk, path, bytes, old, identity, doing } = o
  doing('written')
  const isPrivate = old !== undefined || identity?.mode !== undefined
  const fd = disk.open(path, { for: 'making', mode: isPrivate ? 0o600 : 0o666 })
  let staged: Stat
  try {
    writeAll(disk, { fd, bytes })
    doing('given its owner and mode')
    giveOwnerAndMode(o, fd)
    doing('written to the disk')
    await disk.sync(fd)
    staged = disk.fstat(fd)
  } finally {
    disk.close(fd)
  }
  if (staged.size !== bytes.length)
    throw Object.assign(new Error('EIO: not all of it was written'), { code: 'EIO' })
  return staged
}

/** The mark that lets a file run as its owner goes, as it does with any write. */
function giveOwnerAndMode({ disk, old, identity }: Staging, fd: number): void {
  const made = disk.fstat(fd)
  const owner = old ?? ownerIn(identity)
  if (owner !== undefined && (owner.uid !== made.uid || owner.gid !== made.gid))
    disk.chown(fd, owner.uid, owner.gid)
  const mode = old?.mode ?? identity?.mode
  if (mode !== undefined) disk.chmod(fd, mode & 0o1777)
}

function ownerIn(identity: FileChange['identity']): Pick<Stat, 'uid' | 'gid'> | undefined {
  const [uid, gid] = identity?.owner?.split(':').map(Number) ?? []
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}

/**
 * Whether what was written is still there, to the last byte: another program of the user may have found the temporary
 * name. Throws `Moved` where it is not, or what the disk throws.
 */
export function compareStaged(o: {
  readonly disk: Disk
  readonly path: string
  readonly bytes: Uint8Array
  readonly staged: Stat
  readonly shown: string
}): void {
  const { disk, path, bytes, staged, shown } = o
  const fd = openStaged(o)
  try {
    const { id, mode, uid, gid } = disk.fstat(fd)
    const same = id === staged.id && mode === staged.mode && uid === staged.uid && gid === staged.gid
    const now = same ? readAll(disk, { fd, most: bytes.length }) : undefined
    if (now === undefined || !sameBytes(now, bytes)) throw touched(shown)
  } finally {
    closeQuietly(disk, fd)
  }
  function openStaged({ disk }: { disk: Disk }): number {
    try {
      return disk.open(path, { for: 'reading' })
    } catch (error) {
      if (['ENOENT', 'ELOOP', 'ENXIO'].includes(errnoOf(error) ?? '')) throw touched(shown)
      throw error
    }
  }
}

/** The same as far as one look tells: it has not been written to since, unless somebody set its times back. */
export function checkStaged(o: {
  readonly disk: Disk
  readonly path: string
  readonly staged: Stat
  readonly shown: string
}): void {
  const { disk, path, staged, shown } = o
  const now = disk.lstat(path)
  if (now?.id !== staged.id || now.size !== staged.size || now.changedMs !== staged.changedMs)
    throw touched(shown)
}

const touched = (shown: string) =>
  new Moved(`the new content of ${shown} was changed by another program before it was in place`)
