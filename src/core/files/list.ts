import { resolve } from 'node:path'
import type { Cut, Entry, Listed, ListOrder } from '../../../tools/entries.ts'
import { type Failed, failed } from '../../../tools/outcome.ts'
import type { RawName } from './disk.ts'
import { type Folder, pinFolder } from './folder.ts'
import { type Ground, notAFolder, type Sieve, type Start, sieve, startAt } from './ground.ts'
import { type Globs, globsOf, type NoGlobs } from './ignoring.ts'
import { type Begin, bytesOf, eachName, entryOf, nextNames, nothingLeft } from './listing.ts'
import { openSlices, type Slices } from './slices.ts'

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
    return await new Listing({ ground, start, folder, order, exclude }).page()
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
class Listing {
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
