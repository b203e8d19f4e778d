/** Looking at what an image does and has done: its stacks, what was evaluated, and what was raised last. */
import type { CallId } from '../kernel.ts'
import type { Place } from './names.ts'
import type { Frame, Raised } from './values.ts'

export interface ThreadsQuery {
  /** Only threads and tasks whose name, or a function or file of whose stack, contains this text. */
  readonly filter?: string
  /** Stacks at most. */
  readonly limit: number
  /** Frames of one stack at most, of which several in a row at one line count as one; the middle is left out. */
  readonly frames: number
  readonly locals: boolean
}

/** Stacks that stand at the same lines are told once, with the names of all that stand there. */
export interface Threads {
  readonly threads: readonly Stack[]
  readonly tasks: readonly Stack[]
  /** The threads of the program; Imago's own are told, and not counted. */
  readonly threads_total: number
  readonly tasks_total: number
  /** How many distinct stacks were left out to keep within the limit. */
  readonly omitted: number
  /** What could not be seen, a sentence each. */
  readonly notes: readonly string[]
}

export interface Stack {
  /** Of one or several threads or tasks, a few of them; `count` says how many there are. */
  readonly names: readonly string[]
  readonly count: number
  readonly state: 'running' | 'waiting' | 'finished'
  /** What it waits for, where that can be told: a future, a lock, another task. */
  readonly waits_for: string | null
  /** Which it is: the main thread, the one that evaluates, Imago's own, or the user's. */
  readonly role: 'main' | 'evaluating' | 'imago' | 'user'
  /** Innermost last. */
  readonly frames: readonly Frame[]
  /** Of the middle, each frame counted, those of a run in one line too. */
  readonly frames_omitted: number
}

export interface RunHistoryQuery {
  readonly limit: number
  /** Only entries before this number. */
  readonly before?: number
}

export interface RunHistory {
  readonly entries: readonly RunHistoryEntry[]
  /** How many were evaluated in this epoch, those that are forgotten included. */
  readonly total: number
}

export interface RunHistoryEntry {
  readonly number: number
  /** The client that asked, or the person who works in the image itself. */
  readonly who: string
  readonly call: CallId | null
  readonly source: string
  readonly truncated: boolean
  readonly place: Place | null
  readonly outcome: 'running' | 'done' | 'raised' | 'suspended' | 'interrupted' | 'left'
  /** The value's text, or the message of what was raised; null where there is none. */
  readonly result: string | null
  /** When it began: RFC 3339, in UTC. */
  readonly at: string
  readonly elapsed_ms: number | null
}

export type LastErrorQuery = Readonly<Record<string, never>>

/** `error` is null where nothing was raised in this epoch that Imago could see; `seen` says where it looks. */
export interface LastError {
  readonly error: Raised | null
  readonly who: string | null
  readonly call: CallId | null
  readonly at: string | null
  readonly seen: readonly string[]
}
