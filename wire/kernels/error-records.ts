import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorRecord } from '../contract/inspection.ts'
import type { ErrorRecord } from '../kernel.ts'
import type { SkippedFile } from '../programs.ts'
import { flawOf, parse, processOf, readPrivate } from './programs.ts'

/** What processes have left of their errors that have gone, and the file of each; newest first. */
export interface ErrorRecords {
  readonly gone: readonly (ErrorRecord & { readonly file: string })[]
  /** Files that are not read; `reason` goes on from their names. */
  readonly skipped: readonly SkippedFile[]
}

/** A larger file is none of ours: `error_record.py` ends before. */
const MOST_BYTES = 1024 * 1024

/** `<folder>-<when it was begun>-<process>-<epoch>.json`, where `folder` is a digest of the folder that it ran in. */
const NAME = /^([0-9a-f]{12})-(\d{8}T\d{6}-\d{1,10}-[0-9a-f]{8})\.json$/

/**
 * Reads the records of processes that ran in a folder of which `isWanted` says so. Only the newest record of any other
 * folder is read.
 */
export function readErrorRecords(stateDir: string, isWanted: (cwd: string) => boolean): ErrorRecords {
  const folder = join(stateDir, 'errors')
  const flaw = flawOf(folder, 'directory')
  if (flaw === 'is not there') return { gone: [], skipped: [] }
  if (flaw !== undefined) return { gone: [], skipped: [{ file: folder, reason: flaw }] }
  const names = readdirSync(folder).flatMap(name => {
    const [, of = '', when = ''] = NAME.exec(name) ?? []
    return of === '' ? [] : [{ of, when, file: join(folder, name) }]
  })
  names.sort((one, other) => (one.when > other.when ? -1 : 1))
  const wanted = new Map<string, boolean>()
  const gone: (ErrorRecord & { file: string })[] = []
  const skipped: (SkippedFile & { of: string })[] = []
  for (const { of, file } of names) {
    if (wanted.get(of) === false) continue
    const read = readOne(file)
    if (read === undefined) continue
    if ('reason' in read) {
      skipped.push({ ...read, of })
      continue
    }
    wanted.set(of, isWanted(read.cwd))
    if (isWanted(read.cwd) && processOf(read) !== 'lives') gone.push({ ...read, file })
  }
  // Of a folder none of whose records can be read, it is not known whether it is wanted.
  return { gone, skipped: skipped.flatMap(({ of, ...one }) => (wanted.get(of) === false ? [] : [one])) }
}

function readOne(file: string): ErrorRecord | SkippedFile | undefined {
  const text = readPrivate(file, MOST_BYTES)
  if (typeof text !== 'string') return text
  const parsed = parse(text)
  if (parsed === undefined) return { file, reason: 'is no whole record of errors: it was cut short' }
  const read = errorRecord.safeParse(parsed)
  if (read.success) return read.data as ErrorRecord
  const [issue] = read.error.issues
  return {
    file,
    reason: `is no record of errors: ${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is wrong'}`,
  }
}
