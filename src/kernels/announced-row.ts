import { z } from 'zod'
import type { Of } from '../../wire/kernel.ts'
import { STANDINGS } from './families.ts'

/** A program that can be attached to. */
export const ANNOUNCED_ROW = z.strictObject({
  name: z.string(),
  attach: z.string().describe('What `imago attach` takes: the name, or NAME-PID where others have it too.'),
  standing: z.enum(STANDINGS).describe('What it is to others of its family.'),
  language: z.string(),
  implementation: z.string(),
  pid: z.int(),
  parent: z.int().nullable().describe('The process that started it, where that has announced itself too.'),
  address: z.string(),
  cwd: z.string(),
  program: z.string(),
  announced_at: z.string(),
  keyed: z.boolean().describe('It was given a key, so that only a person attaches it, with that key.'),
})

/** A file among the announcements that was passed over. */
export const SKIPPED_FILE = z.strictObject({ file: z.string(), reason: z.string() })

export type AnnouncedRow = Of<typeof ANNOUNCED_ROW>

export interface AnnouncedPrograms {
  readonly announced: readonly AnnouncedRow[]
  readonly skipped: readonly Of<typeof SKIPPED_FILE>[]
}
