import { z } from 'zod'
import type { NamedThing, Place } from '../wire/kernel.ts'
import type { Terms } from './languages.ts'
import { SOURCE_LENGTH } from './source.ts'
import { oneLine } from './wording.ts'

/** What the tools about names share: how a name is given, how a list is paged, and a line about one name. */

/** How long one name or path may be. */
export const NAME_LENGTH = 4_096

/** The parameter of a tool that looks at one name; `what` says which names make sense. */
export function named(what: string): z.ZodString {
  return z.string().min(1).max(NAME_LENGTH).describe(what)
}

/** The parameter that says in which package such a name is read, for languages that have such. */
export const NAMED_IN = z
  .string()
  .min(1)
  .max(NAME_LENGTH)
  .optional()
  .describe('The package the name is read in, such as `SHOP`, in Lisp; left out: the one in force.')

/** The parameters of a list that comes a page at a time. */
export const PAGED = {
  after: z
    .string()
    .min(1)
    .max(SOURCE_LENGTH)
    .optional()
    .describe('Only names after this one: the `next` of the page before.'),
  limit: z.int().min(1).max(500).default(50).describe('How many names a page has at most.'),
}

/** A query without what was left out. */
export function given<Query extends object>(query: { [Key in keyof Query]: Query[Key] | undefined }): Query {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as Query
}

/** `shop.Order.total  method: First line of its documentation.` */
export function nameLine({ name, kind, type_name, doc }: NamedThing, terms: Terms): string {
  const valued = kind === 'variable' || kind === 'constant'
  const what = valued ? `${kind}, ${oneLine(type_name)}` : terms.kind(kind)
  return `${oneLine(name)}  ${what}${doc === null || doc === '' ? '' : `: ${oneLine(doc)}`}`
}

/** Characters of a name with its line as data. */
export function nameSize({ name, type_name, doc }: NamedThing): number {
  return name.length + type_name.length + (doc?.length ?? 0) + 60
}

/** `shop/orders.py:12`, or as much of it as is known; empty where nothing is. */
export function placeOf({ file, line }: Place): string {
  if (file === null) return ''
  return line === null ? oneLine(file) : `${oneLine(file)}:${line}`
}

/** `40 of 120 names; for more: after "shop.z"`. A total that is not known is null. */
export function pageLine(page: {
  readonly shown: number
  readonly total: number | null
  readonly what: readonly [one: string, many: string]
  readonly next: string | undefined
}): string {
  const { shown, total, what, next } = page
  const count = total === null ? `the first ${shown}` : shown === total ? `${total}` : `${shown} of ${total}`
  const more = next === undefined ? '' : `; for more: after ${JSON.stringify(next)}`
  return `${count} ${what[(total ?? shown) === 1 ? 0 : 1]}${more}`
}

/** `1 subclass`, `3 subclasses`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
