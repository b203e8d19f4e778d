import { isUtf8 } from 'node:buffer'
import { basename, dirname } from 'node:path'
import type { Evidence, FileChange, FileIdentity, SeenFile, TextEncoding } from '../../tools/contract.ts'
import { type Failed, failed } from '../../tools/outcome.ts'
import { sha256 } from '../sha256.ts'
import { type Confinement, type Location, type PathRequest, remarksOn } from './confine.ts'
import { type Folder, type FolderAccess, openIfThere, pinFolder, readAll, type Stat } from './disk.ts'
import { fileFailed, pathRefused } from './refused.ts'

/** One state of one file, to tell whether it is still in it, and what has become of it. */
interface Mark {
  /** Device and inode. */
  readonly id: string
  readonly mode: number
  readonly owner: string
  readonly size: number
  readonly sha256: string
  readonly changedMs: number
}

export function markOf(stat: Stat, bytes: Uint8Array): Mark {
  const { id, mode, uid, gid, changedMs } = stat
  return { id, mode, owner: `${uid}:${gid}`, size: bytes.length, sha256: sha256(bytes), changedMs }
}

/** All that `commit` compares besides the bytes, as one text. */
export const identityOf = ({ id, mode, uid, gid }: Stat): string => `${id} ${mode.toString(8)} ${uid}:${gid}`

/** What became of a file that was in the first state, as the end of a clause; undefined where nothing has. */
export function causeOf(was: Mark | undefined, now: Mark | undefined): string | undefined {
  if (was === undefined)
    return now === undefined ? undefined : `now exists: ${now.size} bytes, ${atTime(now)}`
  if (now === undefined) return 'was deleted'
  if (was.sha256 !== now.sha256)
    return `was changed: sha256 ${short(was.sha256)} before, ${short(now.sha256)} now, ${atTime(now)}`
  if (was.id !== now.id) return 'is another file of the same content'
  if (was.mode !== now.mode)
    return `has another mode: ${was.mode.toString(8)} before, ${now.mode.toString(8)} now`
  return was.owner === now.owner ? undefined : `has another owner: ${was.owner} before, ${now.owner} now`
}

export const short = (hash: string): string => `${hash.slice(0, 12)}…`

const atTime = ({ changedMs }: Mark) => `at ${new Date(changedMs).toISOString()}`

export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

/** What bytes say, and how; `text` is null where they are not text. */
interface FileText {
  readonly text: string | null
  readonly encoding: TextEncoding
  readonly newline: SeenFile['newline']
}

const BOM = '\ufeff'

const HALF_CHARACTER = /\p{Cs}/u

/** What no text in that old encoding holds: NUL, control characters but tab, line ends and form feed. */
const NOT_LATIN = /[^\t\n\f\r\x20-\x7e\xa0-\xff]/

/**
 * Tells text by its bytes alone. UTF-8 strictly; UTF-16 only with a byte order mark; Latin-1 where it is no UTF-8 and
 * every byte is a character that can be seen. Nothing is guessed beyond that: other bytes are binary, and so is
 * whatever holds a NUL.
 */
export function decode(bytes: Uint8Array): FileText {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [encoding, text] of readings(buffer)) {
    if (text.includes('\0') || HALF_CHARACTER.test(text) || text.startsWith(BOM)) continue
    return { text, encoding, newline: newlineOf(text) }
  }
  return { text: null, encoding: 'binary', newline: 'none' }
}

function* readings(buffer: Buffer): Generator<[TextEncoding, string]> {
  const [first, second, third] = buffer
  if (first === 0xff && second === 0xfe) {
    if (buffer.length % 2 === 0) yield ['utf-16le', buffer.toString('utf16le', 2)]
  } else if (first === 0xfe && second === 0xff) {
    if (buffer.length % 2 === 0) yield ['utf-16be', swapped(buffer.subarray(2)).toString('utf16le')]
  } else if (isUtf8(buffer)) {
    const marked = first === 0xef && second === 0xbb && third === 0xbf
    yield marked ? ['utf-8-bom', buffer.toString('utf8', 3)] : ['utf-8', buffer.toString('utf8')]
  } else {
    const text = buffer.toString('latin1')
    if (!NOT_LATIN.test(text)) yield ['latin-1', text]
  }
}

function newlineOf(text: string): SeenFile['newline'] {
  const kinds = new Set<'\n' | '\r\n' | '\r'>()
  if (text.includes('\r\n')) kinds.add('\r\n')
  if (/(?<!\r)\n/.test(text)) kinds.add('\n')
  if (/\r(?!\n)/.test(text)) kinds.add('\r')
  const [kind = 'none'] = kinds
  return kinds.size > 1 ? 'mixed' : kind
}

type FileBytes =
  | { readonly type: 'encoded'; readonly bytes: Uint8Array }
  /** Why that encoding cannot spell the text, as a clause. */
  | { readonly type: 'unspellable'; readonly why: string }

/** The text in that encoding, exactly: reading it back gives the same text, or it is refused. */
export function encode(text: string, encoding: TextEncoding): FileBytes {
  const why = unspellable(text, encoding)
  if (why !== undefined) return { type: 'unspellable', why }
  // A copy of its own: small buffers share their memory with others.
  const bytes = Uint8Array.from(spelled(text, encoding))
  if (decode(bytes).text === text) return { type: 'encoded', bytes }
  return { type: 'unspellable', why: `in ${encoding}, its bytes would be read as another text` }
}

function spelled(text: string, encoding: TextEncoding): Buffer {
  switch (encoding) {
    case 'utf-8':
    case 'binary':
      return Buffer.from(text, 'utf8')
    case 'utf-8-bom':
      return Buffer.from(BOM + text, 'utf8')
    case 'utf-16le':
      return Buffer.from(BOM + text, 'utf16le')
    case 'utf-16be':
      return swapped(Buffer.from(BOM + text, 'utf16le'))
    case 'latin-1':
      return Buffer.from(text, 'latin1')
    default:
      throw encoding satisfies never
  }
}

function unspellable(text: string, encoding: TextEncoding): string | undefined {
  if (encoding === 'binary') return 'the file is not text'
  if (text.includes('\0')) return 'the text holds a NUL character'
  if (text.startsWith(BOM)) return 'the text begins with a byte order mark, which is kept beside the text'
  const half = HALF_CHARACTER.exec(text)
  if (half !== null) return `the text holds half of a character, at ${half.index}`
  const beyond = encoding === 'latin-1' ? NOT_LATIN.exec(text) : null
  if (beyond === null) return undefined
  const point = beyond[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return `the file is in Latin-1, which has no U+${point}, at ${beyond.index} of the text`
}

const swapped = (buffer: Buffer): Buffer => Buffer.from(buffer).swap16()

export interface FileAccess extends FolderAccess {
  readonly confinement: Confinement
  /** Bytes of the largest file that is looked at. */
  readonly most: number
}

/** What one look found; `stat`, `bytes` and `mark` are undefined where nothing is there. */
export interface Sight {
  readonly type: 'sight'
  readonly located: Location
  /** Device and inode of the folder that it is in; of the innermost that is there, where some are missing. */
  readonly folder: string
  readonly found: { readonly stat: Stat; readonly bytes: Uint8Array; readonly mark: Mark } | undefined
}

/** How often a look begins again, because what it looks at is being moved about. */
const TURNS = 4

/** What is looked at, and whether the folder of what is not there may be missing too. */
export interface LookRequest extends PathRequest {
  readonly newFolders?: boolean
}

/** Looks at one regular file, or at the place where one can be made, in one piece. */
export function see(looking: FileAccess, asked: LookRequest): Sight | Failed {
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

function refusalOf(located: Location, asked: LookRequest): Failed | undefined {
  const { shown, stat, newFolders } = located
  if (newFolders.length > 0 && asked.newFolders !== true)
    return failed('not_found', {
      message: `The folder of ${shown} is not there.`,
      next: 'Use a folder that is there, or write_file with new, which makes those that a new file needs.',
    })
  if (stat === undefined || stat.kind === 'file') return undefined
  return pathRefused('not_a_regular_file', {
    why: `${shown} is ${stat.kind === 'folder' ? 'a folder' : `a ${stat.kind}`}, not a file.`,
    next: stat.kind === 'folder' ? 'Name a file in it.' : 'It was not opened.',
  })
}

function seeLocated(looking: FileAccess, located: Location): Sight | Failed | 'moving' {
  const folder = pinFolder(looking, dirname(firstOf(located)))
  if (folder === undefined) return 'moving'
  try {
    return seeInside({ ...looking, located, folder })
  } finally {
    folder.close()
  }
}

/** The file, or the outermost of the folders that would be made for it. */
const firstOf = ({ newFolders: [first], path }: Location): string => first ?? path

/** Whatever differs from what was just located is moving: the next turn finds out what it is now. */
function seeInside(o: FileAccess & { located: Location; folder: Folder }): Sight | Failed | 'moving' {
  const { disk, located, folder, most } = o
  const path = folder.at(basename(firstOf(located)))
  // Opening a device can already do something, so its kind is looked at before.
  const stat = disk.lstat(path)
  if (stat?.kind !== located.stat?.kind || stat?.id !== located.stat?.id) return 'moving'
  if (stat === undefined) return { type: 'sight', located, folder: folder.id, found: undefined }
  const fd = openIfThere(disk, path)
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

function tooLarge({ shown, bytes, most }: { shown: string; bytes: number; most: number }): Failed {
  const message = `${shown} has ${bytes} bytes; a tool looks at and writes files of up to ${most}.`
  return failed('too_large', { message, details: { bytes, most } })
}

/** The sight as a tool is given it. */
export function seenOf(looking: FileAccess, asked: PathRequest, sight: Sight): SeenFile {
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
function newFoldersOf({ shown, newFolders }: Location): string[] {
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

function evidenceOf(looking: FileAccess, { root }: PathRequest, was: Sight): Evidence {
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

function movedOf(o: { looking: FileAccess; was: Sight; now: Sight | Failed }): string | undefined {
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
function whatStandsAt({ disk }: FileAccess, path: string, now: Sight | Failed): string {
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

// Changes of files as plans hold them: worked out to the last byte from what was seen, with nothing done yet.

/** A file as a tool has it, and what is behind it. */
export interface FileView {
  readonly file: SeenFile
  readonly sight: Sight
}

/** The file with that text. `most`: bytes of the largest file. */
export function changed({
  file,
  sight,
  text,
  most,
}: FileView & { text: string; most: number }): FileChange | Failed {
  const { shown, encoding } = file
  const encoded = encode(text, encoding)
  if (encoded.type === 'unspellable')
    return failed('not_text', {
      message: `${shown} cannot be given that text: ${encoded.why}.`,
      details: { encoding },
    })
  const after = encoded.bytes
  if (after.length > most) return tooLarge({ shown, bytes: after.length, most })
  return changeOf(sight, { after })
}

/** Without the file. */
export function removed({ file, sight }: FileView): FileChange {
  if (sight.found === undefined) throw new Error(`${file.shown} is not there, and cannot be taken away`)
  return changeOf(sight, { after: null })
}

/** First with the file under the other path, where nothing is, then without it under its own. */
export function moved(from: FileView, to: FileView): readonly [appears: FileChange, goes: FileChange] {
  const { found } = from.sight
  if (found === undefined || to.sight.found !== undefined)
    throw new Error(`${from.file.shown} cannot be moved to ${to.file.shown}`)
  const { mode, uid, gid } = found.stat
  return [changeOf(to.sight, { after: found.bytes, like: { mode, owner: `${uid}:${gid}` } }), removed(from)]
}

/** What a file has besides its bytes. */
interface Like {
  readonly mode: number
  /** As `uid:gid`; null where it is not known. */
  readonly owner: string | null
}

interface NextState {
  /** Null where the file is to go. */
  readonly after: Uint8Array | null
  /** Of a file that is made: another one's. */
  readonly like?: Like
  /** Of a file that goes: how many folders were made for it. */
  readonly folders?: number
}

/** From what was seen to those bytes. */
export function changeOf(sight: Sight, { after, like, folders = 0 }: NextState): FileChange {
  const { located, found, folder } = sight
  const { path, shown, newFolders } = located
  const many = after === null ? folders : newFolders.length
  const identity: FileIdentity = {
    folder,
    file: found === undefined ? null : identityOf(found.stat),
    ...(like !== undefined && { mode: like.mode }),
    ...(typeof like?.owner === 'string' && { owner: like.owner }),
    ...(many > 0 && { folders: many }),
  }
  return { path, shown, before: found?.bytes ?? null, after, identity }
}
