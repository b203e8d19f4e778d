/** Evaluations that stopped where an error happened, and wait there until somebody decides how they go on. */
import type { CallId } from '../kernel.ts'
import type { Restart, Shown, TypeName } from './values.ts'

/**
 * A stack that was kept. `held`: it is alive, and its thread waits where the error happened, so that a restart can let it
 * go on. `post_mortem`: it has unwound; its frames and locals are there to be looked at and used, and nothing goes on.
 */
export interface Suspension {
  /** `s3@ab12`: a number, and what tells this image and connection from others. Never used twice. */
  readonly id: string
  /** The evaluation that was stopped, and who asked for it; null for one that nobody asked Imago for. */
  readonly call: CallId | null
  readonly who: string
  readonly how: 'held' | 'post_mortem'
  /** Counts from 1. What is evaluated in a frame of a suspension may be suspended in turn, one level deeper. */
  readonly level: number
  /** The suspension that this one stands on; null at level 1. It ends with that one. */
  readonly within: string | null
  readonly type: TypeName
  readonly message: string
  /** When it stopped: RFC 3339, in UTC. */
  readonly at: string
  /** It is aborted to the top level by then, unless its time begins anew before: code ran in it, or a look renewed it. */
  readonly expires_in_ms: number
  /** Code runs in it at this moment; until that has ended, nothing else can be asked of it. */
  readonly busy: boolean
  /** It has been given up, and its cleanup forms run: why, and for how long. For people. It ends when they have. */
  readonly leaving?: string
}

export type SuspensionsQuery = Readonly<Record<string, never>>

/** Newest first. */
export interface Suspensions {
  readonly suspensions: readonly Suspension[]
}

export interface SuspensionQuery {
  readonly suspension: string
  /** The first frame that is wanted, and how many at most. */
  readonly from: number
  readonly count: number
  /**
   * Begins its time anew, where there is something to be found. Left out: the look changes nothing, so that whoever only
   * looks does not keep what is somebody else's.
   */
  readonly renew?: boolean
}

/** One suspension, its ways to go on, and a page of its stack. */
export interface SuspendedState {
  readonly suspension: Suspension
  /** Innermost first; the place in this list is the number of the restart. */
  readonly restarts: readonly Restart[]
  readonly frames: readonly StackFrame[]
  /** The first frame of the next page; null where this is the last. */
  readonly next: number | null
  /** Of all frames; null where counting would have cost more than looking. */
  readonly frames_total: number | null
}

/** A frame in a list. Frame 0 is where the error happened, and its caller is frame 1. */
export interface StackFrame {
  readonly number: number
  readonly function: string
  /** The call with its arguments, as a backtrace of that language shows it; null where it shows none. */
  readonly call: string | null
  readonly file: string | null
  readonly line: number | null
  readonly source: string | null
  /** It is code of the language's own implementation; left out: it is the program's. */
  readonly implementation?: true
}

export interface FrameQuery {
  readonly suspension: string
  readonly frame: number
  /** As above. */
  readonly renew?: boolean
}

/** One frame of a suspension, with all that can be seen of it. */
export interface SuspendedFrame extends StackFrame {
  readonly locals: readonly FrameLocal[]
  readonly locals_omitted: number
  /** Lines around the place, where they can be had, with the number of the first. */
  readonly around: { readonly first_line: number; readonly lines: readonly string[] } | null
  /** What can be done here: evaluate in it, return from it, call its function again with the same arguments. */
  readonly can: readonly ('evaluate' | 'return' | 'again')[]
  /** Why the rest cannot, a sentence each. */
  readonly notes: readonly string[]
}

export interface FrameLocal {
  readonly name: string
  readonly argument: boolean
  readonly value: Shown
}

/** Keeps a suspension for so long from now on, in ms, and from whenever its time begins anew. */
export interface LeaseQuery {
  readonly suspension: string
  readonly lease_ms: number
}

export interface Lease {
  readonly expires_in_ms: number
}

export type TheirsQuery = Readonly<Record<string, never>>

/**
 * Errors that wait in a debugger which is not ours: of the person who works in the same image. They are only told of;
 * `adopt`, which a person asks for, makes one of them a suspension.
 */
export interface Theirs {
  readonly errors: readonly TheirError[]
}

export interface TheirError {
  /** For `adopt`. */
  readonly id: string
  /** `thread "repl-thread", in SLIME`, `sys.last_exc`. */
  readonly where: string
  readonly type: TypeName
  readonly message: string
}

export interface AdoptQuery {
  readonly id: string
  readonly lease_ms: number
}

/** How a suspended evaluation is to go on. */
export type WayOn =
  /** By a restart, by its number; `value` is code, whose values it is given. Without, one that reads asks for them. */
  | { readonly type: 'restart'; readonly restart: number; readonly value?: string }
  /** The frame returns the values of this code to its caller. */
  | { readonly type: 'return'; readonly frame: number; readonly value: string }
  /** The frame's function is called again, with the same arguments: the new one, if it was defined anew. */
  | { readonly type: 'again'; readonly frame: number }
  /** To the top level. It has no value. */
  | { readonly type: 'leave' }

/** News of a suspension, to whoever watches a kernel. `ended` comes once, whatever ended it. */
export type SuspensionNews =
  | { readonly type: 'suspended'; readonly suspension: Suspension }
  | {
      readonly type: 'ended'
      readonly id: string
      /**
       * `resumed`: it goes on, by whatever way. `left`: it was given up, on request. `expired`: nobody came in time.
       * `within`: what it stood on has ended. `lost`: its thread or its image has.
       */
      readonly how: 'resumed' | 'left' | 'expired' | 'within' | 'lost'
      /** For people, a sentence. */
      readonly message: string
    }
