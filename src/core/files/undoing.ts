import { type Failed, failed } from '../../../tools/outcome.ts'
import type { FileChange, NotUndone, Undone } from '../../../tools/proposal.ts'
import { changeOf } from './drawing.ts'
import type { Kept, KeptChange } from './kept.ts'
import { type Looking, type Sight, see, seenOf } from './look.ts'
import { short } from './mark.ts'
import { fileFailed, stale } from './refused.ts'

export interface Undoing extends Looking {
  readonly kept: Kept
}

type KeptFile = KeptChange['files'][number]

/**
 * The change that takes back the one of that name, or what of it is still there. Refused where a file holds neither
 * what that change left nor what was there before it.
 */
export function undone(
  undoing: Undoing,
  asked: { readonly root: string; readonly change: string },
): Undone | NotUndone {
  const { root, change } = asked
  const about: string[] = []
  try {
    const kept = undoing.kept.find(change)
    if (kept === undefined) return unknown(change, 'is not known, or was too long ago to be undone')
    about.push(...kept.files.map(({ path }) => path))
    const found = seenBack({ undoing, kept, root })
    return found.type === 'failed' ? { ...found, about } : found
  } catch (error) {
    return { ...fileFailed(error, { what: 'read', shown: `What is kept of ${change}` }), about }
  }
}

function seenBack({ undoing, kept, root }: Omit<Reversing, 'sights'>): Undone | Failed {
  const sights: Sight[] = []
  for (const { path } of kept.files) {
    const sight = see(undoing, { root, path, newFolders: true })
    if (sight.type === 'failed') return sight
    sights.push(sight)
  }
  return reversed({ undoing, kept, sights, root })
}

interface Reversing {
  readonly undoing: Undoing
  readonly kept: KeptChange
  readonly sights: readonly Sight[]
  readonly root: string
}

function reversed({ undoing, kept, sights, root }: Reversing): Undone | Failed {
  const pairs = kept.files.flatMap((file, number) => {
    const sight = sights[number]
    return sight === undefined ? [] : [{ file, sight, number }]
  })
  const causes = pairs.flatMap(({ file, sight }) => movedSince({ file, sight, change: kept.change }) ?? [])
  if (causes.length > 0) return stale(causes)
  const left = pairs.filter(({ file, sight }) => hashOf(sight) === file.afterSha256)
  if (left.length === 0)
    return stale(
      pairs.map(({ sight }) => `${sight.located.shown} is already as it was before ${kept.change}`),
    )
  const changes: FileChange[] = []
  for (const { file, sight, number } of left) {
    const after = kept.before(number)
    if (after === undefined) return unknown(kept.change, `has lost what ${sight.located.shown} held before`)
    changes.push(changeBack({ file, sight, after }))
  }
  // Those that come first, as in a move: their bytes have a name all the time.
  changes.sort((one, other) => Number(one.after === null) - Number(other.after === null))
  const files = left.map(({ file, sight }) => seenOf(undoing, { root, path: file.path }, sight))
  return { type: 'undone', files, changes }
}

const hashOf = ({ found }: Sight): string | null => found?.mark.sha256 ?? null

function movedSince(o: { file: KeptFile; sight: Sight; change: string }): string | undefined {
  const { file, sight, change } = o
  const now = hashOf(sight)
  if (now === file.afterSha256 || now === file.beforeSha256) return undefined
  const left = file.afterSha256 === null ? 'no file' : `sha256 ${short(file.afterSha256)}`
  const found = now === null ? 'it is gone' : `it is sha256 ${short(now)}`
  return `${sight.located.shown} has moved on: ${change} left ${left}, and now ${found}`
}

function changeBack(o: { file: KeptFile; sight: Sight; after: Uint8Array | null }): FileChange {
  const { file, sight, after } = o
  const { mode } = file
  // Whatever is kept says: none that the project itself lies in.
  const folders = Math.min(file.folders, sight.located.shown.split('/').length - 1)
  const owner = canGive(file.owner) ? file.owner : null
  return changeOf(sight, { after, folders, ...(mode !== null && { like: { mode, owner } }) })
}

/** To another user's file only the root user can give its owner again; better that it comes back without. */
function canGive(owner: string | null): boolean {
  const me = process.getuid?.()
  return me === 0 || owner?.startsWith(`${me}:`) === true
}

function unknown(change: string, why: string): Failed {
  return failed('not_found', {
    message: `The change ${JSON.stringify(change)} ${why}.`,
    next: 'Use the name that the change was answered with.',
  })
}
