import { isUtf8 } from 'node:buffer'
import { WireError } from '../errors.ts'
import { HEADER_BYTES } from './frames.ts'
import type { Codec, DataLimits } from './messages.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** JSON in UTF-8. docs/wire.md#json */
export const json: Codec = {
  encoding: 'json',

  frame(value, limits) {
    const text = textOf(value)
    const size = Buffer.byteLength(text)
    const frame = Buffer.allocUnsafe(HEADER_BYTES + size)
    frame.writeUInt32BE(size, 0)
    frame.write(text, HEADER_BYTES)
    checkLimits(frame, HEADER_BYTES, limits)
    return frame
  },

  decode(body, limits) {
    if (!isUtf8(body)) throw new WireError('FRAME_MALFORMED', 'A frame of JSON is not valid UTF-8.')
    checkLimits(body, 0, limits)
    const text = body.toString('utf8')
    try {
      return mentionsPrototype(text) ? JSON.parse(text, withoutPrototype) : JSON.parse(text)
    } catch (cause) {
      throw new WireError('FRAME_MALFORMED', 'The body of a frame is not JSON.', { cause })
    }
  },
}

function textOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new WireError('MESSAGE_INVALID', 'A value cannot be written as JSON; it was not sent.', { cause })
  }
  if (text === undefined)
    throw new WireError('MESSAGE_INVALID', `A ${typeof value} cannot be written as JSON; it was not sent.`)
  return text
}

/** An own `__proto__` turns into a prototype when an object is copied carelessly, so it is left out. */
const withoutPrototype = (key: string, value: unknown) => (key === '__proto__' ? undefined : value)
const mentionsPrototype = (text: string) => text.includes('__proto__') || text.includes('\\u005')

/** Counts what opens and what follows, without believing that the text is JSON. */
function checkLimits(bytes: Buffer, from: number, limits: DataLimits) {
  let depth = 0
  let items = 0
  let justOpened = false
  for (let at = from; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = closingQuote(bytes, at + 1)
        justOpened = false
        break
      case COMMA:
        items++
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > limits.depth) throw tooDeep(limits)
        items++
        justOpened = true
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        // What opened and closed at once was counted as if it had held something.
        if (justOpened) items--
        justOpened = false
        break
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        break
      default:
        justOpened = false
    }
  }
  if (items > limits.items) throw tooMany(limits)
}

/** Steps of the plain loop between two native searches, so that a text full of quotes stays cheap. */
const STRIDE = 64

/** Where the string that begins at `from` ends, or the end of the bytes. */
function closingQuote(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length) {
    for (const stop = Math.min(at + STRIDE, bytes.length); at < stop; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) return at
      if (byte === BACKSLASH) at++
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) return bytes.length
    let escapes = quote
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--
    if ((quote - escapes) % 2 === 0) return quote
    at = quote + 1
  }
  return at
}

export function tooDeep(limits: DataLimits): WireError {
  return new WireError('LIMIT_EXCEEDED', `A message nests deeper than ${limits.depth} levels.`)
}

export function tooMany(limits: DataLimits): WireError {
  return new WireError('LIMIT_EXCEEDED', `A message holds more than ${limits.items} items.`)
}
