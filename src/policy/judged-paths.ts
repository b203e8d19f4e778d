import { resolve } from 'node:path'
import type { NamedPath } from '../../tools/define.ts'
import type { Failed } from '../../tools/outcome.ts'
import { realAnywhere } from '../files/confine.ts'
import type { Files } from '../files/files.ts'
import type { Shows } from '../files/list.ts'
import { isWithin } from '../files/roots.ts'
import { decide, isAboutFiles, type Rule } from './rules.ts'

interface JudgedPaths {
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

/** The tool whose rules also hold for tools that show what is in files which their call did not name. */
const READING = 'read_file'

interface ShownBy {
  readonly tool: string
  readonly as: string
  readonly kernel: string | null
  /** Those that hold for the call, by the paths that it names. Asked for once, and only where something is looked at. */
  rules(): readonly Rule[]
  /** Those that hold for a call about that folder. */
  rulesOn(folder: string): readonly Rule[]
}

/**
 * What a look at many files may show. The gate judged the path that the call names; here each path that is met on the
 * way is judged, as if it had been named to this tool or to `read_file`. Nobody can be asked about one of many, so what
 * a rule would ask about is not shown either.
 */
export function shownPaths(by: ShownBy): Shows {
  const met: Held[] = []
  let found: Found | undefined
  const ofCall = () => {
    found ??= foundIn(by.rules())
    return found
  }
  return {
    has: path =>
      isAllowed(by, path, ofCall().held) &&
      met.every(({ folder, rules }) => !isWithin(path, folder) || isAllowed(by, path, rules)),
    meets(folder) {
      if (met.some(one => one.folder === folder)) return
      const { known } = ofCall()
      const rules = by.rulesOn(folder).filter(rule => tightens(rule) && !known.has(keyOf(rule)))
      met.push({ folder, rules })
    },
  }
}

/** The rules of a folder that was met. */
interface Held {
  readonly folder: string
  readonly rules: readonly Rule[]
}

/** The rules of a call: all of them by their places, and those that can speak about a path which it does not name. */
interface Found {
  readonly known: ReadonlySet<string>
  readonly held: readonly Rule[]
}

function foundIn(rules: readonly Rule[]): Found {
  // A rule without a path was decided on for the whole call.
  const held = rules.filter(rule => isAboutFiles(rule) && tightens(rule))
  return { known: new Set(rules.map(keyOf)), held }
}

function isAllowed({ tool, as, kernel }: ShownBy, path: string, rules: readonly Rule[]): boolean {
  if (rules.length === 0) return true
  const asked = { level: 'safe', kernel, paths: [path], rules } as const
  return [{ tool, as }, { tool: READING }].every(one => decide({ ...asked, ...one }).decision === 'allow')
}

const tightens = ({ decision }: Rule): boolean => decision !== 'allow'

/** The same rule, however often its file was read. */
const keyOf = ({ from }: Rule): string => ('file' in from ? `${from.file} ${from.number}` : '')
