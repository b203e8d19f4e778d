import { z } from 'zod'
import type { Kernel, SourcePlace } from '../wire/kernel.ts'
import { type Failed, failed } from './outcome.ts'
import { parameterFor } from './parameters.ts'

/** The parameters that say where in the user's files the source text stands. */
export const PLACED = {
  file: z.string().min(1).max(4_096).optional().describe('The file this code stands in, for tracebacks.'),
  line: z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .describe('The line on which the code begins there; 1 if left out.'),
}

/** The parameter that names the package in which source text is read, for languages that have such. */
export const IN_PACKAGE = parameterFor(
  'packages',
  z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe(
      'In Lisp, the package the code is read and run in; without it the one that `(in-package …)` chose.',
    ),
)

/** What the parameters of `PLACED` say, as `Work` has it; a line without a file is a failure. */
export function placeGiven(given: {
  readonly file: string | undefined
  readonly line: number | undefined
}): { readonly place?: SourcePlace } | Failed {
  const { file, line = 1 } = given
  if (file !== undefined) return { place: { file, line } }
  return given.line === undefined ? {} : lineWithoutFile()
}

function lineWithoutFile(): Failed {
  return failed('invalid_args', {
    message: 'line says where in a file the code begins, and no file was given.',
    details: { parameter: 'line' },
    next: 'Give file as well, or leave line out.',
  })
}

/** The failure of a call that names a package where the language reads in none; undefined where all is well. */
export function packageRefused(
  given: string | undefined,
  { identity }: Pick<Kernel, 'identity'>,
  what = 'package says in what code is read',
): Failed | undefined {
  if (given === undefined || identity.abilities.has('packages')) return undefined
  return failed('invalid_args', {
    message: `${what}, and ${identity.language} has no such packages. Nothing was run.`,
    details: { parameter: 'package', language: identity.language },
    next: 'Leave package out.',
  })
}

/** ` in the package SHOP`, for the title of what a person approves. */
export const insideWord = (inside: string | undefined): string =>
  inside === undefined ? '' : ` in the package ${inside}`
