import { realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { readBounded } from '../bounded-file.ts'

/** A longer index is not read, nor one whose names are longer together. Half a million files need 40 MB. */
const INDEX_BYTES = 128 * 1024 * 1024

/** The other files of a repository that are read here have a few lines. */
const LINES_BYTES = 1024 * 1024

/**
 * Whether git tracks a path, or anything in it: whether it came with the repository that it lies in. Read from the
 * index of the repository, without running git, which a repository can be made to misuse. False where there is no
 * repository. Throws where there is one whose index cannot be read or understood.
 */
export function isTracked(path: string): boolean {
  const repository = repositoryOf(path)
  if (repository === undefined) return false
  const index = bytesOf(join(repository.gitDir, 'index'), INDEX_BYTES)
  if (index === undefined) return false
  const tracked = folded(relative(repository.top, path).split(sep).join('/'))
  const hashBytes = usesSha256(repository.gitDir) ? 32 : 20
  let isFound = false
  // To its end, as a part of an index tells nothing.
  for (const name of namesIn(index, hashBytes)) {
    const each = folded(name)
    isFound ||= each === tracked || each.startsWith(`${tracked}/`)
  }
  return isFound
}

export interface Repository {
  readonly top: string
  readonly gitDir: string
}

/** The repository that a path lies in. */
export function repositoryOf(path: string): Repository | undefined {
  for (let top = dirname(path); ; top = dirname(top)) {
    const git = join(top, '.git')
    const stat = statSync(git, { throwIfNoEntry: false })
    if (stat?.isDirectory()) return { top, gitDir: git }
    // A worktree, or a submodule.
    const [, elsewhere] = stat?.isFile() ? (/^gitdir: (.+)/.exec(bytesOf(git)?.toString() ?? '') ?? []) : []
    if (elsewhere !== undefined) return { top, gitDir: realpathSync(resolve(top, elsewhere.trim())) }
    if (top === dirname(top)) return undefined
  }
}

function usesSha256(gitDir: string): boolean {
  const shared = bytesOf(join(gitDir, 'commondir'))?.toString().trim() ?? '.'
  const config = bytesOf(resolve(gitDir, shared, 'config'))?.toString() ?? ''
  return /^[ \t]*objectformat[ \t]*=[ \t]*sha256[ \t\r]*$/im.test(config)
}

/** Undefined where it is not there. */
function bytesOf(path: string, most = LINES_BYTES): Buffer | undefined {
  try {
    return readBounded(path, { most })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** On a disk that does not tell them apart, other letters name the same file. */
const folded = (name: string) => name.normalize('NFKC').toLowerCase()

/** Of times, device, owner and size, before the name of what an entry holds. */
const STAT_BYTES = 40

/** The names in an index of git, versions 2 to 4 (gitformat-index). Throws for any other. */
function* namesIn(index: Buffer, hashBytes: number): Generator<string> {
  const version = index.length < 12 ? 0 : index.readUInt32BE(4)
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4)
    throw new Error('its index is of an unknown kind')
  let at = 12
  let bytes = 0
  let before = Buffer.alloc(0)
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const begin = at
    const flagsAt = begin + STAT_BYTES + hashBytes
    at = flagsAt + (index.readUInt16BE(flagsAt) & 0x4000 ? 4 : 2)
    let kept = 0
    if (version === 4) [kept, at] = stripped(index, at, before.length)
    const end = index.indexOf(0, at)
    if (end === -1 || kept < 0) throw new Error('its index is not whole')
    before = Buffer.concat([before.subarray(0, kept), index.subarray(at, end)])
    bytes += before.length
    if (bytes > INDEX_BYTES) throw new Error('the names in its index are too long')
    yield before.toString('utf8')
    at = version === 4 ? end + 1 : begin + (Math.floor((end - begin) / 8) + 1) * 8
  }
  // Most of a split index is in another file.
  if (index.toString('latin1', at, at + 4) === 'link') throw new Error('its index is split')
}

/** How many bytes of the name before are kept, and where the rest of the name begins. */
function stripped(index: Buffer, from: number, length: number): [number, number] {
  let at = from
  let byte = index.readUInt8(at++)
  let count = byte & 0x7f
  while (byte & 0x80) {
    byte = index.readUInt8(at++)
    count = (count + 1) * 128 + (byte & 0x7f)
  }
  return [length - count, at]
}
