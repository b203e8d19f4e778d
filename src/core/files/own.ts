import { join } from 'node:path'
import { type Disk, errnoOf, type Stat } from './disk.ts'

/** How deep Imago nests folders in its own, and a little more. */
const DEEPEST = 8

/** Whoever looks again so soon after a folder changed may see the same time on it, though it changed once more. */
const SETTLED_MS = 2_000

export interface Owning {
  /** Folders and files of Imago's own, there or not. */
  readonly paths: readonly string[]
  /**
   * Folders in them that hold any number of files, no folders, and never two files by one name. None is looked into
   * but for a file with several names, and then only names that are new are looked at.
   */
  readonly piles: readonly string[]
  /** Milliseconds since 1970. */
  now(): number
}

/** What is Imago's own at one moment, known by device and inode. */
export interface Own {
  /** Whether it is one of the paths, or anything in them but what is in a pile. */
  has(id: string): boolean
  /** Whether something with several names has one of them in a pile. Throws what the disk throws. */
  hasPiled(stat: Stat): boolean
}

/** One folder of Imago's own, as it was when its names were last looked at. */
interface Listing {
  readonly id: string
  readonly changedMs: number
  /** Whether the same time on the folder means the same names in it. */
  readonly isSettled: boolean
  /** What each name leads to. */
  readonly found: ReadonlyMap<string, Pick<Stat, 'id' | 'kind'>>
}

interface Place {
  readonly path: string
  readonly stat: Stat
}

/**
 * Looks at each folder of Imago's own every time, and at what is in it only where the folder says that its names have
 * changed: what a look costs does not grow with what is kept. Throws what the disk throws.
 */
export function openOwn({ paths, piles, now }: Owning): (disk: Disk) => Own {
  const listings = new Map<string, Listing>()

  function listing(disk: Disk, { path, stat }: Place): Listing {
    const was = listings.get(path)
    const isSame = was?.id === stat.id && was.changedMs === stat.changedMs
    if (isSame && was.isSettled) return was
    const known = piles.includes(path) && was?.id === stat.id ? was.found : undefined
    const isSettled = now() - stat.changedMs > SETTLED_MS
    const found = new Map<string, Pick<Stat, 'id' | 'kind'>>()
    for (const name of namesIn(disk, path)) {
      const one = known?.get(name) ?? disk.lstat(join(path, name))
      if (one !== undefined) found.set(name, { id: one.id, kind: one.kind })
    }
    const fresh = { id: stat.id, changedMs: stat.changedMs, isSettled, found }
    listings.set(path, fresh)
    return fresh
  }

  function gather(
    disk: Disk,
    place: Place,
    into: { readonly ids: Set<string>; readonly piles: string[] },
    depth = 0,
  ): void {
    const { path, stat } = place
    into.ids.add(stat.id)
    if (stat.kind !== 'folder' || depth === DEEPEST) return
    if (piles.includes(path)) return void into.piles.push(path)
    for (const [name, { id, kind }] of listing(disk, place).found) {
      into.ids.add(id)
      const inner = join(path, name)
      // A pile is looked at only where it matters what is in it.
      if (piles.includes(inner)) into.piles.push(inner)
      const now = kind === 'folder' && !piles.includes(inner) ? disk.lstat(inner) : undefined
      if (now !== undefined) gather(disk, { path: inner, stat: now }, into, depth + 1)
    }
  }

  return disk => {
    const all = { ids: new Set<string>(), piles: [] as string[] }
    for (const path of paths) {
      const stat = disk.stat(path)
      if (stat !== undefined) gather(disk, { path, stat }, all)
    }
    return {
      has: id => all.ids.has(id),
      hasPiled: ({ id, kind, names }) =>
        kind !== 'folder' && names > 1 && all.piles.some(path => pileHas(disk, path, id)),
    }
  }

  function pileHas(disk: Disk, path: string, id: string): boolean {
    const stat = disk.lstat(path)
    if (stat?.kind !== 'folder' || deviceOf(stat.id) !== deviceOf(id)) return false
    return [...listing(disk, { path, stat }).found.values()].some(one => one.id === id)
  }
}

/** Two names of one file are on one device. */
const deviceOf = (id: string) => id.slice(0, id.indexOf(':'))

/** A folder of Imago's own may go while it is looked at. */
function namesIn(disk: Disk, folder: string): readonly string[] {
  try {
    return disk.readdir(folder)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}
