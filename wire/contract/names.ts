/** Looking at what a name stands for: its source, its facts, how it is called, how it might go on, and who uses it. */
import { z } from 'zod'
import {
  count,
  cutText,
  NAME_KINDS,
  type Of,
  orNull,
  place,
  proof,
  running,
  text,
  texts,
  typeName,
} from './values.ts'

const bool = z.boolean()
const kind = z.enum(NAME_KINDS)

/** A name as it is written in the image: dotted in Python, with its package in Lisp; or a handle. */
export const naming = z.object({
  name: text,
  /** The package that it is read in; left out: the one in force. Only with the ability `packages`, or `scope`. */
  package: text.exactOptional(),
})
export type NameQuery = Of<typeof naming>

/** A source file, by its real path, and a line of it, where that makes a difference. */
export const scopeQuery = z.object({ file: text, line: count.exactOptional() })
export type ScopeQuery = Of<typeof scopeQuery>

/** The loaded module or context that has the names of a file; null where the file is not loaded. */
export const scope = z.object({ module: orNull(text) })

/** What a language tells of a definition besides its text, where it can tell them apart; `json`: all of it as data. */
export const SECTIONS = ['usage', 'options', 'attributes', 'dependencies', 'place', 'json'] as const

export const definitionQuery = z.object({
  ...naming.shape,
  /** Characters of source at most; what is cut has a handle. */
  max_length: count,
  /** Also tell to which modules or packages the names belong that the definition uses. */
  contexts: bool.exactOptional(),
  /** Also these, in `page`. Only with the ability `sections`. */
  include: z.array(z.enum(SECTIONS)).exactOptional(),
})
export type DefinitionQuery = Of<typeof definitionQuery>

export const definitionPart = z.object({
  ...place.shape,
  /** As the language writes it: `area ((shape circle))`, `(setf area)`. */
  name: text,
  kind,
  source: orNull(cutText),
  /** Why there is no source. */
  because: orNull(text),
  /** As of the definition itself; left out where nobody has looked. */
  current: orNull(bool).exactOptional(),
  proof: proof.exactOptional(),
  notes: texts.exactOptional(),
  /** It stands around what the name was defined as, and runs in its place. */
  wraps: z.literal(true).exactOptional(),
  /** As in `Definition`. */
  running: running.exactOptional(),
})
export type DefinitionPart = Of<typeof definitionPart>

/** A definition as data. Texts are in the language, where they are code. */
const definitionData = z.object({
  status: z.enum(['defined', 'undefined']),
  /** Cut as the page is; `characters` is the length of all of it. */
  definition: text,
  characters: count,
  /** `input`: laying it out took too long. */
  form: z.enum(['readable', 'input']),
  attributes: texts,
  /** The kinds of values that the engine computes by code of its own. */
  kernel_code: texts,
  options: text,
  usage: orNull(text),
  /** Full names of what it uses and the engine has not brought. */
  dependencies: texts,
  /** Those of them that have no definition. */
  undefined: texts,
  contexts: z.record(text, texts),
  /** How many texts in it look like secrets, and have a mark in their place. */
  redacted: count,
})

export const definition = z.object({
  ...place.shape,
  /** The name that was asked for. */
  name: text,
  /** The name under which it was defined, if that is known. */
  qualified: text,
  kind,
  /** What a fence around `source` is labelled with. */
  language: text,
  /** Null where there is none to be had; `because` then says why. */
  source: orNull(cutText),
  because: orNull(text),
  end_line: orNull(count),
  /** `file` as it is on the disk; `typed` at a prompt or by a call, without a place; `built_in` compiled, without source. */
  origin: z.enum(['file', 'typed', 'built_in', 'unknown']),
  /** Whether the text is what the image runs: true where that is proved, null where it cannot be told. */
  current: orNull(bool),
  /** Where there is code to compare a text with, which the image leaves to the daemon. */
  running: running.exactOptional(),
  /** Where the image itself has compared the text with what it recorded when it compiled. */
  proof: proof.exactOptional(),
  /** What stands around it and was seen through, outermost first: decorators, partial applications. */
  wrappers: z.array(z.object({ ...place.shape, name: text })),
  /** What a reader must know besides, a sentence each. */
  notes: texts,
  /**
   * What else the name stands for (a Lisp name can be a function, a class and a variable at once), and the methods of a
   * generic function, each with its own source.
   */
  parts: z.array(definitionPart).exactOptional(),
  /** Where asked for, and where the image can tell: by module or package, the names of it that the definition uses. */
  contexts: z.record(text, texts).exactOptional(),
  /** What is to be shown of it, where the language has a form of its own for that, errors among it. */
  page: text.exactOptional(),
  /** Where `json` is asked for. */
  data: definitionData.exactOptional(),
})
export type Definition = Of<typeof definition>

export const keptTextQuery = z.object({ file: text })

/** Null where none was kept, or it is too long. */
export const keptText = z.object({ text: orNull(text) })
export type KeptText = Of<typeof keptText>

export const description = z.object({
  ...place.shape,
  name: text,
  qualified: text,
  kind,
  type: typeName,
  /** The value as text, read from stored fields; absent for functions, classes and modules. */
  value: cutText.exactOptional(),
  doc: orNull(cutText),
  signature: orNull(text),
  /** The module or package it was defined in. */
  module: orNull(text),
  /** Other names of the same object, as far as they were looked for. */
  also: texts,
  /** What else is known of it, a clause each: `async`, `defined at a prompt`, `3 subclasses`. */
  facts: texts,
  handle: text.exactOptional(),
})
export type Description = Of<typeof description>

export const parameter = z.object({
  name: text,
  kind: z.enum(['positional', 'positional_or_keyword', 'rest', 'keyword', 'keyword_rest', 'optional']),
  /** As text; null where there is none. */
  default: orNull(text),
  annotation: orNull(text),
})
export type Parameter = Of<typeof parameter>

export const arglist = z.object({
  ...place.shape,
  name: text,
  qualified: text,
  /** As the language writes it, without the name: `(x, *, key=None) -> int`; null where it cannot be known. */
  signature: orNull(text),
  because: orNull(text),
  parameters: z.array(parameter),
  returns: orNull(text),
  /** The first line of its documentation. */
  doc: orNull(text),
  /** The whole of a call, where the language does not write the name before the brackets: `(total order &key rate)`. */
  call: text.exactOptional(),
})
export type Arglist = Of<typeof arglist>

export const completionsQuery = z.object({
  /** The code so far, and what stands after the cursor. */
  text,
  /** Where the cursor is: characters (code points) before it. */
  cursor: count,
  limit: count,
  /** The package that names in it are read in; left out: the one in force. Only with the ability `packages`, or `scope`. */
  package: text.exactOptional(),
})
export type CompletionsQuery = Of<typeof completionsQuery>

export const completion = z.object({ text, kind, type_name: orNull(text) })
export type Completion = Of<typeof completion>

export const completions = z.object({
  /** The piece of `text` that a completion replaces: code points `from` up to, and not including, `to`. */
  from: count,
  to: count,
  completions: z.array(completion),
  total: count,
  /** The call that the cursor stands in the arguments of; null where there is none, or it is not known. */
  call: orNull(
    z.object({
      name: text,
      signature: text,
      parameter: orNull(count),
      /** The whole of a call, as in `Arglist`. */
      call: text.exactOptional(),
    }),
  ),
  /** Why nothing is offered, where running code would have to tell. */
  because: orNull(text),
})
export type Completions = Of<typeof completions>

export const aproposQuery = z.object({
  /** Part of a name, whatever the case. */
  pattern: text,
  /** Only in this module or package, and what is below it. */
  module: text.exactOptional(),
  after: text.exactOptional(),
  limit: count,
})
export type AproposQuery = Of<typeof aproposQuery>

/** One line about a name. */
export const namedThing = z.object({
  name: text,
  kind,
  type_name: text,
  /** The first line of its documentation. */
  doc: orNull(text),
})
export type NamedThing = Of<typeof namedThing>

export const apropos = z.object({
  matches: z.array(namedThing),
  /** How many match in all; null where the search was ended early. */
  total: orNull(count),
  /** How many modules or packages were searched. */
  searched: count,
  next: text.exactOptional(),
})
export type Apropos = Of<typeof apropos>

/** The name is that of a class, or of a value whose class is meant; so it is of `hierarchyQuery`. */
export const slotsQuery = z.object({ ...naming.shape, limit: count })
export type SlotsQuery = Of<typeof slotsQuery>

export const slot = z.object({
  name: text,
  /** `field`: declared, and held by each instance; `slot`: held without a declaration; `class`: shared by all. */
  kind: z.enum(['field', 'slot', 'class', 'property']),
  /** The class that declares it. */
  from: text,
  annotation: orNull(text),
  default: orNull(text),
  /** What follows is told of Lisp slots: the keywords that `make-instance` takes for it, as they are written. */
  initargs: texts.exactOptional(),
  /** Names of the functions that read it and set it: `shop:order-lines`, `(setf shop:order-lines)`. */
  readers: texts.exactOptional(),
  writers: texts.exactOptional(),
  /** As the definition says it: `:instance`, `:class`. */
  allocation: text.exactOptional(),
  doc: orNull(text).exactOptional(),
})
export type Slot = Of<typeof slot>

export const slots = z.object({
  class: typeName,
  /** Those of the class first, then those it inherits, nearest class first. */
  slots: z.array(slot),
  total: count,
})
export type Slots = Of<typeof slots>

export const hierarchyQuery = z.object({
  ...naming.shape,
  /** Subclasses at most, over all levels. */
  limit: count,
})
export type HierarchyQuery = Of<typeof hierarchyQuery>

export const hierarchy = z.object({
  ...place.shape,
  class: typeName,
  metaclass: orNull(typeName),
  bases: z.array(typeName),
  /** All classes it inherits from, in the order in which they are asked (the class precedence list). */
  ancestors: z.array(typeName),
  /** In depth-first order, each with its distance, 1 for a direct subclass. */
  subclasses: z.array(z.object({ type: typeName, depth: count })),
  total: count,
})
export type Hierarchy = Of<typeof hierarchy>

export const moduleQuery = z.object({
  module: text,
  /** Also what the module does not offer to others: private names, and what it has imported. */
  internal: bool,
  filter: text.exactOptional(),
  after: text.exactOptional(),
  limit: count,
})
export type ModuleQuery = Of<typeof moduleQuery>

export const modulePage = z.object({
  module: text,
  file: orNull(text),
  doc: orNull(text),
  symbols: z.array(z.object({ ...namedThing.shape, exported: bool })),
  total: count,
  next: text.exactOptional(),
})
export type ModulePage = Of<typeof modulePage>

/**
 * How code can stand to a name. `uses`: code that names it, in whatever way; `holds`: a variable, container or object
 * that it can be reached from. The others tell uses apart, where the kernel has the ability `callers`.
 */
export const RELATIONS = [
  'uses',
  'holds',
  'calls',
  'references',
  'binds',
  'sets',
  'macroexpands',
  'specializes',
] as const
export type Relation = (typeof RELATIONS)[number]

export const referencesQuery = z.object({
  ...naming.shape,
  limit: count,
  /** Only these; left out: all that the image can tell. */
  relations: z.array(z.enum(RELATIONS)).exactOptional(),
})
export type ReferencesQuery = Of<typeof referencesQuery>

export const reference = z.object({
  ...place.shape,
  kind: z.enum(RELATIONS),
  /** Who: `shop.Order.total`, `a dict in shop.registry`. */
  from: text,
})
export type Reference = Of<typeof reference>

export const references = z.object({
  qualified: text,
  references: z.array(reference),
  total: count,
  /** What was looked through, and what a reference could hide in that was not: a sentence each. */
  searched: texts,
  /** False where the look was ended early. */
  complete: bool,
  /** Only of a name that code cannot call: what it is, such as `macro`; its other uses were not asked for. */
  uncallable: text.exactOptional(),
})
export type References = Of<typeof references>

export const NAME_LOOKS = {
  /** In which module the names of a source file are: the `package` of looks and evaluations among them. */
  scope: { query: scopeQuery, found: scope },
  /** The source of one name, and where it stands. */
  definition: { query: definitionQuery, found: definition },
  /** The text that the image keeps of a file besides the file itself: as it was first read, or as an archive has it. */
  kept_text: { query: keptTextQuery, found: keptText },
  /** What one name is, in a few facts. */
  describe: { query: naming, found: description },
  /** How one function is called. */
  arglist: { query: naming, found: arglist },
  /** Names in the whole image that contain a text. */
  apropos: { query: aproposQuery, found: apropos },
  /** What instances of one class hold, and what the class declares. */
  slots: { query: slotsQuery, found: slots },
  /** What one class inherits from, and what inherits from it. */
  hierarchy: { query: hierarchyQuery, found: hierarchy },
  /** The names of one module or package, a page at a time. */
  symbols: { query: moduleQuery, found: modulePage },
  /** Who uses one name, as far as the image can know. */
  references: { query: referencesQuery, found: references },
  /** How a piece of code might go on at one place, from stored names alone. */
  complete: { query: completionsQuery, found: completions },
}
