import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
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
 * Where the compiled form of our Lisp system is kept, one file for each Lisp, Swank and version of the system. Whoever
 * can write there can run code in every Lisp that is attached to: so the folder is ours and closed to others, or it is
 * not used.
 */
export class FaslCache {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Makes the folder. Undefined where it cannot be made, or is not safe: then nothing is kept. */
  static open(folder: string = join(cacheFolder(), 'lisp')): FaslCache | undefined {
    try {
      mkdirSync(dirname(dirname(folder)), { recursive: true })
      for (const path of [dirname(folder), folder]) {
        if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
        const found = lstatSync(path)
        if (!found.isDirectory() || found.uid !== process.getuid?.()) return undefined
        if ((found.mode & 0o077) !== 0) chmodSync(path, 0o700)
      }
      return new FaslCache(folder)
    } catch {
      return undefined
    }
  }

  /** The file that has what is named by these texts. */
  path(...names: readonly string[]): string {
    return join(this.#folder, `${names.join('-').replace(/[^\w.-]+/g, '_')}.fasl`)
  }

  /** A new folder of a name that nobody can guess, for the files of one build: `0.fasl`, `1.fasl` and so on. */
  beginBuild(): Build {
    const folder = join(this.#folder, `build-${randomBytes(16).toString('hex')}`)
    mkdirSync(folder, { mode: 0o700 })
    return {
      folder,
      keep(path, count) {
        const whole = join(folder, 'whole.fasl')
        writeFileSync(whole, '', { mode: 0o600, flag: 'wx' })
        for (let number = 0; number < count; number++)
          appendFileSync(whole, readFileSync(join(folder, `${number}.fasl`)))
        renameSync(whole, path)
      },
      end() {
        rmSync(folder, { recursive: true, force: true })
      },
    }
  }
}

interface Build {
  readonly folder: string
  /** Puts the first so many files together as the file `path`, all at once. Throws what the system throws. */
  keep(path: string, count: number): void
  /** Removes the folder. */
  end(): void
}
