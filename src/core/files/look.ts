import { basename, dirname } from 'node:path'
import { type Failed, failed } from '../../../tools/outcome.ts'
import type { Evidence, SeenFile } from '../../../tools/proposal.ts'
import { sha256 } from '../sha256.ts'
import { type Asked, type Confinement, type Located, remarksOn } from './confine.ts'
import { errnoOf, readAll, type Stat } from './disk.ts'
import { decode } from './encoding.ts'
import { type Folder, type Pinning, pinFolder } from './folder.ts'
import { causeOf, type Mark, markOf } from './mark.ts'
import { fileFailed, pathRefused } from './refused.ts'

export interface Looking extends Pinning {
  readonly confinement: Confinement
  /** Bytes of the largest file that is looked at. */
  readonly most: number
}

/** What one look found; `stat`, `bytes` and `mark` are undefined where nothing is there. */
export interface Sight {
  readonly type: 'sight'
  readonly located: Located
  /** Device and inode of the folder that it is in; of the innermost that is there, where some are missing. */
  readonly folder: string
  readonly found: { readonly stat: Stat; readonly bytes: Uint8Array; readonly mark: Mark } | undefined
}

/** How often a look begins again, because what it looks at is being moved about. */
const TURNS = 4

/** What is looked at, and whether the folder of what is not there may be missing too. */
export interface Seeing extends Asked {
  readonly newFolders?: boolean
}

/** Looks at one regular file, or at the place where one can be made, in one piece. */
export function see(looking: Looking, asked: Seeing): Sight | Failed {
  const shown = JSON.stringify(asked.path)
  try {
    for (let turn = 0; turn < TURNS; turn++) {
      const located = looking.confinement.locate(asked)
      if (located.type === 'failed') return located
      const seen = refusalOf(located, asked) ?? seeLocated(looking, located)
      if (seen !== 'moving') return seen
    }
  } catch (error) {
    return fileFailed(error, { what: 'looked at', shown })
  }
  const message = `${shown} is being moved or written all the time, and could not be looked at in one piece.`
  return failed('file_failed', { message, details: { errno: 'EAGAIN' }, next: 'Try again.' })
}

function refusalOf(located: Located, asked: Seeing): Failed | undefined {
  const { shown, stat, newFolders } = located
  if (newFolders.length > 0 && asked.newFolders !== true)
    return failed('not_found', {
      message: `The folder of ${shown} is not there.`,
      next: 'Use a folder that is there, or create_file, which makes those that a new file needs.',
    })
  if (stat === undefined || stat.kind === 'file') return undefined
  return pathRefused('not_a_regular_file', {
    why: `${shown} is ${stat.kind === 'folder' ? 'a folder' : `a ${stat.kind}`}, not a file.`,
    next: stat.kind === 'folder' ? 'Name a file in it.' : 'It was not opened.',
  })
}

function seeLocated(looking: Looking, located: Located): Sight | Failed | 'moving' {
  const folder = pinFolder(looking, dirname(firstOf(located)))
  if (folder === undefined) return 'moving'
  try {
    return seeInside({ ...looking, located, folder })
  } finally {
    folder.close()
  }
}

/** The file, or the outermost of the folders that would be made for it. */
const firstOf = ({ newFolders: [first], path }: Located): string => first ?? path

/** Whatever differs from what was just located is moving: the next turn finds out what it is now. */
function seeInside(o: Looking & { located: Located; folder: Folder }): Sight | Failed | 'moving' {
  const { disk, located, folder, most } = o
  const path = folder.at(basename(firstOf(located)))
  // Opening a device can already do something, so its kind is looked at before.
  const stat = disk.lstat(path)
  if (stat?.kind !== located.stat?.kind || stat?.id !== located.stat?.id) return 'moving'
  if (stat === undefined) return { type: 'sight', located, folder: folder.id, found: undefined }
  const fd = openFile(o, path)
  if (fd === undefined) return 'moving'
  try {
    const before = disk.fstat(fd)
    if (before.id !== stat.id || before.kind !== 'file') return 'moving'
    const bytes = readAll(disk, { fd, most })
    if (bytes === undefined) return tooLarge({ shown: located.shown, bytes: before.size, most })
    const after = disk.fstat(fd)
    if (after.size !== bytes.length || after.changedMs !== before.changedMs) return 'moving'
    return {
      type: 'sight',
      located,
      folder: folder.id,
      found: { stat: after, bytes, mark: markOf(after, bytes) },
    }
  } finally {
    disk.close(fd)
  }
}

function openFile({ disk }: Looking, path: string): number | undefined {
  try {
    return disk.open(path, { for: 'reading' })
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENXIO'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}

export function tooLarge({ shown, bytes, most }: { shown: string; bytes: number; most: number }): Failed {
  const message = `${shown} has ${bytes} bytes; a tool looks at and writes files of up to ${most}.`
  return failed('too_large', { message, details: { bytes, most } })
}

/** The sight as a tool is given it. */
export function seenOf(looking: Looking, asked: Asked, sight: Sight): SeenFile {
  const { located, found } = sight
  const { path, shown } = located
  return {
    type: 'seen',
    path,
    shown,
    exists: found !== undefined,
    ...decode(found?.bytes ?? new Uint8Array()),
    bytes: found?.bytes.length ?? 0,
    sha256: found?.mark.sha256 ?? null,
    isLink: located.isLink,
    newFolders: newFoldersOf(located),
    remarks: [...remarksOn(located), ...(found === undefined ? [] : remarksOnFile(found.stat))],
    evidence: evidenceOf(looking, asked, sight),
  }
}

/** As shown, outermost first. */
function newFoldersOf({ shown, newFolders }: Located): string[] {
  const names = shown.split('/')
  return newFolders.map((_, number) => names.slice(0, names.length - newFolders.length + number).join('/'))
}

function remarksOnFile({ names, mode, uid }: Stat): string[] {
  const me = process.getuid?.()
  return [
    ...(names > 1
      ? [`It has ${names} names (hard links). A change leaves the others with the old content.`]
      : []),
    ...((mode & 0o222) === 0 ? [`It is read-only (mode ${mode.toString(8)}).`] : []),
    ...((mode & 0o6000) === 0 ? [] : ['It runs as its owner or group; a change takes that mark off.']),
    ...(me !== undefined && uid !== me ? [`It belongs to user ${uid}.`] : []),
  ]
}

function evidenceOf(looking: Looking, { root }: Asked, was: Sight): Evidence {
  const { path, shown } = was.located
  const newFolders = was.located.newFolders.length > 0
  return {
    what: shown,
    hash: hashOf(was),
    async moved() {
      try {
        const cause = movedOf({ looking, was, now: see(looking, { root, path, newFolders }) })
        return cause === undefined ? undefined : `${shown} ${cause}`
      } catch (error) {
        return `${shown} cannot be looked at any more: ${String(error)}`
      }
    },
  }
}

function hashOf({ folder, found, located }: Sight): string {
  if (found === undefined) return sha256(`nothing\0${folder}\0${located.path}`)
  const { id, mode, size, sha256: content } = found.mark
  return sha256(`file\0${id}\0${mode}\0${size}\0${content}`)
}

function movedOf(o: { looking: Looking; was: Sight; now: Sight | Failed }): string | undefined {
  const { looking, was, now } = o
  const { path } = was.located
  if (now.type === 'failed' || now.located.path !== path) return whatStandsAt(looking, path, now)
  const cause = causeOf(was.found?.mark, now.found?.mark)
  if (cause !== undefined) return cause
  const more = now.located.newFolders.length - was.located.newFolders.length
  if (more !== 0) return more < 0 ? 'has a folder by now that was to be made' : 'has lost its folder'
  return was.folder === now.folder ? undefined : 'is in another folder of the same name'
}

/** Why a path does not lead to a file of its own any more. */
function whatStandsAt({ disk }: Looking, path: string, now: Sight | Failed): string {
  const kind = kindAt(() => disk.lstat(path)?.kind)
  if (kind !== undefined && kind !== 'file') return `was replaced by a ${kind}`
  if (now.type === 'sight') return `is behind a link now, which leads to ${now.located.shown}`
  if (now.error.code === 'not_found') return 'was deleted, and its folder with it'
  return `cannot be looked at any more: ${now.error.message}`
}

function kindAt(look: () => Stat['kind'] | undefined): Stat['kind'] | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
