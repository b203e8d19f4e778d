import type { FileChange } from '../../../tools/proposal.ts'
import { closeQuietly } from './comparing.ts'
import { type Disk, readAll, type Stat } from './disk.ts'
import { sameBytes } from './mark.ts'
import type { Place } from './place.ts'
import type { Holds } from './refused.ts'

/** A file whose name may lead elsewhere by what we did. */
export interface Touched {
  readonly disk: Disk
  readonly place: Pick<Place, 'target' | 'aside'>
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
 * Takes a file that was made away again, aside; unless somebody has replaced it, or written into it since: then it has
 * its name again, and may have the one aside too. Throws what the disk throws.
 */
export function removeMade(touched: Touched): 'aside' | 'theirs' | 'returned' {
  const { disk, place, staged } = touched
  if (disk.lstat(place.target)?.id !== staged?.id) return 'theirs'
  disk.rename(place.target, place.aside)
  if (isMade(touched)) return 'aside'
  disk.link(place.aside, place.target)
  return 'returned'
}

function isMade({ disk, place, change, most, staged }: Touched): boolean {
  const { after } = change
  const fd = disk.open(place.aside, { for: 'reading' })
  try {
    const bytes = readAll(disk, { fd, most })
    if (bytes === undefined || after === null) return false
    return disk.fstat(fd).id === staged?.id && sameBytes(bytes, after)
  } finally {
    closeQuietly(disk, fd)
  }
}
