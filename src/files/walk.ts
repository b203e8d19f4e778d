import { join, relative } from 'node:path'
import type {
  Cut,
  Entry,
  FileInfo,
  FolderLooks,
  LookOrder,
  SeenFile,
  Walk,
  WalkedEntry,
  WalkOrder,
} from '../../tools/contract.ts'
import { linesOf, unspelled } from '../../tools/newlines.ts'
import { type Failed, failed } from '../../tools/outcome.ts'
import { type Folder, pinFolder, type RawName, type Stat } from './disk.ts'
import { GIT, type Globs, globsOf, type IgnoreRules } from './ignore.ts'
import {
  type Begin,
  badGlob,
  bytesOf,
  eachName,
  entered,
  entryOf,
  type Ground,
  isMoving,
  type Level,
  list,
  nextNames,
  nothingLeft,
  openSlices,
  type SeenEntry,
  type Shows,
  type Slices,
  type Start,
  sieve,
  startAt,
  textAt,
  troubleOf,
} from './list.ts'
import { see, seenOf } from './look.ts'
import { fileFailed } from './refused.ts'

/** For what no policy speaks about. */
export const SHOWS_ALL: Shows = { has: () => true, meets: () => undefined }

/** The looks of one call, or of none, at the folders of a project. */
export function folderLooks(ground: Ground): FolderLooks {
  const { confinement, root } = ground
  return {
    roots: () =>
      refusing(root, () => {
        const tops = confinement.tops(root)
        return 'type' in tops ? tops : { type: 'roots', ...tops }
      }),
    list: (path, order) => refusing(path, () => list(ground, { path, order })),
    walk: (path, order) => refusing(path, () => walk(ground, { path, order })),
    info: (path, order) => refusing(path, () => fileInfo(ground, { path, order })),
  }
}

/** What the system refuses is a failure that the caller is told of. */
async function refusing<Result>(
  path: string,
  look: () => Result | Promise<Result>,
): Promise<Result | Failed> {
  try {
    return await look()
  } catch (error) {
    return fileFailed(error, { what: 'looked at', shown: JSON.stringify(path.slice(0, 300)) })
  }
}

/** All that can be told of one name; only a regular file or a folder is opened. Throws what the disk throws. */
async function fileInfo(
  ground: Ground,
  { path, order }: { path: string; order: LookOrder },
): Promise<FileInfo | Failed> {
  const start = startAt(ground, path)
  if (start.type === 'failed') return start
  const { located } = start
  const { stat } = located
  if (stat === undefined) throw new Error('what is not there was not refused')
  const content = contentOf(ground, start, stat)
  if ('error' in content) return content
  return {
    type: 'info',
    path: located.path,
    shown: located.shown,
    kind: stat.kind,
    bytes: stat.kind === 'file' ? stat.size : null,
    mode: stat.mode,
    changedMs: stat.changedMs,
    names: stat.kind === 'folder' ? await namesIn(ground, { start, order }) : null,
    ignoredBy: ignoredBy(start) ?? null,
    ...content,
    remarks: [...new Set([...start.remarks, ...content.remarks])],
  }
}

type Content = Pick<FileInfo, 'content' | 'unchangeable' | 'remarks'>

function contentOf(ground: Ground, { located }: Start, { kind, size }: Stat): Content | Failed {
  const none = (unchangeable: string) => ({ content: null, unchangeable, remarks: [] })
  if (kind !== 'file') return none(`it is a ${kind}, and tools change files`)
  if (size > ground.most) return none(`it is larger than the ${ground.most} bytes that a tool changes`)
  const asked = { root: ground.root, path: located.path }
  const sight = see(ground, asked)
  if (sight.type === 'failed') return sight
  const { text, encoding, newline, remarks } = seenOf(ground, asked, sight)
  if (text === null) return { ...none('it is not text'), remarks }
  return { content: { encoding, newline, lines: countLines(text, newline) }, unchangeable: null, remarks }
}

/** As `read_file` counts them. */
const countLines = (text: string, newline: SeenFile['newline']): number =>
  linesOf(unspelled(text, newline)).length

function ignoredBy({ ignoredBy: above, only, rules, level, located }: Start): string | undefined {
  if (above !== undefined) return above
  if (only === null) return undefined
  return rules.ignoredBy(level.rel === '' ? only : `${level.rel}/${only}`, located.stat?.kind === 'folder')
}

async function namesIn(
  ground: Ground,
  { start, order }: { start: Start; order: LookOrder },
): Promise<number | null> {
  const folder = pinFolder(ground, start.level.path)
  if (folder === undefined) return null
  try {
    let names = 0
    const reading = { disk: ground.disk, folder, slices: openSlices(order) }
    const ended = await eachName(reading, () => {
      names++
    })
    return ended ? names : null
  } finally {
    folder.close()
  }
}

/** Folders below the start that are walked. */
const DEEPEST = 64

/** Names that are looked at in one walk, and that are held at once. */
const MOST_ENTRIES = 1_000_000

const MOST_HELD = 40_000

const FEWEST_HELD = 256

/** How often it is looked up again what is Imago's own, in entries. */
const GLANCE_EVERY = 2_000

/** A folder on the way down, and what of it is still to be walked. */
interface Visit extends Level {
  readonly depth: number
  /** Undefined until it was first looked into. */
  rules: IgnoreRules | undefined
  /** Of the folder above it. */
  readonly rulesAbove: IgnoreRules
  /** A glob of the call matches it, and with it all that is in it. */
  readonly isMatched: boolean
  names: readonly RawName[]
  at: number
  /** Where the next names begin; null where there are none. */
  begin: Begin | undefined | null
  /** The parts of `after` that are below here, where it is. */
  readonly after: readonly string[]
}

/** Begins a walk; nothing is read of it until its entries are asked for. Throws what the disk throws, of the start. */
function walk(ground: Ground, { path, order }: { path: string; order: WalkOrder }): Walk | Failed {
  const [exclude, matching] = [globsOf(order.exclude), globsOf(order.matching)]
  if (exclude.type === 'no_globs') return badGlob(exclude)
  if (matching.type === 'no_globs') return badGlob(matching)
  const start = startAt(ground, path)
  if (start.type === 'failed') return start
  const after = afterIn(start, order.after)
  if (after === undefined)
    return failed('invalid_args', {
      message: `after is no path in ${JSON.stringify(start.located.shown)}, where the walk begins.`,
      details: { parameter: 'after' },
      next: 'Give the `next` of the page before, with the same path.',
    })
  const walker = new Walker({ ground, start, order, exclude, matching, after })
  const probe = pinFolder(ground, start.level.path)
  if (probe === undefined) return isMoving(start)
  probe.close()
  return walker
}

/** The parts of that path below the start; undefined where it is not below it. */
function afterIn({ level }: Start, after: string | undefined): readonly string[] | undefined {
  if (after === undefined) return []
  const { above } = level
  if (above === '') return after.split('/')
  return after.startsWith(`${above}/`) ? after.slice(above.length + 1).split('/') : undefined
}

interface WalkParts {
  readonly ground: Ground
  readonly start: Start
  readonly order: WalkOrder
  readonly exclude: Globs
  readonly matching: Globs
  readonly after: readonly string[]
}

class Walker implements Walk {
  readonly type = 'walk'
  readonly left = nothingLeft()
  looked = 0
  readonly #o: WalkParts
  readonly #slices: Slices
  readonly #visits: Visit[] = []
  #tooMany = false
  #glance: ReturnType<Ground['confinement']['glance']>
  #glancedAt = 0

  constructor(o: WalkParts) {
    this.#o = o
    this.#slices = openSlices(o.order)
    this.#glance = o.ground.confinement.glance()
  }

  get shown(): string {
    return this.#o.start.located.shown
  }

  get remarks(): readonly string[] {
    return this.#o.start.remarks
  }

  get cut(): Cut | null {
    return this.#slices.cut ?? (this.#tooMany ? 'entries' : null)
  }

  isOver(): boolean | Promise<boolean> {
    return this.#slices.isOver()
  }

  /** Only the folder that is looked into is held open, and while an entry of it is being looked at. */
  async *entries(): AsyncGenerator<WalkedEntry> {
    const { ground, start, after } = this.#o
    if (start.only !== null) {
      yield* this.#one(start.only)
      return
    }
    const { level, rules } = start
    const from = { rulesAbove: rules, rules, depth: 0, isMatched: false, names: [], at: 0 }
    this.#visits.push({ ...level, ...from, begin: beginAt(after), after })
    for (let visit = this.#visits.at(-1); visit !== undefined; visit = this.#visits.at(-1)) {
      const folder = quietly(() => pinFolder(ground, visit.path) ?? 'vanished')
      if (typeof folder === 'string') {
        this.left[folder]++
        this.#visits.pop()
        continue
      }
      try {
        yield* this.#in(folder, visit)
      } catch (error) {
        this.left[troubleOf(error)]++
        this.#visits.pop()
      } finally {
        folder.close()
      }
      if (this.cut !== null) return
    }
  }

  /** The entries of a folder up to the next one that is walked, which is then the last visit, or to its end. */
  async *#in(folder: Folder, visit: Visit): AsyncGenerator<WalkedEntry> {
    const { ground, start } = this.#o
    const { rulesAbove } = visit
    visit.rules ??= entered(ground, { level: visit, folder, rules: rulesAbove, remarks: start.remarks })
    const passes = this.#sieve(visit, visit.rules)
    do {
      for (let name = visit.names[visit.at]; name !== undefined; name = visit.names[visit.at]) {
        const over = this.#slices.isOver()
        if (over === true || (over !== false && (await over)) || this.#tooMany) return
        visit.at++
        const seen = this.#seen(folder, visit, name)
        const entry = seen && passes(seen)
        if (seen === undefined || entry === undefined) continue
        const isAbove = isOnTheWay(visit, name)
        const matches = visit.isMatched || this.#matches(under(this.#within(visit), entry.name), entry.kind)
        if (matches && !isAbove) yield this.#walked(folder, { ...seen, entry }, visit.isMatched)
        if (this.#descends(visit, entry, { isAbove, matches })) return
      }
    } while (await this.#readOn(folder, visit))
    if (this.cut === null) this.#visits.pop()
  }

  /** The folder as globs count it. */
  #within({ path }: Level): string {
    return relative(this.#o.start.level.path, path)
  }

  #matches(path: string, kind: Entry['kind']): boolean {
    const { order, matching } = this.#o
    return order.matching.length === 0 || matching.has(path, kind === 'folder')
  }

  /** Reads the next names of a folder; false where there are none, or the time is over. */
  async #readOn(folder: Folder, visit: Visit): Promise<boolean> {
    if (visit.begin === null) return false
    const held = this.#visits.reduce((sum, { names, at }) => sum + names.length - at, 0)
    const most = Math.max(FEWEST_HELD, Math.floor((MOST_HELD - held) / 2))
    const reading = { disk: this.#o.ground.disk, folder, slices: this.#slices }
    const page = await nextNames(reading, { begin: visit.begin, most })
    if (page.total === null) return false
    const last = page.names.at(-1)
    visit.names = page.names
    visit.at = 0
    visit.begin = page.more && last !== undefined ? { bytes: last.bytes, with: false } : null
    return visit.names.length > 0
  }

  #seen(folder: Folder, { above }: Level, name: RawName): SeenEntry | undefined {
    const { disk } = this.#o.ground
    this.looked++
    if (this.looked > MOST_ENTRIES) this.#tooMany = true
    const seen = entryOf({ disk, folder, name, above })
    if (typeof seen !== 'string') return seen
    this.left[seen]++
    return undefined
  }

  #sieve(level: Level, rules: IgnoreRules): ReturnType<typeof sieve> {
    const { ground, order, exclude, start } = this.#o
    if (this.looked - this.#glancedAt > GLANCE_EVERY) {
      this.#glance = ground.confinement.glance()
      this.#glancedAt = this.looked
    }
    const how = { exclude, left: this.left, ignored: order.ignored, hidden: true, from: start.level.path }
    return sieve({ ...how, shows: ground.shows, glance: this.#glance }, { level, rules })
  }

  #walked(folder: Folder, { entry, stat }: SeenEntry, isWithinMatch: boolean): WalkedEntry {
    const { disk } = this.#o.ground
    const path = folder.at(entry.name)
    return {
      ...entry,
      isWithinMatch,
      read: how => (stat === undefined ? { type: 'vanished' } : textAt(disk, { path, stat, ...how })),
    }
  }

  /** Begins to walk a folder next, where it is one that is walked. */
  #descends(visit: Visit, entry: Entry, how: { isAbove: boolean; matches: boolean }): boolean {
    if (entry.kind !== 'folder' || entry.name === GIT || visit.rules === undefined) return false
    const depth = visit.depth + 1
    if (!entry.isNameable) this.left.unreadable++
    else if (depth > DEEPEST) this.left.deep++
    else {
      const after = how.isAbove ? visit.after.slice(1) : []
      this.#visits.push({
        path: join(visit.path, entry.name),
        rel: under(visit.rel, entry.name),
        above: entry.shown,
        depth,
        rules: undefined,
        rulesAbove: visit.rules,
        isMatched: how.matches && this.#o.order.matching.length > 0,
        names: [],
        at: 0,
        begin: beginAt(after),
        after,
      })
      return true
    }
    return false
  }

  /** Where the walk begins at one name in a folder. */
  async *#one(only: string): AsyncGenerator<WalkedEntry> {
    const { ground, start } = this.#o
    const { level, rules } = start
    const folder = pinFolder(ground, level.path)
    if (folder === undefined) return
    try {
      // It was named in the call, so no ignore file leaves it out.
      const passes = this.#sieve(level, rules.fresh())
      const name = { bytes: bytesOf(only), kind: 'file' } as const
      const seen = this.#seen(folder, level, name)
      const entry = seen && passes(seen)
      if (seen === undefined || entry === undefined) return
      if (this.#matches(only, 'file')) yield this.#walked(folder, { ...seen, entry }, false)
    } finally {
      folder.close()
    }
  }
}

/** Whether the name is one of those that lead to `after`: then it came before, and what is in it may come after that. */
function isOnTheWay(visit: Visit, { bytes }: RawName): boolean {
  const [first] = visit.after
  return first !== undefined && bytesOf(first) === bytes
}

const under = (above: string, name: string): string => (above === '' ? name : `${above}/${name}`)

const beginAt = ([first]: readonly string[]): Begin | undefined =>
  first === undefined ? undefined : { bytes: bytesOf(first), with: true }

/** What the system refuses is told of by one word. */
function quietly<Value>(look: () => Value): Value | ReturnType<typeof troubleOf> {
  try {
    return look()
  } catch (error) {
    return troubleOf(error)
  }
}
