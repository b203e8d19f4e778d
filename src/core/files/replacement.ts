import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import type { FileChange } from '../../../tools/proposal.ts'
import { closeQuietly, compareOpen, Moved, type OldFile } from './comparing.ts'
import { type Disk, errnoOf, type Stat } from './disk.ts'
import { TEMPORARY } from './names.ts'
import { removeEmptied } from './new-folders.ts'
import { Place, type Placing } from './place.ts'
import { removeMade, restore, type Touched, whatItHolds } from './putting-back.ts'
import type { Holds } from './refused.ts'
import { checkStaged, compareStaged, stage } from './staging.ts'

/** What a file system answers that has no further names for files, or not for this one. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']

/**
 * One change of one file, step by step: `compare`, `makeFolders`, `stage`, then without a pause between them `replace`,
 * which compares once more, and `confirm`; then `finish` or `putBack`; `dispose` in any case. All up to `confirm` throw
 * `Moved`, or what the disk throws.
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
  readonly #o: Placing
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
  constructor(change: FileChange, o: Placing) {
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

  get #touched(): Touched {
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
      throw new Moved(`${this.#change.shown} now exists`)
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

  #moved(): Moved {
    return new Moved(`${this.#change.shown} was changed or replaced at the last moment`)
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
