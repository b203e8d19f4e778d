import { counted } from './naming.ts'
import { type Failed, failed } from './outcome.ts'
import type { SeenFile } from './proposal.ts'
import { encodingWord } from './remarks.ts'
import { oneLine } from './wording.ts'

/** What the tools that make, move and take away whole files say alike. */

/** Why nothing new can have that path; undefined where it can. `next` says what to do about a file that is there. */
export function somethingThere({ exists, isLink, shown, bytes }: SeenFile, next: string): Failed | undefined {
  if (exists)
    return failed('already_exists', {
      message: `${oneLine(shown)} is there already, a file of ${counted(bytes, 'byte')}. Nothing was changed.`,
      details: { path: shown, bytes },
      next,
    })
  if (!isLink) return undefined
  return failed('already_exists', {
    message: `A link is there already, which leads to ${oneLine(shown)}, where nothing is. Nothing was changed.`,
    details: { path: shown },
    next: `Use another path, or ${JSON.stringify(shown)} itself.`,
  })
}

/** Why a path that ends with a slash is none of a new file. */
export function folderNamed(path: string): Failed | undefined {
  if (!path.endsWith('/')) return undefined
  return failed('invalid_args', {
    message: `${oneLine(path)} ends with a slash, so that it names a folder, not a file. Nothing was changed.`,
    details: { path },
    next: 'Give the whole path, with the name that the file is to have in that folder.',
  })
}

/** A link is neither moved nor taken away: that would be done to the file that it leads to. */
export function onlyLink(path: string, { isLink, shown }: SeenFile): Failed | undefined {
  if (!isLink) return undefined
  return failed('path_refused', {
    message: `${oneLine(path)} is a link to ${oneLine(shown)}, not a file. Nothing was changed.`,
    details: { reason: 'not_a_regular_file', leads_to: shown },
    next: 'Name the file itself, if it is meant. A link can be moved or deleted by a person only.',
  })
}

/** `120 bytes of text, sha256 …`, `6 bytes that are no text, sha256 …`. */
export function contentWord(file: Pick<SeenFile, 'text' | 'encoding' | 'sha256' | 'bytes'>): string {
  const { text, encoding, sha256, bytes } = file
  const word = text === null ? null : encodingWord(encoding)
  const kind = text === null ? 'that are no text' : `of text${word === null ? '' : ` in ${word}`}`
  return `${counted(bytes, 'byte')} ${kind}, sha256 ${sha256}`
}

/** A file that only gets another path, as git shows it. */
export function renameText({ from, to }: { readonly from: string; readonly to: string }): string {
  const [old, now] = [oneLine(from), oneLine(to)]
  return `diff --git a/${old} b/${now}\nsimilarity index 100%\nrename from ${old}\nrename to ${now}\n`
}

/** `The folders lib and lib/rates are made for it.`; nothing where they are there. */
export function madeFolders(folders: readonly string[]): string[] {
  const names = folders.map(oneLine)
  const last = names.pop()
  if (last === undefined) return []
  if (names.length === 0) return [`The folder ${last} is made for it.`]
  return [`The folders ${names.join(', ')} and ${last} are made for it.`]
}

/** `Its folder lib/rates goes too, if nothing else is in it.`, of the innermost so many folders of a file that goes. */
export function goneFolders(path: string, count = 0): string[] {
  const names = path.split('/')
  const folders = Array.from({ length: count }, (_, up) => oneLine(names.slice(0, -1 - up).join('/')))
  const last = folders.pop()
  if (last === undefined) return []
  if (folders.length === 0) return [`Its folder ${last} goes too, if nothing else is in it.`]
  return [`Its folders ${folders.join(', ')} and ${last} go too, as far as nothing else is in them.`]
}
