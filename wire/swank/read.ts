import { isAscii } from 'node:buffer'
import { WireError } from '../errors.ts'
import type { Sexp } from './sexp.ts'

/** Levels of lists in lists that are read: many more than Swank sends, and few enough to be walked by recursion. */
export const MOST_LEVELS = 1_000

/**
 * Reads one expression as Lisp prints it: text, or the same as UTF-8. Whatever cannot be understood outside an image
 * stays as it was printed (`Atom`), and nothing is evaluated. One pass, in linear time whatever the input, and without
 * recursion. Throws `FRAME_MALFORMED` for what ends too early or closes too much, and `LIMIT_EXCEEDED`.
 */
export function read(source: string | Buffer): Sexp {
  return new Reader(typeof source === 'string' ? Buffer.from(source) : source).expression()
}

const [QUOTE, SHARP, APOSTROPHE, OPEN, CLOSE, COMMA, LESS, AT, BACKSLASH, BACKQUOTE] = [
  34, 35, 39, 40, 41, 44, 60, 64, 92, 96,
] as const

/** A list that is open, what `#…(` opened, or a quote that waits for the one expression that it quotes. */
interface Opened {
  readonly kind: 'list' | 'literal' | 'quote'
  /** What stood before it; the name of a quote. */
  readonly prefix: string
  /** Where its values begin. */
  readonly from: number
}

class Reader {
  readonly #bytes: Buffer
  /** One character for each byte, so that a place in the one is the same place in the other. */
  readonly #text: string
  readonly #isAscii: boolean
  #at = 0
  /** The next backslash that is not behind us, beyond the end if there is none. */
  #backslash = -1
  #scratch: Buffer | undefined
  readonly #opened: Opened[] = []
  /** The values of all that is open; a list is cut out when it closes, and takes no more room than it needs. */
  readonly #values: Sexp[] = []
  #count = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#text = bytes.toString('latin1')
    this.#isAscii = isAscii(bytes)
  }

  expression(): Sexp {
    for (;;) {
      const value = this.#next()
      if (value === undefined) continue
      const whole = this.#quoted(value)
      if (this.#opened.length === 0) return whole
      this.#values[this.#count++] = whole
    }
  }

  /** The value that ends next, or undefined where something was only begun. */
  #next(): Sexp | undefined {
    const text = this.#text
    while (isSpace(text.charCodeAt(this.#at))) this.#at++
    switch (text.charCodeAt(this.#at)) {
      case OPEN:
        return this.#open('list', '(')
      case CLOSE:
        return this.#close()
      case QUOTE:
        return { text: this.#string() }
      case SHARP:
        return this.#sharp()
      case APOSTROPHE:
        return this.#open('quote', "'", 'quote')
      case BACKQUOTE:
        return this.#open('quote', '`', 'quasiquote')
      case COMMA: {
        const splicing = text.charCodeAt(this.#at + 1) === AT
        return this.#open('quote', splicing ? ',@' : ',', splicing ? 'unquote-splicing' : 'unquote')
      }
      default:
        return this.#atom()
    }
  }

  #open(kind: Opened['kind'], printed: string, prefix = printed): undefined {
    if (this.#opened.length >= MOST_LEVELS)
      throw new WireError('LIMIT_EXCEEDED', `A message of Swank nests deeper than ${MOST_LEVELS} levels.`)
    this.#at += printed.length
    this.#opened.push({ kind, prefix, from: this.#count })
  }

  #close(): Sexp {
    const closed = this.#opened.pop()
    if (closed === undefined || closed.kind === 'quote')
      throw new WireError('FRAME_MALFORMED', 'A message of Swank closes a list that was not opened.')
    this.#at++
    const items = this.#values.slice(closed.from, this.#count)
    this.#count = closed.from
    return closed.kind === 'literal' ? { prefix: closed.prefix, items } : listOf(items)
  }

  /** The value with all quotes before it. */
  #quoted(value: Sexp): Sexp {
    let whole = value
    for (let last = this.#opened.at(-1); last?.kind === 'quote'; last = this.#opened.at(-1)) {
      this.#opened.pop()
      whole = [{ atom: last.prefix }, whole]
    }
    return whole
  }

  #sharp(): Sexp | undefined {
    const text = this.#text
    const from = this.#at
    const next = text.charCodeAt(from + 1)
    if (next === LESS) return this.#printed(endOfUnreadable(text, from))
    if (next === BACKSLASH) return this.#printed(endOfCharacter(text, from))
    if (next === APOSTROPHE) return this.#open('quote', "#'", 'function')
    const end = endOfToken(text, from)
    const behind = text.charCodeAt(end)
    const prefix = text.slice(from, end)
    if (behind === OPEN) return this.#open('literal', `${prefix}(`, prefix)
    if (behind !== QUOTE) return this.#printed(end)
    this.#at = end
    return { prefix, items: [{ text: this.#string() }] }
  }

  #atom(): Sexp {
    const text = this.#text
    const from = this.#at
    const end = endOfToken(text, from)
    if (end === from) throw endedEarly()
    const number = text.charCodeAt(from) <= 57 ? numberIn(text, from, end) : undefined
    if (number !== undefined) {
      this.#at = end
      return number
    }
    if (end - from === 3 && text.startsWith('nil', from)) {
      this.#at = end
      return null
    }
    if (end - from === 1 && text[from] === '.') {
      this.#at = end
      return POINT
    }
    return this.#printed(end)
  }

  #printed(end: number): Sexp {
    const atom = this.#slice(this.#at, end)
    this.#at = end
    return { atom }
  }

  #string(): string {
    const from = this.#at + 1
    const end = this.#text.indexOf('"', from)
    if (end < 0) throw endedEarly()
    if (this.#backslash < from) {
      const found = this.#text.indexOf('\\', from)
      this.#backslash = found < 0 ? this.#text.length : found
    }
    if (this.#backslash < end) return this.#unescaped(from)
    this.#at = end + 1
    return this.#slice(from, end)
  }

  /** A string with backslashes in it, byte by byte: several times as fast as by any means that strings have. */
  #unescaped(from: number): string {
    const bytes = this.#bytes
    this.#scratch ??= Buffer.allocUnsafe(bytes.length)
    const scratch = this.#scratch
    const length = bytes.length
    let to = 0
    for (let at = from; at < length; at++) {
      let byte = bytes[at] as number
      if (byte === QUOTE) {
        this.#at = at + 1
        return this.#isAscii ? scratch.toString('latin1', 0, to) : scratch.toString('utf8', 0, to)
      }
      if (byte === BACKSLASH) byte = bytes[++at] as number
      scratch[to++] = byte
    }
    throw endedEarly()
  }

  /** Short pieces are views of the whole text, which costs least; long ones do not keep it in memory. */
  #slice(from: number, to: number): string {
    if (!this.#isAscii) return this.#bytes.toString('utf8', from, to)
    return to - from < 256 ? this.#text.slice(from, to) : this.#bytes.toString('latin1', from, to)
  }
}

function endedEarly(): WireError {
  return new WireError('FRAME_MALFORMED', 'A message of Swank ends in the middle of an expression.')
}

/*
 * Where one token of printed Lisp ends, and what it is. Texts have one character for each byte of UTF-8, which
 * changes nothing here: all that delimits is ASCII.
 */

const SPACE = 1
const DELIMITER = 2
const ESCAPE = 3
const KIND = new Uint8Array(256)
for (const char of ' \t\n\r\f\v') KIND[char.charCodeAt(0)] = SPACE
for (const char of '()"') KIND[char.charCodeAt(0)] = DELIMITER
for (const char of '|\\') KIND[char.charCodeAt(0)] = ESCAPE

const [PLUS, MINUS, DOT, ZERO, NINE, GREATER, PIPE] = [43, 45, 46, 48, 57, 62, 124] as const

function isSpace(code: number): boolean {
  return KIND[code] === SPACE
}

/**
 * The end of a symbol or number that begins at `at`: a space, a parenthesis or a quote that neither `|pipes|` nor a
 * backslash protect, or the end of the text.
 */
function endOfToken(text: string, at: number): number {
  let end = at
  for (;;) {
    const code = text.charCodeAt(end)
    const kind = KIND[code]
    if (kind === SPACE || kind === DELIMITER || Number.isNaN(code)) return Math.min(end, text.length)
    if (code === PIPE) end = endOfEscaped(text, end + 1, PIPE)
    else end += code === BACKSLASH ? 2 : 1
  }
}

/** Behind the `stop` that ends what begins at `at`; no backslash stands before it. The end if there is none. */
function endOfEscaped(text: string, at: number, stop: number): number {
  for (let end = at; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === stop) return end + 1
    if (code === BACKSLASH) end++
  }
  return text.length
}

/** The end of a character `#\x` that begins at `at`: whatever stands behind the backslash belongs to it. */
function endOfCharacter(text: string, at: number): number {
  return endOfToken(text, Math.min(at + 3, text.length))
}

/**
 * The end of an unreadable object `#<…>` that begins at `at`. Others within it are its own, and a `>` in a string in
 * it does not end it, unless that string has no end: then its quote was one character like any other.
 */
function endOfUnreadable(text: string, at: number): number {
  let open = 1
  let stringsEnd = true
  for (let end = at + 2; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === GREATER) {
      if (--open === 0) return end + 1
    } else if (code === SHARP) {
      const next = text.charCodeAt(end + 1)
      if (next === LESS) open++
      if (next === LESS || next === BACKSLASH) end += next === LESS ? 1 : 2
    } else if (code === QUOTE && stringsEnd) {
      const behind = endOfEscaped(text, end + 1, QUOTE)
      // Looked for once only, or a text of quotes would be read over and over.
      stringsEnd = behind < text.length
      if (stringsEnd) end = behind - 1
    }
  }
  return text.length
}

/** Bignums of more digits stay text: nobody reckons with them, and converting them takes more than linear time. */
const MOST_DIGITS = 1_000

/** A number that Lisp printed in decimal, or undefined for a ratio and all else that only begins like one. */
function numberIn(text: string, from: number, to: number): number | bigint | undefined {
  const first = text.charCodeAt(from)
  const signed = first === MINUS || first === PLUS
  let at = signed ? from + 1 : from
  let value = 0
  for (; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code < ZERO || code > NINE) break
    value = value * 10 + (code - ZERO)
  }
  const digits = at - from - (signed ? 1 : 0)
  if (digits === 0) return undefined
  if (at < to && !(at === to - 1 && text.charCodeAt(at) === DOT)) return floatIn(text.slice(from, to))
  if (value <= Number.MAX_SAFE_INTEGER) return first === MINUS && value !== 0 ? -value : value
  return digits > MOST_DIGITS ? undefined : BigInt(text.slice(first === PLUS ? from + 1 : from, at))
}

const FLOAT = /^[+-]?\d+(?:\.\d+)?(?:[esfdl][+-]?\d+)?$/i

function floatIn(token: string): number | undefined {
  if (token.length > MOST_DIGITS || !FLOAT.test(token)) return undefined
  const value = Number(token.replace(/[sfdl]/i, 'e'))
  return Number.isFinite(value) ? value : undefined
}

/** The list that these values make, once its `)` has come. */
function listOf(items: readonly Sexp[]): Sexp {
  if (items.length === 0) return null
  const point = items.at(-2)
  if (point !== POINT || items.length < 3) return items
  return { list: items.slice(0, -2), tail: items.at(-1) ?? null }
}

/** The dot of a dotted pair, while it is not known to be one. */
const POINT = { atom: '.' }
