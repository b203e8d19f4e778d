import { basename, dirname } from 'node:path'
import type { FileChange } from '../../../tools/proposal.ts'
import { type Comparing, Moved, type OldFile, openCompared } from './comparing.ts'
import { type Folder, type Pinning, pinFolder } from './folder.ts'
import { NEW, OLD } from './names.ts'
import { NewFolders, syncFolder } from './new-folders.ts'

export interface Placing extends Pinning {
  /** Bytes of the largest file. */
  readonly most: number
}

/**
 * Where one file of a change is: its folder, held open, and paths for the disk to the three names that are used in it.
 * What folders are missing is made by `make`; until then there is no name to use.
 */
export class Place {
  readonly #o: Placing & { readonly stem: string }
  #change: FileChange
  /** Undefined where its folder is there. */
  readonly #newFolders: NewFolders | undefined
  /** Undefined until its folders are made. */
  #folder: Folder | undefined

  /** `stem`: how the two temporary names begin. Throws `Moved` where the folder is not there, or what the disk throws. */
  constructor(change: FileChange, o: Placing & { readonly stem: string }) {
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

  get comparing(): Comparing {
    const { disk, most } = this.#o
    return { disk, change: this.#change, folder: this.folder, most }
  }

  /** Throws `Moved` unless all is as in the plan. Answers the file for the caller to close, if there is one. */
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
    if (folder === undefined) throw new Moved(`the folder of ${shown} is not there any more`)
    return folder
  }
}
