import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import Module from 'node:module'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { cacheFolder, openCache } from '../wire/cache-folder.ts'

/** A program in one file, whose machine code V8 keeps between runs. */
interface Cached<Exports> {
  readonly exports: Exports
  /** Keeps what V8 has compiled by now, where the next run would compile it again. */
  keep(): void
}

/** Bytes of a name that a build makes of its own text, at the end of the file. */
const BUILD_BYTES = 16

/**
 * Loads a CommonJS file with the compiled code that an earlier run kept. There is one for each build, Node, processor
 * and `use` of the file, for V8 compiles only the functions that run. What was kept is not used where another user
 * could have written it; V8 refuses what is of another V8 or cut off, and it is made again.
 *
 * Undefined where the file is not there, as in a checkout that runs from source.
 */
export function loadCached<Exports>(file: string, use: string): Cached<Exports> | undefined {
  const source = read(file)
  if (source === undefined) return undefined
  const build = source.subarray(-BUILD_BYTES).toString('latin1')
  const prefix = `${build}-${process.version}-${process.arch}-`
  const folder = join(cacheFolder(), 'code')
  const kept = join(folder, `${prefix}${use}.bin`)
  const cachedData = readOurs(kept)
  const script = new Script(Module.wrap(source.toString('latin1')), { filename: file, cachedData })
  const module = { exports: {} }
  script
    .runInThisContext()
    .call(module.exports, module.exports, Module.createRequire(file), module, file, dirname(file))
  return {
    exports: module.exports as Exports,
    keep() {
      if (cachedData !== undefined && script.cachedDataRejected === false) return
      if (openCache(folder) === undefined) return
      try {
        const whole = join(folder, `${process.pid}.new`)
        writeFileSync(whole, script.createCachedData(), { mode: 0o600 })
        renameSync(whole, kept)
        for (const name of readdirSync(folder))
          if (!name.startsWith(prefix)) rmSync(join(folder, name), { force: true })
      } catch {
        // The next run compiles again.
      }
    },
  }
}

function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** What a file holds that only this user can have written. */
function readOurs(file: string): Buffer | undefined {
  try {
    const descriptor = openSync(file, 'r')
    try {
      const { uid, mode } = fstatSync(descriptor)
      return uid === process.getuid?.() && (mode & 0o022) === 0 ? readFileSync(descriptor) : undefined
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return undefined
  }
}
