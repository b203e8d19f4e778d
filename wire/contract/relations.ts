/** Looking at how names stand to each other: search, classes, modules, and who uses what. */
import type { NameKind, Naming, Place } from './names.ts'
import type { TypeName } from './values.ts'

export interface AproposQuery {
  /** Part of a name, whatever the case. */
  readonly pattern: string
  /** Only in this module or package, and what is below it. */
  readonly module?: string
  readonly after?: string
  readonly limit: number
}

export interface Apropos {
  readonly matches: readonly NamedThing[]
  /** How many match in all; null where the search was ended early. */
  readonly total: number | null
  /** How many modules or packages were searched. */
  readonly searched: number
  readonly next?: string
}

/** One line about a name. */
export interface NamedThing {
  readonly name: string
  readonly kind: NameKind
  readonly type_name: string
  /** The first line of its documentation. */
  readonly doc: string | null
}

/** The name is that of a class, or of a value whose class is meant; so it is of `HierarchyQuery`. */
export interface SlotsQuery extends Naming {
  readonly limit: number
}

export interface Slots {
  readonly class: TypeName
  /** Those of the class first, then those it inherits, nearest class first. */
  readonly slots: readonly Slot[]
  readonly total: number
}

export interface Slot {
  readonly name: string
  /** `field`: declared, and held by each instance; `slot`: held without a declaration; `class`: shared by all. */
  readonly kind: 'field' | 'slot' | 'class' | 'property'
  /** The class that declares it. */
  readonly from: string
  readonly annotation: string | null
  readonly default: string | null
  /** What follows is told of Lisp slots: the keywords that `make-instance` takes for it, as they are written. */
  readonly initargs?: readonly string[]
  /** Names of the functions that read it and set it: `shop:order-lines`, `(setf shop:order-lines)`. */
  readonly readers?: readonly string[]
  readonly writers?: readonly string[]
  /** As the definition says it: `:instance`, `:class`. */
  readonly allocation?: string
  readonly doc?: string | null
}

export interface HierarchyQuery extends Naming {
  /** Subclasses at most, over all levels. */
  readonly limit: number
}

export interface Hierarchy extends Place {
  readonly class: TypeName
  readonly metaclass: TypeName | null
  readonly bases: readonly TypeName[]
  /** All classes it inherits from, in the order in which they are asked (the class precedence list). */
  readonly ancestors: readonly TypeName[]
  /** In depth-first order, each with its distance, 1 for a direct subclass. */
  readonly subclasses: readonly { readonly type: TypeName; readonly depth: number }[]
  readonly total: number
}

export interface ModuleQuery {
  readonly module: string
  /** Also what the module does not offer to others: private names, and what it has imported. */
  readonly internal: boolean
  readonly filter?: string
  readonly after?: string
  readonly limit: number
}

export interface ModulePage {
  readonly module: string
  readonly file: string | null
  readonly doc: string | null
  readonly symbols: readonly (NamedThing & { readonly exported: boolean })[]
  readonly total: number
  readonly next?: string
}

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

export interface ReferencesQuery extends Naming {
  readonly limit: number
  /** Only these; left out: all that the image can tell. */
  readonly relations?: readonly Relation[]
}

export interface References {
  readonly qualified: string
  readonly references: readonly Reference[]
  readonly total: number
  /** What was looked through, and what a reference could hide in that was not: a sentence each. */
  readonly searched: readonly string[]
  /** False where the look was ended early. */
  readonly complete: boolean
}

export interface Reference extends Place {
  readonly kind: Relation
  /** Who: `shop.Order.total`, `a dict in shop.registry`. */
  readonly from: string
}
