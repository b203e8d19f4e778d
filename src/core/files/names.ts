/** Characters that a person does not see: control, format, bidirectional, zero-width, and those that say nothing. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
export const ALL_HIDDEN = new RegExp(HIDDEN, 'gu')

/** The file systems that Imago runs on keep names to this many bytes, and paths to that many. */
const NAME_BYTES = 255
const PATH_BYTES = 4_095

/** How the names of Imago's own temporary files begin. */
export const TEMPORARY = '.imago-'
/** One such name, without its end: `NEW` for a file that is being written, `OLD` for one that is being replaced. */
export const STEM: RegExp = /^\.imago-[0-9a-f]{16}$/
export const NEW = '.new'
export const OLD = '.old'

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

export const holdsHidden = (name: string): boolean => HIDDEN.test(name)

/** Why a text can be no path at all, as a clause; undefined where it can. */
export function faultOfPath(path: string): string | undefined {
  if (path === '') return 'it is empty'
  if (path.includes('\0')) return 'it holds a NUL character'
  if (/\p{Cs}/u.test(path)) return 'it holds half of a character'
  if (Buffer.byteLength(path) > PATH_BYTES) return `it is longer than ${PATH_BYTES} bytes`
  const long = path.split('/').some(name => Buffer.byteLength(name) > NAME_BYTES)
  return long ? `a name in it is longer than ${NAME_BYTES} bytes` : undefined
}

/** Why nothing new may have that name, as a clause; undefined where it may. */
export function faultOfNewName(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return `"${name}" is no name of a file`
  if (HIDDEN.test(name)) return 'a new name may hold no control, zero-width or direction characters'
  if (name.includes('\ufffd')) return 'it holds a character that could not be read'
  if (name.includes('\\')) return 'a new name may hold no backslash; "/" goes between the parts of a path'
  if (/[. ]$/.test(name)) return 'a new name may not end in a dot or a space'
  if (name.startsWith(' ')) return 'a new name may not begin with a space'
  if (name.startsWith(TEMPORARY)) return `names that begin with ${TEMPORARY} are Imago's own temporary files`
  return undefined
}
