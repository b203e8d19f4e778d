import type { FolderLooks } from '../../../tools/entries.ts'
import type { Failed } from '../../../tools/outcome.ts'
import { fileInfo } from './file-info.ts'
import type { Ground, Shows } from './ground.ts'
import { list } from './list.ts'
import { fileFailed } from './refused.ts'
import { walk } from './walking.ts'

/** For what no policy speaks about. */
export const SHOWS_ALL: Shows = { has: () => true, meets: () => undefined }

/** The looks of one call, or of none, at the folders of a project. */
export function folderLooks(ground: Ground): FolderLooks {
  const { confinement, root } = ground
  return {
    roots: () =>
      refusing(root, () => {
        const tops = confinement.tops(root)
        return 'type' in tops ? tops : { type: 'roots', ...tops }
      }),
    list: (path, order) => refusing(path, () => list(ground, { path, order })),
    walk: (path, order) => refusing(path, () => walk(ground, { path, order })),
    info: (path, order) => refusing(path, () => fileInfo(ground, { path, order })),
  }
}

/** What the system refuses is a failure that the caller is told of. */
async function refusing<Result>(
  path: string,
  look: () => Result | Promise<Result>,
): Promise<Result | Failed> {
  try {
    return await look()
  } catch (error) {
    return fileFailed(error, { what: 'looked at', shown: JSON.stringify(path.slice(0, 300)) })
  }
}
