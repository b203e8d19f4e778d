import type { Committed, FileChange, ProjectFiles } from '../../tools/define.ts'
import { type Failed, failed } from '../../tools/outcome.ts'

/** The files that tools may look at and change, of every project (design section 5). */
export interface Files {
  /** Those of one project; the same object for the same root. */
  of(root: string): ProjectFiles
  /**
   * The real path that a path means, for the gate's rules, whether it is there or not. `path_refused` outside the
   * roots, for Imago's own files, and for names that only look like others.
   */
  realPath(asked: { readonly root: string; readonly path: string }): string | Failed
  /**
   * Waits for its turn at all of these files, in an order in which nobody waits for each other; the answer lets the
   * next one in. Taken before evidence is checked for the last time, and held until the effect is over.
   */
  lock(paths: readonly string[]): Promise<() => void>
  /**
   * Writes the changes, each as a whole or not at all: what was there is kept first, under `change`. The bytes and the
   * identity of each file are compared once more, immediately before it is replaced; `stale_plan` where they differ.
   */
  commit(order: {
    readonly change: string
    readonly changes: readonly FileChange[]
  }): Promise<Committed | Failed>
}

/** For callers that were given no files at all. */
export const NO_FILES: Files = {
  of: () => ({ look: refuse, changed: refused, undone: refuse }),
  realPath: refused,
  lock: async () => () => {},
  commit: refuse,
}

function refused(): Failed {
  return failed('path_refused', {
    message: 'This daemon was given no files to look at.',
    details: { reason: 'no_files' },
  })
}

async function refuse(): Promise<Failed> {
  return refused()
}
