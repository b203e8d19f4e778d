import type { JournalEntry } from './journal.ts'
import { assignedSecret } from './secrets/assigned.ts'
import { BEGINNINGS, type Found, isPlaceholder, knownForm } from './secrets/forms.ts'
import { SECRET_NAMES, secretNamed } from './secrets/names.ts'

/**
 * The entry with a mark in place of every secret that can be told: under a name that says so, in a form that is
 * known, or kept by `keepSecret`. The same object where there is none. What is nested deeper than a line keeps is
 * left out. The real paths of a plan stay: which file was changed is what a journal is for, whatever its name looks like.
 */
export function redacted(entry: JournalEntry): JournalEntry {
  let clean: JournalEntry = entry
  for (const [name, value] of Object.entries(entry)) {
    if (OURS.has(name)) continue
    const kept = NESTED.has(name) ? redactedValue(value) : redactedTextOf(value)
    if (kept !== value) clean = { ...clean, [name]: kept } as JournalEntry
  }
  if (clean === entry || entry.type !== 'requested' || clean.type !== 'requested') return clean
  return { ...clean, plan: { ...clean.plan, paths: entry.plan.paths } }
}

/** The text with a mark in place of every secret; linear in its length, whatever it is. */
export function redactedText(text: string): string {
  if (text.length < SHORTEST) return text
  const kept = keptSecrets.isEmpty ? text : keptSecrets.redacted(text)
  return MAY_HOLD.test(kept) ? withoutFound(kept) : kept
}

/**
 * From now on this exact value is a secret wherever it stands: a key of a kernel, a value of an environment. Gives back
 * what forgets it.
 *
 * A mark tells whoever can have a text written, and read what became of it, that it held the value: millions of guesses
 * in a second. So a value that can be guessed is not kept: one of digits alone, of fewer than 6 different characters,
 * or of fewer than 48 bits by its length and its kinds of characters. Above that bound, and for a value that stands in
 * a list of words, a mark still confirms a guess; so nothing that gives a right in this daemon may ever be kept that
 * has fewer than 80 random bits.
 */
export function keepSecret(value: string, kind = 'secret'): () => void {
  return isGuessable(value) ? () => {} : keptSecrets.add(value, kind)
}

/** Any value that JSON can hold, with a mark in place of every secret in it. The same one where there is none. */
export function redactedValue(value: unknown): unknown {
  return cleaned(value, 0)
}

/**
 * The values of an environment whose names say that they are secret. A word or a path that stands there is found in
 * too much that is none.
 */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && isDistinct(value) && secretNamed(name) !== undefined ? [value] : [],
  )
}

const isDistinct = (value: string) =>
  !isGuessable(value) && !/^(?:[A-Za-z]{8,15}|~?(?:\/[\w. -]+){2,})$/.test(value)

/** What a program could find by trying, in years at most. */
function isGuessable(value: string): boolean {
  const kinds = KINDS.reduce((sum, [kind, count]) => (kind.test(value) ? sum + count : sum), 0)
  return /^\d*$/.test(value) || new Set(value).size < DIFFERENT || value.length * Math.log2(kinds) < BITS
}

const BITS = 48
const DIFFERENT = 6
/** How many characters there are of each kind that a value has. */
const KINDS = [
  [/\d/, 10],
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/[^\dA-Za-z]/, 32],
] as const

/** What is always one of a few words, or a number. */
const OURS: ReadonlySet<string> = new Set(['type', 'level', 'decision', 'elapsed_ms'])
const NESTED: ReadonlySet<string> = new Set(['args', 'plan', 'choices'])
const SHORTEST = 6
/** A line keeps less of a value that is nested. */
const DEPTH = 12

const markFor = (kind: string, length: number) => `[redacted: ${kind}, ${length} characters]`

const redactedTextOf = (value: unknown) => (typeof value === 'string' ? redactedText(value) : value)

function cleaned(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactedText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === DEPTH) return '…'
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) {
    const items = value.map(item => cleaned(item, depth + 1))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  return redactedObject(value, depth)
}

function redactedObject(value: object, depth: number): object {
  let changed = false
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => {
    const kind = secretNamed(name)
    const clean = kind === undefined ? cleaned(item, depth + 1) : hidden(item, { kind, depth: depth + 1 })
    const key = redactedText(name)
    if (clean !== item || key !== name) changed = true
    return [key, clean]
  })
  return changed ? Object.fromEntries(entries) : value
}

/** What stands under a name that says secret: every text and number of it. */
function hidden(value: unknown, { kind, depth }: { kind: string; depth: number }): unknown {
  if (typeof value === 'string') return isPlaceholder(value) ? value : markFor(kind, value.length)
  if (typeof value === 'number' || typeof value === 'bigint') return markFor(kind, String(value).length)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH) return '…'
  if (Array.isArray(value)) return value.map(item => hidden(item, { kind, depth: depth + 1 }))
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  const items = Object.entries(value).map(([name, item]) => [
    redactedText(name),
    hidden(item, { kind, depth: depth + 1 }),
  ])
  return Object.fromEntries(items)
}

const MAY_HOLD = new RegExp(`${SECRET_NAMES}|${BEGINNINGS}`, 'i')
const EACH_BEGINNING = new RegExp(`(${SECRET_NAMES})|${BEGINNINGS}`, 'gi')

function withoutFound(text: string): string {
  let clean = ''
  let done = 0
  EACH_BEGINNING.lastIndex = 0
  for (let hit = EACH_BEGINNING.exec(text); hit !== null; hit = EACH_BEGINNING.exec(text)) {
    const { found, resume } = secretAt(text, hit)
    if (found !== undefined) {
      clean += text.slice(done, found.from) + markFor(found.kind, found.to - found.from)
      done = found.to
    }
    EACH_BEGINNING.lastIndex = resume
  }
  return done === 0 ? text : clean + text.slice(done)
}

function secretAt(text: string, hit: RegExpExecArray): { found: Found | undefined; resume: number } {
  const [whole, name] = hit
  const to = hit.index + whole.length
  if (name !== undefined) return assignedSecret(text, { at: hit.index, to })
  const found = knownForm(text, hit.index)
  return { found, resume: found?.to ?? to }
}

/** Exact values. A long list costs no more than a short one: they are looked for together. */
class KeptSecrets {
  /** How often each was handed in, and as what. */
  readonly #kinds = new Map<string, { kind: string; count: number }>()
  #pattern: RegExp | undefined

  get isEmpty(): boolean {
    return this.#kinds.size === 0
  }

  add(value: string, kind: string): () => void {
    const kept = this.#kinds.get(value)
    if (kept === undefined) {
      this.#kinds.set(value, { kind, count: 1 })
      this.#pattern = undefined
    } else kept.count++
    let forgotten = false
    return () => {
      if (forgotten) return
      forgotten = true
      this.#forget(value)
    }
  }

  redacted(text: string): string {
    this.#pattern ??= this.#together()
    if (text.search(this.#pattern) === -1) return text
    return text.replace(this.#pattern, value =>
      markFor(this.#kinds.get(value)?.kind ?? 'secret', value.length),
    )
  }

  #forget(value: string): void {
    const kept = this.#kinds.get(value)
    if (kept === undefined || --kept.count > 0) return
    this.#kinds.delete(value)
    this.#pattern = undefined
  }

  /** The longest first, so that one that begins another does not leave the rest of it. */
  #together(): RegExp {
    const values = [...this.#kinds.keys()].sort((one, other) => other.length - one.length)
    return new RegExp(values.map(value => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
  }
}

const keptSecrets = new KeptSecrets()
