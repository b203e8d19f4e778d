import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '../sha256.ts'
import { closeQuietly } from './comparing.ts'
import { type Disk, errnoOf, readAll, type Stat, writeAll } from './disk.ts'
import { type Folder, type Pinning, pinFolder } from './folder.ts'
import { type Kept, type KeptChange, MOST_FOLDERS, stemOf } from './kept.ts'
import { sameBytes } from './mark.ts'
import { NEW, OLD, STEM } from './names.ts'
import { removeEmptied } from './new-folders.ts'

/** One file of a change, how its temporary names beside it begin, and how many of its folders come or go with it. */
export interface Begun {
  readonly path: string
  readonly stem: string
  readonly folders: number
}

/** The changes that were begun and have not come to their end: a file for each, in `unfinished/` in the state directory. */
export interface Unfinished {
  /** Before the first temporary name is made. Throws what the disk throws. */
  begin(change: string, files: readonly Begun[]): void
  /** Once no temporary name is left. Never throws. */
  end(change: string): void
  /**
   * Removes the temporary names that a daemon left which died in the middle of changes. Those that are there at the
   * call are of such; what is begun later is not touched. An old file goes only where nothing of it is lost by that;
   * else it stays, and the log says so. Never throws.
   */
  tidy(): Promise<void>
}

export interface UnfinishedOptions extends Pinning {
  readonly stateDir: string
  readonly kept: Kept
  /** Bytes of the largest file. */
  readonly most: number
  log(sentence: string, error?: unknown): void
}

const NOTE = z.object({
  v: z.literal(1),
  change: z.string(),
  files: z
    .array(
      z.object({
        path: z.string().startsWith('/'),
        stem: z.string().regex(STEM),
        folders: z.int().min(0).max(MOST_FOLDERS).default(0),
      }),
    )
    .readonly(),
})
type Note = z.output<typeof NOTE>

const NOTE_BYTES = 1024 * 1024

export function openUnfinished(options: UnfinishedOptions): Unfinished {
  const { disk, stateDir, log } = options
  const dir = join(stateDir, 'unfinished')
  const pathOf = (change: string) => join(dir, stemOf(change))

  function tidyOne(name: string): void {
    const note = parsed(read(disk, join(dir, name), NOTE_BYTES))
    // One that was torn when it was written is of a change that had made nothing yet.
    if (note !== undefined) sweep(options, note)
    disk.unlink(join(dir, name))
  }

  return {
    begin(change, files) {
      if (disk.lstat(dir) === undefined) disk.mkdir(dir, 0o700)
      // It need not reach the platters: it is for a process that dies, not for a machine.
      const fd = disk.open(pathOf(change), { for: 'making', mode: 0o600 })
      try {
        writeAll(disk, {
          fd,
          bytes: Buffer.from(`${JSON.stringify({ v: 1, change, files } satisfies Note)}\n`),
        })
      } finally {
        disk.close(fd)
      }
    },
    end(change) {
      try {
        disk.unlink(pathOf(change))
      } catch {
        // The next daemon finds nothing to do for it.
      }
    },
    async tidy() {
      const names = attempt(() => disk.readdir(dir), log) ?? []
      for (const name of names) {
        await new Promise<void>(resolve => setImmediate(resolve))
        attempt(() => tidyOne(name), log)
      }
    },
  }
}

function attempt<Result>(work: () => Result, log: UnfinishedOptions['log']): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT')
      log('What an earlier daemon left of a change could not be tidied up; the next one tries again.', error)
    return undefined
  }
}

function sweep(options: UnfinishedOptions, note: Note): void {
  const change = options.kept.find(note.change)
  for (const begun of note.files) sweepNames(options, { ...begun, change })
  // Whatever was to come in them, or has gone out of them, may be the last.
  for (const begun of note.files)
    if (!removeEmptied(options, begun)) throw new Error(`an empty folder above ${begun.path} is left`)
}

function sweepNames(options: UnfinishedOptions, begun: Begun & { change: KeptChange | undefined }): void {
  const { disk, log } = options
  const { path, stem, change } = begun
  const folder = pinFolder(options, dirname(path))
  // A folder that went, or is behind a link now, is not followed.
  if (folder === undefined) return
  try {
    if (disk.lstat(folder.at(`${stem}${NEW}`))?.kind === 'file') disk.unlink(folder.at(`${stem}${NEW}`))
    const at = folder.at(`${stem}${OLD}`)
    const old = disk.lstat(at)
    if (old?.kind !== 'file') return
    if (isSpare(options, { path, old, at, folder, change })) disk.unlink(at)
    else
      log(
        `What ${path} held when an earlier daemon died is left beside it, in ${stem}${OLD}: it is kept nowhere else.`,
      )
  } finally {
    folder.close()
  }
}

interface Left {
  readonly path: string
  readonly old: Stat
  /** Where the disk finds it. */
  readonly at: string
  readonly folder: Folder
  readonly change: KeptChange | undefined
}

/** Whether nothing is lost with that name: the file has another, or its bytes are kept, or they are what we made. */
function isSpare({ disk, most }: UnfinishedOptions, { path, old, at, folder, change }: Left): boolean {
  if (disk.lstat(folder.at(basename(path)))?.id === old.id) return true
  const number = change?.files.findIndex(file => file.path === path) ?? -1
  const file = change?.files[number]
  const bytes = read(disk, at, most)
  if (file === undefined || bytes === undefined) return false
  if (file.beforeSha256 === null) return sha256(bytes) === file.afterSha256
  const before = change?.before(number)
  return before !== undefined && before !== null && sameBytes(before, bytes)
}

function read(disk: Disk, path: string, most: number): Uint8Array | undefined {
  const fd = disk.open(path, { for: 'reading' })
  try {
    return readAll(disk, { fd, most })
  } finally {
    closeQuietly(disk, fd)
  }
}

function parsed(bytes: Uint8Array | undefined): Note | undefined {
  try {
    return NOTE.safeParse(JSON.parse(Buffer.from(bytes ?? []).toString())).data
  } catch {
    return undefined
  }
}
