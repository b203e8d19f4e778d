import type { Sexp } from './sexp.ts'

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

const [QUOTE, SHARP, PLUS, MINUS, DOT, ZERO, NINE, LESS, GREATER, BACKSLASH, PIPE] = [
  34, 35, 43, 45, 46, 48, 57, 60, 62, 92, 124,
] as const

export function isSpace(code: number): boolean {
  return KIND[code] === SPACE
}

/**
 * The end of a symbol or number that begins at `at`: a space, a parenthesis or a quote that neither `|pipes|` nor a
 * backslash protect, or the end of the text.
 */
export function endOfToken(text: string, at: number): number {
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
export function endOfCharacter(text: string, at: number): number {
  return endOfToken(text, Math.min(at + 3, text.length))
}

/**
 * The end of an unreadable object `#<…>` that begins at `at`. Others within it are its own, and a `>` in a string in
 * it does not end it, unless that string has no end: then its quote was one character like any other.
 */
export function endOfUnreadable(text: string, at: number): number {
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
export function numberIn(text: string, from: number, to: number): number | bigint | undefined {
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
export function listOf(items: readonly Sexp[]): Sexp {
  if (items.length === 0) return null
  const point = items.at(-2)
  if (point !== POINT || items.length < 3) return items
  return { list: items.slice(0, -2), tail: items.at(-1) ?? null }
}

/** The dot of a dotted pair, while it is not known to be one. */
export const POINT = { atom: '.' }
