import { redacted, redactedText } from '../redact.ts'
import { sha256 } from '../sha256.ts'
import type { JournalEntry, JournalNote } from './entries.ts'

/** The form of a line. Readers skip lines of a form they do not know, and lines that do not parse. */
const JOURNAL_VERSION = 2

/** The line of an entry, of bounded length and without secrets, up to where its chain and the closing brace follow. */
export function entryBody(entry: JournalEntry, time: Date): string {
  const kept = clean(entry)
  const text = JSON.stringify(kept)
  if (text.length <= LINE_CHARS) return begun(text, time)
  const cut = { ...kept, args: hashed(text) }
  const short = JSON.stringify(cut)
  return begun(short.length <= LINE_CHARS ? short : JSON.stringify(capped(cut, 0)), time)
}

/** The same for what the journal says of itself. */
export const noteBody = (note: JournalNote, time: Date) => begun(JSON.stringify(note), time)

const begun = (text: string, time: Date) =>
  `{"v":${JOURNAL_VERSION},"time":"${textOf(time)}",${text.slice(1, -1)}`

let last = { ms: Number.NaN, text: '' }

/** Many lines are of the same millisecond. */
function textOf(time: Date): string {
  const ms = time.getTime()
  if (ms !== last.ms) last = { ms, text: time.toISOString() }
  return last.text
}

function clean(entry: JournalEntry): JournalEntry {
  return redacted('args' in entry ? withKeptArgs(entry) : entry)
}

/** With whatever a caller passed as something that JSON can hold, within bounds. */
function withKeptArgs<Entry extends { readonly args: unknown }>(entry: Entry): Entry {
  try {
    return isShort(entry.args) ? entry : { ...entry, args: capped(entry.args, 0) }
  } catch {
    return { ...entry, args: '[cannot be shown]' }
  }
}

/** The usual case: a few short values, which stand in the line as they are. */
function isShort(args: unknown): boolean {
  if (typeof args !== 'object' || args === null) return false
  const values = Object.values(args)
  return values.length <= 16 && values.every(isShortValue)
}

function isShortValue(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= ARGUMENT_CHARS
  return typeof value === 'number' || typeof value === 'boolean'
}

/** Longer texts are kept as their beginning, their length and their hash. */
const ARGUMENT_CHARS = 4 * 1024
const BEGINNING_CHARS = 1024
const DEPTH = 8
/** Of a longer line, only the beginning of it is kept in place of its arguments. */
const LINE_CHARS = 64 * 1024

/** Arguments as they are kept: bounded, and always something that JSON can hold. */
function capped(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.length <= ARGUMENT_CHARS ? value : hashed(value)
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === DEPTH) return '…'
  if (Array.isArray(value)) return value.slice(0, 100).map(item => capped(item, depth + 1))
  const entries = Object.entries(value).slice(0, 100)
  return Object.fromEntries(entries.map(([key, item]) => [key.slice(0, 100), capped(item, depth + 1)]))
}

function hashed(text: string) {
  // A secret is known for one only as long as it is whole.
  const beginning = redactedText(text.slice(0, 8 * BEGINNING_CHARS)).slice(0, BEGINNING_CHARS)
  return {
    beginning,
    length: text.length,
    sha256: sha256(text),
  }
}
