import type { FileText } from '../../../tools/entries.ts'
import { type Disk, errnoOf, readAll, type Stat } from './disk.ts'
import { decode } from './encoding.ts'
import { troubleOf } from './listing.ts'

/** A file up to this size is first looked through for the bytes, which costs less than decoding it. */
const LOOKED_THROUGH = 256 * 1024

/** A file of many, by a path that leads into a folder that is held, if it is still the one that was seen there. */
export function textAt(
  disk: Disk,
  o: { readonly path: string; readonly stat: Stat; readonly most: number; readonly holding: string | null },
): FileText {
  const { path, stat, most, holding } = o
  // Anything else is never opened: that alone can already do something, or wait.
  if (stat.kind !== 'file') return { type: 'binary' }
  if (stat.size > most) return { type: 'too_large' }
  try {
    const fd = disk.open(path, { for: 'reading' })
    try {
      const now = disk.fstat(fd)
      if (now.id !== stat.id || now.kind !== 'file') return { type: 'vanished' }
      const bytes = readAll(disk, { fd, most })
      if (bytes === undefined) return { type: 'too_large' }
      return holding !== null && lacks(bytes, holding) ? without(bytes) : decoded(bytes)
    } finally {
      disk.close(fd)
    }
  } catch (error) {
    const trouble = troubleOf(error)
    return trouble === 'vanished' ? { type: trouble } : { type: trouble, errno: errnoOf(error) ?? '' }
  }
}

function decoded(bytes: Uint8Array): FileText {
  const { text } = decode(bytes)
  return text === null ? { type: 'binary' } : { type: 'text', text }
}

const without = (bytes: Uint8Array): FileText => ({ type: bytes.includes(0) ? 'binary' : 'without' })

/** Whether a file cannot hold the text in any encoding that it may be in. False where that is not known. */
function lacks(bytes: Uint8Array, holding: string): boolean {
  if (bytes.length > LOOKED_THROUGH || isUtf16(bytes)) return false
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return !buffer.includes(holding) && (isAscii(holding) || !buffer.includes(holding, 0, 'latin1'))
}

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)
