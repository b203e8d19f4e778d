/**
 * What a model reads of values and failures, spelled as it reads it. Text is bounded where it is made.
 *
 * Every shape that crosses a link is stated once, in this folder, as a zod shape; the types are inferred from it, and
 * docs/wire-schema.json is written from it.
 */
import { z } from 'zod'

/** Names one call for good: a kernel runs it at most once, however often it is asked to. */
export type CallId = string & { readonly __call: unique symbol }

/** One life of a kernel. A restart begins a new one; a handle of an older one is `stale_handle`. */
export type Epoch = string & { readonly __epoch: unique symbol }

/** What a shape describes, as nobody may change it. */
export type Of<Shape extends z.ZodType> = DeepReadonly<z.infer<Shape>>

export type DeepReadonly<Value> = unknown extends Value
  ? Value
  : Value extends string | number | boolean | null | undefined
    ? Value
    : Value extends readonly (infer Item)[]
      ? readonly DeepReadonly<Item>[]
      : { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }

export const text = z.string()
export const texts = z.array(text)
export const count = z.number()
export const orNull = <Shape extends z.ZodType>(shape: Shape) => shape.nullable()
export const callId = z.string() as unknown as z.ZodType<CallId>

/** A type of the language, by its name. */
export const typeName = z.object({
  name: text,
  module: orNull(text),
  qualified: text,
})
export type TypeName = Of<typeof typeName>

/** Text that may have been cut. `handle` leads to the rest. */
export const cutText = z.object({
  text,
  truncated: z.boolean(),
  original_len: orNull(count),
  handle: text.exactOptional(),
  /** Why the value's own printer was not used, when it failed or was too slow. */
  error: text.exactOptional(),
})
export type Text = Of<typeof cutText>

/** A value as text, with a way back to the value itself. */
export const shown = z.object({
  repr: cutText,
  type: typeName,
  /** Present for values worth a closer look; `inspect` and `more` accept it. */
  handle: text.exactOptional(),
  /** A line for values that a `repr` describes badly, such as `len 10000000` or `shape (3, 2)`. */
  preview: text.exactOptional(),
})
export type Shown = Of<typeof shown>

/** What a parameter is that is not given: its digest, where a literal can give it. Without a name, it is known by its place. */
export const parameterDefault = z.object({ name: orNull(text), value: orNull(text) })

/**
 * What is known of code that runs, for a text to be compared with: texts are compiled beside the daemon, by the same
 * interpreter, and never in the image.
 */
export const running = z.object({
  /** Of a class or module: the functions that it got from its own text. */
  what: z.enum(['function', 'class', 'module']),
  functions: z.array(
    z.object({
      name: text,
      qualified: text,
      /** Where it began when it was compiled. */
      line: count,
      /** A digest of the code and all code in it, without places. */
      fingerprint: text,
      /** A digest of the lines that its instructions stand on, counted from its first. */
      lines: text.exactOptional(),
      /** Of the parameters that need not be given; null where they are not known. */
      defaults: orNull(z.array(parameterDefault)),
      /** Whether it has annotations, where that is known. */
      annotated: z.boolean().exactOptional(),
    }),
  ),
  /** What the code says that its file is, and the absolute path of that. */
  file: orNull(text),
  path: orNull(text),
  /** The program that has compiled it, and what that says of its version. */
  interpreter: text,
  version: text,
  optimize: count,
  /** The future statements that it was compiled with, as bits of the interpreter's. */
  futures: count,
  /** What loaded its module, where that is not the language's own way from a file: it may rewrite what it loads. */
  loader: orNull(text),
  /**
   * Whether the file is as it was when the process began, or when a call last loaded all of it into that module; of code
   * that was evaluated since it is not.
   */
  older: z.boolean(),
  /** Why no text can be compared with it; null where one can. */
  because: orNull(text),
})
export type Running = Of<typeof running>

export const local = z.object({ name: text, type_name: text, repr: text })
export type Local = Of<typeof local>

/** Whose the code of a frame is, where the image tells that. */
export const whose = z.object({
  /** It is the program's: neither installed nor a part of the language. */
  own: z.boolean().exactOptional(),
  /** What it came with, where it is not: `starlette`, `asyncio`. */
  library: text.exactOptional(),
})

/** Where the file has another text by now: the line that the one which runs is on there, or that it differs. */
export const fileSince = z.object({ now: count.exactOptional(), differs: z.literal(true).exactOptional() })
export type FileSince = Of<typeof fileSince>

/** One frame of a stack. */
export const frame = z.object({
  function: text,
  file: orNull(text),
  line: orNull(count),
  /** The source line, where it can be had. */
  source: orNull(text),
  locals: z.array(local),
  locals_omitted: count,
  /** In a stack, where several frames in a row stand at this line: how many. The locals are of the innermost. */
  repeated: count.exactOptional(),
  /** It is code of the language's own implementation, which the program has called; left out: it is the program's. */
  implementation: z.literal(true).exactOptional(),
  ...whose.shape,
  /** Where the file is newer than the process, so that `source` may be another line than the one that runs. */
  running: running.exactOptional(),
  ...fileSince.shape,
})
export type Frame = Of<typeof frame>

/** Whether a text is what runs. */
export const proof = z.object({
  /**
   * Whose text it is: `file`, `as first read`, `before CHANGE`, `commit HASH`; in Lisp `as compiled`, or `form` where it
   * is written from the form that was kept. Null: not known.
   */
  from: orNull(text),
  /** Where the file has something of that name now, if the text is not the file's. */
  line: orNull(count),
  /** Why it is not known to run, as a sentence. */
  because: orNull(text),
  /** Why no compiler takes the file any more, which then has the text of no definition; left out: it is taken. */
  invalid: text.exactOptional(),
})
export type Proof = Of<typeof proof>

/** A way to go on that stands where an error happened. */
export const restart = z.object({
  name: text,
  description: text,
  /** It takes values, and asks for them where it is given none. */
  reads: z.literal(true).exactOptional(),
})
export type Restart = Of<typeof restart>

/** An exception or condition, taken down where it was raised, before the stack unwound. */
export const raised = z.object({
  type: typeName,
  message: text,
  /** Innermost last. Frames of the evaluator itself are left out; `frames_omitted` counts a cut middle. */
  frames: z.array(frame),
  frames_omitted: count,
  /** The text could not be read, and nothing of it was run. Left out where the frames tell that, as there are none. */
  unread: z.literal(true).exactOptional(),
  /** The place at which a source could not be compiled. No frame has that place. */
  misread: z.object({ file: text, line: count, source: orNull(text) }).exactOptional(),
  /** The whole report as the language itself would print it, bounded. */
  traceback: text,
  /**
   * What that says beside frames, message, notes and causes, as where a text could not be read. Left out where the other
   * fields do not tell all the rest of it.
   */
  beside_frames: text.exactOptional(),
  notes: texts.exactOptional(),
  /** The ways to go on that stood there, innermost first, where the language has such (a Lisp's restarts). */
  restarts: z.array(restart).exactOptional(),
  /** What this was raised from, or raised while handling. */
  get cause(): z.ZodExactOptional<
    z.ZodObject<{ how: z.ZodEnum<{ cause: 'cause'; context: 'context' }>; exception: typeof raised }>
  > {
    return z.object({ how: z.enum(['cause', 'context']), exception: raised }).exactOptional()
  },
})
export type Raised = Of<typeof raised>

/** Kinds of values; a Lisp package is a `module`, a condition an `exception`. */
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

/** What kind of thing a name stands for; a Lisp package is a `module`, a condition a `class`, what `deftype` defines a `type`. */
export const NAME_KINDS = [
  'function',
  'method',
  'generic_function',
  'macro',
  'class',
  'type',
  'method_combination',
  'module',
  'property',
  'variable',
  'constant',
  'keyword',
  'parameter',
] as const
export type NameKind = (typeof NAME_KINDS)[number]

/** Where a definition stands. `line` counts from 1. */
export const place = z.object({ file: orNull(text), line: orNull(count) })
export type Place = Of<typeof place>

/** Contents, or why they could not be read: a section fails on its own. The contents are tried first. */
export const section = <Contents extends z.ZodType>(contents: Contents) =>
  z.union([contents, z.object({ error: text })])
export type Section<Contents> = Contents | { readonly error: string }
