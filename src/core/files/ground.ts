import { basename, dirname, join, relative } from 'node:path'
import type { Entry, LeftOut } from '../../../tools/entries.ts'
import { type Failed, failed } from '../../../tools/outcome.ts'
import { isWithin } from '../within.ts'
import { type Located, remarksOn } from './confine.ts'
import { type Folder, pinFolder } from './folder.ts'
import { rulesIn } from './ignore-files.ts'
import { type Globs, type IgnoreRules, NO_RULES } from './ignoring.ts'
import type { SeenEntry } from './listing.ts'
import type { Looking } from './look.ts'
import { type Glance, POLICY_NAME } from './protected.ts'
import { pathRefused } from './refused.ts'

/** What the policy lets one call show of what it did not name itself. */
export interface Shows {
  /** Whether no rule denies that real path to the call, or has a person asked about it. */
  has(path: string): boolean
  /** That folder holds a policy of its own, which counts from now on. */
  meets(folder: string): void
}

/** Where a look into folders happens. */
export interface Ground extends Looking {
  /** The caller's project. */
  readonly root: string
  readonly shows: Shows
}

/** One folder that is looked into. */
export interface Level {
  /** Absolute, without links. */
  readonly path: string
  /** From the root that it lies in, for ignore files; empty for that root. */
  readonly rel: string
  /** As what is in it is shown; empty for the root of the project. */
  readonly above: string
}

/** Where a look begins: at a folder, or at one name in it. */
export interface Start {
  readonly type: 'start'
  readonly located: Located
  /** The project, without links. */
  readonly root: string
  readonly level: Level
  /** The name in the folder that is looked at alone; null for the folder itself. */
  readonly only: string | null
  readonly rules: IgnoreRules
  /** The line that leaves the folder itself out: then nothing in it is left out by an ignore file. */
  readonly ignoredBy: string | undefined
  readonly remarks: string[]
}

/** Finds out where a path leads, and which ignore files hold there. Throws what the disk throws. */
export function startAt(ground: Ground, path: string): Start | Failed {
  const { confinement, root } = ground
  const located = confinement.locate({ root, path })
  if (located.type === 'failed') return located
  const { stat, shown } = located
  if (stat === undefined)
    return failed('not_found', {
      message: `There is nothing at ${JSON.stringify(shown)}.`,
      details: { what: shown, nearest: [] },
      next: 'Look with list_directory at the folder above it; paths count from the root of the project.',
    })
  const tops = confinement.tops(root)
  if ('type' in tops) return tops
  const isFolder = stat.kind === 'folder'
  const folder = isFolder ? located.path : dirname(located.path)
  const top = [tops.root, ...tops.further].find(each => isWithin(folder, each)) ?? folder
  const remarks = remarksOn(located)
  const found = rulesTo(ground, { top, folder, remarks })
  if (found.ignoredBy !== undefined && isFolder)
    remarks.push(`The folder is ignored itself (${found.ignoredBy}), so nothing in it was left out for that.`)
  const above = isWithin(folder, tops.root) ? relative(tops.root, folder) : folder
  const level = { path: folder, rel: relative(top, folder), above }
  return {
    type: 'start',
    located,
    root: tops.root,
    level,
    only: isFolder ? null : basename(located.path),
    remarks,
    ...found,
  }
}

/** Folders above one that is looked at; in a deeper one no ignore file holds, for each is asked about each of them. */
const DEEPEST_RULES = 128

/** The ignore files of every folder from the root down to this one. */
function rulesTo(
  ground: Ground,
  { top, folder, remarks }: { top: string; folder: string; remarks: string[] },
): Pick<Start, 'rules' | 'ignoredBy'> {
  const parts = relative(top, folder).split('/').filter(Boolean)
  if (parts.length > DEEPEST_RULES) {
    remarks.push(`Ignore files were not used: the folder lies deeper than ${DEEPEST_RULES} others.`)
    return { rules: NO_RULES, ignoredBy: undefined }
  }
  let rules = NO_RULES
  for (let depth = 0; depth <= parts.length; depth++) {
    const rel = parts.slice(0, depth).join('/')
    const ignoredBy = rel === '' ? undefined : rules.ignoredBy(rel, true)
    if (ignoredBy !== undefined) return { rules: NO_RULES, ignoredBy }
    const path = join(top, rel)
    const held = pinFolder(ground, path)
    if (held === undefined) continue
    try {
      rules = entered(ground, { level: { path, rel, above: rel }, folder: held, rules, remarks })
    } finally {
      held.close()
    }
  }
  return { rules, ignoredBy: undefined }
}

const MOST_REMARKS = 5

/** The rules that hold in a folder, where those of the folder above it are known. */
export function entered(
  ground: Ground,
  o: { level: Level; folder: Folder; rules: IgnoreRules; remarks: string[] },
): IgnoreRules {
  const { level, folder, rules, remarks } = o
  const { path, rel } = level
  if (ground.disk.lstat(folder.at(POLICY_NAME)) !== undefined) ground.shows.meets(path)
  const isOwn = ground.confinement.glance().in(path)
  const unusable = (shown: string) => {
    if (remarks.length < MOST_REMARKS)
      remarks.push(
        `${shown} was not used: it is no plain file, cannot be read, or is too large, by itself or with those above it.`,
      )
  }
  const isShown = (file: string) => ground.shows.has(file)
  const now = rulesIn({ ...ground, folder, path, above: rel, isOwn, isShown, unusable }, rules)
  if (now.unused > rules.unused && remarks.length < MOST_REMARKS)
    remarks.push(
      `Of the ignore files, ${now.unused} lines were not used: they are too many, too long or too wild.`,
    )
  return now
}

/** What is shown, and what is left out and counted. */
export interface Sieve {
  readonly shows: Shows
  readonly glance: Glance
  readonly exclude: Globs
  readonly left: LeftOut
  /** Also what is ignored, and what is hidden. */
  readonly ignored: boolean
  readonly hidden: boolean
  /** The folder from which globs count: absolute, as `Level.path`. */
  readonly from: string
}

/** Tells for the entries of one folder which are shown; the others are counted. */
export function sieve(
  { shows, glance, exclude, left, ...how }: Sieve,
  { level, rules }: { level: Level; rules: IgnoreRules },
): (seen: SeenEntry) => Entry | undefined {
  const isOwn = glance.in(level.path)
  const under = (above: string, name: string) => (above === '' ? name : `${above}/${name}`)
  const within = relative(how.from, level.path)
  return ({ entry, stat }) => {
    const { name, kind } = entry
    const isFolder = kind === 'folder'
    const by = (reason: keyof LeftOut) => {
      left[reason]++
      return undefined
    }
    if (isOwn(name, stat)) return by('own')
    if (!shows.has(join(level.path, name))) return by('withheld')
    if (!how.hidden && name.startsWith('.')) return by('hidden')
    if (exclude.has(under(within, name), isFolder)) return by('excluded')
    const ignored = rules.ignoredBy(under(level.rel, name), isFolder) !== undefined
    return ignored && !how.ignored ? by('ignored') : { ...entry, ignored }
  }
}

/** Asked of a path that is no folder. */
export function notAFolder({ shown, stat }: Located): Failed {
  return pathRefused('not_a_folder', {
    why: `${JSON.stringify(shown)} is a ${stat?.kind ?? 'file'}, not a folder.`,
    next: 'get_file_info says more of it; read_file reads a text file.',
  })
}
