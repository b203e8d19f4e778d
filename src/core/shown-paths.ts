import type { Shows } from './files/ground.ts'
import { decide, isAboutFiles, type Rule } from './gate.ts'
import { isWithin } from './within.ts'

/** The tool whose rules also hold for tools that show what is in files which their call did not name. */
const READING = 'read_file'

export interface ShownBy {
  readonly tool: string
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

function isAllowed({ tool, kernel }: ShownBy, path: string, rules: readonly Rule[]): boolean {
  if (rules.length === 0) return true
  const asked = { level: 'safe', kernel, paths: [path], rules } as const
  return [tool, READING].every(one => decide({ ...asked, tool: one }).decision === 'allow')
}

const tightens = ({ decision }: Rule): boolean => decision !== 'allow'

/** The same rule, however often its file was read. */
const keyOf = ({ from }: Rule): string => (from.type === 'default' ? '' : `${from.file} ${from.number}`)
