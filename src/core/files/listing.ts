import { isUtf8 } from 'node:buffer'
import type { Entry, LeftOut } from '../../../tools/entries.ts'
import { type Disk, errnoOf, type RawName, type Stat } from './disk.ts'
import type { Folder } from './folder.ts'
import type { Slices } from './slices.ts'

/** Names of one folder, as they come from the disk, and in slices. */
export interface Reading {
  readonly disk: Disk
  readonly folder: Folder
  readonly slices: Slices
}

/** The next names of a folder in the order of their bytes. */
export interface NamePage {
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
  reading: Reading,
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
  { disk, folder, slices }: Reading,
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
  const text = nameOf(name.bytes)
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
function nameOf(bytes: string): string | undefined {
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
