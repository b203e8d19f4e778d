import { randomBytes } from 'node:crypto'
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Replaces a file as a whole, or makes it. The file has the old text or the new one at any moment, also where this process
 * is killed. A link in its place is replaced, not followed. Throws what `node:fs` throws.
 */
export function writeWhole(path: string, text: string, mode = 0o600): void {
  const fresh = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const fd = openSync(fresh, 'wx', 0o600)
    try {
      writeFileSync(fd, text)
      fchmodSync(fd, mode & 0o777)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(fresh, path)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}
