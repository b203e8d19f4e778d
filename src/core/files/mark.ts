import { sha256 } from '../sha256.ts'
import type { Stat } from './disk.ts'

/** One state of one file, to tell whether it is still in it, and what has become of it. */
export interface Mark {
  /** Device and inode. */
  readonly id: string
  readonly mode: number
  readonly owner: string
  readonly size: number
  readonly sha256: string
  readonly changedMs: number
}

export function markOf(stat: Stat, bytes: Uint8Array): Mark {
  const { id, mode, uid, gid, changedMs } = stat
  return { id, mode, owner: `${uid}:${gid}`, size: bytes.length, sha256: sha256(bytes), changedMs }
}

/** All that `commit` compares besides the bytes, as one text. */
export const identityOf = ({ id, mode, uid, gid }: Stat): string => `${id} ${mode.toString(8)} ${uid}:${gid}`

/** What became of a file that was in the first state, as the end of a clause; undefined where nothing has. */
export function causeOf(was: Mark | undefined, now: Mark | undefined): string | undefined {
  if (was === undefined)
    return now === undefined ? undefined : `now exists: ${now.size} bytes, ${atTime(now)}`
  if (now === undefined) return 'was deleted'
  if (was.sha256 !== now.sha256)
    return `was changed: sha256 ${short(was.sha256)} before, ${short(now.sha256)} now, ${atTime(now)}`
  if (was.id !== now.id) return 'is another file of the same content'
  if (was.mode !== now.mode)
    return `has another mode: ${was.mode.toString(8)} before, ${now.mode.toString(8)} now`
  return was.owner === now.owner ? undefined : `has another owner: ${was.owner} before, ${now.owner} now`
}

export const short = (hash: string): string => `${hash.slice(0, 12)}…`

const atTime = ({ changedMs }: Mark) => `at ${new Date(changedMs).toISOString()}`

export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0
