import { z } from 'zod'

/** The parameters that tools about folders share. */

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
