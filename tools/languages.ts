import type { Ability, Kernel, Kind, NameKind } from '../wire/kernel.ts'

/** Abilities that one language has and others do not: where it does not live, nothing is listed that needs one. */
export const OF_ONE_LANGUAGE: readonly Ability[] = [
  'compile',
  'expand',
  'system',
  'packages',
  'callers',
  'sections',
]

/** What a result says besides: the language that it is about, where that has words of its own. */
export interface Told {
  readonly language?: string
}

/** What a language calls things in text. The keys of a result are those of the contract, in every language. */
export interface Terms {
  /** Of packages or modules: one, and many. */
  readonly module: readonly [one: string, many: string]
  readonly superclasses: string
  /** The classes that are asked, in their order. */
  readonly order: string
  readonly exception: string
  readonly members: string
  /** Whether a backtrace begins with the innermost frame. */
  readonly innermostFirst: boolean
  /** A call as it is written there. */
  call(name: string, given: readonly { readonly name: string; readonly text: string }[]): string
  /** Kinds of names and of values. */
  kind(kind: NameKind | Kind): string
  /** Whether its programs have tasks beside their threads. */
  readonly tasks: boolean
  /** Whether an error is kept with its frames and their variables. */
  readonly errorsHaveFrames: boolean
  /** Whether an error that suspends an evaluation holds its stack alive, without being asked to. */
  readonly suspendsAlive: boolean
  /** Whether frames of a suspended evaluation can return, or be called again. */
  readonly framesReturn: boolean
  /** What to do where an expression, or a name, cannot be read or is not there; left out: what is said for any language. */
  readonly expression: Advice
  readonly name: Advice
  /** Which names of a package are listed as globals, behind their number; left out: all of them. */
  readonly listed?: string
  /** How a source file names the package that its code is read in, which is group 1; left out: by where it is loaded. */
  readonly packageIn?: RegExp
  /** What a model can call there that it is not listed elsewhere; left out: nothing. */
  readonly besides?: string
}

interface Advice {
  readonly reread?: string
  readonly search?: string
}

const ANY: Terms = {
  module: ['module', 'modules'],
  superclasses: 'bases',
  order: 'asked in this order',
  exception: 'exception',
  members: 'members',
  innermostFirst: false,
  call: (name, given) => `${name}(${given.map(one => `${one.name}=${one.text}`).join(', ')})`,
  kind: kind => kind,
  tasks: true,
  errorsHaveFrames: true,
  suspendsAlive: false,
  framesReturn: false,
  expression: {},
  name: {},
}

const LISP_KINDS: Partial<Record<NameKind | Kind, string>> = {
  module: 'package',
  generic_function: 'generic function',
  method_combination: 'method combination',
  mapping: 'table',
  exception: 'condition',
  callable: 'function',
  none: 'nil',
}

const LISP_SEARCH =
  'A name has its package, such as `shop:total` or `shop::*orders*`: apropos_search finds names by a part of them, ' +
  'and list_globals with a package lists those of one.'

const LISP: Terms = {
  besides:
    'compile_form compiles definitions and loads them; `package` of eval_expr, compile_form, inspect and symbol_definition ' +
    'says in which package code or a name is read.',
  module: ['package', 'packages'],
  packageIn: /^\((?:cl:|common-lisp:)?in-package\s+[#:'"]*([^\s"()]+)"?\s*\)/gim,
  superclasses: 'direct superclasses',
  order: 'class precedence list',
  exception: 'condition',
  members: 'slots',
  innermostFirst: true,
  call: (name, given) => `(${[name, ...given.map(one => one.text)].join(' ')})`,
  kind: kind => LISP_KINDS[kind] ?? kind,
  tasks: false,
  errorsHaveFrames: true,
  suspendsAlive: true,
  framesReturn: true,
  expression: { search: LISP_SEARCH, reread: 'Give one form; to run several use eval_expr.' },
  name: {
    search: LISP_SEARCH,
    reread: 'Give a name such as `shop:total`, `shop::*orders*` or `(setf shop:total)`, or a handle.',
  },
}

const WOLFRAM_KINDS: Partial<Record<NameKind | Kind, string>> = {
  module: 'context',
  mapping: 'association',
  sequence: 'list',
  callable: 'function',
  constant: 'symbol',
  variable: 'symbol',
  object: 'expression',
}

const WOLFRAM_SEARCH =
  'A name outside the context path has its context, such as shop`total: apropos_search finds names by a part of them, ' +
  'and list_globals with a context as package lists those of one.'

const WOLFRAM: Terms = {
  ...ANY,
  module: ['context', 'contexts'],
  exception: 'error',
  call: (name, given) => `${name}[${given.map(one => one.text).join(', ')}]`,
  kind: kind => WOLFRAM_KINDS[kind] ?? kind,
  listed: ' defined here',
  tasks: false,
  errorsHaveFrames: false,
  expression: { search: WOLFRAM_SEARCH, reread: 'Give one expression; to run several use eval_expr.' },
  name: { search: WOLFRAM_SEARCH, reread: 'Give the name of a symbol, such as total or shop`total.' },
}

/** The languages that have words of their own. */
const TERMS: Readonly<Record<string, Terms>> = { lisp: LISP, wolfram: WOLFRAM }

const ownTerms = (language: string | undefined): Terms | undefined =>
  language !== undefined && Object.hasOwn(TERMS, language) ? TERMS[language] : undefined

/** The words for a result; those of the contract where it names no language that has others. */
export function termsOf({ language }: Told): Terms {
  return ownTerms(language) ?? ANY
}

/** What a result is given, so that it can be told in the words of its language. */
export function told({ identity }: Pick<Kernel, 'identity'>): Told {
  return ownTerms(identity.language) === undefined ? {} : { language: identity.language }
}
