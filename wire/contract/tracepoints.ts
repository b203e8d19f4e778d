/** The next calls of one function, taken down as they happen. */
import type { Place } from './names.ts'
import type { Shown, TypeName } from './values.ts'

/**
 * Has the next calls of a function taken down. It changes how that function is called, and nothing that it does; it
 * ends by itself after so many calls or milliseconds, and when whoever asked for it can no longer be reached.
 */
export interface TraceQuery {
  readonly name: string
  /** The package the name is read in, where the language has such. */
  readonly package?: string
  readonly calls: number
  readonly expires_ms: number
  /** Who asks, for the person who looks at the image. */
  readonly who: string
}

export interface Tracepoint {
  /** `t1@ab12`. Never used twice. */
  readonly id: string
  /** The function, as its language writes its name. */
  readonly name: string
  readonly who: string
  /** `on`: calls are taken down. `full`: all that were wanted have been. It is out of the program but while it is `on`. */
  readonly state: 'on' | 'full' | 'expired' | 'removed'
  /** How it is done there, in a few words: `sys.monitoring`, `a changed code object`, `an encapsulation`. */
  readonly by: string
  readonly wanted: number
  /** Calls that have begun since. */
  readonly seen: number
  readonly at: string
  readonly expires_in_ms: number | null
  /** What is not taken down, a sentence each: calls from code that was compiled in one block with it. */
  readonly notes: readonly string[]
}

export interface UntraceQuery {
  readonly tracepoint: string
}

export interface TracesQuery {
  /** Left out: all tracepoints, without their calls. */
  readonly tracepoint?: string
  /** The first call that is wanted, counting from 1, and how many at most. */
  readonly from: number
  readonly count: number
}

export interface Traces {
  readonly tracepoints: readonly Tracepoint[]
  readonly calls: readonly TracedCall[]
  /** The first call of the next page; null where this is the last. */
  readonly next: number | null
}

/** One call. Values are shown as they were when it began and ended; a handle leads to what they are now. */
export interface TracedCall {
  readonly number: number
  /** When it began: RFC 3339, in UTC. */
  readonly at: string
  readonly thread: string
  /** How many traced calls of the same thread it stands within. */
  readonly depth: number
  readonly arguments: readonly { readonly name: string; readonly value: Shown }[]
  readonly arguments_omitted: number
  readonly outcome:
    | { readonly type: 'running' }
    | { readonly type: 'returned'; readonly values: readonly Shown[] }
    | { readonly type: 'raised'; readonly exception: { readonly type: TypeName; readonly message: string } }
    /** It was left by no error: by a restart, a throw, or the end of its thread. */
    | { readonly type: 'left' }
  readonly elapsed_ms: number | null
  /** Where it was called from, where that is known. */
  readonly caller: (Place & { readonly function: string }) | null
}
