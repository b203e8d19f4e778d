import type { FileChange } from '../../../tools/proposal.ts'
import { closeQuietly } from './comparing.ts'
import { type Disk, readAll, type Stat } from './disk.ts'
import { sameBytes } from './mark.ts'
import type { Place } from './place.ts'
import type { Holds } from './refused.ts'

/** A file whose name may lead elsewhere by what we did. */
export interface Touched {
  readonly disk: Disk
  readonly place: Pick<Place, 'target' | 'temporary' | 'aside'>
  readonly change: FileChange
  /** Bytes of the largest file. */
  readonly most: number
  /** The new file and the old one; undefined where there is none. */
  readonly staged: Stat | undefined
  readonly old: Stat | undefined
}

/** Which of the two contents the name leads to now. Never throws. */
export function whatItHolds({ disk, place, change, staged, old }: Touched): Holds {
  try {
    const there = disk.lstat(place.target)
    if (there !== undefined && there.id === staged?.id) return 'new'
    if (there?.id === old?.id) return 'old'
    return there === undefined && change.after === null ? 'new' : 'unknown'
  } catch {
    return 'unknown'
  }
}

/** Gives the old file, which is aside, its name again. False where somebody else's file has it. Throws what the disk throws. */
export function restore({ disk, place, staged }: Touched): boolean {
  const there = disk.lstat(place.target)
  if (there === undefined) disk.link(place.aside, place.target)
  else if (there.id === staged?.id) disk.rename(place.aside, place.target)
  else return false
  return true
}

/**
 * Takes a file that was made away again, unless somebody has replaced it, or written into it since: then it has its
 * name again, and may have the one aside too. Throws what the disk throws.
 */
export function removeMade(touched: Touched): 'removed' | 'theirs' | 'returned' {
  const { disk, place, staged } = touched
  if (disk.lstat(place.target)?.id !== staged?.id) return 'theirs'
  const name = takenAside(touched)
  if (isMade(touched, name)) return 'removed'
  disk.link(name, place.target)
  return 'returned'
}

/** The name that it has then: aside, or, on a disk that takes no new names, the temporary one that it still had. */
function takenAside({ disk, place, staged }: Touched): string {
  try {
    disk.rename(place.target, place.aside)
    return place.aside
  } catch (error) {
    // Reported is not always what happened.
    if (disk.lstat(place.aside)?.id === staged?.id) return place.aside
    if (disk.lstat(place.temporary)?.id !== staged?.id) throw error
    disk.unlink(place.target)
    return place.temporary
  }
}

function isMade({ disk, change, most, staged }: Touched, path: string): boolean {
  const { after } = change
  const fd = disk.open(path, { for: 'reading' })
  try {
    const bytes = readAll(disk, { fd, most })
    if (bytes === undefined || after === null) return false
    return disk.fstat(fd).id === staged?.id && sameBytes(bytes, after)
  } finally {
    closeQuietly(disk, fd)
  }
}
