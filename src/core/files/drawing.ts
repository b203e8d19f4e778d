import { type Failed, failed } from '../../../tools/outcome.ts'
import type { FileChange, FileIdentity, SeenFile } from '../../../tools/proposal.ts'
import { encode } from './encoding.ts'
import { type Sight, tooLarge } from './look.ts'
import { identityOf } from './mark.ts'

/** Changes of files as plans hold them: worked out to the last byte from what was seen, with nothing done yet. */

/** A file as a tool has it, and what is behind it. */
export interface Drawn {
  readonly file: SeenFile
  readonly sight: Sight
}

/** The file with that text. `most`: bytes of the largest file. */
export function changed({
  file,
  sight,
  text,
  most,
}: Drawn & { text: string; most: number }): FileChange | Failed {
  const { shown, encoding } = file
  const encoded = encode(text, encoding)
  if (encoded.type === 'unspellable')
    return failed('not_text', {
      message: `${shown} cannot be given that text: ${encoded.why}.`,
      details: { encoding },
    })
  const after = encoded.bytes
  if (after.length > most) return tooLarge({ shown, bytes: after.length, most })
  return changeOf(sight, { after })
}

/** Without the file. */
export function removed({ file, sight }: Drawn): FileChange {
  if (sight.found === undefined) throw new Error(`${file.shown} is not there, and cannot be taken away`)
  return changeOf(sight, { after: null })
}

/** First with the file under the other path, where nothing is, then without it under its own. */
export function moved(from: Drawn, to: Drawn): readonly [appears: FileChange, goes: FileChange] {
  const { found } = from.sight
  if (found === undefined || to.sight.found !== undefined)
    throw new Error(`${from.file.shown} cannot be moved to ${to.file.shown}`)
  const { mode, uid, gid } = found.stat
  return [changeOf(to.sight, { after: found.bytes, like: { mode, owner: `${uid}:${gid}` } }), removed(from)]
}

/** What a file has besides its bytes. */
interface Like {
  readonly mode: number
  /** As `uid:gid`; null where it is not known. */
  readonly owner: string | null
}

export interface Drawing {
  /** Null where the file is to go. */
  readonly after: Uint8Array | null
  /** Of a file that is made: another one's. */
  readonly like?: Like
  /** Of a file that goes: how many folders were made for it. */
  readonly folders?: number
}

/** From what was seen to those bytes. */
export function changeOf(sight: Sight, { after, like, folders = 0 }: Drawing): FileChange {
  const { located, found, folder } = sight
  const { path, shown, newFolders } = located
  const many = after === null ? folders : newFolders.length
  const identity: FileIdentity = {
    folder,
    file: found === undefined ? null : identityOf(found.stat),
    ...(like !== undefined && { mode: like.mode }),
    ...(typeof like?.owner === 'string' && { owner: like.owner }),
    ...(many > 0 && { folders: many }),
  }
  return { path, shown, before: found?.bytes ?? null, after, identity }
}
