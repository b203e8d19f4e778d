/** What a framed peer may find when it is asked to look: a zod shape for each look of the contract. */
import { z } from 'zod'
import {
  type Apropos,
  type Arglist,
  type Completions,
  type Definition,
  type Description,
  type GlobalsPage,
  type Hierarchy,
  type Inspected,
  KINDS,
  type LastError,
  type Lease,
  type Looked,
  type LookName,
  type Looks,
  type ModulePage,
  NAME_KINDS,
  type Piece,
  RELATIONS,
  type References,
  type RunHistory,
  type Sample,
  type Slots,
  type SuspendedFrame,
  type SuspendedState,
  type Suspension,
  type Suspensions,
  type Theirs,
  type Threads,
  type Tracepoint,
  type Traces,
} from '../kernel.ts'
import { DEBUGGED } from './debug-shapes.ts'
import { callId, count, cutText, frame, orNull, raised, text, typeName } from './shapes.ts'

const bool = z.boolean()
const texts = z.array(text)
const kind = z.enum(NAME_KINDS)
const place = { file: orNull(text), line: orNull(count) }

/** What a look may come to, around the shape of what it looks for. */
function looked<Found>(found: z.ZodType<Found>): z.ZodType<Looked<Found>> {
  return z.discriminatedUnion('type', [
    z.object({ type: z.literal('found'), value: found }),
    z.object({ type: z.literal('needs_evaluation'), because: text }),
    z.object({ type: z.literal('not_found'), what: text, nearest: z.array(text) }),
    z.object({
      type: z.literal('malformed'),
      message: text,
      line: count.exactOptional(),
      column: count.exactOptional(),
    }),
    z.object({ type: z.literal('raised'), exception: raised }),
    z.object({ type: z.literal('stale_handle'), handle: text, because: text }),
    z.object({ type: z.literal('busy'), call: callId, elapsed_ms: count }),
    z.object({ type: z.literal('timed_out'), deadline_ms: count }),
  ]) as z.ZodType<Looked<Found>>
}

const globalsPage = z.object({
  globals: z.array(z.object({ name: text, type_name: text })),
  total: count,
  next: text.exactOptional(),
  package: text.exactOptional(),
  elsewhere: texts.exactOptional(),
}) satisfies z.ZodType<GlobalsPage>

/** A section failed on its own when it holds `error` instead of its contents; the contents are tried first. */
const section = <Contents>(contents: z.ZodType<Contents>) => z.union([contents, z.object({ error: text })])

const sample = z.object({
  items: z.array(text),
  shown: count,
  total: orNull(count),
  truncated: z.boolean(),
  handle: text.exactOptional(),
}) satisfies z.ZodType<Sample>

const inspected = z.object({
  type: typeName,
  kind: z.enum(KINDS),
  read: z.enum(['static', 'evaluated']),
  repr: section(cutText).exactOptional(),
  size: z
    .union([
      z.object({ error: text }),
      z.object({ len: count.exactOptional(), shape: z.array(count).exactOptional() }),
    ])
    .exactOptional(),
  sample: section(sample).exactOptional(),
  members: section(
    z.object({
      data: z.array(text),
      callables: z.array(text),
      dunder_count: count,
      shown_per_group: count,
      truncated: z.boolean(),
    }),
  ).exactOptional(),
  doc: section(cutText).exactOptional(),
  callable: section(
    z.object({
      module: orNull(text),
      signature: orNull(text),
      doc: orNull(text),
      source_preview: orNull(text),
      source_truncated: z.boolean(),
      file: orNull(text),
      line: orNull(count),
    }),
  ).exactOptional(),
  exception: section(
    z.object({ exc_type: text, message: orNull(text), traceback: orNull(text) }),
  ).exactOptional(),
  limits: z.record(text, count),
  handle: text.exactOptional(),
}) satisfies z.ZodType<Inspected>

const piece = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text, from: count, total: orNull(count), next: orNull(count) }),
  z.object({
    type: z.literal('items'),
    items: z.array(text),
    from: count,
    total: orNull(count),
    next: orNull(count),
  }),
]) satisfies z.ZodType<Piece>

const definition = z.object({
  ...place,
  name: text,
  qualified: text,
  kind,
  language: text,
  source: orNull(cutText),
  because: orNull(text),
  end_line: orNull(count),
  origin: z.enum(['file', 'typed', 'built_in', 'unknown']),
  current: orNull(bool),
  wrappers: z.array(z.object({ ...place, name: text })),
  notes: texts,
  parts: z
    .array(z.object({ ...place, name: text, kind, source: orNull(cutText), because: orNull(text) }))
    .exactOptional(),
  contexts: z.record(text, texts).exactOptional(),
}) satisfies z.ZodType<Definition>

const description = z.object({
  ...place,
  name: text,
  qualified: text,
  kind,
  type: typeName,
  value: cutText.exactOptional(),
  doc: orNull(cutText),
  signature: orNull(text),
  module: orNull(text),
  also: texts,
  facts: texts,
  handle: text.exactOptional(),
}) satisfies z.ZodType<Description>

const arglist = z.object({
  ...place,
  name: text,
  qualified: text,
  signature: orNull(text),
  because: orNull(text),
  parameters: z.array(
    z.object({
      name: text,
      kind: z.enum(['positional', 'positional_or_keyword', 'rest', 'keyword', 'keyword_rest', 'optional']),
      default: orNull(text),
      annotation: orNull(text),
    }),
  ),
  returns: orNull(text),
  doc: orNull(text),
  call: text.exactOptional(),
}) satisfies z.ZodType<Arglist>

const named = { name: text, kind, type_name: text, doc: orNull(text) }

const apropos = z.object({
  matches: z.array(z.object(named)),
  total: orNull(count),
  searched: count,
  next: text.exactOptional(),
}) satisfies z.ZodType<Apropos>

const slots = z.object({
  class: typeName,
  slots: z.array(
    z.object({
      name: text,
      kind: z.enum(['field', 'slot', 'class', 'property']),
      from: text,
      annotation: orNull(text),
      default: orNull(text),
      initargs: texts.exactOptional(),
      readers: texts.exactOptional(),
      writers: texts.exactOptional(),
      allocation: text.exactOptional(),
      doc: orNull(text).exactOptional(),
    }),
  ),
  total: count,
}) satisfies z.ZodType<Slots>

const hierarchy = z.object({
  ...place,
  class: typeName,
  metaclass: orNull(typeName),
  bases: z.array(typeName),
  ancestors: z.array(typeName),
  subclasses: z.array(z.object({ type: typeName, depth: count })),
  total: count,
}) satisfies z.ZodType<Hierarchy>

const modulePage = z.object({
  module: text,
  file: orNull(text),
  doc: orNull(text),
  symbols: z.array(z.object({ ...named, exported: bool })),
  total: count,
  next: text.exactOptional(),
}) satisfies z.ZodType<ModulePage>

const references = z.object({
  qualified: text,
  references: z.array(z.object({ ...place, kind: z.enum(RELATIONS), from: text })),
  total: count,
  searched: texts,
  complete: bool,
}) satisfies z.ZodType<References>

const stack = z.object({
  names: texts,
  count,
  state: z.enum(['running', 'waiting', 'finished']),
  waits_for: orNull(text),
  role: z.enum(['main', 'evaluating', 'imago', 'user']),
  frames: z.array(frame),
  frames_omitted: count,
})

const threads = z.object({
  threads: z.array(stack),
  tasks: z.array(stack),
  threads_total: count,
  tasks_total: count,
  omitted: count,
  notes: texts,
}) satisfies z.ZodType<Threads>

const history = z.object({
  entries: z.array(
    z.object({
      number: count,
      who: text,
      call: orNull(callId),
      source: text,
      truncated: bool,
      place: orNull(z.object(place)),
      outcome: z.enum(['running', 'done', 'raised', 'suspended', 'interrupted', 'left']),
      result: orNull(text),
      at: text,
      elapsed_ms: orNull(count),
    }),
  ),
  total: count,
}) satisfies z.ZodType<RunHistory>

const lastError = z.object({
  error: orNull(raised),
  who: orNull(text),
  call: orNull(callId),
  at: orNull(text),
  seen: texts,
}) satisfies z.ZodType<LastError>

const completions = z.object({
  from: count,
  to: count,
  completions: z.array(z.object({ text, kind, type_name: orNull(text) })),
  total: count,
  call: orNull(
    z.object({ name: text, signature: text, parameter: orNull(count), call: text.exactOptional() }),
  ),
  because: orNull(text),
}) satisfies z.ZodType<Completions>

/** By the name of the look, what a peer may answer to it. */
export const LOOKED: { readonly [Name in LookName]: z.ZodType<Looked<Looks[Name]['found']>> } = {
  globals: looked<GlobalsPage>(globalsPage),
  inspect: looked<Inspected>(inspected),
  more: looked<Piece>(piece),
  definition: looked<Definition>(definition),
  describe: looked<Description>(description),
  arglist: looked<Arglist>(arglist),
  apropos: looked<Apropos>(apropos),
  slots: looked<Slots>(slots),
  hierarchy: looked<Hierarchy>(hierarchy),
  symbols: looked<ModulePage>(modulePage),
  references: looked<References>(references),
  threads: looked<Threads>(threads),
  history: looked<RunHistory>(history),
  last_error: looked<LastError>(lastError),
  complete: looked<Completions>(completions),
  suspensions: looked<Suspensions>(DEBUGGED.suspensions),
  suspension: looked<SuspendedState>(DEBUGGED.suspension),
  frame: looked<SuspendedFrame>(DEBUGGED.frame),
  lease: looked<Lease>(DEBUGGED.lease),
  theirs: looked<Theirs>(DEBUGGED.theirs),
  adopt: looked<Suspension>(DEBUGGED.adopt),
  trace: looked<Tracepoint>(DEBUGGED.trace),
  untrace: looked<Tracepoint>(DEBUGGED.untrace),
  traces: looked<Traces>(DEBUGGED.traces),
}
