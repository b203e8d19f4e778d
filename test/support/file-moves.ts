import type { Files } from '../../src/files/files.ts'
import type { FileChange, SeenFile } from '../../tools/contract.ts'
import type { FilesRig } from './files-rig.ts'

/** What is moved, made and taken away in a rig, as changes that nobody has carried out yet. */

export async function place(rig: FilesRig, path: string, files: Files = rig.files): Promise<SeenFile> {
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
