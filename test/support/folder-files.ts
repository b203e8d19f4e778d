import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFiles } from '../../src/core/files.ts'
import type { FilesRig } from './project-files.ts'

/** The daemon's own files, over a real folder. `src` is a folder in it. */
export function openFolderFiles(): FilesRig & { readonly root: string } {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), 'imago-files-')))
  const [root, stateDir] = [join(outer, 'project'), join(outer, 'state')]
  for (const folder of [join(root, 'src'), stateDir]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const files = openFiles({ protected: [stateDir], stateDir })
  let changes = 0
  return {
    root,
    files: files.of(root),
    commit: all => files.commit({ change: `change-${++changes}`, changes: all }),
    read(path) {
      try {
        return readFileSync(join(root, path))
      } catch {
        return undefined
      }
    },
    write: (path, bytes) => writeFileSync(join(root, path), bytes),
    close: () => rmSync(outer, { recursive: true, force: true }),
  }
}
