import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readBounded } from '../bounded-file.ts'
import type { HomeSecret } from '../contract/programs.ts'
import { messageOf, WireError } from '../errors.ts'

const MOST_BYTES = 16 * 1024

/** The file in which Swank and SLIME look for their secret: its first line. */
const pathIn = (home: string) => join(home, '.slime-secret')

/** Whether there is a secret for Swank servers, and nobody else can read it. The secret itself is not told. */
export function homeSecret(home: string = homedir()): HomeSecret {
  const path = pathIn(home)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return { type: 'missing', path }
  const flawed = (why: string, mend: string): HomeSecret => ({ type: 'flawed', path, why, mend })
  const own = process.getuid?.()
  if (own !== undefined && found.uid !== own)
    return flawed(`belongs to user ${found.uid}, not to you`, `sudo chown $(id -u) ${path}`)
  const mode = found.mode & 0o777
  if ((mode & 0o077) !== 0) return flawed(`is open to others (mode ${mode.toString(8)})`, `chmod 600 ${path}`)
  try {
    if (firstLine(path) !== '') return { type: 'there', path }
    return flawed('has an empty first line', 'Write a secret into it.')
  } catch (error) {
    return flawed(`cannot be read: ${messageOf(error)}`, 'Mend it, or write another one.')
  }
}

/** The secret itself, read anew. Throws `NOT_AUTHENTICATED` where there is none that is nobody else's. */
export function secretInHome(home: string = homedir()): string {
  const found = homeSecret(home)
  if (found.type === 'there') return firstLine(found.path)
  const why = found.type === 'missing' ? 'is not there' : found.why
  throw new WireError('NOT_AUTHENTICATED', `The secret for Swank servers, ${found.path}, ${why}.`)
}

/** As Swank reads it, which takes away nothing but the end of the line. */
function firstLine(path: string): string {
  return readBounded(path, { most: MOST_BYTES }).toString('utf8').split('\n', 1)[0] ?? ''
}
