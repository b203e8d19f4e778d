import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Files, type FilesOptions, type OpenFiles, openFiles } from '../../src/files/files.ts'
import type { FileChange, SeenFile } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'
import { watchedDisk } from './failing-disk.ts'

/** A project beside the folders of a daemon, and a folder that is none of a tool's business. */
export class FilesRig {
  readonly top = realpathSync(mkdtempSync(join(tmpdir(), 'imago-files-')))
  readonly root = join(this.top, 'project')
  readonly outside = join(this.top, 'outside')
  readonly runtime = join(this.top, 'run')
  readonly state = join(this.top, 'state')
  readonly config = join(this.top, 'config')
  readonly files: OpenFiles

  constructor(options: Partial<FilesOptions> = {}) {
    for (const folder of [this.root, this.outside, this.state]) mkdirSync(folder)
    this.files = this.open(options)
  }

  /** Further files over the same folders, as another daemon has them, or the same one on another disk. */
  open(options: Partial<FilesOptions> = {}): OpenFiles {
    const { runtime, state, config } = this
    return openFiles({
      protected: [runtime, state, config],
      stateDir: state,
      disk: watchedDisk().disk,
      home: join(this.top, 'home'),
      ...options,
    })
  }

  /** A path in the project. */
  at(path: string): string {
    return join(this.root, path)
  }

  put(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.at(path)), { recursive: true })
    writeFileSync(this.at(path), content)
  }

  text(path: string): string {
    return readFileSync(this.at(path), 'utf8')
  }

  /** Every file below the project that a change should not have left. */
  leftOver(): string[] {
    const names = readdirSync(this.root, { recursive: true, encoding: 'utf8' })
    return names.filter(name => name.includes('.imago-'))
  }

  async seen(path: string, files: Files = this.files): Promise<SeenFile> {
    const seen = await files.of(this.root).look(path)
    if (seen.type === 'failed') throw new Error(seen.error.message)
    return seen
  }

  /** Why it is not looked at: the code, and the reason where it has one. */
  async refusalOf(path: string, files: Files = this.files): Promise<string> {
    const seen = await files.of(this.root).look(path)
    return seen.type === 'failed' ? codeOf(seen) : 'seen'
  }

  async planned(path: string, text: string, files: Files = this.files): Promise<FileChange> {
    const change = files.of(this.root).changed(await this.seen(path, files), text)
    if ('type' in change) throw new Error(change.error.message)
    return change
  }

  async write(path: string, text: string, change: string): Promise<void> {
    const done = await this.files.commit({ change, changes: [await this.planned(path, text)] })
    if (done.type === 'failed') throw new Error(done.error.message)
  }

  close(): void {
    rmSync(this.top, { recursive: true, force: true })
  }
}

export function codeOf({ error }: Failed): string {
  const { reason, errno } = error.details
  return [error.code, reason ?? errno].filter(part => part !== undefined).join(' ')
}

/** What a commit came to: `committed`, or the code and what it says that the files hold. */
export function cameTo(answer: { readonly type: 'committed' } | Failed): string {
  if (answer.type === 'committed') return 'committed'
  const { holds } = answer.error.details
  return holds === undefined ? answer.error.code : `${answer.error.code} ${holds}`
}

async function place(rig: FilesRig, path: string, files: Files = rig.files): Promise<SeenFile> {
  const seen = await files.of(rig.root).lookForNew(path)
  if (seen.type === 'failed') throw new Error(seen.error.message)
  return seen
}

export async function moving(rig: FilesRig, [from, to]: readonly [string, string], files: Files = rig.files) {
  return files.of(rig.root).moved(await rig.seen(from, files), await place(rig, to, files))
}

export async function making(rig: FilesRig, path: string, files: Files = rig.files): Promise<FileChange> {
  const change = files.of(rig.root).changed(await place(rig, path, files), 'made')
  if ('type' in change) throw new Error(change.error.message)
  return change
}

export const deleting = async (rig: FilesRig, path: string, files: Files = rig.files) =>
  files.of(rig.root).removed(await rig.seen(path, files))

/** What takes a change back, not carried out yet. */
export async function changesBack(
  rig: FilesRig,
  files: Files,
  change: string,
): Promise<readonly FileChange[]> {
  const back = await files.of(rig.root).undone(change)
  if (back.type === 'failed') throw new Error(back.error.message)
  return back.changes
}
