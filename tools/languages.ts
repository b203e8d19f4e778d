import type { Kernel, Kind, NameKind } from '../wire/kernel.ts'

/**
 * What a language calls things where they are put into text, and what of it a tool has to say; the keys of a result are
 * those of the contract in every language.
 */

/** What a result says besides: the language that it is about, where that has words of its own. */
export interface Told {
  readonly language?: string
}

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
  /** Whether an error that suspends an evaluation holds its stack alive, without being asked to. */
  readonly suspendsAlive: boolean
  /** Whether frames of a suspended evaluation can return, or be called again. */
  readonly framesReturn: boolean
  /** What is said of a definition whose file was written since it was loaded. */
  readonly stale: string
  /** What to do where an expression, or a name, cannot be read or is not there; left out: what is said for any language. */
  readonly expression: Advice
  readonly name: Advice
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
  suspendsAlive: false,
  framesReturn: false,
  stale: '**Not what runs:** the file has changed since this was loaded; the image runs other code.',
  expression: {},
  name: {},
}

const LISP_KINDS: Partial<Record<NameKind | Kind, string>> = {
  module: 'package',
  generic_function: 'generic function',
  mapping: 'table',
  exception: 'condition',
  callable: 'function',
  none: 'nil',
}

const LISP_SEARCH =
  'A name has its package, such as `shop:total` or `shop::*orders*`: apropos_search finds names by a part of them, ' +
  'and list_globals with a package lists those of one.'

const LISP: Terms = {
  module: ['package', 'packages'],
  superclasses: 'direct superclasses',
  order: 'class precedence list',
  exception: 'condition',
  members: 'slots',
  innermostFirst: true,
  call: (name, given) => `(${[name, ...given.map(one => one.text)].join(' ')})`,
  kind: kind => LISP_KINDS[kind] ?? kind,
  tasks: false,
  suspendsAlive: true,
  framesReturn: true,
  stale:
    '**Perhaps not what runs:** the file was written since this was loaded, and only the times can be compared.',
  expression: { search: LISP_SEARCH, reread: 'Give one form; to run several use eval_expr.' },
  name: {
    search: LISP_SEARCH,
    reread: 'Give a name such as `shop:total`, `shop::*orders*` or `(setf shop:total)`, or a handle.',
  },
}

/** The languages that have words of their own. */
const TERMS: Readonly<Record<string, Terms>> = { lisp: LISP }

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
