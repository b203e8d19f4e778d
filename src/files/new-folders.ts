import { basename, dirname } from 'node:path'
import type { FileChange } from '../../tools/contract.ts'
import { errnoOf } from '../../wire/errors.ts'
import { type Folder, type FolderAccess, pinFolder, StaleFile } from './disk.ts'

/** A folder that was made, by the one that it is in. */
interface Made {
  readonly parent: Folder
  readonly name: string
}

/**
 * The folders that are made for one new file: `compare`, `make`, then `sync` or `takeBack`; `close` in any case. The
 * first two throw `StaleFile`, or what the disk throws. Nothing that was there is ever touched: where one of the names is
 * taken the change is stale, and only what is empty is taken back.
 */
export class NewFolders {
  readonly #pinning: FolderAccess
  readonly #change: FileChange
  /** Outermost first. */
  readonly #paths: readonly string[]
  /** Held open: the one that is there, and then those that were made. */
  readonly #folders: Folder[] = []
  readonly #made: Made[] = []

  /** Holds the innermost folder open that is there. */
  constructor(change: FileChange, pinning: FolderAccess) {
    this.#pinning = pinning
    this.#change = change
    this.#paths = foldersOf(change.path, change.identity?.folders ?? 0).reverse()
    const top = pinFolder(pinning, dirname(this.#paths[0] ?? change.path))
    if (top === undefined) throw new StaleFile(`the folder of ${change.shown} is not there any more`)
    this.#folders.push(top)
  }

  /** Whether the folder that is there is that of the plan, and the next one is not there yet. */
  compare(): void {
    const { shown, identity } = this.#change
    const top = this.#innermost
    if (!top.isHere() || top.id !== identity?.folder)
      throw new StaleFile(`the folder of ${shown} is another one now`)
    const [first = ''] = this.#paths
    if (this.#pinning.disk.lstat(top.at(basename(first))) !== undefined) throw this.#taken()
  }

  /** Makes those that are not in `made` yet, the ones of this very commit. Answers device and inode of the innermost. */
  make(made: Set<string>): string {
    for (const path of this.#paths) {
      if (!made.has(path)) this.#makeOne(basename(path))
      made.add(path)
      const folder = pinFolder(this.#pinning, path)
      if (folder === undefined)
        throw new StaleFile(
          `a folder that was made for ${this.#change.shown} was replaced at the last moment`,
        )
      this.#folders.push(folder)
    }
    return this.#innermost.id
  }

  /** Until the disk has their names. */
  async sync(): Promise<void> {
    for (const { fd } of this.#folders.slice(0, -1)) await syncFolder(this.#pinning, fd)
  }

  /** Takes those away again that it made and that are empty. Answers whether none of them is left. Never throws. */
  takeBack(): boolean {
    const { disk } = this.#pinning
    for (const { parent, name } of this.#made.splice(0).reverse()) {
      const left = removeOne(() => disk.rmdir(parent.at(name)))
      if (left !== 'gone') return left === 'full'
    }
    return true
  }

  close(): void {
    for (const folder of this.#folders.splice(0)) folder.close()
  }

  get #innermost(): Folder {
    const folder = this.#folders.at(-1)
    if (folder === undefined) throw new Error('its folders were closed')
    return folder
  }

  #makeOne(name: string): void {
    const parent = this.#innermost
    // Reported is not always what happened.
    this.#made.push({ parent, name })
    try {
      this.#pinning.disk.mkdir(parent.at(name), 0o777)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
      this.#made.pop()
      throw this.#taken()
    }
  }

  #taken(): StaleFile {
    return new StaleFile(`${this.#change.shown} has a folder by now that was to be made`)
  }
}

/**
 * Takes as many of the folders away that a path is in, innermost first, until one is not empty. Answers false where the
 * disk refused, so that an empty one may be left. Never throws.
 */
export function removeEmptied(
  pinning: FolderAccess,
  { path, folders }: { path: string; folders: number },
): boolean {
  for (const folder of foldersOf(path, folders)) {
    const left = removeOne(() => {
      const parent = pinFolder(pinning, dirname(folder))
      try {
        if (parent !== undefined) pinning.disk.rmdir(parent.at(basename(folder)))
      } finally {
        parent?.close()
      }
    })
    if (left !== 'gone') return left === 'full'
  }
  return true
}

/** Some file systems have no such thing for folders. */
export async function syncFolder({ disk }: Pick<FolderAccess, 'disk'>, fd: number): Promise<void> {
  try {
    await disk.sync(fd)
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP'].includes(errnoOf(error) ?? '')) throw error
  }
}

/** Innermost first. */
function foldersOf(path: string, count: number): string[] {
  const folders: string[] = []
  for (let folder = dirname(path); folders.length < count; folder = dirname(folder)) folders.push(folder)
  return folders
}

/** What is no folder any more, or not empty, is somebody else's. */
const THEIRS = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ELOOP', 'EBUSY']

function removeOne(remove: () => void): 'gone' | 'full' | 'left' {
  for (let turns = 2; turns > 0; turns--)
    try {
      remove()
      return 'gone'
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === 'ENOENT') return 'gone'
      if (errno !== undefined && THEIRS.includes(errno)) return 'full'
      // Whatever it was, trying once more costs nothing.
    }
  return 'left'
}
