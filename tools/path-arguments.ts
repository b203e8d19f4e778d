import { z } from 'zod'
import { type Failed, failed } from './outcome.ts'

/** Of a path, as all file tools take it. */
export const PATH = z
  .string()
  .min(1)
  .max(4_096)
  .describe('The file; a relative path is one from the root of the project.')

/** All of a text file, and how else callers may call it. */
export const CONTENT = z
  .string()
  .describe('The whole content, exactly as it is to be; nothing in it is unescaped or trimmed.')

export const CONTENT_ALIASES = { file_path: 'path', text: 'content', contents: 'content' } as const

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
  .max(4_096)
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
