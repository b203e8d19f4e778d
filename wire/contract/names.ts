/** Looking at what a name stands for: its source, its facts, how it is called, and how it might go on. */
import type { Text, TypeName } from './values.ts'

/** What kind of thing a name stands for; a Lisp package is a `module`, a condition a `class`. */
export const NAME_KINDS = [
  'function',
  'method',
  'generic_function',
  'macro',
  'class',
  'module',
  'property',
  'variable',
  'constant',
  'keyword',
  'parameter',
] as const
export type NameKind = (typeof NAME_KINDS)[number]

/** Where a definition stands. `line` counts from 1. */
export interface Place {
  readonly file: string | null
  readonly line: number | null
}

/** A name as it is written in the image: dotted in Python, with its package in Lisp; or a handle. */
export interface Naming {
  readonly name: string
  /** The package that it is read in; left out: the one in force. Only with the ability `packages`. */
  readonly package?: string
}

export interface DefinitionQuery extends Naming {
  /** Characters of source at most; what is cut has a handle. */
  readonly max_length: number
  /** Also tell to which modules or packages the names belong that the definition uses. */
  readonly contexts?: boolean
}

export interface Definition extends Place {
  /** The name that was asked for. */
  readonly name: string
  /** The name under which it was defined, if that is known. */
  readonly qualified: string
  readonly kind: NameKind
  /** What a fence around `source` is labelled with. */
  readonly language: string
  /** Null where there is none to be had; `because` then says why. */
  readonly source: Text | null
  readonly because: string | null
  readonly end_line: number | null
  /** `file` as it is on the disk; `typed` at a prompt or by a call, without a place; `built_in` compiled, without source. */
  readonly origin: 'file' | 'typed' | 'built_in' | 'unknown'
  /**
   * Whether the text is what the image runs: false where the file has changed since it was loaded, null where that
   * cannot be told.
   */
  readonly current: boolean | null
  /** What stands around it and was seen through, outermost first: decorators, partial applications. */
  readonly wrappers: readonly (Place & { readonly name: string })[]
  /** What a reader must know besides, a sentence each. */
  readonly notes: readonly string[]
  /**
   * What else the name stands for (a Lisp name can be a function, a class and a variable at once), and the methods of a
   * generic function, each with its own source.
   */
  readonly parts?: readonly DefinitionPart[]
  /** Where asked for, and where the image can tell: by module or package, the names of it that the definition uses. */
  readonly contexts?: Readonly<Record<string, readonly string[]>>
}

export interface DefinitionPart extends Place {
  /** As the language writes it: `area ((shape circle))`, `(setf area)`. */
  readonly name: string
  readonly kind: NameKind
  readonly source: Text | null
  /** Why there is no source. */
  readonly because: string | null
}

export type DescriptionQuery = Naming

export interface Description extends Place {
  readonly name: string
  readonly qualified: string
  readonly kind: NameKind
  readonly type: TypeName
  /** The value as text, read from stored fields; absent for functions, classes and modules. */
  readonly value?: Text
  readonly doc: Text | null
  readonly signature: string | null
  /** The module or package it was defined in. */
  readonly module: string | null
  /** Other names of the same object, as far as they were looked for. */
  readonly also: readonly string[]
  /** What else is known of it, a clause each: `async`, `defined at a prompt`, `3 subclasses`. */
  readonly facts: readonly string[]
  readonly handle?: string
}

export type ArglistQuery = Naming

export interface Arglist extends Place {
  readonly name: string
  readonly qualified: string
  /** As the language writes it, without the name: `(x, *, key=None) -> int`; null where it cannot be known. */
  readonly signature: string | null
  readonly because: string | null
  readonly parameters: readonly Parameter[]
  readonly returns: string | null
  /** The first line of its documentation. */
  readonly doc: string | null
  /** The whole of a call, where the language does not write the name before the brackets: `(total order &key rate)`. */
  readonly call?: string
}

export interface Parameter {
  readonly name: string
  readonly kind: 'positional' | 'positional_or_keyword' | 'rest' | 'keyword' | 'keyword_rest' | 'optional'
  /** As text; null where there is none. */
  readonly default: string | null
  readonly annotation: string | null
}

export interface CompletionsQuery {
  /** The code so far, and what stands after the cursor. */
  readonly text: string
  /** Where the cursor is: characters (code points) before it. */
  readonly cursor: number
  readonly limit: number
}

export interface Completions {
  /** The piece of `text` that a completion replaces: code points `from` up to, and not including, `to`. */
  readonly from: number
  readonly to: number
  readonly completions: readonly Completion[]
  readonly total: number
  /** The call that the cursor stands in the arguments of; null where there is none, or it is not known. */
  readonly call: {
    readonly name: string
    readonly signature: string
    readonly parameter: number | null
    /** The whole of a call, as in `Arglist`. */
    readonly call?: string
  } | null
  /** Why nothing is offered, where running code would have to tell. */
  readonly because: string | null
}

export interface Completion {
  readonly text: string
  readonly kind: NameKind
  readonly type_name: string | null
}
