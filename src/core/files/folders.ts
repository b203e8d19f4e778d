import type { FileInfo, FolderLooks, LookOrder } from '../../../tools/entries.ts'
import { linesOf, unspelled } from '../../../tools/newlines.ts'
import type { Failed } from '../../../tools/outcome.ts'
import type { SeenFile } from '../../../tools/proposal.ts'
import { pinFolder, type Stat } from './disk.ts'
import { eachName, type Ground, list, openSlices, type Shows, type Start, startAt } from './listing.ts'
import { see, seenOf } from './look.ts'
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

/** All that can be told of one name; only a regular file or a folder is opened. Throws what the disk throws. */
export async function fileInfo(
  ground: Ground,
  { path, order }: { path: string; order: LookOrder },
): Promise<FileInfo | Failed> {
  const start = startAt(ground, path)
  if (start.type === 'failed') return start
  const { located } = start
  const { stat } = located
  if (stat === undefined) throw new Error('what is not there was not refused')
  const content = contentOf(ground, start, stat)
  if ('error' in content) return content
  return {
    type: 'info',
    path: located.path,
    shown: located.shown,
    kind: stat.kind,
    bytes: stat.kind === 'file' ? stat.size : null,
    mode: stat.mode,
    changedMs: stat.changedMs,
    names: stat.kind === 'folder' ? await namesIn(ground, { start, order }) : null,
    ignoredBy: ignoredBy(start) ?? null,
    ...content,
    remarks: [...new Set([...start.remarks, ...content.remarks])],
  }
}

type Content = Pick<FileInfo, 'content' | 'unchangeable' | 'remarks'>

function contentOf(ground: Ground, { located }: Start, { kind, size }: Stat): Content | Failed {
  const none = (unchangeable: string) => ({ content: null, unchangeable, remarks: [] })
  if (kind !== 'file') return none(`it is a ${kind}, and tools change files`)
  if (size > ground.most) return none(`it is larger than the ${ground.most} bytes that a tool changes`)
  const asked = { root: ground.root, path: located.path }
  const sight = see(ground, asked)
  if (sight.type === 'failed') return sight
  const { text, encoding, newline, remarks } = seenOf(ground, asked, sight)
  if (text === null) return { ...none('it is not text'), remarks }
  return { content: { encoding, newline, lines: countLines(text, newline) }, unchangeable: null, remarks }
}

/** As `read_file` counts them. */
const countLines = (text: string, newline: SeenFile['newline']): number =>
  linesOf(unspelled(text, newline)).length

function ignoredBy({ ignoredBy: above, only, rules, level, located }: Start): string | undefined {
  if (above !== undefined) return above
  if (only === null) return undefined
  return rules.ignoredBy(level.rel === '' ? only : `${level.rel}/${only}`, located.stat?.kind === 'folder')
}

async function namesIn(
  ground: Ground,
  { start, order }: { start: Start; order: LookOrder },
): Promise<number | null> {
  const folder = pinFolder(ground, start.level.path)
  if (folder === undefined) return null
  try {
    let names = 0
    const reading = { disk: ground.disk, folder, slices: openSlices(order) }
    const ended = await eachName(reading, () => {
      names++
    })
    return ended ? names : null
  } finally {
    folder.close()
  }
}
