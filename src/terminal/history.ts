import { createHash } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** What was entered in one project, oldest first, kept for the next time. */
export interface History {
  readonly entries: readonly string[]
  /** Remembers one. What begins with a blank, and what was just entered already, is not kept. */
  add(entry: string): void
}

interface Limits {
  /** How many are kept, and how many characters one may have. */
  readonly entries: number
  readonly length: number
}

const LIMITS: Limits = { entries: 5_000, length: 20_000 }

/** The file of a project, in the state directory of the user. */
export function historyPath(stateDir: string, root: string): string {
  const mark = createHash('sha256').update(root).digest('hex').slice(0, 12)
  return join(stateDir, 'history', `${basename(root).replace(/[^\w.-]/g, '_') || 'root'}-${mark}.jsonl`)
}

/**
 * Reads a history: a file of JSON texts, a line each, for its owner only. Several consoles may write to it at once,
 * and nothing of theirs is lost when one of them shortens it. Where it cannot be read or written, it is kept in
 * memory alone: nobody is kept from working by it.
 */
export function openHistory(path: string, limits: Limits = LIMITS): History {
  const entries = read(path)
  if (entries.length > limits.entries * 2) entries.splice(0, entries.length - shorten(path, limits.entries))
  return {
    entries,
    add(entry) {
      const text = entry.trimEnd()
      if (text === '' || /^\s/.test(text) || text.length > limits.length || text === entries.at(-1)) return
      entries.push(text)
      attempt(() => append(path, `${JSON.stringify(text)}\n`))
    },
  }
}

function read(path: string): string[] {
  return attempt(() => entriesOf(readFileSync(path, 'utf8'))) ?? []
}

/** Lines that do not parse, such as one that a full disk has cut, are left out. */
function entriesOf(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const entry = attempt((): unknown => JSON.parse(line))
    return typeof entry === 'string' ? [entry] : []
  })
}

/** Writes at the end, and again where another console has replaced the file meanwhile. */
function append(path: string, line: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  for (let times = 0; times < 3; times++) {
    const file = openSync(path, 'a+', 0o600)
    try {
      writeSync(file, endsLine(file) ? line : `\n${line}`)
      if (statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(file).ino) return
    } finally {
      closeSync(file)
    }
  }
}

/** Not so where a full disk has cut the last line. */
function endsLine(file: number): boolean {
  const { size } = fstatSync(file)
  const last = Buffer.alloc(1)
  return size === 0 || (readSync(file, last, 0, 1, size - 1) === 1 && last[0] === 0x0a)
}

/** Keeps the last ones, and whatever others write meanwhile. Returns how many there are then. */
function shorten(path: string, count: number): number {
  const shorter = `${path}.${process.pid}`
  const file = openSync(path, 'r')
  try {
    const seen = readFileSync(file)
    const kept = entriesOf(seen.toString()).slice(-count)
    const written = openSync(shorter, 'wx', 0o600)
    try {
      writeSync(written, kept.map(entry => `${JSON.stringify(entry)}\n`).join(''))
    } finally {
      closeSync(written)
    }
    renameSync(shorter, path)
    const late = Buffer.alloc(Math.max(0, fstatSync(file).size - seen.length))
    readSync(file, late, 0, late.length, seen.length)
    if (late.length > 0) append(path, late.toString())
    return kept.length
  } catch {
    rmSync(shorter, { force: true })
    return count
  } finally {
    closeSync(file)
  }
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
