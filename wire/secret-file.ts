import { statSync } from 'node:fs'
import { readBounded } from './bounded-file.ts'
import { messageOf } from './errors.ts'

const MOST_BYTES = 64 * 1024

/** Why a file is not used for a secret, as it goes on from its path, and what to do about that. */
interface Flaw {
  readonly why: string
  readonly mend: string
}

/** What is wrong with a file that holds a secret; undefined where nobody but its owner, who we are, can read it. */
export function flawOf(path: string): Flaw | 'missing' | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    const own = process.getuid?.()
    if (own !== undefined && found.uid !== own)
      return { why: `belongs to user ${found.uid}, not to you`, mend: `sudo chown $(id -u) ${path}` }
    const mode = found.mode & 0o777
    if ((mode & 0o077) === 0) return undefined
    return { why: `is open to others (mode ${mode.toString(8)})`, mend: `chmod 600 ${path}` }
  } catch (error) {
    return unreadable(error)
  }
}

/** The text of such a file, 64 KB of it at the most. Throws an error that says what is wrong with it, and what to do. */
export function readSecretFile(path: string): string {
  const flaw = flawOf(path)
  if (flaw === 'missing') throw new Error(`${path} is not there.`)
  if (flaw !== undefined)
    throw new Error(`${path} ${flaw.why}, so the secret in it is not used: ${flaw.mend}`)
  return readBounded(path, { most: MOST_BYTES }).toString('utf8')
}

export const unreadable = (error: unknown): Flaw => ({
  why: `cannot be read: ${messageOf(error)}`,
  mend: 'Mend it, or write another one.',
})
