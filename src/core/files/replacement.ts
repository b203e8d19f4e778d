import { randomBytes } from 'node:crypto'
import { basename, dirname } from 'node:path'
import type { FileChange } from '../../../tools/proposal.ts'
import { type Comparing, closeQuietly, compareOpen, Moved, type OldFile, openCompared } from './comparing.ts'
import { type Disk, errnoOf, readAll, type Stat, writeAll } from './disk.ts'
import { type Folder, type Pinning, pinFolder } from './folder.ts'
import { sameBytes } from './mark.ts'
import { NEW, OLD, TEMPORARY } from './names.ts'
import type { Holds } from './refused.ts'

/** What a file system answers that has no further names for files, or not for this one. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']

/**
 * One change of one file, step by step: `compare`, `stage`, then without a pause between them `replace`, which compares
 * once more, and `confirm`; then `finish` or `putBack`; `dispose` in any case. The first four throw `Moved`, or what
 * the disk throws.
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
  readonly #disk: Disk
  readonly #change: FileChange
  readonly #folder: Folder
  readonly #comparing: Comparing
  readonly #target: string
  readonly #temporary: string
  readonly #aside: string
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

  /** Holds the folder of the file open. */
  constructor(change: FileChange, o: Pinning & { readonly most: number }) {
    const { disk, most } = o
    const folder = pinFolder(o, dirname(change.path))
    if (folder === undefined) throw new Moved(`the folder of ${change.shown} is not there any more`)
    this.#disk = disk
    this.#change = change
    this.#folder = folder
    this.#comparing = { disk, change, folder, most }
    this.#target = folder.at(basename(change.path))
    this.#temporary = folder.at(`${this.stem}${NEW}`)
    this.#aside = folder.at(`${this.stem}${OLD}`)
  }

  get change(): FileChange {
    return this.#change
  }

  get holds(): Holds {
    return this.#holds
  }

  /** Whether none of its temporary names is left that should have gone. */
  get isTidy(): boolean {
    return this.#isTidy
  }

  /** What was being done to it, as a participle. */
  get doing(): string {
    return this.#doing
  }

  /** The name under which the old file is left, where it could not be given its own back. */
  get leftAside(): string | undefined {
    return this.#hasAside && this.#holds !== 'old' ? basename(this.#aside) : undefined
  }

  /** Permissions of what is there now; null where nothing is. */
  get mode(): number | null {
    return this.#old?.stat.mode ?? null
  }

  /** Whether folder and file are those of the plan, and the file holds what it held. */
  compare(): void {
    this.#doing = 'looked at'
    this.#closeOld()
    this.#old = openCompared(this.#comparing)
  }

  /** Writes the new file beside the old one, to the disk. */
  async stage(): Promise<void> {
    const { after } = this.#change
    if (after === null) return
    this.#doing = 'written'
    this.#hasTemporary = true
    const mode = this.#old === undefined ? 0o666 : 0o600
    const fd = this.#disk.open(this.#temporary, { for: 'making', mode })
    try {
      writeAll(this.#disk, { fd, bytes: after })
      this.#keepOwnerAndMode(fd)
      this.#doing = 'written to the disk'
      await this.#disk.sync(fd)
      this.#staged = this.#disk.fstat(fd)
    } finally {
      this.#disk.close(fd)
    }
    if (this.#staged.size !== after.length)
      throw Object.assign(new Error('EIO: not all of it was written'), { code: 'EIO' })
  }

  /** From here on the name leads to the new file, or to none. */
  replace(): void {
    this.compare()
    this.#doing = 'replaced'
    const { after, before } = this.#change
    try {
      if (after === null) this.#takeAway()
      else if (before === null) this.#put()
      else this.#exchange()
      this.#holds = 'new'
    } catch (error) {
      if (this.#isTouched) this.#holds = this.#whatItHolds()
      throw error
    }
  }

  /** Whether the old file was still what it had been when the new one took its place. */
  confirm(): void {
    if (this.#hasAside && this.#old !== undefined) compareOpen(this.#comparing, this.#old.fd)
  }

  /** Gives the name back to the old file, unless somebody else has put a third one there. Does not throw for the disk. */
  putBack(): void {
    if (this.#holds === 'old') return
    try {
      const done = this.#change.before === null ? this.#removeMade() : this.#hasAside && this.#restore()
      this.#holds = done ? 'old' : this.#whatItHolds()
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      this.#holds = this.#whatItHolds()
    }
  }

  /** Lets go of the old file, and of the second name of a new one. */
  finish(): void {
    if (this.#hasAside) this.#remove(this.#aside)
    this.#hasAside = false
    if (this.#change.before === null) this.#remove(this.#temporary)
    this.#hasTemporary = false
  }

  /** Until the disk has the new name. */
  async sync(): Promise<void> {
    this.#doing = 'kept on the disk for certain'
    try {
      await this.#disk.sync(this.#folder.fd)
    } catch (error) {
      // Some file systems have no such thing for folders.
      if (!['EINVAL', 'ENOTSUP'].includes(errnoOf(error) ?? '')) throw error
    }
  }

  /** Leaves nothing behind, as far as the disk allows. Never throws. */
  dispose(): void {
    this.#closeOld()
    if (this.#hasTemporary) this.#remove(this.#temporary)
    // An old file that did not get its name back is somebody's work: it keeps the one it has.
    if (this.#hasAside && this.#holds === 'old') this.#remove(this.#aside)
    this.#folder.close()
  }

  /** The mark that lets a file run as its owner goes, as it does with any write. */
  #keepOwnerAndMode(fd: number): void {
    this.#doing = 'given its owner and mode'
    const disk = this.#disk
    const old = this.#old?.stat
    const made = disk.fstat(fd)
    if (old !== undefined && (old.uid !== made.uid || old.gid !== made.gid)) disk.chown(fd, old.uid, old.gid)
    const mode = old?.mode ?? this.#change.identity?.mode
    if (mode !== undefined) disk.chmod(fd, mode & 0o1777)
  }

  #exchange(): void {
    const disk = this.#disk
    const old = this.#old?.stat
    this.#linkAside()
    if (this.#hasAside && disk.lstat(this.#aside)?.id !== old?.id) throw this.#moved()
    const last = this.#folder.isHere() ? disk.lstat(this.#target) : undefined
    if (last?.id !== old?.id || last?.changedMs !== old?.changedMs) throw this.#moved()
    this.#isTouched = true
    disk.rename(this.#temporary, this.#target)
  }

  #linkAside(): void {
    this.#hasAside = true
    try {
      this.#disk.link(this.#target, this.#aside)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') throw this.#moved()
      if (!NO_LINKS.includes(errnoOf(error) ?? '')) throw error
      this.#hasAside = this.#disk.lstat(this.#aside) !== undefined
    }
  }

  /** By a link and no rename, so that nothing that appeared meanwhile is replaced. */
  #put(): void {
    this.#isTouched = true
    try {
      this.#disk.link(this.#temporary, this.#target)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || this.#whatItHolds() !== 'unknown') throw error
      this.#isTouched = false
      throw new Moved(`${this.#change.shown} now exists`)
    }
  }

  /** Whatever has the name is first moved aside, in one step, and then looked at: nothing is lost. */
  #takeAway(): void {
    const disk = this.#disk
    this.#hasAside = true
    this.#isTouched = true
    try {
      disk.rename(this.#target, this.#aside)
    } catch (error) {
      // Reported is not always what happened.
      if (disk.lstat(this.#aside) !== undefined) throw error
      this.#hasAside = false
      this.#isTouched = false
      throw errnoOf(error) === 'ENOENT' ? this.#moved() : error
    }
    if (disk.lstat(this.#aside)?.id !== this.#old?.stat.id) throw this.#moved()
  }

  /** Whether the old file has its name again. */
  #restore(): boolean {
    const disk = this.#disk
    const there = disk.lstat(this.#target)
    if (there === undefined) disk.link(this.#aside, this.#target)
    else if (there.id === this.#staged?.id) disk.rename(this.#aside, this.#target)
    else return false
    return true
  }

  /** What was made goes again, unless somebody has written into it or replaced it since. */
  #removeMade(): boolean {
    const disk = this.#disk
    if (disk.lstat(this.#target)?.id !== this.#staged?.id) return false
    this.#hasAside = true
    disk.rename(this.#target, this.#aside)
    if (this.#isMade(this.#aside)) return true
    disk.link(this.#aside, this.#target)
    this.#remove(this.#aside)
    this.#hasAside = false
    return false
  }

  #isMade(path: string): boolean {
    const disk = this.#disk
    const { after } = this.#change
    const fd = disk.open(path, { for: 'reading' })
    try {
      const bytes = readAll(disk, { fd, most: this.#comparing.most })
      if (bytes === undefined || after === null) return false
      return disk.fstat(fd).id === this.#staged?.id && sameBytes(bytes, after)
    } finally {
      closeQuietly(disk, fd)
    }
  }

  #moved(): Moved {
    return new Moved(`${this.#change.shown} was changed or replaced at the last moment`)
  }

  #whatItHolds(): Holds {
    try {
      const there = this.#disk.lstat(this.#target)
      if (there !== undefined && there.id === this.#staged?.id) return 'new'
      if (there?.id === this.#old?.stat.id) return 'old'
      return there === undefined && this.#change.after === null ? 'new' : 'unknown'
    } catch {
      return 'unknown'
    }
  }

  #remove(path: string): void {
    for (let left = 2; left > 0; left--)
      try {
        this.#disk.unlink(path)
        return
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return
        // Whatever it was, trying once more costs nothing.
      }
    this.#isTidy = false
  }

  #closeOld(): void {
    if (this.#old !== undefined) closeQuietly(this.#disk, this.#old.fd)
    this.#old = undefined
  }
}
