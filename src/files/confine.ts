import { dirname, join, relative } from 'node:path'
import type { Failed } from '../../tools/outcome.ts'
import { errnoOf } from '../../wire/errors.ts'
import { type Disk, eachNameOnce, NODE_DISK, type Stat } from './disk.ts'
import { fileFailed, pathRefused } from './refused.ts'
import { ALL_HIDDEN, folded, foldedPath, HIDDEN, holdsHome, isWithin } from './roots.ts'

/** The file systems that Imago runs on keep names to this many bytes, and paths to that many. */
const NAME_BYTES = 255

const PATH_BYTES = 4_095

/** How the names of Imago's own temporary files begin. */
export const TEMPORARY = '.imago-'

/** One such name, without its end: `NEW` for a file that is being written, `OLD` for one that is being replaced. */
export const STEM: RegExp = /^\.imago-[0-9a-f]{16}$/

export const NEW = '.new'

export const OLD = '.old'

const holdsHidden = (name: string): boolean => HIDDEN.test(name)

/** Why a text can be no path at all, as a clause; undefined where it can. */
function faultOfPath(path: string): string | undefined {
  if (path === '') return 'it is empty'
  if (path.includes('\0')) return 'it holds a NUL character'
  if (/\p{Cs}/u.test(path)) return 'it holds half of a character'
  if (Buffer.byteLength(path) > PATH_BYTES) return `it is longer than ${PATH_BYTES} bytes`
  const long = path.split('/').some(name => Buffer.byteLength(name) > NAME_BYTES)
  return long ? `a name in it is longer than ${NAME_BYTES} bytes` : undefined
}

/** Why nothing new may have that name, as a clause; undefined where it may. */
function faultOfNewName(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return `"${name}" is no name of a file`
  if (HIDDEN.test(name)) return 'a new name may hold no control, zero-width or direction characters'
  if (name.includes('\ufffd')) return 'it holds a character that could not be read'
  if (name.includes('\\')) return 'a new name may hold no backslash; "/" goes between the parts of a path'
  if (/[. ]$/.test(name)) return 'a new name may not end in a dot or a space'
  if (name.startsWith(' ')) return 'a new name may not begin with a space'
  if (name.startsWith(TEMPORARY)) return `names that begin with ${TEMPORARY} are Imago's own temporary files`
  return undefined
}

/** As many as Linux follows. */
const MOST_LINKS = 40

type Resolution =
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
function resolvePath(disk: Disk, path: string): Resolution {
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
function realOf(disk: Disk, path: string): string | undefined {
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

/** How deep Imago nests folders in its own, and a little more. */
const DEEPEST = 8

/** Whoever looks again so soon after a folder changed may see the same time on it, though it changed once more. */
const SETTLED_MS = 2_000

interface OwnOptions {
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
interface Own {
  /** Whether it is one of the paths, or anything in them but what is in a pile. */
  has(id: string): boolean
  /** Whether something with several names has one of them in a pile. Throws what the disk throws. */
  hasPiled(stat: Stat): boolean
}

/** One folder of Imago's own, as it was when its names were last looked at. */
interface OwnFolder {
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
function openOwn({ paths, piles, now }: OwnOptions): (disk: Disk) => Own {
  const listings = new Map<string, OwnFolder>()

  function listing(disk: Disk, { path, stat }: Place): OwnFolder {
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

/** A project's policy. It is nobody's but a person's, wherever it lies. */
export const POLICY_NAME = 'imago.toml'

/** What no tool may touch, there or not. */
interface Protection {
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
function openProtected(owning: OwnOptions): Protection {
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

/** A path that a tool may touch. */
export interface Location {
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

export interface PathRequest {
  /** The caller's project. */
  readonly root: string
  /** As the caller wrote it; a relative one counts from `root`. */
  readonly path: string
}

/** The only place that decides which paths tools may touch. */
export interface Confinement {
  locate(asked: PathRequest): Location | Failed
  /** What is Imago's own at this moment, for a look at many names. Throws what the disk throws. */
  glance(): Glance
  /** Where the caller's project and the further folders lie, without links; those that are not there are left out. */
  tops(root: string): { readonly root: string; readonly further: readonly string[] } | Failed
}

export interface ConfinementOptions {
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

export function openConfinement(confining: ConfinementOptions): Confinement {
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

  function locate(once: Disk, { root, path }: PathRequest): Location | Failed {
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
export function remarksOn({ shown, throughLink }: Location): string[] {
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

/**
 * Where an absolute path leads, whether something is there or not, for a file that another process opens. Names under
 * /proc mean another file in each process, so a path that leads through there is refused, as is one that leads nowhere.
 */
export function realAnywhere(path: string, disk: Disk = NODE_DISK): string | Failed {
  let throughProc = false
  const noting: Disk = {
    ...disk,
    lstat(each) {
      throughProc ||= each === '/proc'
      return disk.lstat(each)
    },
  }
  const shown = JSON.stringify(path.slice(0, 300))
  const fault = faultOfPath(path)
  if (fault !== undefined)
    return pathRefused('bad_name', { why: `${shown} is no path: ${fault}.`, next: 'Write another one.' })
  try {
    const found = resolvePath(noting, path)
    if (throughProc)
      return pathRefused('bad_name', {
        why: `${shown} leads through /proc, where each process sees other files.`,
        next: 'Write the path of the file itself.',
      })
    if (found.type === 'resolved') return join(found.there, ...found.missing)
    return pathRefused(found.reason, {
      why: `${shown} leads nowhere: ${found.why}.`,
      next: 'Write another path.',
    })
  } catch (error) {
    return fileFailed(error, { what: 'looked for', shown })
  }
}
