/** Looking at the top level, at one value, and at the rest of what was cut. */
import type { Kind, Section, Text, TypeName } from './values.ts'

export interface GlobalsQuery {
  /** Only names after this one, in the order of the list. */
  readonly after?: string
  /** Only names that contain this text, whatever the case. */
  readonly filter?: string
  readonly modules: boolean
  /** Whose names; left out: those of the top level, which in Lisp is the package in force. */
  readonly module?: string
  readonly limit: number
}

export interface GlobalsPage {
  readonly globals: readonly { readonly name: string; readonly type_name: string }[]
  /** How many names match in all, this page included. */
  readonly total: number
  /** What to pass as `after` for the next page; absent on the last one. */
  readonly next?: string
  /** The package whose names these are, where the language has such. */
  readonly package?: string
  /** Where nothing was found at the top level: packages of the program that have names. */
  readonly elsewhere?: readonly string[]
}

export interface InspectQuery {
  readonly expr: string
  /** The package that names in it are read in; left out: the one in force. Only with the ability `packages`. */
  readonly package?: string
  readonly evaluate: boolean
}

/**
 * A value in sections (seed 2). `type` and `kind` are always there. Any other section is absent where it makes
 * no sense for the value, and holds `error` instead of its contents where reading it failed.
 */
export interface Inspected {
  readonly type: TypeName
  readonly kind: Kind
  /** How the answer was come by: from stored fields alone, or by running code. */
  readonly read: 'static' | 'evaluated'
  readonly repr?: Section<Text>
  readonly size?: Section<{ readonly len?: number; readonly shape?: readonly number[] }>
  readonly sample?: Section<Sample>
  readonly members?: Section<Members>
  readonly doc?: Section<Text>
  readonly callable?: Section<Callable>
  readonly exception?: Section<ExceptionFacts>
  readonly limits: Readonly<Record<string, number>>
  readonly handle?: string
}

export interface Sample {
  readonly items: readonly string[]
  readonly shown: number
  readonly total: number | null
  readonly truncated: boolean
  readonly handle?: string
}

export interface Members {
  readonly data: readonly string[]
  readonly callables: readonly string[]
  readonly dunder_count: number
  readonly shown_per_group: number
  readonly truncated: boolean
}

export interface Callable {
  readonly module: string | null
  readonly signature: string | null
  readonly doc: string | null
  readonly source_preview: string | null
  readonly source_truncated: boolean
  readonly file: string | null
  readonly line: number | null
}

export interface ExceptionFacts {
  readonly exc_type: string
  readonly message: string | null
  readonly traceback: string | null
}

export interface MoreQuery {
  readonly handle: string
  /** Characters of a text, items of a sample; counted from 0. */
  readonly from: number
  readonly count: number
}

export type Piece =
  | {
      readonly type: 'text'
      readonly text: string
      readonly from: number
      readonly total: number | null
      readonly next: number | null
    }
  | {
      readonly type: 'items'
      readonly items: readonly string[]
      readonly from: number
      readonly total: number | null
      readonly next: number | null
    }
