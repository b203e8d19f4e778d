import { homedir } from 'node:os'
import { join } from 'node:path'
import { WireError } from '../errors.ts'
import type { HomeSecret } from '../programs.ts'
import { flawOf, readSecretFile, unreadable } from '../secret-file.ts'

/** The file in which Swank and SLIME look for their secret: its first line. */
const pathIn = (home: string) => join(home, '.slime-secret')

/** Whether there is a secret for Swank servers, and nobody else can read it. The secret itself is not told. */
export function homeSecret(home: string = homedir()): HomeSecret {
  const path = pathIn(home)
  const flaw = flawOf(path)
  if (flaw === 'missing') return { type: 'missing', path }
  if (flaw !== undefined) return { type: 'flawed', path, ...flaw }
  try {
    if (firstLine(path) !== '') return { type: 'there', path }
    return { type: 'flawed', path, why: 'has an empty first line', mend: 'Write a secret into it.' }
  } catch (error) {
    return { type: 'flawed', path, ...unreadable(error) }
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
const firstLine = (path: string) => readSecretFile(path).split('\n', 1)[0] ?? ''
