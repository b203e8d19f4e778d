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
  const found = new Set<string>()
  for (const { name, confined, each } of paths)
    for (const path of new Set(each === undefined ? [args[name]] : partsOf(args[name], each))) {
      if (typeof path !== 'string') continue
      const real = judgedPath({ path, confined, root, files })
      if (typeof real !== 'string') return real
      found.add(real)
    }
  return [...found]
}

function partsOf(list: unknown, key: string): unknown[] {
  const items: readonly unknown[] = Array.isArray(list) ? list : []
  return items.map(item =>
    typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined,
  )
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
