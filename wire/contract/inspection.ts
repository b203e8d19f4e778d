/** Looking at values, at the top level, and at what an image does and has done. */
import { z } from 'zod'
import {
  callId,
  count,
  cutText,
  frame,
  KINDS,
  type Of,
  orNull,
  place,
  proof,
  raised,
  running,
  section,
  text,
  texts,
  typeName,
} from './values.ts'

const bool = z.boolean()

export const globalsQuery = z.object({
  /** Only names after this one, in the order of the list. */
  after: text.exactOptional(),
  /** Only names that contain this text, whatever the case. */
  filter: text.exactOptional(),
  modules: bool,
  /** Whose names; left out: those of the top level, which in Lisp is the package in force. */
  module: text.exactOptional(),
  limit: count,
})
export type GlobalsQuery = Of<typeof globalsQuery>

export const globalsPage = z.object({
  globals: z.array(z.object({ name: text, type_name: text })),
  /** How many names match in all, this page included. */
  total: count,
  /** How many more match that IPython has put there for itself: they are not listed. Left out: none. */
  hidden: count.exactOptional(),
  /** What to pass as `after` for the next page; absent on the last one. */
  next: text.exactOptional(),
  /** The package whose names these are, where the language has such. */
  package: text.exactOptional(),
  /** Where little or nothing was found at the top level: packages or modules of the program that have names. */
  elsewhere: texts.exactOptional(),
})
export type GlobalsPage = Of<typeof globalsPage>

export const inspectQuery = z.object({
  expr: text,
  /** The package that names in it are read in; left out: the one in force. Only with the ability `packages`, or `scope`. */
  package: text.exactOptional(),
  /** A frame such as `main in MainThread`, or `price in error 3`. Only with the ability `live_frames`. */
  frame: text.exactOptional(),
})
export type InspectQuery = Of<typeof inspectQuery>

export const sample = z.object({
  items: texts,
  /**
   * Of each item the `expr` that leads to it, read as that of the query; null where only running code could, or where it
   * is a plain value that its text tells whole, and no path spells it.
   */
  exprs: z.array(orNull(text)).exactOptional(),
  shown: count,
  total: orNull(count),
  truncated: bool,
  handle: text.exactOptional(),
})
export type Sample = Of<typeof sample>

export const members = z.object({
  data: texts,
  callables: texts,
  dunder_count: count,
  shown_per_group: count,
  truncated: bool,
})
export type Members = Of<typeof members>

/** What an instance stores, or what a class holds itself besides methods: what begins with `_` comes last. */
export const fields = z.object({
  rows: z.array(z.object({ name: text, type_name: text, value: text })),
  total: count,
})
export type Fields = Of<typeof fields>

/** The public methods and properties that one class has itself, in the order of its text. */
export const methods = z.object({
  /** The class: of an instance its own. */
  of: text,
  rows: z.array(
    z.object({
      name: text,
      kind: z.enum(['method', 'property']),
      /** As it is called, without what it is bound to. */
      signature: orNull(text),
      /** The first line of its documentation. */
      doc: orNull(text),
    }),
  ),
  total: count,
})
export type Methods = Of<typeof methods>

export const callable = z.object({
  module: orNull(text),
  signature: orNull(text),
  doc: orNull(text),
  source_preview: orNull(text),
  source_truncated: bool,
  file: orNull(text),
  line: orNull(count),
  /** What it stands around, as what a decorator made does. */
  wraps: z.object({ ...place.shape, name: text }).exactOptional(),
  /** Where there is code to compare a text with, or the image has; as in `Definition`. */
  running: running.exactOptional(),
  proof: proof.exactOptional(),
  /** What a reader has to know of it, as a sentence. */
  proof_note: text.exactOptional(),
})
export type Callable = Of<typeof callable>

export const exceptionFacts = z.object({
  exc_type: text,
  message: orNull(text),
  traceback: orNull(text),
  /** The frames of the traceback whose line may be another by now than the one that runs. */
  frames: z
    .array(frame.pick({ function: true, file: true, line: true, source: true, running: true }))
    .exactOptional(),
})
export type ExceptionFacts = Of<typeof exceptionFacts>

/**
 * A value in sections. `type` and `kind` are always there. Any other section is absent where it makes no sense for the
 * value, and holds `error` instead of its contents where reading it failed.
 */
export const inspected = z.object({
  type: typeName,
  kind: z.enum(KINDS),
  /** Why code that reads the same path may be given something else, as a sentence without its full stop. */
  note: text.exactOptional(),
  repr: section(cutText).exactOptional(),
  /** Here the error is tried first, as every field of the contents may be left out. */
  size: z
    .union([
      z.object({ error: text }),
      z.object({ len: count.exactOptional(), shape: z.array(count).exactOptional() }),
    ])
    .exactOptional(),
  sample: section(sample).exactOptional(),
  fields: section(fields).exactOptional(),
  methods: section(methods).exactOptional(),
  members: section(members).exactOptional(),
  doc: section(cutText).exactOptional(),
  callable: section(callable).exactOptional(),
  exception: section(exceptionFacts).exactOptional(),
  /** The same as `exprs` of the sample, by the names of fields, methods and members. */
  exprs: z.record(text, orNull(text)).exactOptional(),
  limits: z.record(text, count),
  handle: text.exactOptional(),
})
export type Inspected = Of<typeof inspected>

export const moreQuery = z.object({
  handle: text,
  /** Characters of a text, items of a sample; counted from 0. */
  from: count,
  count,
})
export type MoreQuery = Of<typeof moreQuery>

const extent = { from: count, total: orNull(count), next: orNull(count) }
export const piece = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text, ...extent }),
  z.object({ type: z.literal('items'), items: texts, ...extent }),
])
export type Piece = Of<typeof piece>

export const threadsQuery = z.object({
  /** Only threads and tasks whose name, or a function or file of whose stack, contains this text. */
  filter: text.exactOptional(),
  /** Stacks at most. */
  limit: count,
  /** Frames of one stack at most, of which several in a row at one line count as one; the middle is left out. */
  frames: count,
  locals: bool,
  /** Also the locals of frames of installed libraries. */
  all: bool.exactOptional(),
})
export type ThreadsQuery = Of<typeof threadsQuery>

export const stack = z.object({
  /** Of one or several threads or tasks, a few of them; `count` says how many there are. */
  names: texts,
  count,
  state: z.enum(['running', 'waiting', 'finished']),
  /** What it waits for, where that can be told: a future, a lock, another task. */
  waits_for: orNull(text),
  /** Which it is: the main thread, the one that evaluates, Imago's own, or the user's. */
  role: z.enum(['main', 'evaluating', 'imago', 'user']),
  /** Innermost last. */
  frames: z.array(frame),
  /** Of the middle, each frame counted, those of a run in one line too. */
  frames_omitted: count,
})
export type Stack = Of<typeof stack>

/** Stacks that stand at the same lines are told once, with the names of all that stand there. */
export const threads = z.object({
  threads: z.array(stack),
  tasks: z.array(stack),
  /** The threads of the program; Imago's own are told, and not counted. */
  threads_total: count,
  tasks_total: count,
  /** How many distinct stacks were left out to keep within the limit. */
  omitted: count,
  /** Threads or tasks that wait for each other for good, by name: each for a lock that the next holds, the last for the first. */
  deadlocks: z.array(texts).exactOptional(),
  /** The same where a lock keeps no owner, so that the frame inside of its `with` is taken for the holder. */
  likely_deadlocks: z.array(texts).exactOptional(),
  /** What could not be seen, a sentence each. */
  notes: texts,
})
export type Threads = Of<typeof threads>

export const runHistoryQuery = z.object({
  limit: count,
  /** Only entries before this number. */
  before: count.exactOptional(),
})
export type RunHistoryQuery = Of<typeof runHistoryQuery>

export const runHistoryEntry = z.object({
  number: count,
  /** The client that asked, or the person who works in the image itself. */
  who: text,
  call: orNull(callId),
  source: text,
  truncated: bool,
  place: orNull(place),
  outcome: z.enum(['running', 'done', 'raised', 'suspended', 'interrupted', 'left']),
  /** The value's text, or the message of what was raised; null where there is none. */
  result: orNull(text),
  /** When it began: RFC 3339, in UTC. */
  at: text,
  elapsed_ms: orNull(count),
})
export type RunHistoryEntry = Of<typeof runHistoryEntry>

export const runHistory = z.object({
  entries: z.array(runHistoryEntry),
  /** How many were evaluated in this epoch, those that are forgotten included. */
  total: count,
})
export type RunHistory = Of<typeof runHistory>

/** `error` is null where nothing was raised in this epoch that Imago could see; `seen` says where it looks. */
export const lastError = z.object({
  error: orNull(raised),
  who: orNull(text),
  call: orNull(callId),
  at: orNull(text),
  seen: texts,
})
export type LastError = Of<typeof lastError>

export const programErrorsQuery = z.object({
  count,
  /** Also exceptions in finished futures and tasks, for which all objects are gone over. */
  unread: bool.exactOptional(),
  /** Somebody begins or ends to follow them. An image for which notes of news are work tells them only in between. */
  watch: z.enum(['on', 'off']).exactOptional(),
})

/** An error that the program had by itself, as it was when it last came. */
export const programError = z.object({
  /** From 1, as they came first; one that comes again keeps it. */
  number: count,
  /**
   * No code caught it; it was logged with its exception, or its traceback was printed; a request of a web framework
   * failed with it, or a test; a task is tried again for it; it came where nothing can be raised, as in a finalizer; or
   * it waits in a debugger of a person.
   */
  kind: z.enum(['uncaught', 'logged', 'printed', 'request', 'test', 'retried', 'unraisable', 'waiting']),
  /** When it came first and last, or was seen first where it waits: RFC 3339, in UTC. */
  first: text,
  last: text,
  /** How often it came: of its class, at the same lines, in that request, task function or kind of thread. */
  times: count,
  /** When the one came that is shown, where those since were so many that they were only counted. */
  shown_at: text.exactOptional(),
  /** `request GET /orders/`, `task Task-4`, `thread MainThread`. */
  where: orNull(text),
  /** What the program logged beside it; plain arguments are put in, others by their types, so that no code runs. */
  said: orNull(text),
  error: raised,
})
export type ProgramError = Of<typeof programError>

/** Newest first. `total` counts all that there were; `watched` is false where nobody looks for them. */
export const programErrors = z.object({
  errors: z.array(programError),
  total: count,
  watched: bool,
  /** Where they are looked for; left out: what nothing caught, what is logged with its exception, and requests. */
  seen: texts.exactOptional(),
  /**
   * Exceptions that finished futures and tasks hold and no `result()` has raised, where there are any; `expr` is for
   * `inspect`. `cut`: the time was over before all objects were gone over.
   */
  unread: z
    .object({ count, named: z.array(z.object({ what: text, expr: text })), cut: bool.exactOptional() })
    .exactOptional(),
})
export type ProgramErrors = Of<typeof programErrors>

/** What a process has left of its errors in the state directory: a file of JSON. */
export const errorRecord = z.object({
  imago: z.literal(1),
  name: text,
  pid: count,
  /** When the process began, as the system tells it; empty where it does not. */
  started: text,
  /** The process that started it, and of a helper the names of the programs that it worked for. */
  parent: count.exactOptional(),
  works_for: z.array(text).exactOptional(),
  cwd: text,
  program: text,
  /** When it ended, and by which exception, in a line; left out where it had no time to say so. */
  ended_at: text.exactOptional(),
  ended: orNull(text).exactOptional(),
  /** The number of the error that has ended it, where one of them has. */
  ended_with: orNull(count),
  /** Newest first. */
  errors: z.array(programError),
})
export type ErrorRecord = Of<typeof errorRecord>

export const INSPECTION_LOOKS = {
  /** Names and types at the top level, sorted by name, a page at a time. */
  globals: { query: globalsQuery, found: globalsPage },
  /**
   * One value, in sections that fail each on their own, from stored fields alone: `needs_evaluation` for what cannot be
   * resolved without code.
   */
  inspect: { query: inspectQuery, found: inspected },
  /** The next part of something that was cut, by its handle. */
  more: { query: moreQuery, found: piece },
  /** The stack of every thread and of every task, at this moment. */
  threads: { query: threadsQuery, found: threads },
  /** What was evaluated in this image, by whom, and what came of it; newest first. */
  history: { query: runHistoryQuery, found: runHistory },
  /** The error that was raised last, with its frames and locals as they were. */
  last_error: { query: z.object({}), found: lastError },
  /** The errors that the program had by itself, apart from those of what callers evaluated. */
  errors: { query: programErrorsQuery, found: programErrors },
}
