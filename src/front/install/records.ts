import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from './file.ts'

const RECORD = z.object({
  /** The hash of the text that was written: where it still stands, the change is taken back to the byte. */
  written: z.string(),
  undo: z.object({ offset: z.number(), was: z.string(), is: z.string() }),
  /** The file was made for the entry alone. */
  made: z.boolean(),
  /** The outermost folder that was made for it. */
  folder: z.string().optional(),
  /** The entry that stood there before, if there was one. */
  before: z.record(z.string(), z.unknown()).optional(),
})
const RECORDS = z.record(z.string(), RECORD)

/** What `imago install` did to one file, kept to be undone. Of the file itself nothing is kept but our own entry. */
export type InstallRecord = z.output<typeof RECORD>

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The records of all installations of this user, by the path of the file. */
export function openRecords(stateDir: string) {
  const path = join(stateDir, 'installed.json')
  const read = (): Record<string, InstallRecord> => {
    try {
      return RECORDS.parse(JSON.parse(readFileSync(path, 'utf8')))
    } catch {
      // Without a record, undoing takes our entry away and leaves everything else.
      return {}
    }
  }
  const write = (records: Record<string, InstallRecord>) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, `${JSON.stringify(records, null, 2)}\n`)
  }
  return {
    find: (file: string): InstallRecord | undefined => read()[file],
    keep: (file: string, record: InstallRecord) => write({ ...read(), [file]: record }),
    forget(file: string) {
      const { [file]: _, ...others } = read()
      write(others)
    },
  }
}
