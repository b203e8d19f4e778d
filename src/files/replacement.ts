import { randomBytes } from 'node:crypto'
import { basename, dirname } from 'node:path'
import type { FileChange } from '../../tools/contract.ts'
import { errnoOf } from '../../wire/errors.ts'
import { NEW, OLD, TEMPORARY } from './confine.ts'
import {
  closeQuietly,
  type Disk,
  type Folder,
  type FolderAccess,
  openIfThere,
  pinFolder,
  readAll,
  StaleFile,
  type Stat,
  writeAll,
} from './disk.ts'
import { causeOf, identityOf, markOf, sameBytes } from './look.ts'
import { NewFolders, removeEmptied, syncFolder } from './new-folders.ts'
import type { Holds } from './refused.ts'

/** A file that a change is about to replace, held open. */
interface OldFile {
  readonly fd: number
  readonly stat: Stat
}

interface Comparison {
  readonly disk: Disk
  readonly change: FileChange
  readonly folder: Folder
  /** Bytes of the largest file. */
  readonly most: number
}

/**
 * Throws `StaleFile` unless folder and file are those of the plan, and the file holds what it held. Answers the file, for
 * the caller to close; undefined where none is there, and none is to be.
 */
function openCompared(o: Comparison): OldFile | undefined {
  const { disk, change, folder } = o
  const { shown, identity, before } = change
  if (!folder.isHere() || folder.id !== identity?.folder)
    throw new StaleFile(`the folder of ${shown} is another one now`)
  const path = folder.at(basename(change.path))
  const named = disk.lstat(path)
  if (named !== undefined && named.kind !== 'file')
    throw new StaleFile(`${shown} was replaced by a ${named.kind}`)
  if (named === undefined) {
    if (before !== null) throw new StaleFile(`${shown} was deleted`)
    return undefined
  }
  const fd = openIfThere(disk, path)
  if (fd === undefined) throw new StaleFile(`${shown} was deleted or replaced at the last moment`)
  try {
    const stat = disk.fstat(fd)
    if (stat.id !== named.id) throw new StaleFile(`${shown} is another file now`)
    compareOpen(o, fd)
    return { fd, stat }
  } catch (error) {
    closeQuietly(disk, fd)
    throw error
  }
}

/** Bytes, mode, owner and identity of the open file. Throws `StaleFile` where one of them is another. */
function compareOpen({ disk, change, most }: Comparison, fd: number): void {
  const { shown, before, identity } = change
  const stat = disk.fstat(fd)
  const bytes = readAll(disk, { fd, most })
  if (bytes === undefined) throw new StaleFile(`${shown} has grown beyond ${most} bytes`)
  const now = markOf(stat, bytes)
  if (before === null) throw new StaleFile(`${shown} ${causeOf(undefined, now)}`)
  if (!sameBytes(before, bytes)) throw new StaleFile(`${shown} ${causeOf(markOf(stat, before), now)}`)
  if (identityOf(stat) !== identity?.file)
    throw new StaleFile(`${shown} ${otherIdentity(identity?.file, stat)}`)
}

function otherIdentity(was: string | null | undefined, now: Stat): string {
  const [id, mode, owner] = (was ?? '').split(' ')
  if (id !== now.id) return 'is another file of the same content'
  const octal = now.mode.toString(8)
  if (mode !== octal) return `has another mode: ${mode} before, ${octal} now`
  return `has another owner: ${owner} before, ${now.uid}:${now.gid} now`
}

interface NewContent {
  readonly disk: Disk
  /** Where the disk makes it. */
  readonly path: string
  readonly bytes: Uint8Array
  /** What it takes the place of; undefined for a new file. */
  readonly old: Stat | undefined
  readonly identity: FileChange['identity']
  /** Told what is being done to it, as a participle. */
  doing(what: string): void
}

/** Writes new content under a temporary name, to the disk. Throws what the disk throws. */
async function stage(o: NewContent): Promise<Stat> {
  const { disk, path, bytes, old, identity, doing } = o
  doing('written')
  const isPrivate = old !== undefined || identity?.mode !== undefined
  const fd = disk.open(path, { for: 'making', mode: isPrivate ? 0o600 : 0o666 })
  let staged: Stat
  try {
    writeAll(disk, { fd, bytes })
    doing('given its owner and mode')
    giveOwnerAndMode(o, fd)
    doing('written to the disk')
    await disk.sync(fd)
    staged = disk.fstat(fd)
  } finally {
    disk.close(fd)
  }
  if (staged.size !== bytes.length)
    throw Object.assign(new Error('EIO: not all of it was written'), { code: 'EIO' })
  return staged
}

/** The mark that lets a file run as its owner goes, as it does with any write. */
function giveOwnerAndMode({ disk, old, identity }: NewContent, fd: number): void {
  const made = disk.fstat(fd)
  const owner = old ?? ownerIn(identity)
  if (owner !== undefined && (owner.uid !== made.uid || owner.gid !== made.gid))
    disk.chown(fd, owner.uid, owner.gid)
  const mode = old?.mode ?? identity?.mode
  if (mode !== undefined) disk.chmod(fd, mode & 0o1777)
}

function ownerIn(identity: FileChange['identity']): Pick<Stat, 'uid' | 'gid'> | undefined {
  const [uid, gid] = identity?.owner?.split(':').map(Number) ?? []
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}

/**
 * Whether what was written is still there, to the last byte: another program of the user may have found the temporary
 * name. Throws `StaleFile` where it is not, or what the disk throws.
 */
function compareStaged(o: {
  readonly disk: Disk
  readonly path: string
  readonly bytes: Uint8Array
  readonly staged: Stat
  readonly shown: string
}): void {
  const { disk, path, bytes, staged, shown } = o
  const fd = openIfThere(disk, path)
  if (fd === undefined) throw touched(shown)
  try {
    const { id, mode, uid, gid } = disk.fstat(fd)
    const same = id === staged.id && mode === staged.mode && uid === staged.uid && gid === staged.gid
    const now = same ? readAll(disk, { fd, most: bytes.length }) : undefined
    if (now === undefined || !sameBytes(now, bytes)) throw touched(shown)
  } finally {
    closeQuietly(disk, fd)
  }
}

/** The same as far as one look tells: it has not been written to since, unless somebody set its times back. */
function checkStaged(o: {
  readonly disk: Disk
  readonly path: string
  readonly staged: Stat
  readonly shown: string
}): void {
  const { disk, path, staged, shown } = o
  const now = disk.lstat(path)
  if (now?.id !== staged.id || now.size !== staged.size || now.changedMs !== staged.changedMs)
    throw touched(shown)
}

const touched = (shown: string) =>
  new StaleFile(`the new content of ${shown} was changed by another program before it was in place`)

interface PlaceOptions extends FolderAccess {
  /** Bytes of the largest file. */
  readonly most: number
}

/**
 * Where one file of a change is: its folder, held open, and paths for the disk to the three names that are used in it.
 * What folders are missing is made by `make`; until then there is no name to use.
 */
class Place {
  readonly #o: PlaceOptions & { readonly stem: string }
  #change: FileChange
  /** Undefined where its folder is there. */
  readonly #newFolders: NewFolders | undefined
  /** Undefined until its folders are made. */
  #folder: Folder | undefined

  /** `stem`: how the two temporary names begin. Throws `StaleFile` where the folder is not there, or what the disk throws. */
  constructor(change: FileChange, o: PlaceOptions & { readonly stem: string }) {
    this.#o = o
    this.#change = change
    const isNew = change.after !== null && (change.identity?.folders ?? 0) > 0
    if (isNew) this.#newFolders = new NewFolders(change, o)
    else this.#folder = this.#opened()
  }

  get folder(): Folder {
    if (this.#folder === undefined) throw new Error(`the folders of ${this.#change.shown} were not made`)
    return this.#folder
  }

  /** The name of the file. */
  get target(): string {
    return this.folder.at(basename(this.#change.path))
  }

  /** That of the new content, until it is in place. */
  get temporary(): string {
    return this.folder.at(`${this.#o.stem}${NEW}`)
  }

  /** The second name of the old file, until the new one is in place. */
  get aside(): string {
    return this.folder.at(`${this.#o.stem}${OLD}`)
  }

  get comparing(): Comparison {
    const { disk, most } = this.#o
    return { disk, change: this.#change, folder: this.folder, most }
  }

  /** Throws `StaleFile` unless all is as in the plan. Answers the file for the caller to close, if there is one. */
  compare(): OldFile | undefined {
    if (this.#folder !== undefined) return openCompared(this.comparing)
    this.#newFolders?.compare()
    return undefined
  }

  /** Makes the folders that are missing, but for those in `made`: all that one commit makes. Throws as `compare` does. */
  make(made: Set<string>): void {
    if (this.#newFolders === undefined) return
    const folder = this.#newFolders.make(made)
    const { identity } = this.#change
    this.#change = { ...this.#change, identity: { file: null, ...identity, folder } }
    this.#folder = this.#opened()
  }

  /** Until the disk has the name of the file. */
  async sync(): Promise<void> {
    await syncFolder(this.#o, this.folder.fd)
    await this.#newFolders?.sync()
  }

  /** Takes back what it made, as far as it is empty. Answers whether nothing is left that should have gone. */
  takeBack(): boolean {
    return this.#newFolders?.takeBack() ?? true
  }

  close(): void {
    this.#folder?.close()
    this.#newFolders?.close()
  }

  #opened(): Folder {
    const { path, shown } = this.#change
    const folder = pinFolder(this.#o, dirname(path))
    if (folder === undefined) throw new StaleFile(`the folder of ${shown} is not there any more`)
    return folder
  }
}

/** A file whose name may lead elsewhere by what we did. */
interface ReplacedName {
  readonly disk: Disk
  readonly place: Pick<Place, 'target' | 'temporary' | 'aside'>
  readonly change: FileChange
  /** Bytes of the largest file. */
  readonly most: number
  /** The new file and the old one; undefined where there is none. */
  readonly staged: Stat | undefined
  readonly old: Stat | undefined
}

/** Which of the two contents the name leads to now. Never throws. */
function whatItHolds({ disk, place, change, staged, old }: ReplacedName): Holds {
  try {
    const there = disk.lstat(place.target)
    if (there !== undefined && there.id === staged?.id) return 'new'
    if (there?.id === old?.id) return 'old'
    return there === undefined && change.after === null ? 'new' : 'unknown'
  } catch {
    return 'unknown'
  }
}

/** Gives the old file, which is aside, its name again. False where somebody else's file has it. Throws what the disk throws. */
function restore({ disk, place, staged }: ReplacedName): boolean {
  const there = disk.lstat(place.target)
  if (there === undefined) disk.link(place.aside, place.target)
  else if (there.id === staged?.id) disk.rename(place.aside, place.target)
  else return false
  return true
}

/**
 * Takes a file that was made away again, unless somebody has replaced it, or written into it since: then it has its
 * name again, and may have the one aside too. Throws what the disk throws.
 */
function removeMade(touched: ReplacedName): 'removed' | 'theirs' | 'returned' {
  const { disk, place, staged } = touched
  if (disk.lstat(place.target)?.id !== staged?.id) return 'theirs'
  const name = takenAside(touched)
  if (isMade(touched, name)) return 'removed'
  disk.link(name, place.target)
  return 'returned'
}

/** The name that it has then: aside, or, on a disk that takes no new names, the temporary one that it still had. */
function takenAside({ disk, place, staged }: ReplacedName): string {
  try {
    disk.rename(place.target, place.aside)
    return place.aside
  } catch (error) {
    // Reported is not always what happened.
    if (disk.lstat(place.aside)?.id === staged?.id) return place.aside
    if (disk.lstat(place.temporary)?.id !== staged?.id) throw error
    disk.unlink(place.target)
    return place.temporary
  }
}

function isMade({ disk, change, most, staged }: ReplacedName, path: string): boolean {
  const { after } = change
  const fd = disk.open(path, { for: 'reading' })
  try {
    const bytes = readAll(disk, { fd, most })
    if (bytes === undefined || after === null) return false
    return disk.fstat(fd).id === staged?.id && sameBytes(bytes, after)
  } finally {
    closeQuietly(disk, fd)
  }
}

/** What a file system answers that has no further names for files, or not for this one. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']

/**
 * One change of one file, step by step: `compare`, `makeFolders`, `stage`, then without a pause between them `replace`,
 * which compares once more, and `confirm`; then `finish` or `putBack`; `dispose` in any case. All up to `confirm` throw
 * `StaleFile`, or what the disk throws.
 *
 * While it is replaced the old file keeps a second, temporary name. What somebody wrote into it at the last moment is
 * so never lost: `confirm` sees it, and `putBack` gives it its own name again. What remains is a file that somebody
 * else puts in place by a rename, between the last look at the name and our rename: one system call after the other.
 * Node offers no exchange of two names, which alone would close that. Where the file system has no second names, a
 * write into the file between the last comparison and the rename is lost alike.
 *
 * Extended attributes and access lists are not kept: Node cannot read them.
 */
export class Replacement {
  /** How its temporary names begin. */
  readonly stem = `${TEMPORARY}${randomBytes(8).toString('hex')}`
  readonly #o: PlaceOptions
  readonly #disk: Disk
  readonly #change: FileChange
  readonly #place: Place
  #staged: Stat | undefined
  #old: OldFile | undefined
  /** Whether the two temporary names may be there. */
  #hasTemporary = false
  #hasAside = false
  /** Whether the name of the file may lead elsewhere by what we did. */
  #isTouched = false
  #isTidy = true
  #holds: Holds = 'old'
  #doing = 'looked at'

  /** Holds the folder of the file open, or the innermost that is there. */
  constructor(change: FileChange, o: PlaceOptions) {
    this.#o = o
    this.#disk = o.disk
    this.#change = change
    this.#place = new Place(change, { ...o, stem: this.stem })
  }

  get change(): FileChange {
    return this.#change
  }

  get holds(): Holds {
    return this.#holds
  }

  /** Whether none of its temporary names is left that should have gone, nor a folder. */
  get isTidy(): boolean {
    return this.#isTidy
  }

  /** What was being done to it, as a participle. */
  get doing(): string {
    return this.#doing
  }

  /** The name under which the old file is left, where it could not be given its own back. */
  get leftAside(): string | undefined {
    return this.#hasAside && this.#holds !== 'old' ? basename(this.#place.aside) : undefined
  }

  /** Permissions of what is there now; null where nothing is. */
  get mode(): number | null {
    return this.#old?.stat.mode ?? null
  }

  /** Whose that is, as `uid:gid`. */
  get owner(): string | null {
    return this.#old === undefined ? null : `${this.#old.stat.uid}:${this.#old.stat.gid}`
  }

  /** Whether folder and file are those of the plan, and the file holds what it held. */
  compare(): void {
    this.#doing = 'looked at'
    this.#closeOld()
    this.#old = this.#place.compare()
  }

  /** Makes the folders that it needs, but for those that are in `made`: all that one commit makes. */
  makeFolders(made: Set<string>): void {
    this.#doing = 'given a folder'
    this.#place.make(made)
  }

  /** Writes the new file beside the old one, to the disk. */
  async stage(): Promise<void> {
    const { after: bytes, identity } = this.#change
    if (bytes === null) return
    this.#hasTemporary = true
    this.#staged = await stage({
      disk: this.#disk,
      path: this.#place.temporary,
      bytes,
      old: this.#old?.stat,
      identity,
      doing: what => {
        this.#doing = what
      },
    })
  }

  /** From here on the name leads to the new file, or to none. */
  replace(): void {
    this.#compareStaged()
    this.compare()
    this.#doing = 'replaced'
    const { after, before } = this.#change
    try {
      if (after === null) this.#takeAway()
      else if (before === null) this.#put()
      else this.#exchange()
      this.#holds = 'new'
    } catch (error) {
      if (this.#isTouched) this.#holds = whatItHolds(this.#touched)
      throw error
    }
  }

  /** Whether the old file was still what it had been when the new one took its place. */
  confirm(): void {
    if (this.#hasAside && this.#old !== undefined) compareOpen(this.#place.comparing, this.#old.fd)
  }

  /** Gives the name back to the old file, unless somebody else has put a third one there. Does not throw for the disk. */
  putBack(): void {
    if (this.#holds === 'old') return
    try {
      const done =
        this.#change.before === null ? this.#removeMade() : this.#hasAside && restore(this.#touched)
      this.#holds = done ? 'old' : whatItHolds(this.#touched)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      this.#holds = whatItHolds(this.#touched)
    }
  }

  /** Lets go of the old file, of the second name of a new one, and of the folders that are empty without it. */
  finish(): void {
    const { path, before, after, identity } = this.#change
    if (this.#hasAside) this.#remove(this.#place.aside)
    this.#hasAside = false
    if (before === null) this.#remove(this.#place.temporary)
    this.#hasTemporary = false
    if (after === null && !removeEmptied(this.#o, { path, folders: identity?.folders ?? 0 }))
      this.#isTidy = false
  }

  /** Until the disk has the new name. */
  async sync(): Promise<void> {
    this.#doing = 'kept on the disk for certain'
    await this.#place.sync()
  }

  /** Leaves nothing behind, as far as the disk allows. Never throws. */
  dispose(): void {
    this.#closeOld()
    if (this.#hasTemporary) this.#remove(this.#place.temporary)
    // An old file that did not get its name back is somebody's work: it keeps the one it has.
    if (this.#hasAside && this.#holds === 'old') this.#remove(this.#place.aside)
    if (this.#holds === 'old' && !this.#place.takeBack()) this.#isTidy = false
    this.#place.close()
  }

  get #touched(): ReplacedName {
    const [staged, old] = [this.#staged, this.#old?.stat]
    return { disk: this.#disk, change: this.#change, most: this.#o.most, place: this.#place, staged, old }
  }

  #compareStaged(): void {
    if (this.#staged === undefined || this.#change.after === null) return
    this.#doing = 'read again'
    const { shown, after: bytes } = this.#change
    compareStaged({ disk: this.#disk, path: this.#place.temporary, bytes, staged: this.#staged, shown })
  }

  /** Once more, at the last moment. */
  #checkStaged(): void {
    const { shown } = this.#change
    if (this.#staged !== undefined)
      checkStaged({ disk: this.#disk, path: this.#place.temporary, staged: this.#staged, shown })
  }

  #exchange(): void {
    const disk = this.#disk
    const { target, temporary, aside, folder } = this.#place
    const old = this.#old?.stat
    this.#linkAside()
    if (this.#hasAside && disk.lstat(aside)?.id !== old?.id) throw this.#moved()
    this.#checkStaged()
    const last = folder.isHere() ? disk.lstat(target) : undefined
    if (last?.id !== old?.id || last?.changedMs !== old?.changedMs) throw this.#moved()
    this.#isTouched = true
    disk.rename(temporary, target)
  }

  #linkAside(): void {
    const { target, aside } = this.#place
    this.#hasAside = true
    try {
      this.#disk.link(target, aside)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') throw this.#moved()
      if (!NO_LINKS.includes(errnoOf(error) ?? '')) throw error
      this.#hasAside = this.#disk.lstat(aside) !== undefined
    }
  }

  /** By a link and no rename, so that nothing that appeared meanwhile is replaced. */
  #put(): void {
    const { target, temporary } = this.#place
    this.#checkStaged()
    this.#isTouched = true
    try {
      this.#disk.link(temporary, target)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || whatItHolds(this.#touched) !== 'unknown') throw error
      this.#isTouched = false
      throw new StaleFile(`${this.#change.shown} now exists`)
    }
  }

  /** Whatever has the name is first moved aside, in one step, and then looked at: nothing is lost. */
  #takeAway(): void {
    const disk = this.#disk
    const { target, aside } = this.#place
    this.#hasAside = true
    this.#isTouched = true
    try {
      disk.rename(target, aside)
    } catch (error) {
      // Reported is not always what happened.
      if (disk.lstat(aside) !== undefined) throw error
      this.#hasAside = false
      this.#isTouched = false
      throw errnoOf(error) === 'ENOENT' ? this.#moved() : error
    }
    if (disk.lstat(aside)?.id !== this.#old?.stat.id) throw this.#moved()
  }

  /** What was made goes again, unless somebody has written into it or replaced it since. */
  #removeMade(): boolean {
    this.#hasAside = true
    const came = removeMade(this.#touched)
    if (came === 'removed') return true
    if (came === 'returned') this.#remove(this.#place.aside)
    this.#hasAside = false
    return false
  }

  #moved(): StaleFile {
    return new StaleFile(`${this.#change.shown} was changed or replaced at the last moment`)
  }

  #remove(path: string): void {
    for (let left = 2; left > 0; left--)
      try {
        this.#disk.unlink(path)
        return
      } catch (error) {
        if (errnoOf(error) === 'ENOENT' && !this.#isThere(path)) return
        // Whatever it was, trying once more costs nothing.
      }
    this.#isTidy = false
  }

  #isThere(path: string): boolean {
    try {
      return this.#disk.lstat(path) !== undefined
    } catch {
      return true
    }
  }

  #closeOld(): void {
    if (this.#old !== undefined) closeQuietly(this.#disk, this.#old.fd)
    this.#old = undefined
  }
}
