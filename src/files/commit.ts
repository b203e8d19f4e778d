import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { Committed, CommittedFile, FileChange } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'
import { errnoOf } from '../../wire/errors.ts'
import { sha256 } from '../sha256.ts'
import { NEW, OLD, STEM } from './confine.ts'
import {
  type Folder,
  type FolderAccess,
  pinFolder,
  readFileAt,
  StaleFile,
  type Stat,
  writeAll,
} from './disk.ts'
import { sameBytes } from './look.ts'
import { removeEmptied } from './new-folders.ts'
import { changeFailed, type Held, stale } from './refused.ts'
import { Replacement } from './replacement.ts'
import { foldedPath } from './roots.ts'
import { type Kept, type KeptChange, MOST_FOLDERS, stemOf } from './undo.ts'

interface CommitParts extends FolderAccess {
  readonly kept: Kept
  readonly unfinished: Unfinished
  /** Bytes of the largest file. */
  readonly most: number
}

interface Order {
  readonly change: string
  readonly changes: readonly FileChange[]
}

/**
 * Carries out the changes, all of them or none: compared, what was there kept, folders made, the new files written
 * beside the old ones, and then, in one step of this process, each compared once more and replaced. Where one of them cannot be, those
 * before it are put back.
 */
export async function commit(parts: CommitParts, order: Order): Promise<Committed | Failed> {
  const paths = order.changes.map(({ path }) => path)
  if (new Set(paths).size !== paths.length) throw new Error('a plan changes one file twice')
  const replacements: Replacement[] = []
  const going: CommitRun = { parts, order, replacements, at: undefined, reached: 'nothing' }
  try {
    return await carryOut(going)
  } catch (error) {
    for (const replacement of [...replacements].reverse()) replacement.putBack()
    return answerTo(error, going)
  } finally {
    // The last one first: it may be in a folder that was made for one before it.
    for (const replacement of [...replacements].reverse()) replacement.dispose()
    conclude(going)
  }
}

/** What was there before is known to whoever tidies up until no temporary name is left. */
function conclude({ parts, order, replacements, reached }: CommitRun): void {
  if (reached === 'nothing') return
  if (reached !== 'all' && replacements.every(({ holds }) => holds === 'old')) parts.kept.forget(order.change)
  if (replacements.every(({ isTidy }) => isTidy)) parts.unfinished.end(order.change)
}

interface CommitRun {
  readonly parts: CommitParts
  readonly order: Order
  readonly replacements: Replacement[]
  /** The file that is being worked on. */
  at: Replacement | undefined
  /** `kept`: what was there before is kept under the name of this change. `all`: every name is in place. */
  reached: 'nothing' | 'kept' | 'all'
}

async function carryOut(going: CommitRun): Promise<Committed | Failed> {
  const { parts, order, replacements } = going
  const each = function* () {
    for (const replacement of replacements) {
      going.at = replacement
      yield replacement
    }
  }
  for (const change of order.changes) replacements.push(new Replacement(change, parts))
  for (const replacement of each()) replacement.compare()
  await keep(going)
  const made = new Set<string>()
  for (const replacement of each()) replacement.makeFolders(made)
  for (const replacement of each()) await replacement.stage()

  // No `await` from here to `finish`: what was compared is what is replaced.
  for (const replacement of each()) replacement.replace()
  for (const replacement of each()) replacement.confirm()
  for (const replacement of each()) replacement.finish()
  going.reached = 'all'

  return (
    (await synced(replacements)) ?? { type: 'committed', undo: order.change, files: order.changes.map(done) }
  )
}

async function keep(going: CommitRun): Promise<void> {
  const { parts, order, replacements } = going
  const files = replacements.map(({ change: { path, before, after, identity }, mode, owner }) => ({
    path,
    before,
    afterSha256: after === null ? null : sha256(after),
    mode,
    owner,
    folders: after === null ? 0 : (identity?.folders ?? 0),
  }))
  try {
    await parts.kept.keep(order.change, files)
    going.reached = 'kept'
    parts.unfinished.begin(
      order.change,
      replacements.map(({ change: { path, identity }, stem }) => ({
        path,
        stem,
        folders: identity?.folders ?? 0,
      })),
    )
  } catch (error) {
    throw errnoOf(error) === undefined ? error : new NotKept(error)
  }
}

/** What was there before could not be kept, so nothing was begun. */
class NotKept extends Error {
  override readonly name = 'NotKept'

  constructor(cause: unknown) {
    super('what was there before could not be kept', { cause })
  }
}

/** The new names are in place; what fails now takes nothing back. */
async function synced(replacements: readonly Replacement[]): Promise<Failed | undefined> {
  for (const replacement of replacements)
    try {
      await replacement.sync()
    } catch (error) {
      return changeFailed(error, { what: whatOf(replacement), held: replacements.map(heldBy) })
    }
  return undefined
}

function answerTo(error: unknown, { order, replacements, at }: CommitRun): Failed {
  // Those that were not even opened are as they were.
  const held = replacements.length === order.changes.length ? replacements.map(heldBy) : unchanged(order)
  if (error instanceof StaleFile) {
    if (held.every(({ holds }) => holds === 'old')) return stale([error.message])
    const moved = Object.assign(new Error(`ESTALE: ${error.message}`), { code: 'ESTALE' })
    return changeFailed(moved, { what: 'The files could not be changed together, nor all be put back', held })
  }
  if (error instanceof NotKept)
    return changeFailed(error.cause, { what: 'What was there before could not be kept', held })
  return changeFailed(error, { what: at === undefined ? 'A folder could not be opened' : whatOf(at), held })
}

const whatOf = ({ change, doing }: Replacement) => `${change.shown} could not be ${doing}`

const heldBy = ({ change, holds, leftAside }: Replacement): Held => ({ path: change.shown, holds, leftAside })

const unchanged = ({ changes }: Order): Held[] =>
  changes.map(({ shown }) => ({ path: shown, holds: 'old', leftAside: undefined }))

function done({ path, after }: FileChange): CommittedFile {
  return { path, bytes: after?.length ?? 0, sha256: after === null ? null : sha256(after) }
}

/**
 * Turns at files, in this process. Whoever asks joins the queues of all its files in one step, so everybody waits only
 * for those who asked before: nobody for each other, and nobody for ever.
 */
export function openLocks(): (paths: readonly string[]) => Promise<() => void> {
  const last = new Map<string, Promise<void>>()

  return async paths => {
    const keys = [...new Set(paths.map(foldedPath))]
    const before = keys.flatMap(key => last.get(key) ?? [])
    let settle: () => void = () => {}
    const over = new Promise<void>(resolve => {
      settle = resolve
    })
    for (const key of keys) last.set(key, over)
    await Promise.all(before)
    return () => {
      for (const key of keys) if (last.get(key) === over) last.delete(key)
      settle()
    }
  }
}

/** The changes that were begun and have not come to their end: a file for each, in `unfinished/` in the state directory. */
interface Unfinished {
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

interface UnfinishedOptions extends FolderAccess {
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

/** One file of a change, how its temporary names beside it begin, and how many of its folders come or go with it. */
type Begun = Note['files'][number]

const NOTE_BYTES = 1024 * 1024

export function openUnfinished(options: UnfinishedOptions): Unfinished {
  const { disk, stateDir, log } = options
  const dir = join(stateDir, 'unfinished')
  const pathOf = (change: string) => join(dir, stemOf(change))

  function tidyOne(name: string): void {
    const note = parsed(readFileAt(disk, join(dir, name), NOTE_BYTES))
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
  const bytes = readFileAt(disk, at, most)
  if (file === undefined || bytes === undefined) return false
  if (file.beforeSha256 === null) return sha256(bytes) === file.afterSha256
  const before = change?.before(number)
  return before !== undefined && before !== null && sameBytes(before, bytes)
}

function parsed(bytes: Uint8Array | undefined): Note | undefined {
  try {
    return NOTE.safeParse(JSON.parse(Buffer.from(bytes ?? []).toString())).data
  } catch {
    return undefined
  }
}
