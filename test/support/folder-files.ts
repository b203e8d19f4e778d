import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFiles } from '../../src/files/files.ts'
import type { Suite } from './harness.ts'
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

export type Folder = ReturnType<typeof openFolderFiles>

/** Tests that have such a folder of their own each. */
export function inFoldersOf(test: Suite): (fact: string, body: (rig: Folder) => Promise<void>) => void {
  return (fact, body) =>
    test(fact, async () => {
      const rig = openFolderFiles()
      try {
        await body(rig)
      } finally {
        rig.close()
      }
    })
}
