import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Level } from '../../tools/define.ts'
import type { CallId } from '../../wire/kernel.ts'
import type { Decision } from './gate.ts'
import { AppendError, LineFile, type LineFiles } from './line-file.ts'
import type { Answer } from './plan.ts'

/** The form of a line. Readers skip lines of a form they do not know, and lines that do not parse. */
const JOURNAL_VERSION = 1

/** What a call is, in every entry that begins one. */
export interface JournalCall {
  readonly call: CallId
  readonly tool: string
  readonly level: Level
  /** Null for a tool that works without a kernel, and where none is known yet. */
  readonly kernel: string | null
  readonly epoch: string | null
  readonly caller: string
  readonly args: unknown
  readonly decision: Decision
}

export type JournalEntry =
  /** A dangerous call, worked out and about to be put before a person. */
  | ({ readonly type: 'requested'; readonly plan: JournalPlan } & Omit<JournalCall, 'decision'>)
  /** How asking ended. `by` is a seat, or null where nobody answered. */
  | {
      readonly type: 'decided'
      readonly call: CallId
      readonly plan: string
      readonly answer: Answer['type']
      readonly by: string | null
      readonly reason: string | null
    }
  /**
   * The call begins: the line is in the file before a byte reaches the kernel, or a file. Where it was allowed
   * without asking, this line stands for `requested` and `decided` too. `plan` names the approval that it uses up.
   */
  | ({ readonly type: 'dispatched'; readonly plan?: string } & JournalCall)
  /**
   * How a dispatched call ended. A `dispatched` without one is an outcome that nobody knows, and the next daemon
   * writes it: `outcome_unknown`. `undo` is the name under which its changes can be taken back.
   */
  | {
      readonly type: 'ended'
      readonly call: CallId
      readonly outcome: string
      readonly elapsed_ms: number | null
      readonly undo?: string
    }
  /** A whole call that changed nothing. */
  | ({ readonly type: 'looked'; readonly outcome: string; readonly elapsed_ms: number } & JournalCall)
  /** A call that was refused, before it had a level or the gate was asked or after. Nothing ran. */
  | ({ readonly type: 'refused'; readonly outcome: string } & Loosely<JournalCall>)
  /** A seat was taken, refused or left; `who` is a terminal and a process. */
  | {
      readonly type: 'seat'
      readonly what: 'taken' | 'refused' | 'left'
      readonly seat: string | null
      readonly who: string
      readonly why: string | null
    }
  /** What is in force changed. */
  | { readonly type: 'policy'; readonly file: string; readonly sha256: string; readonly what: string }
  /** A kernel was started, attached, detached or lost. */
  | {
      readonly type: 'kernel'
      readonly kernel: string
      readonly epoch: string | null
      readonly what: string
    }
  /** So many lines are missing here, because the journal could not be written. */
  | { readonly type: 'lost'; readonly lines: number }

/** The approval that is asked for, and of exactly what. */
export interface JournalPlan {
  readonly id: string
  readonly hash: string
  readonly title: string
  readonly preview_sha256: string
  readonly preview_bytes: number
  readonly paths: readonly string[]
}

type Loosely<Call extends JournalCall> = Omit<Call, 'level' | 'decision'> & {
  readonly level: Level | null
  readonly decision: Decision | null
}

/** How a dispatched call ended that an earlier daemon was given: a code, `outcome_unknown` where it never said. */
export interface Earlier {
  readonly tool: string
  readonly outcome: string
}

/** The append-only record of every call. */
export interface Journal {
  /** The line is in the file before this returns; throws `JournalError` if it is not. */
  write(entry: JournalEntry): void
  /** The line is in the file soon, and before any later one. Never throws; lines that are lost are counted there. */
  later(entry: JournalEntry): void
  /** As `write`, and on the disk when it resolves. Rejects with `JournalError` if it may not be. */
  sync(entry: JournalEntry): Promise<void>
  /** Why dangerous calls are refused: a part of it is not what was written. Undefined while it is in order. */
  readonly trouble: string | undefined
  /** A person has taken note of the trouble; rejects where that cannot be written down. */
  acknowledge(by: string): Promise<void>
  /** What earlier daemons wrote of a call of that name, so that none runs twice. */
  earlier(call: CallId): Promise<Earlier | undefined>
  /** Writes what waits. Rejects with `JournalError` if that fails. */
  close(): Promise<void>
}

/** The journal could not be written. `cause` says why. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
}

export interface JournalOptions {
  /** Made if it is missing, for its owner only. */
  readonly stateDir: string
  readonly files?: LineFiles
  readonly now?: () => Date
}

/** How long a line of `later` may wait, in milliseconds, and how many characters may, while the disk takes none. */
const FLUSH_MS = 20
const WAITING_CHARS = 1024 * 1024

/** Opens `journal.jsonl` in the state directory. Throws `JournalError` where it cannot be written at all. */
export function openJournal({ stateDir, files, now = () => new Date() }: JournalOptions): Journal {
  const file = explained(() => new LineFile(join(stateDir, 'journal.jsonl'), files))
  let waiting: string[] = []
  let waitingChars = 0
  let lost = 0
  let timer: NodeJS.Timeout | undefined

  /** All that waits and then `more`. What could not be written goes on waiting, except `more` itself. */
  function append(more: readonly string[]): void {
    const gap = lost > 0 ? [line({ type: 'lost', lines: lost }, now())] : []
    try {
      if (waiting.length + gap.length === 0) file.append(more)
      else file.append([...waiting, ...gap, ...more])
      waiting = []
      lost = 0
    } catch (error) {
      if (error instanceof AppendError && error.written > waiting.length) lost = 0
      if (error instanceof AppendError) waiting = waiting.slice(error.written)
      schedule()
      throw error
    } finally {
      waitingChars = waiting.reduce((sum, text) => sum + text.length, 0)
    }
  }

  function flush(): void {
    timer = undefined
    try {
      if (waiting.length + lost > 0) append([])
    } catch {
      // What waits is tried again, with the next line or by the timer that `append` has set.
    }
  }

  function schedule(): void {
    timer ??= setTimeout(flush, FLUSH_MS).unref()
  }

  return {
    write: entry => explained(() => append([line(entry, now())])),
    later(entry) {
      const text = line(entry, now())
      schedule()
      if (waitingChars + text.length > WAITING_CHARS) {
        lost++
        return
      }
      waiting.push(text)
      waitingChars += text.length
    },
    sync: async entry => explained(() => append([line(entry, now())])),
    trouble: undefined,
    acknowledge: async () => {},
    earlier: async () => undefined,
    async close() {
      clearTimeout(timer)
      timer = undefined
      try {
        if (waiting.length + lost > 0) explained(() => append([]))
      } finally {
        clearTimeout(timer)
        file.close()
      }
    },
  }
}

function explained<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (!(cause instanceof AppendError)) throw cause
    throw new JournalError(
      `The journal ${cause.message}. Make room, or set IMAGO_STATE_DIR to a directory that can be written.`,
      { cause },
    )
  }
}

function line(entry: JournalEntry, time: Date): string {
  const text = JSON.stringify('args' in entry ? withKeptArgs(entry) : entry)
  const short = text.length <= LINE_CHARS ? text : JSON.stringify({ ...entry, args: hashed(text) })
  return `{"v":${JOURNAL_VERSION},"time":"${time.toISOString()}",${short.slice(1)}\n`
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
  return {
    beginning: text.slice(0, BEGINNING_CHARS),
    length: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  }
}
