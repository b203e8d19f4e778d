import { dirname, join } from 'node:path'
import type { Disk, Stat } from './disk.ts'

/** As many as Linux follows. */
const MOST_LINKS = 40

export type Resolved =
  | {
      readonly type: 'resolved'
      /** As much of the path as is there, without links. */
      readonly there: string
      /** What is there. */
      readonly stat: Stat
      /** The names behind it that are not there. */
      readonly missing: readonly string[]
      readonly throughLink: boolean
      /** Whether the last name of the path was a link. */
      readonly isLink: boolean
    }
  | {
      readonly type: 'unresolved'
      readonly reason: 'link_loop' | 'not_a_folder' | 'bad_name'
      readonly why: string
    }

/**
 * Goes an absolute path the way the system would, name by name. A link is followed by its text, also one to nowhere
 * and those that Linux makes up under /proc: what comes out is a path without links, and nothing else is ever opened.
 * Throws what the disk throws.
 */
export function resolvePath(disk: Disk, path: string): Resolved {
  const left = namesOf(path)
  let there = '/'
  let stat = statOf(disk, there)
  let links = 0
  let isLink = false
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (stat.kind !== 'folder')
      return { type: 'unresolved', reason: 'not_a_folder', why: `${there} is no folder, so nothing is in it` }
    const next = name === '..' ? dirname(there) : join(there, name)
    const found = disk.lstat(next)
    if (found === undefined) {
      const missing = [name, ...left.reverse()]
      if (missing.includes('..'))
        return {
          type: 'unresolved',
          reason: 'bad_name',
          why: `it goes up with ".." from ${next}, which is not there`,
        }
      return { type: 'resolved', there, stat, missing, throughLink: links > 0, isLink }
    }
    if (found.kind !== 'link') {
      there = next
      stat = found
      continue
    }
    links++
    if (links > MOST_LINKS)
      return { type: 'unresolved', reason: 'link_loop', why: `more than ${MOST_LINKS} links lie on its way` }
    isLink ||= left.length === 0
    const target = disk.readlink(next)
    left.push(...namesOf(target))
    if (!target.startsWith('/')) continue
    there = '/'
    stat = statOf(disk, there)
  }
  return { type: 'resolved', there, stat, missing: [], throughLink: links > 0, isLink }
}

/** The path without links where it is there, and otherwise as far as it is. Undefined where it leads nowhere. */
export function realOf(disk: Disk, path: string): string | undefined {
  const found = resolvePath(disk, path)
  return found.type === 'resolved' ? join(found.there, ...found.missing) : undefined
}

/** The last one first. */
function namesOf(path: string): string[] {
  return path
    .split('/')
    .filter(name => name !== '' && name !== '.')
    .reverse()
}

function statOf(disk: Disk, folder: string): Stat {
  const stat = disk.lstat(folder)
  if (stat === undefined) throw new Error(`${folder} is not there`)
  return stat
}
