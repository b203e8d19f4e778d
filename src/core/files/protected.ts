import { dirname, join } from 'node:path'
import { type Disk, errnoOf, type Stat } from './disk.ts'
import { folded, foldedPath } from './names.ts'
import { realOf } from './resolve.ts'

/** A project's policy. It is nobody's but a person's, wherever it lies. */
const POLICY_NAME = 'imago.toml'

/** How deep Imago nests folders in its own, and a little more. */
const DEEPEST = 8

/** What no tool may touch, there or not. */
export interface Protected {
  /** Why the path is protected, as a clause; `stat` is of what is there. Throws what the disk throws. */
  reason(path: string, stat: Stat | undefined): string | undefined
}

/** Those paths and all that is in them, under every name, and every `imago.toml`. */
export function openProtected(disk: Disk, paths: readonly string[]): Protected {
  return {
    reason(path, stat) {
      if (path.split('/').some(name => folded(name) === POLICY_NAME))
        return `every ${POLICY_NAME} is the policy of a project, and a person’s to write`
      // Both ways of writing them: a link on the way to them may come or go.
      const spelled = paths.flatMap(each => [each, realOf(disk, each) ?? each])
      const inside = spelled.find(each => isWithin(foldedPath(path), foldedPath(each)))
      if (inside !== undefined) return `${inside} is Imago’s own`
      const own = ownOf(disk, paths)
      if (stat !== undefined && own.has(stat.id)) return 'it is another name of something of Imago’s own'
      const above = foldersAbove(disk, path).find(id => own.has(id))
      return above === undefined ? undefined : 'it is in a folder that is another name of one of Imago’s own'
    },
  }
}

/** By component: `/a/bc` is not within `/a/b`. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === '/' || path.startsWith(`${folder}/`)
}

/** Device and inode of all that is in there now, to know it by whatever name. */
function ownOf(disk: Disk, paths: readonly string[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const path of paths) gather({ disk, path, ids, stat: disk.stat(path), depth: 0 })
  return ids
}

interface Gathering {
  readonly disk: Disk
  readonly path: string
  readonly stat: Stat | undefined
  readonly ids: Set<string>
  readonly depth: number
}

function gather({ disk, path, stat, ids, depth }: Gathering): void {
  if (stat === undefined) return
  ids.add(stat.id)
  if (stat.kind !== 'folder' || depth === DEEPEST) return
  for (const name of namesIn(disk, path)) {
    const inner = join(path, name)
    gather({ disk, path: inner, stat: disk.lstat(inner), ids, depth: depth + 1 })
  }
}

/** A folder of Imago's own may go while it is looked at. */
function namesIn(disk: Disk, folder: string): readonly string[] {
  try {
    return disk.readdir(folder)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}

function foldersAbove(disk: Disk, path: string): string[] {
  const ids: string[] = []
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    const id = disk.lstat(folder)?.id
    if (id !== undefined) ids.push(id)
  }
  return ids
}
