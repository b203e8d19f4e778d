import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure, messageOf } from '../../failure.ts'

/** The text of a file as UTF-8, or `undefined` where there is no file. Throws a `Failure` for anything else. */
export function readIfThere(path: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new Failure(`${path} cannot be read as text: ${messageOf(error)}. Nothing was changed.`, {
      cause: error,
    })
  }
}

/**
 * Replaces a file as a whole, or makes it. A link is followed, as people keep their settings elsewhere; the mode stays.
 * Returns the outermost folder that had to be made for it.
 */
export function replaceFile(path: string, text: string): string | undefined {
  const target = targetOf(path)
  const made = mkdirSync(dirname(target), { recursive: true })
  const mode = statSync(target, { throwIfNoEntry: false })?.mode ?? 0o600
  const draft = join(dirname(target), `.imago-${randomBytes(6).toString('hex')}`)
  try {
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeSync(file, text)
      fchmodSync(file, mode & 0o777)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(draft, target)
    return made
  } catch (error) {
    rmSync(draft, { force: true })
    throw new Failure(`${path} cannot be written: ${messageOf(error)}. It is as it was.`, { cause: error })
  }
}

function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Removes a file, and the folders up to and with `outermost` that are empty then. */
export function removeFile(path: string, outermost: string | undefined): void {
  rmSync(path)
  if (outermost === undefined) return
  for (let folder = dirname(path); folder.startsWith(outermost); folder = dirname(folder)) {
    if (readdirSync(folder).length > 0) return
    rmdirSync(folder)
  }
}
