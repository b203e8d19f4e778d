import type { Kernel, Kind, NameKind } from '../wire/kernel.ts'

/** What things are called where they are put into text: in the words of the kernel's language, whatever the keys are. */

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
}

const LISP_KINDS: Partial<Record<NameKind | Kind, string>> = {
  module: 'package',
  generic_function: 'generic function',
  mapping: 'table',
  exception: 'condition',
  callable: 'function',
  none: 'nil',
}

const LISP: Terms = {
  module: ['package', 'packages'],
  superclasses: 'direct superclasses',
  order: 'class precedence list',
  exception: 'condition',
  members: 'slots',
  innermostFirst: true,
  call: (name, given) => `(${[name, ...given.map(one => one.text)].join(' ')})`,
  kind: kind => LISP_KINDS[kind] ?? kind,
}

/** The words for a result; those of the contract where it names no language that has others. */
export function termsOf({ language }: Told): Terms {
  return language === 'lisp' ? LISP : ANY
}

/** What a result is given, so that it can be told in the words of its language. */
export function told({ identity }: Pick<Kernel, 'identity'>): Told {
  return identity.language === 'lisp' ? { language: identity.language } : {}
}
