import { resolve } from 'node:path'
import type { NamedPath } from '../../tools/define.ts'
import type { Failed } from '../../tools/outcome.ts'
import { realAnywhere } from './files/anywhere.ts'
import type { Files } from './files.ts'

export interface JudgedPaths {
  readonly paths: readonly NamedPath[]
  readonly args: Readonly<Record<string, unknown>>
  /** The caller's project. */
  readonly root: string
  readonly files: Files
}

/** The real paths of the arguments that name files, for the gate; or why one of them may not be named. */
export function judgedPaths({ paths, args, root, files }: JudgedPaths): string[] | Failed {
  const found: string[] = []
  for (const { name, confined } of paths) {
    const path = args[name]
    if (typeof path !== 'string') continue
    const real = judgedPath({ path, confined, root, files })
    if (typeof real !== 'string') return real
    found.push(real)
  }
  return found
}

/** One path as a caller in the project means it. Confined: refused where it leads out of the project's roots. */
export function judgedPath(o: {
  readonly path: string
  readonly confined: boolean
  readonly root: string
  readonly files: Files
}): string | Failed {
  const { path, confined, root, files } = o
  // What is not confined is opened by the image, under the path that the tool makes of it.
  return confined ? files.realPath({ root, path }) : realAnywhere(resolve(root, path))
}
