/** Running code in an image: what is run, what is heard of it, and how it ends. */
import { z } from 'zod'
import type { Signal } from '../signal.ts'
import { suspension } from './suspensions.ts'
import { type CallId, callId, count, type Of, orNull, place, raised, shown, text, texts } from './values.ts'

/** Something to run, for somebody. */
export interface Evaluation {
  readonly call: CallId
  readonly work: Work
  /** Who asked, as the image's history names them: `imago call`, `claude-code 2.1`. */
  readonly who: string
  /** The connection that it came over: where many wait for a kernel, connections take turns. Left out: `who`. */
  readonly caller?: string
  /**
   * This image was given it before, by a daemon that is no more: it is asked what became of it, and nothing is begun.
   * Rejects with a fault (`REMOTE_FAULT`, or what stands for an unknown outcome) where the image does not know it.
   */
  readonly again?: boolean
  /** An error suspends it, where it can, instead of ending it. Left out: errors end it. Only with `suspend`. */
  readonly suspend?: SuspendOptions
}

/** What an error in an evaluation is to do. */
export interface SuspendOptions {
  /** The stack is to be held alive where the error is raised. Only with the ability `hold`. */
  readonly hold?: boolean
}

/** What is run. Files are absolute paths as the image sees them. */
export type Work =
  /** Code, and where it stands in the user's file, so that jumping to its source still leads there. */
  | {
      readonly type: 'source'
      readonly source: string
      readonly place?: SourcePlace
      /** The package it is read and run in; left out: the one in force. Only with the ability `packages`, or `scope`. */
      readonly package?: string
    }
  /** Code that is compiled as a file would be, and loaded: what the compiler says of it comes with the answer. */
  | {
      readonly type: 'compile'
      readonly source: string
      readonly place?: SourcePlace
      readonly package?: string
    }
  /** A macro form, expanded once, or `fully` with all forms in it; its one value is the expansion. */
  | {
      readonly type: 'expand'
      readonly source: string
      readonly fully: boolean
      readonly package?: string
    }
  /** A file, or only some of its top-level definitions, into the module that it is the source of, or the top level. */
  | { readonly type: 'load'; readonly file: string; readonly names?: readonly string[] }
  /** A loaded module, from its source, in place. */
  | { readonly type: 'reload'; readonly module: string }
  /** A system of definitions (ASDF), with what it depends on; `force`: also what is loaded and unchanged. */
  | { readonly type: 'system'; readonly system: string; readonly force: boolean }
  /** The tests of a system, a suite or a package, or one test; left out `framework`: the one that knows `target`. */
  | { readonly type: 'tests'; readonly target: string; readonly framework?: TestFramework }
  /** Code, in a frame of a suspended evaluation: it sees and can set its variables. */
  | { readonly type: 'frame'; readonly suspension: string; readonly frame: number; readonly source: string }
  /** A suspended evaluation goes on; what it comes to is what the evaluation that was suspended would have come to. */
  | { readonly type: 'resume'; readonly suspension: string; readonly way: WayOn }

/** Where code stands in the user's file: an absolute path as the image sees it, and a line that counts from 1. */
export interface SourcePlace {
  readonly file: string
  readonly line: number
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

/** Who follows an evaluation. Aborting `signal` interrupts it; the promise then says how that went. */
export interface Watcher {
  readonly signal?: Signal
  on?(event: EvalEvent): void
  /** Answers a question that the running code asks. Absent or rejecting means: refused, and the code is told. */
  ask?(question: Question): Promise<string>
}

export const stream = z.enum(['stdout', 'stderr'])
export type Stream = Of<typeof stream>

/** News of a running evaluation, in the order in which it happened. */
export const evalEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), stream, text }),
  /** Output came faster than it could be carried; this many characters of it are gone. */
  z.object({ type: z.literal('dropped'), stream, characters: count }),
])
export type EvalEvent = Of<typeof evalEvent>

/** The running code wants a line of text from whoever asked for it. */
export const question = z.object({
  type: z.literal('stdin'),
  prompt: text,
  /** The answer must not be shown while it is typed. */
  secret: z.boolean(),
})
export type Question = Of<typeof question>

/** What a peer asks of the daemon in the middle of an evaluation. */
export const askParams = z.object({ call: callId, question })

export const SEVERITIES = ['error', 'read_error', 'warning', 'style_warning', 'redefinition', 'note'] as const
export type Severity = (typeof SEVERITIES)[number]

/** One thing that a compiler, or the running code by `warn`, has said. */
export const diagnostic = z.object({
  ...place.shape,
  severity: z.enum(SEVERITIES),
  message: text,
  /** What the language calls it, where its messages have names: `Power::infy`. */
  name: text.exactOptional(),
  /** Counts from 1, where known. */
  column: orNull(count),
  /** The form it is about, in a line, where known. */
  source: orNull(text),
})
export type Diagnostic = Of<typeof diagnostic>

export const TEST_FRAMEWORKS = ['fiveam', 'parachute', 'asdf'] as const
export type TestFramework = (typeof TEST_FRAMEWORKS)[number]

export const testFailure = z.object({
  ...place.shape,
  /** The test, as the language names it. */
  test: text,
  /** What was expected, or what was raised. */
  reason: text,
  /** The check, as text, where known. */
  expression: orNull(text),
})
export type TestFailure = Of<typeof testFailure>

/**
 * What a run of tests came to. `asdf` runs a system's own operation: its checks are known as far as a framework that
 * we know ran them in it; otherwise there is only what it printed, and whether it raised.
 */
export const testReport = z.object({
  framework: z.enum(TEST_FRAMEWORKS),
  target: text,
  /** Null where that cannot be told: nobody counted checks, or there was none that passed or failed. */
  ok: orNull(z.boolean()),
  /** Checks; null where nobody counted them. */
  passed: orNull(count),
  failed: orNull(count),
  skipped: orNull(count),
  failures: z.array(testFailure),
  /** Failures beyond those that are told. */
  omitted: count,
})
export type TestReport = Of<typeof testReport>

/** An old object that is still in use although its name now stands for a new one. */
export const survivor = z.object({
  name: text,
  kind: z.enum(['function', 'class', 'object']),
  /** Living instances of an old class; null for what is not a class. */
  instances: orNull(count),
  /** Who still holds it: `shop.web.handlers (a dict)`. */
  held_by: texts,
  /** How many loads of the module before this one replaced it; absent for what this one has replaced. */
  loads_ago: count.exactOptional(),
})
export type Survivor = Of<typeof survivor>

/** A module that still has the old object under a name, by an import, and the statement that gives it the new one. */
export const oldImport = z.object({ module: text, name: text, old: text, rebind: text })
export type OldImport = Of<typeof oldImport>

/** What loading a file or a module has changed, and what of the old still lives on. */
export const loaded = z.object({
  /** The module whose names were set; null for the top level. */
  module: orNull(text),
  file: orNull(text),
  added: texts,
  replaced: texts,
  /** Names that the text defines as they were; and what it could not define, and why: `total is Protected`. */
  unchanged: texts.exactOptional(),
  not_replaced: texts.exactOptional(),
  /** Names, or rules by their left sides, that the new text does not define any more; they were left as they are. */
  kept: texts,
  /** What of the file was not run, and why, a sentence each. */
  skipped: texts,
  survivors: z.array(survivor),
  /** Absent where there are none. */
  imports: z.array(oldImport).exactOptional(),
  /** How many names the lists above leave out, and whether the search for survivors was ended early. */
  omitted: count,
  complete: z.boolean(),
})
export type Loaded = Of<typeof loaded>

const diagnostics = z.array(diagnostic).exactOptional()

/** Something that running code has drawn or displayed, or that its value looks like. */
export const display = z.object({
  /** `figure 1`, or the type of what was displayed. */
  what: text,
  /** A value that the code has asked to be shown. */
  shown: shown.exactOptional(),
  text: text.exactOptional(),
  /** A person is shown this text in the place of the value, which only says how it is laid out. */
  for_people: z.literal(true).exactOptional(),
  /** A PNG, in base64. */
  png: text.exactOptional(),
  html: text.exactOptional(),
  /** Why there is less of it than there could be: a sentence. */
  note: text.exactOptional(),
})
export type Display = Of<typeof display>

const displayed = {
  /** The first few; absent where there was nothing. */
  displays: z.array(display).exactOptional(),
  /** How many there were besides; absent for none. */
  displays_omitted: count.exactOptional(),
}

/** An error happened, and it waits there: `exception` has the innermost frames alone. Nothing of it is lost yet. */
export const suspended = z.object({
  type: z.literal('suspended'),
  suspension,
  exception: raised,
  elapsed_ms: count,
  diagnostics,
  ...displayed,
})

/**
 * Work that an image would not begin: what was asked for is not there (`not_found`), or is no such thing, or two
 * things (`malformed`). Nothing of it ran, and it is neither remembered as an evaluation nor as an error.
 */
export const refused = z.object({
  type: z.literal('refused'),
  reason: z.enum(['not_found', 'malformed']),
  /** For people, a sentence or two. */
  message: text,
  /** What is missing or at fault, as the caller named it, and what has a name like it, by likeness. */
  what: text.exactOptional(),
  nearest: texts.exactOptional(),
  /** What can be done now. */
  next: text.exactOptional(),
})
export type WorkRefusal = Of<typeof refused>

const numbered = {
  /**
   * The number of the last expression among the inputs of the session, where the language keeps values by such numbers:
   * that value is `Out[3]`.
   */
  input_line: count.exactOptional(),
}

/** How an evaluation ended. There is exactly one of these per evaluation. */
export const evaluated = z.discriminatedUnion('type', [
  /** It ran to its end. A statement has no values, an expression one, a Lisp form any number. */
  z.object({
    type: z.literal('done'),
    values: z.array(shown),
    elapsed_ms: count,
    loaded: loaded.exactOptional(),
    diagnostics,
    tests: testReport.exactOptional(),
    /** What the next evaluation is read in, where the language has packages and read tables. */
    package: text.exactOptional(),
    readtable: text.exactOptional(),
    ...numbered,
    /** Which of the two is not what it was when this began. */
    changed: z.array(z.enum(['package', 'readtable'])).exactOptional(),
    ...displayed,
  }),
  z.object({
    type: z.literal('raised'),
    exception: raised,
    elapsed_ms: count,
    diagnostics,
    /** What the image knows that can be done now, a sentence. */
    next: text.exactOptional(),
    ...numbered,
    ...displayed,
  }),
  suspended,
  /** It was seen to stop because it was asked to. What it did before that is done. */
  z.object({
    type: z.literal('interrupted'),
    exception: raised.exactOptional(),
    elapsed_ms: count,
    ...numbered,
    ...displayed,
  }),
  /** It left before it had a value, by no error: in Lisp by the restart ABORT, or with the thread that it ran on. */
  z.object({
    type: z.literal('left'),
    message: text,
    elapsed_ms: count,
    /** The kernel ends with it, by itself. */
    ends: z.literal(true).exactOptional(),
  }),
  /** It was withdrawn while it still waited its turn, and never ran. */
  z.object({ type: z.literal('withdrawn') }),
  refused,
])
export type Evaluated = Of<typeof evaluated>

/**
 * What was observed of an interrupt. `stopped` means that the call was seen to end by it; `still_running` that
 * it was asked and goes on; `not_running` that it had ended by itself, or is not known.
 */
export const interruptReport = z.object({
  outcome: z.enum(['stopped', 'still_running', 'withdrawn', 'not_running']),
  /** Where the code stands, how often it was asked, and what it does instead, as far as that was seen. */
  message: text,
  /** What is left to a person: to end the image and begin another. Only said of a process that is ours. */
  offer: z.literal('restart').exactOptional(),
})
export type InterruptReport = Of<typeof interruptReport>

export const kernelStatus = z.object({
  running: orNull(z.object({ call: callId, elapsed_ms: count })),
  queued: count,
})
export type KernelStatus = Of<typeof kernelStatus>

/** Output of the image that belongs to no evaluation. */
export const outputNote = z.object({ stream, text })

/** What became of the program that an image was started with; `message` says how it failed. */
export const scriptNote = z.object({
  state: z.enum(['running', 'returned', 'failed']),
  message: text.nullish(),
})
export interface ScriptNews {
  readonly state: Of<typeof scriptNote>['state']
  readonly message: string | null
}
