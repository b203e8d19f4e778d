import { dirname } from 'node:path'
import { isWithin } from '../within.ts'
import type { Disk, Stat } from './disk.ts'
import { folded, foldedPath } from './names.ts'
import { type Owning, openOwn } from './own.ts'
import { realOf } from './resolve.ts'

/** A project's policy. It is nobody's but a person's, wherever it lies. */
export const POLICY_NAME = 'imago.toml'

/** What no tool may touch, there or not. */
export interface Protected {
  /** Why the path is protected, as a clause; `stat` is of what is there. Throws what the disk throws. */
  reason(disk: Disk, path: string, stat: Stat | undefined): string | undefined
  /** What is Imago's own at this moment, for a look at many names. Throws what the disk throws. */
  glance(disk: Disk): Glance
}

export interface Glance {
  /** Tells which names are protected in a folder that is not, and that was reached from another one by names like these. */
  in(folder: string): (name: string, stat: Stat | undefined) => boolean
}

/** Those paths and all that is in them, under every name, and every `imago.toml`. */
export function openProtected(owning: Owning): Protected {
  const { paths } = owning
  const own = openOwn(owning)
  // Both ways of writing them: a link on the way to them may come or go.
  const spelledNow = (disk: Disk) => paths.flatMap(each => [each, realOf(disk, each) ?? each])
  return {
    reason(disk, path, stat) {
      if (path.split('/').some(isPolicyName))
        return `every ${POLICY_NAME} is the policy of a project, and a person’s to write`
      const spelled = spelledNow(disk)
      const inside = spelled.find(each => isWithin(foldedPath(path), foldedPath(each)))
      if (inside !== undefined) return `${inside} is Imago’s own`
      const now = own(disk)
      if (stat !== undefined && (now.has(stat.id) || now.hasPiled(stat)))
        return 'it is another name of something of Imago’s own'
      const above = foldersAbove(disk, path).find(id => now.has(id))
      return above === undefined ? undefined : 'it is in a folder that is another name of one of Imago’s own'
    },
    glance(disk) {
      const now = own(disk)
      const spelled = spelledNow(disk).map(foldedPath)
      return {
        in(folder) {
          const at = foldedPath(folder).replace(/\/$/, '')
          const near = spelled.filter(each => isWithin(each, at || '/'))
          return (name, stat) =>
            isPolicyName(name) ||
            near.some(each => isWithin(`${at}/${folded(name)}`, each)) ||
            (stat !== undefined && (now.has(stat.id) || now.hasPiled(stat)))
        },
      }
    },
  }
}

const isPolicyName = (name: string): boolean => folded(name) === POLICY_NAME

function foldersAbove(disk: Disk, path: string): string[] {
  const ids: string[] = []
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    const id = disk.lstat(folder)?.id
    if (id !== undefined) ids.push(id)
  }
  return ids
}
