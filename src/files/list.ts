import { isUtf8 } from 'node:buffer'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Cut, Entry, FileText, LeftOut, Listed, ListOrder, LookOrder } from '../../tools/contract.ts'
import { type Failed, failed } from '../../tools/outcome.ts'
import { errnoOf } from '../../wire/errors.ts'
import { type Glance, type Location, POLICY_NAME, remarksOn } from './confine.ts'
import { type Disk, type Folder, pinFolder, type RawName, readAll, type Stat } from './disk.ts'
import { type Globs, globsOf, type IgnoreRules, NO_RULES, type NoGlobs, rulesIn } from './ignore.ts'
import { decode, type FileAccess } from './look.ts'
import { pathRefused } from './refused.ts'
import { isWithin } from './roots.ts'

/** How long a look may keep everybody else waiting, in milliseconds. */
const SLICE_MS = 8

/** The time that one look has: it is taken in slices, between which others have their turn, and ends. */
export interface Slices {
  /** Why it is over; null while it is not. */
  readonly cut: 'time' | 'cancelled' | null
  /** Asked between any two steps, each of them short: whether it is over. A promise where others go first. */
  isOver(): boolean | Promise<boolean>
}

export function openSlices({ signal, ms }: LookOrder, now: () => number = () => performance.now()): Slices {
  const end = now() + ms
  let began = now()
  let cut: Slices['cut'] = null

  function check(): boolean {
    if (cut === null && signal.aborted) cut = 'cancelled'
    else if (cut === null && now() >= end) cut = 'time'
    return cut !== null
  }

  async function rested(): Promise<boolean> {
    await new Promise<void>(resolve => setImmediate(resolve))
    began = now()
    return check()
  }

  return {
    get cut() {
      return cut
    },
    isOver() {
      if (check()) return true
      return now() - began < SLICE_MS ? false : rested()
    },
  }
}

/** Names of one folder, as they come from the disk, and in slices. */
interface NameSource {
  readonly disk: Disk
  readonly folder: Folder
  readonly slices: Slices
}

/** The next names of a folder in the order of their bytes. */
interface NamePage {
  readonly names: readonly RawName[]
  /** Whether there are further ones behind them. */
  readonly more: boolean
  /** All names in the folder. Null where the time was over: then these are not the next ones, but some. */
  readonly total: number | null
}

/** Where a page begins, by the bytes of a name: after it, or at it. */
export interface Begin {
  readonly bytes: string
  readonly with: boolean
}

export const bytesOf = (name: string): string => Buffer.from(name).toString('latin1')

/**
 * Reads all names, however many, and holds at most twice as many as are asked for. Throws what the disk throws.
 */
export async function nextNames(
  reading: NameSource,
  { begin, most }: { begin: Begin | undefined; most: number },
): Promise<NamePage> {
  const held: RawName[] = []
  let dropped = false
  let total = 0
  const cutDown = () => {
    held.sort(byBytes)
    if (held.length > most) {
      held.length = most
      dropped = true
    }
  }
  const ended = await eachName(reading, one => {
    total++
    if (begin !== undefined && (begin.with ? one.bytes < begin.bytes : one.bytes <= begin.bytes)) return
    held.push(one)
    if (held.length >= most * 2) cutDown()
  })
  cutDown()
  return { names: held, more: dropped, total: ended ? total : null }
}

const byBytes = (one: RawName, other: RawName): number =>
  one.bytes < other.bytes ? -1 : one.bytes > other.bytes ? 1 : 0

/** Calls for every name, in no order; false where the time was over before the last. Throws what the disk throws. */
export async function eachName(
  { disk, folder, slices }: NameSource,
  on: (name: RawName) => void,
): Promise<boolean> {
  const names = disk.names(folder.at('.'))
  try {
    for (let one = names.next(); one !== undefined; one = names.next()) {
      on(one)
      const over = slices.isOver()
      if (over === true || (over !== false && (await over))) return false
    }
    return true
  } finally {
    names.close()
  }
}

/** An entry, with what only the core knows of it. */
export interface SeenEntry {
  readonly entry: Entry
  readonly stat: Stat | undefined
}

/** One name in a folder, as the disk has it now; what it is called for when it is gone by now. */
export function entryOf(o: {
  readonly disk: Disk
  readonly folder: Folder
  readonly name: RawName
  /** The folder, as entries in it show it: empty for the root of the project. */
  readonly above: string
}): SeenEntry | 'vanished' | 'unreadable' {
  const { disk, folder, name, above } = o
  const text = utf8Name(name.bytes)
  const isNameable = text !== undefined
  const shownName = text ?? Buffer.from(name.bytes, 'latin1').toString()
  const shown = { name: shownName, shown: above === '' ? shownName : `${above}/${shownName}`, isNameable }
  if (text === undefined)
    return {
      stat: undefined,
      entry: { ...shown, kind: name.kind, bytes: null, changedMs: null, target: null, ignored: false },
    }
  try {
    const path = folder.at(text)
    const stat = disk.lstat(path)
    if (stat === undefined) return 'vanished'
    const { kind, size, changedMs } = stat
    const target = kind === 'link' ? disk.readlink(path) : null
    const bytes = kind === 'file' ? size : null
    return { stat, entry: { ...shown, kind, bytes, changedMs, target, ignored: false } }
  } catch (error) {
    return troubleOf(error)
  }
}

/** What the system's refusal means for one name of many. Rethrows what is none. */
export function troubleOf(error: unknown): 'vanished' | 'unreadable' {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO'].includes(errno) ? 'vanished' : 'unreadable'
}

/** The name as a text; undefined where its bytes are no UTF-8. */
function utf8Name(bytes: string): string | undefined {
  if (!/[^\0-\x7f]/.test(bytes)) return bytes
  const buffer = Buffer.from(bytes, 'latin1')
  return isUtf8(buffer) ? buffer.toString() : undefined
}

export function nothingLeft(): LeftOut {
  return {
    ignored: 0,
    excluded: 0,
    hidden: 0,
    own: 0,
    withheld: 0,
    unreadable: 0,
    deep: 0,
    vanished: 0,
  }
}

/** A file up to this size is first looked through for the bytes, which costs less than decoding it. */
const LOOKED_THROUGH = 256 * 1024

/** A file of many, by a path that leads into a folder that is held, if it is still the one that was seen there. */
export function textAt(
  disk: Disk,
  o: { readonly path: string; readonly stat: Stat; readonly most: number; readonly holding: string | null },
): FileText {
  const { path, stat, most, holding } = o
  // Anything else is never opened: that alone can already do something, or wait.
  if (stat.kind !== 'file') return { type: 'binary' }
  if (stat.size > most) return { type: 'too_large' }
  try {
    const fd = disk.open(path, { for: 'reading' })
    try {
      const now = disk.fstat(fd)
      if (now.id !== stat.id || now.kind !== 'file') return { type: 'vanished' }
      const bytes = readAll(disk, { fd, most })
      if (bytes === undefined) return { type: 'too_large' }
      return holding !== null && lacks(bytes, holding) ? without(bytes) : decoded(bytes)
    } finally {
      disk.close(fd)
    }
  } catch (error) {
    const trouble = troubleOf(error)
    return trouble === 'vanished' ? { type: trouble } : { type: trouble, errno: errnoOf(error) ?? '' }
  }
}

function decoded(bytes: Uint8Array): FileText {
  const { text } = decode(bytes)
  return text === null ? { type: 'binary' } : { type: 'text', text }
}

const without = (bytes: Uint8Array): FileText => ({ type: bytes.includes(0) ? 'binary' : 'without' })

/** Whether a file cannot hold the text in any encoding that it may be in. False where that is not known. */
function lacks(bytes: Uint8Array, holding: string): boolean {
  if (bytes.length > LOOKED_THROUGH || isUtf16(bytes)) return false
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return !buffer.includes(holding) && (isAscii(holding) || !buffer.includes(holding, 0, 'latin1'))
}

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** What the policy lets one call show of what it did not name itself. */
export interface Shows {
  /** Whether no rule denies that real path to the call, or has a person asked about it. */
  has(path: string): boolean
  /** That folder holds a policy of its own, which counts from now on. */
  meets(folder: string): void
}

/** Where a look into folders happens. */
export interface Ground extends FileAccess {
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
  readonly located: Location
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
interface Sieve {
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
function notAFolder({ shown, stat }: Location): Failed {
  return pathRefused('not_a_folder', {
    why: `${JSON.stringify(shown)} is a ${stat?.kind ?? 'file'}, not a folder.`,
    next: 'get_file_info says more of it; read_file reads a text file.',
  })
}

/** Names that are held at once, besides those that are shown. */
const PAGE = 10_000

/** One page of a folder. Throws what the disk throws, of the folder itself. */
export async function list(
  ground: Ground,
  { path, order }: { path: string; order: ListOrder },
): Promise<Listed | Failed> {
  const exclude = globsOf(order.exclude ?? [])
  if (exclude.type === 'no_globs') return badGlob(exclude)
  const start = startAt(ground, path)
  if (start.type === 'failed') return start
  if (start.only !== null) return notAFolder(start.located)
  const folder = pinFolder(ground, start.level.path)
  if (folder === undefined) return isMoving(start)
  try {
    return await new PageBuilder({ ground, start, folder, order, exclude }).page()
  } finally {
    folder.close()
  }
}

export function isMoving({ located }: Start): Failed {
  return failed('file_failed', {
    message: `${JSON.stringify(located.shown)} is being moved, and could not be looked into.`,
    details: { errno: 'EAGAIN' },
    next: 'Try again.',
  })
}

export function badGlob({ glob, why }: NoGlobs): Failed {
  return failed('invalid_args', {
    message: `The glob ${JSON.stringify(glob.slice(0, 200))} cannot be used: ${why}.`,
    details: { glob: glob.slice(0, 200) },
    next: 'Use a simpler one, or several.',
  })
}

interface Listings {
  readonly ground: Ground
  readonly start: Start
  readonly folder: Folder
  readonly order: ListOrder
  readonly exclude: Globs
}

/** The page of one folder, while it is put together. */
class PageBuilder {
  readonly #o: Listings
  readonly #slices: Slices
  readonly #left = nothingLeft()
  #passes: ReturnType<typeof sieve>
  #total: number | null = null
  #next: string | null = null

  constructor(o: Listings) {
    this.#o = o
    this.#slices = openSlices(o.order)
    this.#passes = this.#sieve()
  }

  #sieve(): ReturnType<typeof sieve> {
    const { ground, start, order, exclude } = this.#o
    const { ignored, hidden } = order
    const { shows, confinement } = ground
    const how: Sieve = {
      shows,
      glance: confinement.glance(),
      exclude,
      left: this.#left,
      ignored,
      hidden,
      from: order.from === undefined ? start.level.path : resolve(start.root, order.from),
    }
    return sieve(how, start)
  }

  async page(): Promise<Listed> {
    const { start, order } = this.#o
    const entries = order.by === 'name' ? await this.#byName() : await this.#largest()
    const cut: Cut | null = this.#slices.cut
    return {
      type: 'listed',
      shown: start.level.above === '' ? '.' : start.level.above,
      entries,
      total: this.#total,
      left: this.#left,
      next: this.#next,
      cut,
      remarks: start.remarks,
    }
  }

  async #byName(): Promise<readonly Entry[]> {
    const { order } = this.#o
    const entries: Entry[] = []
    let begin: Begin | undefined =
      order.after === undefined ? undefined : { bytes: bytesOf(order.after), with: false }
    for (;;) {
      const page = await nextNames(this.#reading, { begin, most: Math.max(PAGE, order.limit) })
      this.#total = page.total
      for (const [index, name] of page.names.entries()) {
        const entry = this.#entry(name)
        if (entry !== undefined) entries.push(entry)
        const isLast = index === page.names.length - 1 && !page.more
        if (entries.length === order.limit && !isLast && entry !== undefined) {
          this.#next = entry.name
          return entries
        }
        // Of names that were not all read no order is known, and none to read on from: what there is is shown.
        if (page.total === null) continue
        const over = this.#slices.isOver()
        if (over === true || (over !== false && (await over))) {
          if (!isLast) this.#next = textOf(name)
          return entries
        }
      }
      const last = page.names.at(-1)
      if (!page.more || last === undefined || page.total === null) return entries
      begin = { bytes: last.bytes, with: false }
    }
  }

  /** All names are looked at, and the first few by size or time held. */
  async #largest(): Promise<readonly Entry[]> {
    const { limit, by } = this.#o.order
    const rank = (entry: Entry) => (by === 'size' ? entry.bytes : entry.changedMs) ?? -1
    const inOrder = (one: Entry, other: Entry) => rank(other) - rank(one) || byName(one, other)
    const entries: Entry[] = []
    let total = 0
    const ended = await eachName(this.#reading, name => {
      total++
      const entry = this.#entry(name)
      if (entry !== undefined) entries.push(entry)
      if (entries.length < limit * 2) return
      entries.sort(inOrder)
      entries.length = limit
    })
    this.#total = ended ? total : null
    return entries.sort(inOrder).slice(0, limit)
  }

  get #reading() {
    const { ground, folder } = this.#o
    return { disk: ground.disk, folder, slices: this.#slices }
  }

  #entry(name: RawName): Entry | undefined {
    const { ground, folder, start } = this.#o
    const seen = entryOf({ disk: ground.disk, folder, name, above: start.level.above })
    if (typeof seen !== 'string') return this.#passes(seen)
    this.#left[seen]++
    return undefined
  }
}

const textOf = (name: RawName): string => Buffer.from(name.bytes, 'latin1').toString()

const byName = (one: Entry, other: Entry): number =>
  Buffer.compare(Buffer.from(one.name), Buffer.from(other.name))
