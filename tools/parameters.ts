import { z } from 'zod'
import type { Ability } from '../wire/kernel.ts'
import { type Failed, failed } from './outcome.ts'

/** How long source text may be that one call carries: characters, as `String.length` counts them. */
export const SOURCE_LENGTH = 1_048_576

/** How long one name or path may be. */
export const NAME_LENGTH = 4_096

/**
 * What a parameter is called in every tool, and how else callers call it: those other names are accepted, and never listed,
 * wherever a tool has the parameter and none of that other name.
 */
export const USUAL_NAMES: Readonly<Record<string, readonly string[]>> = {
  /** Code, or what may be an expression. */
  expr: ['name', 'symbol', 'form', 'code', 'expression'],
  /** A name, a path or a handle, and nothing that would have to run. */
  name: ['symbol', 'expr', 'function', 'variable', 'class'],
  symbols: ['symbol', 'name', 'names', 'expr'],
  /** A module or package. */
  package: ['module'],
  path: ['file_path', 'file', 'filename', 'folder', 'directory', 'dir'],
  content: ['text', 'contents'],
  /** A text that a name or a line has to hold; a glob is a `pattern`. */
  filter: ['pattern'],
  /** How much is answered at most. What comes next begins at `from`, a number, or `after`, a name. */
  limit: ['count'],
  from: ['first_line', 'offset'],
}

/** The other names of the parameters of that shape. */
export function usualAliases(shape: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const other = Object.entries(USUAL_NAMES).filter(([name]) => Object.hasOwn(shape, name))
  return Object.fromEntries(
    other.flatMap(([name, names]) =>
      names.filter(one => !Object.hasOwn(shape, one)).map(one => [one, name] as const),
    ),
  )
}

/** The parameter of a tool that looks at one name; `what` says which names make sense. */
export function named(what: string): z.ZodString {
  return z.string().min(1).max(NAME_LENGTH).describe(what)
}

const ABILITIES = new WeakMap<z.ZodType, Ability>()

/** A parameter that makes a difference only where a kernel has that ability. */
export function parameterFor<Parameter extends z.ZodType>(ability: Ability, parameter: Parameter): Parameter {
  ABILITIES.set(parameter, ability)
  return parameter
}

/** The ability that a parameter is for; undefined where it is for all kernels. */
export const abilityFor = (parameter: z.ZodType): Ability | undefined => ABILITIES.get(parameter)

/** The parameter that says in which package such a name is read, for languages that have such. */
export const NAMED_IN = parameterFor(
  'packages',
  z
    .string()
    .min(1)
    .max(NAME_LENGTH)
    .optional()
    .describe('In Lisp, the package the name is read in, such as `SHOP`.'),
)

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

/** Of a path, as all file tools take it. */
export const PATH = z
  .string()
  .min(1)
  .max(NAME_LENGTH)
  .describe('The file; a relative path is one from the root of the project.')

/** All of a text file. */
export const CONTENT = z
  .string()
  .describe('The whole content, exactly as it is to be; nothing in it is unescaped or trimmed.')

/** Half of a surrogate pair has no spelling in any file. */
export function halfCharacter(parameter: string, text: string): Failed | undefined {
  if (!/\p{Cs}/u.test(text)) return undefined
  return failed('invalid_args', {
    message: `${parameter} holds half of a character (a lone surrogate), which no file can hold. Nothing was changed.`,
    details: { parameter },
    next: 'Send the whole character.',
  })
}

// The parameters that tools about folders share.

export const FOLDER = z
  .string()
  .min(1)
  .max(NAME_LENGTH)
  .default('.')
  .describe('The folder; a relative path is one from the root of the project, which is the default.')

export const EXCLUDE = z
  .array(z.string().min(1).max(400))
  .max(50)
  .default([])
  .describe(
    'What to leave out, with all that is in it: globs as in .gitignore, from that folder, and {a,b} besides.',
  )

export const INCLUDE_IGNORED = z
  .boolean()
  .default(false)
  .describe('Also show what .gitignore and .git/info/exclude leave out.')

/** What part of the time for a look is used for it; the rest is for putting the answer together. */
export const OF_LOOK = 0.9

/** What is the same of every tool that changes the file at `path`. */
export const CHANGES_ONE_FILE = {
  level: 'dangerous',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
} as const

/** The same of every tool that looks at what is at `path`. */
export const LOOKS_AT_PATH = { ...CHANGES_ONE_FILE, level: 'safe' } as const
