import type { FileDiff } from './diff.ts'
import { counted } from './naming.ts'
import { type Newline, newlineOf, newlineWord } from './newlines.ts'
import type { SeenFile, TextEncoding } from './proposal.ts'

/** What is said of a file and its change beside the diff. */

/** `2 lines added, 1 removed` */
export function countLines({ added, removed }: Pick<FileDiff, 'added' | 'removed'>): string {
  return `${counted(added, 'line')} added, ${removed} removed`
}

/** Null where an encoding is what everybody takes for granted. */
const ENCODINGS = {
  'utf-8': null,
  'utf-8-bom': 'UTF-8 with a byte order mark',
  'utf-16le': 'UTF-16 (little-endian)',
  'utf-16be': 'UTF-16 (big-endian)',
  'latin-1': 'Latin-1',
  binary: null,
} as const satisfies Record<TextEncoding, string | null>

export const encodingWord = (encoding: TextEncoding): string | null => ENCODINGS[encoding]

/** What a person should know of a file that is to have that text, as sentences. */
export function remarksOn(file: SeenFile, text: string): string[] {
  const encoding = encodingWord(file.encoding)
  const kept = encoding === null || !file.exists ? [] : [`The file is in ${encoding}, and stays so.`]
  const ends = newlineRemark({ before: file.newline, after: newlineOf(text) })
  return [...file.remarks, ...kept, ...ends]
}

function newlineRemark({ before, after }: { before: Newline; after: Newline }): string[] {
  if (before === after) {
    if (after === 'mixed')
      return ['Its lines end in different ways; those that the diff leaves alone stay so.']
    return after === 'none' || after === '\n'
      ? []
      : [`Its lines end with ${newlineWord(after)}, before and after.`]
  }
  if (before === 'none') return after === '\n' ? [] : [`Its lines will end with ${newlineWord(after)}.`]
  return after === 'none'
    ? []
    : [`Its line ends change: ${newlineWord(before)} before, ${newlineWord(after)} after.`]
}
