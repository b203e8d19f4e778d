import { dirname, join } from 'node:path'
import { isWithin } from '../within.ts'
import { FilePolicy, type FilePolicyOptions, type Looked } from './file-policy.ts'

/** Folders of which it is remembered that their file says nothing; beyond them they are looked at as if anew. */
const MOST_FOLDERS = 4_096

/**
 * The `imago.toml` of every folder that calls were about, without links in its path. Asked again and again, a file that
 * is not there costs one look at its name.
 */
export class Projects {
  readonly #options: Omit<FilePolicyOptions, 'place'>
  readonly #files = new Map<string, FilePolicy>()
  /** Of these the same object stays, also where the file says nothing: plans are compared by it. */
  readonly #roots = new Set<string>()

  constructor(options: Omit<FilePolicyOptions, 'place'>) {
    this.#options = options
  }

  root(folder: string): void {
    this.#roots.add(folder)
  }

  /** What holds of the file of that folder now. */
  look(folder: string): Looked {
    return this.#at(folder).look()
  }

  /** Reads it whatever it looks like. */
  lookAgain(folder: string): Looked {
    return this.#at(folder).lookAgain()
  }

  accept(looked: Looked, by: string): void {
    this.#at(dirname(looked.place.file)).accept(looked, by)
  }

  /** Those below that folder that were met so far. */
  below(folder: string): string[] {
    return [...this.#files.keys()].filter(one => one !== folder && isWithin(one, folder))
  }

  #at(root: string): FilePolicy {
    const found = this.#files.get(root)
    if (found !== undefined) return found
    if (this.#files.size >= MOST_FOLDERS) this.#forget()
    const place = { type: 'project', file: join(root, 'imago.toml'), root } as const
    const made = new FilePolicy({ ...this.#options, place })
    this.#files.set(root, made)
    return made
  }

  #forget(): void {
    for (const [folder, file] of this.#files)
      if (!this.#roots.has(folder) && !saysAnything(file.look())) this.#files.delete(folder)
  }
}

/** Whether anything stands in the file, or holds of it although it does not stand there any more. */
export function saysAnything({ text, held, problem }: Looked): boolean {
  return text.sha256 !== null || held.length > 0 || problem !== undefined
}

/** The folder and each one that it lies in, up to the top of the file system. */
export function upwards(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...upwards(above)]
}
