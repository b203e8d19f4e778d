import { join, relative } from 'node:path'
import type { Failed } from '../../../tools/outcome.ts'
import { holdsHome } from '../roots.ts'
import { isWithin } from '../within.ts'
import { type Disk, eachNameOnce, type Stat } from './disk.ts'
import { ALL_HIDDEN, faultOfNewName, faultOfPath, folded, holdsHidden } from './names.ts'
import { type Glance, openProtected } from './protected.ts'
import { fileFailed, pathRefused } from './refused.ts'
import { realOf, resolvePath } from './resolve.ts'

/** A path that a tool may touch. */
export interface Located {
  readonly type: 'located'
  /** Absolute, without links. */
  readonly path: string
  readonly shown: string
  /** What is there; undefined for what is not. */
  readonly stat: Stat | undefined
  /** The folders that it would be in and that are not there, outermost first, as paths without links. */
  readonly newFolders: readonly string[]
  readonly throughLink: boolean
  /** Whether the last name of the path that was asked for is a link. */
  readonly isLink: boolean
}

export interface Asked {
  /** The caller's project. */
  readonly root: string
  /** As the caller wrote it; a relative one counts from `root`. */
  readonly path: string
}

/** The only place that decides which paths tools may touch. */
export interface Confinement {
  locate(asked: Asked): Located | Failed
  /** What is Imago's own at this moment, for a look at many names. Throws what the disk throws. */
  glance(): Glance
  /** Where the caller's project and the further folders lie, without links; those that are not there are left out. */
  tops(root: string): { readonly root: string; readonly further: readonly string[] } | Failed
}

export interface Confining {
  readonly disk: Disk
  /** Further folders, besides the caller's project. */
  readonly roots: readonly string[]
  readonly protected: readonly string[]
  /** Where what was there before a change is kept: any number of files. */
  readonly kept: string
  /** The home directory, which is no project. */
  readonly home: string
  /** Milliseconds since 1970. */
  now(): number
}

export function openConfinement(confining: Confining): Confinement {
  const { disk, roots, protected: paths, kept, home, now } = confining
  const guard = openProtected({ paths, piles: [kept], now })
  const pinned = new Map<string, string>()

  /** Where a root lies stays as it was first seen: a link put in its place later leads out of it. */
  function pin(once: Disk, root: string): string | undefined {
    const known = pinned.get(root)
    if (known !== undefined) return known
    const found = resolvePath(once, root)
    if (found.type !== 'resolved' || found.missing.length > 0) return undefined
    pinned.set(root, found.there)
    return found.there
  }

  function locate(once: Disk, { root, path }: Asked): Located | Failed {
    const quoted = shortened(path)
    const fault = faultOfPath(path)
    if (fault !== undefined)
      return pathRefused('bad_name', { why: `${quoted} is no path: ${fault}.`, next: 'Write another one.' })
    const top = pin(once, root)
    if (top === undefined || top === '/' || holdsHome(top, realOf(once, home) ?? home)) return noProject(root)
    const found = resolvePath(once, path.startsWith('/') ? path : `${top}/${path}`)
    if (found.type === 'unresolved')
      return pathRefused(found.reason, {
        why: `${quoted} leads nowhere: ${found.why}.`,
        next: 'Write another path.',
      })

    const { there, missing, throughLink, isLink } = found
    const real = join(there, ...missing)
    const stat = missing.length === 0 ? found.stat : undefined
    const protection = guard.reason(once, real, stat)
    if (protection !== undefined) return isProtected(quoted, protection)
    const further = roots.flatMap(each => pin(once, each) ?? [])
    if (![top, ...further].some(each => isWithin(real, each))) return isOutside({ quoted, real, root: top })
    const refusal = missing.length === 0 ? undefined : refusalOfNew({ quoted, there, missing })
    if (refusal !== undefined) return refusal
    const shown = isWithin(real, top) ? relative(top, real) || '.' : real
    const newFolders = missing.slice(0, -1).map((_, number) => join(there, ...missing.slice(0, number + 1)))
    return { type: 'located', path: real, shown, stat, newFolders, throughLink, isLink }
  }

  /** Why nothing new may be made of these names, the first of them in the folder that is there. */
  function refusalOfNew(o: {
    quoted: string
    there: string
    missing: readonly string[]
  }): Failed | undefined {
    const fault = o.missing.map(faultOfNewName).find(each => each !== undefined)
    if (fault !== undefined)
      return pathRefused('bad_name', {
        why: `${o.quoted} cannot be made: ${fault}.`,
        next: 'Use another name.',
      })
    const [name = ''] = o.missing
    const alike = disk.readdir(o.there).find(each => each !== name && folded(each) === folded(name))
    if (alike === undefined) return undefined
    return pathRefused('looks_like', {
      why: `${o.quoted} is not there, but ${shortened(join(o.there, alike))} is, which differs only by case or spelling.`,
      next: 'Use that name, or one that cannot be taken for it.',
    })
  }

  return {
    locate(asked) {
      try {
        return locate(eachNameOnce(disk), asked)
      } catch (error) {
        return fileFailed(error, { what: 'looked for', shown: shortened(asked.path) })
      }
    },
    glance: () => guard.glance(eachNameOnce(disk)),
    tops(root) {
      const once = eachNameOnce(disk)
      const found = locate(once, { root, path: root })
      if (found.type === 'failed') return found
      return { root: found.path, further: roots.flatMap(each => pin(once, each) ?? []) }
    },
  }
}

/** What a person should know of the way to a file. */
export function remarksOn({ shown, throughLink }: Located): string[] {
  return [
    ...(throughLink ? ['It was reached through a link; the path here is where that leads.'] : []),
    ...(holdsHidden(shown) ? ['Its name holds characters that cannot be seen.'] : []),
  ]
}

const noProject = (root: string) =>
  pathRefused('no_project', {
    why: `${root} is no project: files are looked at and changed in a project’s folder only.`,
    next: 'Start in one. The home directory and what it lies in are never one.',
  })

const isProtected = (quoted: string, why: string) =>
  pathRefused('protected', {
    why: `${quoted} is not for tools: ${why}.`,
    next: 'If a person wants it changed, that person has to do it by hand.',
  })

const isOutside = (o: { quoted: string; real: string; root: string }) =>
  pathRefused('outside_project', {
    why: `${o.quoted} leads to ${shortened(o.real)}, outside of the project ${o.root}.`,
    next: 'Use a path inside it. The user can add further folders to config.toml: [files] roots = ["/path"].',
  })

const LONGEST_SHOWN = 300

/** As JSON quotes it, with whatever a person would not see written out. */
function shortened(path: string): string {
  const characters = [...path]
  const shown = characters.length > LONGEST_SHOWN ? `${characters.slice(0, LONGEST_SHOWN).join('')}…` : path
  return JSON.stringify(shown).replace(
    ALL_HIDDEN,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
