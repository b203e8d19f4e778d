import { join } from 'node:path'
import { z } from 'zod'
import type { FileChange, NotUndone, Undone } from '../../tools/contract.ts'
import { type Failed, failed } from '../../tools/outcome.ts'
import { errnoOf } from '../../wire/errors.ts'
import { sha256 } from '../sha256.ts'
import { type Disk, readFileAt, type Stat, writeAll } from './disk.ts'
import { changeOf, type FileAccess, type Sight, see, seenOf, short } from './look.ts'
import { fileFailed, stale } from './refused.ts'

/** What is kept of one file before it is changed. */
interface KeptFile {
  readonly path: string
  readonly before: Uint8Array | null
  /** What the change leaves; null for a file that it takes away. */
  readonly afterSha256: string | null
  /** Permissions before, and whose it was, as `uid:gid`; null where there was no file. */
  readonly mode: number | null
  readonly owner: string | null
  /** How many folders the change makes for the file, counted from the innermost. */
  readonly folders: number
}

/** One change that can be taken back. */
export interface KeptChange {
  readonly change: string
  readonly files: readonly (Omit<KeptFile, 'before'> & { readonly beforeSha256: string | null })[]
  /** What the file of that number held before. Undefined where what was kept is not what it was. */
  before(number: number): Uint8Array | null | undefined
}

export interface Kept {
  /** Returns once all of it is on the disk; throws what the disk throws, and then nothing of it counts. */
  keep(change: string, files: readonly KeptFile[]): Promise<void>
  /** Undefined for a change that is not known, or not any more. Throws what the disk throws. */
  find(change: string): KeptChange | undefined
  /** What the file of that path held before each of its last changes, newest first, at most `most` of them. */
  textsOf(path: string, most: number): readonly ReplacedText[]
  /**
   * Whether as many bytes more can be kept, and nothing of the last day has to go for them: what has a person's leave to
   * happen without asking may not cost anybody what they could undo. Throws what the disk throws.
   */
  spares(bytes: number): boolean
  /** After a change that did not come about. Never throws. */
  forget(change: string): void
}

/** What a file held before a change. */
export interface ReplacedText {
  readonly change: string
  readonly bytes: Uint8Array
}

interface KeptOptions {
  readonly disk: Disk
  readonly stateDir: string
  /** Milliseconds since 1970. */
  now(): number
  readonly limits: { readonly bytes: number; readonly ms: number; readonly fileBytes: number }
}

/** No path has as many. */
export const MOST_FOLDERS = 2_048

const RECORD = z.object({
  v: z.literal(1),
  change: z.string(),
  time: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      before_sha256: z.string().nullable(),
      after_sha256: z.string().nullable(),
      mode: z.number().nullable(),
      owner: z
        .string()
        .regex(/^\d+:\d+$/)
        .nullable()
        .default(null),
      folders: z.int().min(0).max(MOST_FOLDERS).default(0),
    }),
  ),
})

/** No change that is younger goes for another one that nobody was asked about, in milliseconds. */
const SPARED_MS = 24 * 60 * 60 * 1_000

const RECORD_BYTES = 1024 * 1024

/** Changes that are looked through for those of one file. */
const SEARCHED = 50

/** Where it is kept: many files, and each name used once. */
export const keptDir = (stateDir: string): string => join(stateDir, 'undo')

/** `undo/NAME.json` in the state directory says what changed, `undo/NAME.N.before` holds what was there. */
export function openKept({ disk, stateDir, now, limits }: KeptOptions): Kept {
  const dir = keptDir(stateDir)
  const known = new Map<string, Stat>()
  const recordPath = (change: string) => join(dir, `${stemOf(change)}.json`)
  const bytesPath = (change: string, number: number) => join(dir, `${stemOf(change)}.${number}.before`)

  async function write(path: string, bytes: Uint8Array) {
    const fd = disk.open(path, { for: 'making', mode: 0o600 })
    try {
      writeAll(disk, { fd, bytes })
      await disk.sync(fd)
    } finally {
      disk.close(fd)
    }
  }

  async function syncDir(path: string) {
    const fd = disk.open(path, { for: 'looking into a folder' })
    try {
      await disk.sync(fd)
    } finally {
      disk.close(fd)
    }
  }

  async function makeDir() {
    if (disk.lstat(dir) !== undefined) return
    disk.mkdir(dir, 0o700)
    await syncDir(stateDir)
  }

  /** What has to go, oldest first, so that what is left and what comes are within the limits. */
  function* superfluous(bytes: number): Iterable<OnDisk> {
    const all = [...changesIn(disk, dir, known)].sort((one, other) => one.changedMs - other.changedMs)
    let held = all.reduce((sum, each) => sum + each.bytes, bytes)
    for (const each of all) {
      if (held <= limits.bytes && now() - each.changedMs <= limits.ms) return
      yield each
      held -= each.bytes
    }
  }

  function makeRoom(bytes: number) {
    for (const { names } of superfluous(bytes)) for (const name of names) disk.unlink(join(dir, name))
  }

  function forget(change: string) {
    const stem = stemOf(change)
    attempt(() => {
      // The record first: what is left without it does not count.
      const names = disk.readdir(dir).filter(name => stemIn(name) === stem)
      for (const name of names.sort(
        (one, other) => Number(other.endsWith('.json')) - Number(one.endsWith('.json')),
      ))
        attempt(() => disk.unlink(join(dir, name)))
    })
  }

  function find(change: string): KeptChange | undefined {
    if (disk.lstat(recordPath(change)) === undefined) return undefined
    const record = parsed(readFileAt(disk, recordPath(change), RECORD_BYTES))
    if (record?.change !== change) return undefined
    const files = record.files.map(({ before_sha256, after_sha256, ...file }) => ({
      ...file,
      beforeSha256: before_sha256,
      afterSha256: after_sha256,
    }))
    return {
      change,
      files,
      before(number) {
        const hash = files[number]?.beforeSha256 ?? null
        if (hash === null) return null
        const path = bytesPath(change, number)
        const bytes = disk.lstat(path) === undefined ? undefined : readFileAt(disk, path, limits.fileBytes)
        return bytes !== undefined && sha256(bytes) === hash ? bytes : undefined
      },
    }
  }

  /** Newest first. A change whose name is no plain one is left out: the names of its files do not tell it. */
  function newest(): readonly KeptChange[] {
    if (disk.lstat(dir) === undefined) return []
    return [...changesIn(disk, dir, known)]
      .sort((one, other) => other.changedMs - one.changedMs)
      .slice(0, SEARCHED)
      .flatMap(({ names }) => find(stemIn(names[0] ?? '')) ?? [])
  }

  return {
    textsOf(path, most) {
      const found: ReplacedText[] = []
      for (const { change, files, before } of newest()) {
        const bytes = before(files.findIndex(file => file.path === path))
        if (bytes !== null && bytes !== undefined) found.push({ change, bytes })
        if (found.length === most) break
      }
      return found
    },
    async keep(change, files) {
      await makeDir()
      attempt(() => makeRoom(files.reduce((sum, { before }) => sum + (before?.length ?? 0), 0)))
      if (disk.lstat(recordPath(change)) !== undefined)
        throw new Error(`the change ${change} was carried out before`)
      try {
        for (const [number, { before }] of files.entries())
          if (before !== null) await write(bytesPath(change, number), before)
        await write(
          recordPath(change),
          Buffer.from(`${JSON.stringify(recordOf({ change, files, now: now() }))}\n`),
        )
        await syncDir(dir)
      } catch (error) {
        forget(change)
        throw error
      }
    },
    spares(bytes) {
      if (disk.lstat(dir) === undefined) return true
      return [...superfluous(bytes)].every(({ changedMs }) => now() - changedMs > SPARED_MS)
    },
    forget,
    find,
  }
}

function recordOf({ change, files, now }: { change: string; files: readonly KeptFile[]; now: number }) {
  return {
    v: 1,
    change,
    time: new Date(now).toISOString(),
    files: files.map(({ path, before, afterSha256, mode, owner, folders }) => ({
      path,
      before_sha256: before === null ? null : sha256(before),
      after_sha256: afterSha256,
      mode,
      owner,
      folders,
    })),
  } satisfies z.input<typeof RECORD>
}

interface OnDisk {
  readonly names: string[]
  bytes: number
  changedMs: number
}

/** `known`: what was seen of names before, which stays so: each name is used once. Names that are gone are forgotten. */
function changesIn(disk: Disk, dir: string, known: Map<string, Stat>): Iterable<OnDisk> {
  const changes = new Map<string, OnDisk>()
  const names = new Set(disk.readdir(dir))
  for (const name of known.keys()) if (!names.has(name)) known.delete(name)
  for (const name of names) {
    const stat = known.get(name) ?? disk.lstat(join(dir, name))
    if (stat === undefined) continue
    // Before its record is written, a change may still grow.
    if (names.has(`${stemIn(name)}.json`) && stat.size > 0) known.set(name, stat)
    const change = changes.get(stemIn(name)) ?? { names: [], bytes: 0, changedMs: 0 }
    change.names.push(name)
    change.bytes += stat.size
    change.changedMs = Math.max(change.changedMs, stat.changedMs)
    changes.set(stemIn(name), change)
  }
  return changes.values()
}

/** A caller may have chosen the name of a change; what is no plain name becomes one. */
export const stemOf = (change: string): string =>
  /^[A-Za-z0-9_-]{1,100}$/.test(change) ? change : `named-${sha256(change)}`

const stemIn = (name: string): string => name.slice(0, Math.max(0, name.indexOf('.')))

/** Undefined for a record that was torn when it was written: its change was never begun. */
function parsed(bytes: Uint8Array | undefined): z.output<typeof RECORD> | undefined {
  try {
    return RECORD.safeParse(JSON.parse(Buffer.from(bytes ?? []).toString())).data
  } catch {
    return undefined
  }
}

/** Tidying up may fail, and is tried again with the next change. */
function attempt(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
  }
}

interface UndoAccess extends FileAccess {
  readonly kept: Kept
}

type ChangedFile = KeptChange['files'][number]

/**
 * The change that takes back the one of that name, or what of it is still there. Refused where a file holds neither
 * what that change left nor what was there before it.
 */
export function undone(
  undoing: UndoAccess,
  asked: { readonly root: string; readonly change: string },
): Undone | NotUndone {
  const { root, change } = asked
  const about: string[] = []
  try {
    const kept = undoing.kept.find(change)
    if (kept === undefined) return unknown(change, 'is not known, or was too long ago to be undone')
    about.push(...kept.files.map(({ path }) => path))
    const found = seenBack({ undoing, kept, root })
    return found.type === 'failed' ? { ...found, about } : found
  } catch (error) {
    return { ...fileFailed(error, { what: 'read', shown: `What is kept of ${change}` }), about }
  }
}

function seenBack({ undoing, kept, root }: Omit<Reversal, 'sights'>): Undone | Failed {
  const sights: Sight[] = []
  for (const { path } of kept.files) {
    const sight = see(undoing, { root, path, newFolders: true })
    if (sight.type === 'failed') return sight
    sights.push(sight)
  }
  return reversed({ undoing, kept, sights, root })
}

interface Reversal {
  readonly undoing: UndoAccess
  readonly kept: KeptChange
  readonly sights: readonly Sight[]
  readonly root: string
}

function reversed({ undoing, kept, sights, root }: Reversal): Undone | Failed {
  const pairs = kept.files.flatMap((file, number) => {
    const sight = sights[number]
    return sight === undefined ? [] : [{ file, sight, number }]
  })
  const causes = pairs.flatMap(({ file, sight }) => movedSince({ file, sight, change: kept.change }) ?? [])
  if (causes.length > 0) return stale(causes)
  const left = pairs.filter(({ file, sight }) => contentHash(sight) === file.afterSha256)
  if (left.length === 0)
    return stale(
      pairs.map(({ sight }) => `${sight.located.shown} is already as it was before ${kept.change}`),
    )
  const changes: FileChange[] = []
  for (const { file, sight, number } of left) {
    const after = kept.before(number)
    if (after === undefined) return unknown(kept.change, `has lost what ${sight.located.shown} held before`)
    changes.push(changeBack({ file, sight, after }))
  }
  // Those that come first, as in a move: their bytes have a name all the time.
  changes.sort((one, other) => Number(one.after === null) - Number(other.after === null))
  const files = left.map(({ file, sight }) => seenOf(undoing, { root, path: file.path }, sight))
  return { type: 'undone', files, changes }
}

const contentHash = ({ found }: Sight): string | null => found?.mark.sha256 ?? null

function movedSince(o: { file: ChangedFile; sight: Sight; change: string }): string | undefined {
  const { file, sight, change } = o
  const now = contentHash(sight)
  if (now === file.afterSha256 || now === file.beforeSha256) return undefined
  const left = file.afterSha256 === null ? 'no file' : `sha256 ${short(file.afterSha256)}`
  const found = now === null ? 'it is gone' : `it is sha256 ${short(now)}`
  return `${sight.located.shown} has moved on: ${change} left ${left}, and now ${found}`
}

function changeBack(o: { file: ChangedFile; sight: Sight; after: Uint8Array | null }): FileChange {
  const { file, sight, after } = o
  const { mode } = file
  // Whatever is kept says: none that the project itself lies in.
  const folders = Math.min(file.folders, sight.located.shown.split('/').length - 1)
  const owner = canGive(file.owner) ? file.owner : null
  return changeOf(sight, { after, folders, ...(mode !== null && { like: { mode, owner } }) })
}

/** To another user's file only the root user can give its owner again; better that it comes back without. */
function canGive(owner: string | null): boolean {
  const me = process.getuid?.()
  return me === 0 || owner?.startsWith(`${me}:`) === true
}

function unknown(change: string, why: string): Failed {
  return failed('not_found', {
    message: `The change ${JSON.stringify(change)} ${why}.`,
    next: 'Use the name that the change was answered with.',
  })
}
