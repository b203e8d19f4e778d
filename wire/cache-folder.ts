import { chmodSync, existsSync, lstatSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** The folder in which Imago keeps what it can make again: `$XDG_CACHE_HOME/imago`, or `~/.cache/imago`. */
export function cacheFolder(env: Environment = process.env): string {
  const { XDG_CACHE_HOME: named, HOME: home } = env
  // A relative one is to be ignored, says the specification.
  const caches = named && isAbsolute(named) ? named : join(home || homedir(), '.cache')
  return join(caches, 'imago')
}

/**
 * Makes that folder of the cache, and returns it. Whoever can write there can run code in us or in what we attach to:
 * so it is ours and closed to others, or it is not used. Undefined where it cannot be made, or is not safe.
 */
export function openCache(folder: string): string | undefined {
  try {
    mkdirSync(dirname(dirname(folder)), { recursive: true })
    for (const path of [dirname(folder), folder]) {
      if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
      const found = lstatSync(path)
      if (!found.isDirectory() || found.uid !== process.getuid?.()) return undefined
      if ((found.mode & 0o077) !== 0) chmodSync(path, 0o700)
    }
    return folder
  } catch {
    return undefined
  }
}
