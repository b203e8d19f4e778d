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
