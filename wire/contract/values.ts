/** What a model reads of values and failures, spelled as it reads it. Text is bounded where it is made. */

/** A value as text, with a way back to the value itself. */
export interface Shown {
  readonly repr: Text
  readonly type: TypeName
  /** Present for values worth a closer look; `inspect` and `more` accept it. */
  readonly handle?: string
  /** A line for values that a `repr` describes badly, such as `len 10000000` or `shape (3, 2)`. */
  readonly preview?: string
}

/** Text that may have been cut. `handle` leads to the rest. */
export interface Text {
  readonly text: string
  readonly truncated: boolean
  readonly original_len: number | null
  readonly handle?: string
  /** Why the value's own printer was not used, when it failed or was too slow. */
  readonly error?: string
}

export interface TypeName {
  readonly name: string
  readonly module: string | null
  readonly qualified: string
}

/** An exception or condition, taken down where it was raised, before the stack unwound. */
export interface Raised {
  readonly type: TypeName
  readonly message: string
  /** Innermost last. Frames of the evaluator itself are left out; `frames_omitted` counts a cut middle. */
  readonly frames: readonly Frame[]
  readonly frames_omitted: number
  /** The whole report as the language itself would print it, bounded. */
  readonly traceback: string
  readonly notes?: readonly string[]
  /** The ways to go on that stood there, innermost first, where the language has such (a Lisp's restarts). */
  readonly restarts?: readonly Restart[]
  /** What this was raised from, or raised while handling. */
  readonly cause?: { readonly how: 'cause' | 'context'; readonly exception: Raised }
}

export interface Restart {
  readonly name: string
  readonly description: string
  /** It takes values, and asks for them where it is given none. */
  readonly reads?: true
}

export interface Frame {
  readonly function: string
  readonly file: string | null
  readonly line: number | null
  /** The source line, where it can be had. */
  readonly source: string | null
  readonly locals: readonly Local[]
  readonly locals_omitted: number
  /** In a stack, where several frames in a row stand at this line: how many. The locals are of the innermost. */
  readonly repeated?: number
  /** It is code of the language's own implementation, which the program has called; left out: it is the program's. */
  readonly implementation?: true
}

export interface Local {
  readonly name: string
  readonly type_name: string
  readonly repr: string
}

/** Kinds of seed 2, widened by nothing: a Lisp package is a `module`, a condition an `exception`. */
export const KINDS = [
  'none',
  'bool',
  'number',
  'string',
  'bytes',
  'mapping',
  'sequence',
  'set',
  'iterator',
  'generator',
  'coroutine',
  'async_generator',
  'callable',
  'class',
  'module',
  'exception',
  'object',
  'other',
] as const
export type Kind = (typeof KINDS)[number]

/** Contents, or why they could not be read; a section fails on its own. */
export type Section<Contents> = Contents | { readonly error: string }
