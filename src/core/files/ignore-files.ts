import { join } from 'node:path'
import { type Disk, errnoOf, readAll, type Stat } from './disk.ts'
import { type Folder, type Pinning, pinFolder } from './folder.ts'
import { GIT, type IgnoreRules } from './ignoring.ts'

const IGNORE_FILE = '.gitignore'
const EXCLUDE = ['info', 'exclude'] as const
/** A larger one is not used. */
const MOST_BYTES = 256 * 1024

/** A folder on the way down from the root whose ignore files are to hold. */
export interface Entering extends Pinning {
  readonly folder: Folder
  /** Its real path. */
  readonly path: string
  /** The same from the root of the project; empty for the root itself. */
  readonly above: string
  /** Whether a name in a folder, as it stands there, is not for tools. */
  isOwn(name: string, stat: Stat): boolean
  /** Whether the policy lets the call show what is in that file. */
  isShown(path: string): boolean
  /** Told of an ignore file that cannot be used. */
  unusable(shown: string): void
}

/**
 * The rules above, with those of the folder: its `.gitignore` and, at the top of a repository, `.git/info/exclude`.
 * As in git a link is not followed for either, and nothing from outside of a repository holds in it.
 */
export function rulesIn(entering: Entering, rulesAbove: IgnoreRules): IgnoreRules {
  const { disk, folder, above } = entering
  const isRepository = quietly(() => disk.lstat(folder.at(GIT))) !== undefined
  let rules = isRepository ? rulesAbove.fresh() : rulesAbove
  const shown = (name: string) => (above === '' ? name : `${above}/${name}`)
  const use = (name: string, text: string | undefined) => {
    if (text === undefined) return
    const isQuoted = entering.isShown(join(entering.path, name))
    rules = rules.with({ folder: above, shown: shown(name), text, isQuoted })
  }
  const exclude = join(GIT, ...EXCLUDE)
  if (isRepository) use(exclude, excludeOf(entering, { shown: shown(exclude), room: rules.room }))
  const own = { name: IGNORE_FILE, shown: shown(IGNORE_FILE) }
  use(IGNORE_FILE, textIn(entering, { ...own, folder, room: rules.room }))
  return rules
}

/** Each folder on its way is held while the next is opened, so that no link leads elsewhere. */
function excludeOf(entering: Entering, told: { shown: string; room: number }): string | undefined {
  const [info, name] = EXCLUDE
  const git = quietly(() => pinFolder(entering, join(entering.path, GIT)))
  const folder = git && quietly(() => pinFolder(entering, join(entering.path, GIT, info)))
  try {
    return folder && textIn(entering, { ...told, folder, name })
  } finally {
    folder?.close()
    git?.close()
  }
}

function textIn(
  { disk, isOwn, unusable }: Entering,
  { folder, name, shown, room }: { folder: Folder; name: string; shown: string; room: number },
): string | undefined {
  const path = folder.at(name)
  const stat = quietly(() => disk.lstat(path))
  if (stat === undefined) return undefined
  const most = Math.min(MOST_BYTES, room)
  const isUsable = stat.kind === 'file' && !isOwn(name, stat) && stat.size <= most
  const text = isUsable ? quietly(() => textAt(disk, { path, id: stat.id, most })) : undefined
  if (text === undefined) unusable(shown)
  return text
}

function textAt(
  disk: Disk,
  { path, id, most }: { path: string; id: Stat['id']; most: number },
): string | undefined {
  const fd = disk.open(path, { for: 'reading' })
  try {
    const now = disk.fstat(fd)
    if (now.id !== id || now.kind !== 'file') return undefined
    const bytes = readAll(disk, { fd, most })
    return bytes === undefined ? undefined : Buffer.from(bytes).toString()
  } finally {
    disk.close(fd)
  }
}

/** What the system refuses is taken for missing. */
function quietly<Value>(look: () => Value): Value | undefined {
  try {
    return look()
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return undefined
  }
}
