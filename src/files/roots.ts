import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, parse, resolve } from 'node:path'

/**
 * Characters that no new file may have in its name, and that names are compared without. Fewer than are escaped where
 * something is printed (`wire/invisible.ts`): names with wide spaces or private characters are real names.
 */
export const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

export const ALL_HIDDEN = new RegExp(HIDDEN, 'gu')

/**
 * The same for all spellings of a name that some file system takes for one: letter case, composed and decomposed
 * letters, full-width forms, characters that it ignores, dots and spaces at the end. A comparison by it refuses too
 * much rather than too little.
 */
export function folded(name: string): string {
  const plain = name.normalize('NFKC').replace(ALL_HIDDEN, '')
  // Through capitals, so that ı, ſ and ς become what they are capitals' small letters of; the dot of İ goes.
  const cased = plain.toUpperCase().toLowerCase().normalize('NFKC').replaceAll('i\u0307', 'i')
  let end = cased.length
  while (end > 0 && '. '.includes(cased.charAt(end - 1))) end--
  return end === 0 ? cased : cased.slice(0, end)
}

export function foldedPath(path: string): string {
  return path.split('/').map(folded).join('/')
}

/** Whether an absolute path is that folder or in it. By component: `/a/bc` is not within `/a/b`. Both are real paths. */
export function isWithin(path: string, folder: string): boolean {
  const trimmed = folder.endsWith('/') ? folder.slice(0, -1) : folder
  return path === trimmed || path.startsWith(`${trimmed}/`)
}

/** Whether a kernel may live there: a folder, but neither `home` nor anything that `home` lies in. */
export function isProject(root: string, home: string): boolean {
  const path = realOf(root)
  return !holdsHome(path, realOf(home)) && path !== parse(path).root && isFolder(path)
}

/**
 * Whether what runs in that folder is of the project: in the same folder, or below it. Below the home directory, or a
 * folder that holds it, there are other projects. Both without links.
 */
export function isOfProject(folder: string, root: string): boolean {
  return folder === root || (isWithin(folder, root) && !holdsHome(root, realOf(homedir())))
}

/** Whether that is the home directory or a folder above it, in whichever letters; both without links. */
export function holdsHome(folder: string, home: string): boolean {
  return isWithin(foldedPath(home), foldedPath(folder))
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** The path without links, so that one folder has one name; as given where it does not exist. */
export function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

/** A folder's name, with what no name of a kernel may hold left out. */
export function kernelNameOf(root: string): string {
  return nameFrom(basename(realOf(root)), 'project')
}

/** What of a text can be the name of a kernel; `otherwise` where nothing can. */
export function nameFrom(text: string, otherwise: string): string {
  const name = text
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 60)
  return name === '' ? otherwise : name
}
