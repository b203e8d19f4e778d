import { posix } from 'node:path'
import type { FileChange } from '../../tools/proposal.ts'
import { escapePlanLine } from './escape.ts'
import { folded } from './files/names.ts'
import type { Plan } from './plan.ts'
import type { Shown } from './shown-plan.ts'
import { isWithin } from './within.ts'

/** Files that a person may let through together. */
export interface Pattern {
  /** From the project's root, as it is offered: `src/shop.py`, `src/*.py`, `src/**`. */
  readonly text: string
  /** Whether a real path is one of them, by whole names: what differs by case or spelling is another one. */
  covers(path: string): boolean
}

/** What is larger is looked at, in bytes: of the preview, and of each side of all changes together. */
const MOST_BYTES = 256 * 1024
/** Files that are named one by one in a pattern. */
const MOST_NAMED = 4

/**
 * What may be let through from now on together with this plan, narrowest first: the files themselves, those of their
 * folder with the same ending, all below their folder. Empty for a plan that a person has to look at each time: one
 * that is not all of it a change of files, which can be undone; with a kernel, with a warning, or too large; or about
 * a file whose path has a name that begins with a dot, or a policy in it.
 */
export function patternsOf(plan: Plan, shown: Pick<Shown, 'warnings' | 'bytes'>): readonly Pattern[] {
  const top = topOf(plan.changes)
  if (top === undefined || !isHarmless(plan, shown)) return []
  const paths = plan.changes.map(({ path }) => path)
  return [...theFiles(plan.changes), ...theKind(paths, top), ...theFolder(paths, top)]
}

function isHarmless({ kernel, epoch, changes }: Plan, shown: Pick<Shown, 'warnings' | 'bytes'>): boolean {
  const sizes = [
    shown.bytes,
    sum(changes.map(({ before }) => before?.byteLength ?? 0)),
    sum(changes.map(({ after }) => after?.byteLength ?? 0)),
  ]
  return (
    kernel === null &&
    epoch === null &&
    shown.warnings.length === 0 &&
    sizes.every(bytes => bytes <= MOST_BYTES) &&
    changes.every(({ path }) => isPlain(path))
  )
}

const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0)

/**
 * Whether each name on the way is one to be let through: none is hidden or could be taken for a pattern, and none is
 * that of a policy. All of the path is looked at, because whoever calls chooses the root.
 */
function isPlain(path: string): boolean {
  if (path !== posix.normalize(path) || escapePlanLine(path) !== path || /[*,]/.test(path)) return false
  const names = path.split('/').slice(1).map(folded)
  return names.every(name => name !== '' && !name.startsWith('.') && name !== 'imago.toml')
}

/** The real root of the project that all of the files lie in; undefined where they do not. */
function topOf(changes: readonly FileChange[]): string | undefined {
  const tops = new Set(
    changes.map(({ path, shown }) =>
      path.endsWith(`/${shown}`) ? path.slice(0, -shown.length - 1) : undefined,
    ),
  )
  const [top] = tops
  return tops.size === 1 && top !== '' ? top : undefined
}

function theFiles(changes: readonly FileChange[]): readonly Pattern[] {
  const paths = new Set(changes.map(({ path }) => path))
  if (paths.size > MOST_NAMED) return []
  const text = [...new Set(changes.map(({ shown }) => shown))].join(', ')
  return [{ text, covers: path => paths.has(path) }]
}

function theKind(paths: readonly string[], top: string): readonly Pattern[] {
  const [first = '', ...others] = paths
  const [folder, ending] = [posix.dirname(first), posix.extname(first)]
  const covers = (path: string) => posix.dirname(path) === folder && posix.extname(path) === ending
  if (ending.length < 2 || !others.every(covers)) return []
  return [{ text: posix.join(posix.relative(top, folder), `*${ending}`), covers }]
}

/** Not the whole project: that is for a rule of the policy. */
function theFolder(paths: readonly string[], top: string): readonly Pattern[] {
  const folder = paths.map(path => posix.dirname(path)).reduce(shared)
  if (folder === top || !isWithin(folder, top)) return []
  return [
    {
      text: `${posix.relative(top, folder)}/**`,
      covers: path => path !== folder && isWithin(path, folder),
    },
  ]
}

function shared(one: string, other: string): string {
  return isWithin(other, one) ? one : shared(posix.dirname(one), other)
}
