import type { Files } from '../../src/files/files.ts'
import { pathRefused } from '../../src/files/refused.ts'
import { sha256 } from '../../src/sha256.ts'
import type { Failed } from '../../tools/outcome.ts'

/** For what looks at no files. */
export const NO_FILES: Files = {
  of: () => ({
    look: refuse,
    lookForNew: refuse,
    changed: refused,
    removed: unseen,
    moved: unseen,
    undone: refuse,
    roots: refuse,
    list: refuse,
    walk: refuse,
    info: refuse,
    decoded: bytes => ({ text: null, encoding: 'binary', sha256: sha256(bytes) }),
  }),
  realPath: refused,
  lock: async () => () => {},
  commit: refuse,
}

function refused(): Failed {
  return pathRefused('no_project', { why: 'The test has given no files.' })
}

/** Nothing was seen that could be taken away or moved. */
function unseen(): never {
  throw new Error('the test has given no files')
}

async function refuse(): Promise<Failed> {
  return refused()
}
