import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { z } from 'zod'
import { readBounded } from '../../wire/bounded-file.ts'

interface StateFileOptions<Kept> {
  readonly path: string
  readonly shape: z.ZodType<Kept>
  /** What holds where the file is missing, or cannot be read. */
  readonly none: Kept
  /** Sentences for the log: why the file matters, when it cannot be read and when it cannot be written. */
  readonly unread: string
  readonly unwritten: string
  log(sentence: string, error: unknown): void
}

/** A small JSON file of the state directory, whose faults are logged and no more. */
export interface StateFile<Kept> {
  /** What the daemon before has left. */
  read(): Kept
  /** Replaces all of it. */
  write(kept: Kept): void
}

const MOST_BYTES = 4 * 1024 * 1024

export function openStateFile<Kept>(options: StateFileOptions<Kept>): StateFile<Kept> {
  const { path, shape, none, unread, unwritten, log } = options
  return {
    read() {
      try {
        return shape.parse(JSON.parse(readBounded(path, { most: MOST_BYTES }).toString('utf8')))
      } catch (error) {
        const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
        if (!missing) log(unread, error)
        return none
      }
    },
    write(kept) {
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        writeFileSync(`${path}.new`, `${JSON.stringify(kept, undefined, 2)}\n`, { mode: 0o600 })
        renameSync(`${path}.new`, path)
      } catch (error) {
        log(unwritten, error)
      }
    },
  }
}
