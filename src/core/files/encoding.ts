import { isUtf8 } from 'node:buffer'
import type { SeenFile, TextEncoding } from '../../../tools/proposal.ts'

/** What bytes say, and how; `text` is null where they are not text. */
export interface Decoded {
  readonly text: string | null
  readonly encoding: TextEncoding
  readonly newline: SeenFile['newline']
}

const BOM = '\ufeff'
const HALF_CHARACTER = /\p{Cs}/u
/** What no text in that old encoding holds: NUL, control characters but tab, line ends and form feed. */
const NOT_LATIN = /[^\t\n\f\r\x20-\x7e\xa0-\xff]/

/**
 * Tells text by its bytes alone. UTF-8 strictly; UTF-16 only with a byte order mark; Latin-1 where it is no UTF-8 and
 * every byte is a character that can be seen. Nothing is guessed beyond that: other bytes are binary, and so is
 * whatever holds a NUL.
 */
export function decode(bytes: Uint8Array): Decoded {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [encoding, text] of readings(buffer)) {
    if (text.includes('\0') || HALF_CHARACTER.test(text) || text.startsWith(BOM)) continue
    return { text, encoding, newline: newlineOf(text) }
  }
  return { text: null, encoding: 'binary', newline: 'none' }
}

function* readings(buffer: Buffer): Generator<[TextEncoding, string]> {
  const [first, second, third] = buffer
  if (first === 0xff && second === 0xfe) {
    if (buffer.length % 2 === 0) yield ['utf-16le', buffer.toString('utf16le', 2)]
  } else if (first === 0xfe && second === 0xff) {
    if (buffer.length % 2 === 0) yield ['utf-16be', swapped(buffer.subarray(2)).toString('utf16le')]
  } else if (isUtf8(buffer)) {
    const marked = first === 0xef && second === 0xbb && third === 0xbf
    yield marked ? ['utf-8-bom', buffer.toString('utf8', 3)] : ['utf-8', buffer.toString('utf8')]
  } else {
    const text = buffer.toString('latin1')
    if (!NOT_LATIN.test(text)) yield ['latin-1', text]
  }
}

export function newlineOf(text: string): SeenFile['newline'] {
  const kinds = new Set<'\n' | '\r\n' | '\r'>()
  if (text.includes('\r\n')) kinds.add('\r\n')
  if (/(?<!\r)\n/.test(text)) kinds.add('\n')
  if (/\r(?!\n)/.test(text)) kinds.add('\r')
  const [kind = 'none'] = kinds
  return kinds.size > 1 ? 'mixed' : kind
}

export type Encoded =
  | { readonly type: 'encoded'; readonly bytes: Uint8Array }
  /** Why that encoding cannot spell the text, as a clause. */
  | { readonly type: 'unspellable'; readonly why: string }

/** The text in that encoding, exactly: reading it back gives the same text, or it is refused. */
export function encode(text: string, encoding: TextEncoding): Encoded {
  const why = unspellable(text, encoding)
  if (why !== undefined) return { type: 'unspellable', why }
  // A copy of its own: small buffers share their memory with others.
  const bytes = Uint8Array.from(spelled(text, encoding))
  if (decode(bytes).text === text) return { type: 'encoded', bytes }
  return { type: 'unspellable', why: `in ${encoding}, its bytes would be read as another text` }
}

function spelled(text: string, encoding: TextEncoding): Buffer {
  switch (encoding) {
    case 'utf-8':
    case 'binary':
      return Buffer.from(text, 'utf8')
    case 'utf-8-bom':
      return Buffer.from(BOM + text, 'utf8')
    case 'utf-16le':
      return Buffer.from(BOM + text, 'utf16le')
    case 'utf-16be':
      return swapped(Buffer.from(BOM + text, 'utf16le'))
    case 'latin-1':
      return Buffer.from(text, 'latin1')
    default:
      throw encoding satisfies never
  }
}

function unspellable(text: string, encoding: TextEncoding): string | undefined {
  if (encoding === 'binary') return 'the file is not text'
  if (text.includes('\0')) return 'the text holds a NUL character'
  if (text.startsWith(BOM)) return 'the text begins with a byte order mark, which is kept beside the text'
  const half = HALF_CHARACTER.exec(text)
  if (half !== null) return `the text holds half of a character, at ${half.index}`
  const beyond = encoding === 'latin-1' ? NOT_LATIN.exec(text) : null
  if (beyond === null) return undefined
  const point = beyond[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return `the file is in Latin-1, which has no U+${point}, at ${beyond.index} of the text`
}

const swapped = (buffer: Buffer): Buffer => Buffer.from(buffer).swap16()
