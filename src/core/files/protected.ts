import { dirname } from 'node:path'
import { isWithin } from '../within.ts'
import type { Disk, Stat } from './disk.ts'
import { folded, foldedPath } from './names.ts'
import { type Owning, openOwn } from './own.ts'
import { realOf } from './resolve.ts'

/** A project's policy. It is nobody's but a person's, wherever it lies. */
const POLICY_NAME = 'imago.toml'

/** What no tool may touch, there or not. */
export interface Protected {
  /** Why the path is protected, as a clause; `stat` is of what is there. Throws what the disk throws. */
  reason(path: string, stat: Stat | undefined): string | undefined
}

/** Those paths and all that is in them, under every name, and every `imago.toml`. */
export function openProtected(owning: Owning): Protected {
  const { disk, paths } = owning
  const own = openOwn(owning)
  return {
    reason(path, stat) {
      if (path.split('/').some(name => folded(name) === POLICY_NAME))
        return `every ${POLICY_NAME} is the policy of a project, and a person’s to write`
      // Both ways of writing them: a link on the way to them may come or go.
      const spelled = paths.flatMap(each => [each, realOf(disk, each) ?? each])
      const inside = spelled.find(each => isWithin(foldedPath(path), foldedPath(each)))
      if (inside !== undefined) return `${inside} is Imago’s own`
      const now = own()
      if (stat !== undefined && (now.has(stat.id) || now.hasPiled(stat)))
        return 'it is another name of something of Imago’s own'
      const above = foldersAbove(disk, path).find(id => now.has(id))
      return above === undefined ? undefined : 'it is in a folder that is another name of one of Imago’s own'
    },
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
