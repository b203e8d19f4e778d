import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Level } from '../../tools/contract.ts'
import type { CallId, Of } from '../../wire/kernel.ts'

/** What a call is, in every entry that begins one. */
interface JournalCall {
  readonly call: CallId
  readonly tool: string
  readonly level: Level
  /** Null for a tool that works without a kernel, and where none is known yet. */
  readonly kernel: string | null
  readonly epoch: string | null
  /** Where `kernel` stands for all of a group: those that it was, and which life of each. */
  readonly members?: readonly { readonly kernel: string; readonly epoch: string }[]
  readonly caller: string
  /** As the caller names itself, for people: `claude-code`, `imago eval`. Older journals do not have it. */
  readonly who?: string
  readonly args: unknown
  readonly decision: Decision
}

/** How asking can end. */
type AnswerType =
  | 'approved'
  | 'edited'
  | 'chosen'
  | 'denied'
  | 'dismissed'
  | 'stale'
  | 'timed_out'
  | 'cancelled'
  | 'unavailable'

export type JournalEntry =
  /** A dangerous call, worked out and about to be put before a person. */
  | ({ readonly type: 'requested'; readonly plan: JournalPlan } & Omit<JournalCall, 'decision'>)
  /** How asking ended. `by` is a seat, or null where nobody answered. */
  | {
      readonly type: 'decided'
      readonly call: CallId
      readonly plan: string
      readonly answer: AnswerType
      readonly by: string | null
      readonly reason: string | null
      /** What a person chose of its hunks; where all were refused, the answer is `denied`. */
      readonly choices?: readonly JournalChoice[]
      /** The plan that these choices made of it: the one that is approved, and dispatched. */
      readonly becomes?: { readonly plan: string; readonly hash: string }
    }
  /**
   * The call begins: the line is in the file before a byte reaches the kernel, or a file. Where it was allowed
   * without asking, this line stands for `requested` and `decided` too. `plan` names the approval that it uses up.
   */
  | ({ readonly type: 'dispatched'; readonly plan?: string } & JournalCall)
  /**
   * How a dispatched call ended. A `dispatched` without one is an outcome that nobody knows, and the next daemon
   * writes it: `outcome_unknown`; or `withdrawn`, where it was requested and never dispatched. `undo` is the name under
   * which its changes can be taken back.
   */
  | {
      readonly type: 'ended'
      readonly call: CallId
      readonly outcome: string
      readonly elapsed_ms: number | null
      readonly undo?: string
    }
  /**
   * An image remembered what became of a call of an earlier daemon, for which `outcome_unknown` is written here: its
   * caller was told this. Nothing ran again.
   */
  | { readonly type: 'recalled'; readonly call: CallId; readonly outcome: string }
  /** A whole call that changed nothing. */
  | ({ readonly type: 'looked'; readonly outcome: string; readonly elapsed_ms: number } & JournalCall)
  /** A call that was refused, before it had a level or the gate was asked or after. Nothing ran. */
  | ({ readonly type: 'refused'; readonly outcome: string } & Loosely<JournalCall>)
  /**
   * A seat was taken, refused or left; `who` is a terminal and a process. Or a person on one `granted` that some calls
   * are let through, which was `revoked` or `ended`. `doubted`: `who` is a client, and its yes counted for nothing.
   * `paused`: nobody is asked for a while about what `who` asks, until a seat has `lifted` that.
   */
  | {
      readonly type: 'seat'
      readonly what:
        | 'taken'
        | 'refused'
        | 'left'
        | 'granted'
        | 'revoked'
        | 'ended'
        | 'doubted'
        | 'paused'
        | 'lifted'
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
  /**
   * An evaluation waits where an error happened (`suspended`, or, for an error of a person's own, `adopted`), somebody
   * who sits gave it another owner (`taken`, `handed`), or how it ended. `call` and `who` are of the evaluation that was
   * stopped, `holder` is its owner now, null where that is the agents of its project, and `by` did this.
   */
  | {
      readonly type: 'suspension'
      readonly what:
        | 'suspended'
        | 'adopted'
        | 'taken'
        | 'handed'
        | 'resumed'
        | 'left'
        | 'expired'
        | 'within'
        | 'lost'
      readonly suspension: string
      readonly kernel: string
      readonly epoch: string
      /** The project of the kernel. */
      readonly root?: string | undefined
      readonly call?: CallId
      readonly who: string
      readonly holder: string | null
      readonly by: string | null
      /** The error, or a sentence that says how it ended. */
      readonly why?: string
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

/** What a person chose of one hunk; of a text that they wrote, what it can be told by. */
export type JournalChoice =
  | { readonly hunk: number; readonly decision: 'accept' }
  | { readonly hunk: number; readonly decision: 'refuse'; readonly reason: string | null }
  | {
      readonly hunk: number
      readonly decision: 'edit'
      readonly reason: string | null
      readonly sha256: string
      readonly bytes: number
      /** They wrote none of it: some lines were taken as proposed. */
      readonly in_part?: true
    }

type Loosely<Call extends JournalCall> = Omit<Call, 'level' | 'decision'> & {
  readonly level: Level | null
  readonly decision: Decision | null
}

/** What the journal writes about itself, among the entries. Files are named as they are in its directory. */
export type JournalNote =
  | SegmentHeader
  /** The end of the file before this line was torn off in the middle of a line; so many bytes were cut away. */
  | { readonly type: 'recovered'; readonly file: string; readonly bytes: number; readonly sha256: string }
  /** Dangerous calls are refused from here on, until `acknowledged`. `kept` is where the file is now. */
  | ({ readonly type: 'quarantined'; readonly kept: string | null } & JournalTrouble)
  /** A person has taken note of these; `by` is a seat. */
  | { readonly type: 'acknowledged'; readonly by: string; readonly trouble: readonly string[] }
  /** The oldest segments, beyond what is kept. */
  | { readonly type: 'removed'; readonly files: readonly string[] }

/** Why a segment was begun: `full` is the usual one. */
const SEGMENT_REASONS = ['first', 'full', 'quarantine', 'acknowledged', 'unsynced'] as const

export type SegmentReason = (typeof SEGMENT_REASONS)[number]

/** Where a file is not what was written, and in what way. `line` counts from 1; null where there is no such place. */
const TROUBLE = z.object({
  file: z.string(),
  line: z.number().nullable(),
  byte: z.number().nullable(),
  what: z.string(),
})

export type JournalTrouble = Of<typeof TROUBLE>

const CALL = z.string().transform(call => call as CallId)

/** A call that has begun and not ended: it was put before a person, or it was dispatched. */
const OPEN_CALL = z.object({
  call: CALL,
  tool: z.string(),
  since: z.enum(['requested', 'dispatched']),
  /** The life of the kernel that it was given to. */
  epoch: z.string().optional(),
})

export type OpenCall = Of<typeof OPEN_CALL>

/** One that has begun to wait and of whose end there is no line, as headers carry it on. */
export const OPEN_SUSPENSION = z.object({
  suspension: z.string(),
  kernel: z.string(),
  epoch: z.string(),
  root: z.string().optional(),
  call: CALL.optional(),
  who: z.string(),
  holder: z.string().nullable(),
  why: z.string().optional(),
})

/** `why` is its error. */
export type OpenSuspension = Of<typeof OPEN_SUSPENSION>

/** The first line of each segment. */
export const HEADER = z.object({
  type: z.literal('segment'),
  time: z.string(),
  number: z.number(),
  /** The `chain` that the line before it bears, in the segment before; 32 zeros in the first segment of all. */
  previous: z.string().length(32),
  /** Of the daemon. */
  version: z.string(),
  why: z.enum(SEGMENT_REASONS),
  /** What was found not to be what was written, and no person has acknowledged yet. */
  trouble: z.array(TROUBLE),
  /** The calls that had begun and not ended; null where that is not known, and the segment before has to be read. */
  open: z.array(OPEN_CALL).nullable(),
  /** The evaluations that were suspended; null as above. Older daemons wrote none. */
  suspended: z.array(OPEN_SUSPENSION).nullable().default([]),
  /** The disk would not say that it has what this file, the one before, holds beyond this byte. */
  uncertain: z.object({ file: z.string(), byte: z.number() }).exactOptional(),
})

export type SegmentHeader = Omit<Of<typeof HEADER>, 'time'>

/** What the lines say of one. */
const SUSPENSION_LINE = OPEN_SUSPENSION.extend({ what: z.string() })

/** A header names no more than these; with more, the segment before has to be read for them. */
const MOST_SUSPENSIONS_IN_HEADER = 200

/** Lines that say of one that it waits, or of whom it is now. Every other one says how it ended. */
const WAITS = new Set(['suspended', 'adopted', 'taken', 'handed'])

/** The evaluations that are suspended, as the lines of a journal say one by one. */
export class OpenSuspensions {
  /** By the life of its image, and its id. */
  readonly #open = new Map<string, OpenSuspension>()

  /** What a header carries on; null where that would be too much. */
  get list(): readonly OpenSuspension[] | null {
    return this.#open.size <= MOST_SUSPENSIONS_IN_HEADER ? this.all : null
  }

  get all(): readonly OpenSuspension[] {
    return [...this.#open.values()]
  }

  add(open: Iterable<OpenSuspension>): void {
    for (const one of open) this.#open.set(keyOf(one), one)
  }

  /** A line of type `suspension`. One that cannot be read is passed over. */
  note(line: unknown): void {
    const read = SUSPENSION_LINE.safeParse(line)
    if (!read.success) return
    const { what, ...said } = read.data
    const key = keyOf(said)
    const { why = said.why } = this.#open.get(key) ?? {}
    this.#open.delete(key)
    if (WAITS.has(what)) this.#open.set(key, { ...said, ...(why !== undefined && { why }) })
  }
}

const keyOf = ({ epoch, suspension }: OpenSuspension): string => `${epoch} ${suspension}`

/** What a line says of a call. */
const CALL_LINE = z.object({
  type: z.string(),
  call: z.string().optional(),
  tool: z.string().optional(),
  epoch: z.string().nullish(),
  outcome: z.string().optional(),
})

type Said = Of<typeof CALL_LINE>

/** A header names no more open calls than this; with more, the segment before has to be read for them. */
const MOST_CALLS_IN_HEADER = 1_000

/** The calls that have begun and not ended, as the lines of a journal say one by one. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>()

  /** What a header carries on; null where that would be too much. */
  get list(): readonly OpenCall[] | null {
    return this.#calls.size <= MOST_CALLS_IN_HEADER ? [...this.#calls.values()] : null
  }

  get all(): readonly OpenCall[] {
    return [...this.#calls.values()]
  }

  add(calls: Iterable<OpenCall>): void {
    for (const call of calls) this.#calls.set(call.call, call)
  }

  /** The call that ends with this, where one does. */
  note({ type, call, tool, epoch }: Said): OpenCall | undefined {
    if (call === undefined) return undefined
    if ((type === 'requested' || type === 'dispatched') && tool !== undefined) {
      const where = typeof epoch === 'string' ? { epoch } : {}
      this.#calls.set(call, { call: call as CallId, tool, since: type, ...where })
    } else if (ENDS.has(type)) {
      const open = this.#calls.get(call)
      this.#calls.delete(call)
      return open
    }
    return undefined
  }
}

/** What a call ends with, once it has begun. Each begins and ends once. */
const ENDS = new Set(['ended', 'looked', 'refused'])

/** What becomes of a call that its daemon never ended: nothing ran, or nobody knows. */
export const lastWord = ({ since }: OpenCall) => (since === 'dispatched' ? 'outcome_unknown' : 'withdrawn')

/** The end of a call in which a host was let do something itself: nobody here sees what it does. */
export const ALLOWED = 'allowed'

/**
 * How a call ended that an earlier daemon was given: a code, `outcome_unknown` where it was dispatched and its end was
 * never written, `withdrawn` where it was never dispatched.
 */
export interface Earlier {
  readonly tool: string
  readonly outcome: string
  /** The life of the kernel that it was given to; undefined without one. */
  readonly epoch?: string | undefined
}

/** How many ended calls are kept in memory: the last ones. */
const HISTORY = 10_000

/** What earlier daemons wrote of their last calls, and of what was suspended, as their lines are read in order. */
export class CallHistory {
  readonly open = new OpenCalls()
  readonly suspended = new OpenSuspensions()
  readonly #ended = new Map<string, Earlier>()

  /** A line that is none is passed over: what is wrong with it is found elsewhere. */
  read(line: Buffer): void {
    const parsed = parsedIn(line)
    const read = CALL_LINE.safeParse(parsed)
    if (!read.success) return
    const said: Said = read.data
    if (said.type === 'suspension') this.suspended.note(parsed)
    const ended = this.open.note(said)
    if (ended !== undefined) this.end(ended, said.outcome ?? 'outcome_unknown')
  }

  end({ call, tool, epoch }: OpenCall, outcome: string): void {
    this.#ended.delete(call)
    this.#ended.set(call, { tool, outcome, epoch })
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > HISTORY && oldest !== undefined) this.#ended.delete(oldest)
  }

  of(call: CallId): Earlier | undefined {
    return this.#ended.get(call)
  }
}

function parsedIn(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    return undefined
  }
}

/** What the gate can say of a call. Later ones are stricter. */
export const DECISIONS = ['allow', 'ask', 'deny'] as const

export type Decision = (typeof DECISIONS)[number]

/** What the first line of all follows. */
export const GENESIS = '0'.repeat(32)

const MARK = ',"chain":"'

const END = '"}'

const BEARS = /^,"chain":"[0-9a-f]{32}"\}$/

/** Of `,"chain":"…"}`. */
const TAIL = MARK.length + GENESIS.length + END.length

/**
 * A whole line, with its newline, from the object that it is about (without the closing brace) and the chain of the
 * line before: the first 16 bytes of SHA-256 over that chain, as it is written, and all of the line up to its own.
 */
export function chained(previous: string, body: string): { readonly text: string; readonly chain: string } {
  const chain = hash('sha256', previous + body, 'hex').slice(0, GENESIS.length)
  return { text: `${body}${MARK}${chain}${END}\n`, chain }
}

/** The chain that a line bears, without its newline, whether it is right or not; undefined where it bears none. */
export function chainOf(line: Buffer): string | undefined {
  const begin = line.length - TAIL
  if (begin < 1) return undefined
  const tail = line.toString('latin1', begin)
  return BEARS.test(tail) ? tail.slice(MARK.length, -END.length) : undefined
}

/** Whether a line, without its newline, is what was written after the line that bears `previous`. */
export function follows(line: Buffer, previous: string): boolean {
  const chain = chainOf(line)
  if (chain === undefined || previous.length !== GENESIS.length) return false
  const body = line.length - TAIL
  const bytes = scratch(previous.length + body)
  bytes.write(previous, 'latin1')
  line.copy(bytes, previous.length, 0, body)
  return hash('sha256', bytes, 'hex').startsWith(chain)
}

let kept = Buffer.alloc(4 * 1024)

/** Hashing in one go wants the bytes in one piece; most lines fit into the same one. */
function scratch(size: number): Buffer {
  if (size > 64 * 1024) return Buffer.allocUnsafe(size)
  if (size > kept.length) kept = Buffer.alloc(64 * 1024)
  return kept.subarray(0, size)
}

/** Cuts bytes that come in pieces into lines, in linear time. */
export class LineSplitter {
  #pieces: Buffer[] = []
  #waiting = 0

  /** The bytes after the last newline. */
  get rest(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  /** The lines that are whole now, without their newlines. They may lie in `chunk`: use them before it changes. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let begin = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, begin)) {
      const piece = chunk.subarray(begin, end)
      lines.push(this.#waiting === 0 ? piece : Buffer.concat([...this.#pieces, piece]))
      this.#pieces = []
      this.#waiting = 0
      begin = end + 1
    }
    if (begin < chunk.length) {
      this.#pieces.push(Buffer.from(chunk.subarray(begin)))
      this.#waiting += chunk.length - begin
    }
    return lines
  }
}
