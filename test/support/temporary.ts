import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The temporary folders of tests. Whatever a file and its processes leave in one lies in one of the file's own, which
 * goes when the file has ended. Its name is short: the path of a Unix socket has about 100 characters.
 */
export const makeFolder = (parent = tmpdir()) => mkdtempSync(join(parent, 'imago-'))

/** Enough for all that tests keep at one time. */
const MEMORY_BYTES = 1 << 30

/** Where files are kept in memory, on a system that has room there; undefined elsewhere. Nothing can be run from there. */
export function memoryFolder(): string | undefined {
  try {
    const folder = '/dev/shm'
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= MEMORY_BYTES ? folder : undefined
  } catch {
    return undefined
  }
}

/** From now on that folder is the temporary one of this process and of those that it starts; it goes with this process. */
export function useFolder(folder: string): void {
  // What tsx has compiled once is there for all.
  const compiled = `tsx-${process.geteuid?.() ?? ''}`
  if (existsSync(join(tmpdir(), compiled))) symlinkSync(join(tmpdir(), compiled), join(folder, compiled))
  process.env.TMPDIR = folder
  process.once('exit', () => removeFolder(folder))
}

/** Says so where it cannot be removed, as when something is still at work in it, and no more. */
export function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  } catch {
    process.stderr.write(`${folder} could not be removed\n`)
  }
}

/**
 * Ends whatever runs with something of that folder in its environment, as the home of a user of the tests, and gives
 * back their commands. With `all`, whatever has that folder as its temporary one. Linux; elsewhere nothing is found.
 */
export function endLeft(folder: string, { all = false } = {}): string[] {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(all ? folder : `${folder}/`)) return []
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        process.kill(Number(pid), 'SIGKILL')
        return [command]
      } catch {
        // It has ended by itself, or is somebody else's.
        return []
      }
    })
}
