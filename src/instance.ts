import { randomBytes } from 'node:crypto'
import { linkSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBounded } from '../wire/bounded-file.ts'
import { startOf } from '../wire/process-start.ts'

/**
 * One daemon per user, decided by lock files `daemon.lock.N` in the runtime directory.
 *
 * Numbers only grow. Whoever finds the holder of the highest one gone makes the next one, which the file system
 * lets exactly one contender do; a lock is removed only by the holder of a higher one. So a slow contender that
 * still believes in an old number finds a higher one after making its own, and withdraws. Whether a holder lives
 * is told by its process number together with its start time; no process named in a file is ever signalled.
 */
export interface Instance {
  readonly pid: number
  /** When that process began, in the terms of the system, so that a number used again is not taken for it. */
  readonly started: string
  readonly nonce: string
  readonly version: string
}

type Claim =
  | { readonly type: 'held'; readonly instance: Instance }
  | { readonly type: 'taken'; readonly by: Instance | undefined }

interface ClaimOptions {
  readonly dir: string
  readonly version: string
  /** Whether somebody listens at the socket; a daemon in another process namespace shows only there. */
  listens(): Promise<boolean>
}

/** Makes this process the daemon of the runtime directory until it ends, or says which one is. */
export async function claimInstance({ dir, version, listens }: ClaimOptions): Promise<Claim> {
  const instance: Instance = {
    pid: process.pid,
    started: startOf(process.pid) ?? '',
    nonce: randomBytes(16).toString('hex'),
    version,
  }
  for (;;) {
    const highest = Math.max(0, ...numbers(dir))
    const holder = highest === 0 ? undefined : readLock(dir, highest)
    if (holder !== undefined && startOf(holder.pid) === holder.started) return { type: 'taken', by: holder }
    if (await listens()) return { type: 'taken', by: holder }
    if (!writeLock({ dir, number: highest + 1, instance })) continue
    const others = numbers(dir).filter(number => number !== highest + 1)
    if (others.some(number => number > highest)) {
      rmSync(lockPath(dir, highest + 1), { force: true })
      continue
    }
    for (const number of others) rmSync(lockPath(dir, number), { force: true })
    return { type: 'held', instance }
  }
}

const PREFIX = 'daemon.lock.'
const LOCK_BYTES = 64 * 1024
const lockPath = (dir: string, number: number) => join(dir, `${PREFIX}${number}`)

function numbers(dir: string): number[] {
  return readdirSync(dir)
    .filter(name => name.startsWith(PREFIX))
    .map(name => Number(name.slice(PREFIX.length)))
    .filter(number => Number.isSafeInteger(number) && number > 0)
}

/** A link to a finished file, so that a lock never exists without its contents. `false` if the number is taken. */
function writeLock({ dir, number, instance }: { dir: string; number: number; instance: Instance }): boolean {
  const draft = join(dir, `daemon.draft.${instance.nonce}`)
  writeFileSync(draft, `${JSON.stringify(instance)}\n`, { flag: 'wx', mode: 0o600 })
  try {
    linkSync(draft, lockPath(dir, number))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** `undefined` for a lock that has gone, or that does not have our form: nobody holds it. */
function readLock(dir: string, number: number): Instance | undefined {
  try {
    const text = readBounded(lockPath(dir, number), { most: LOCK_BYTES })
    const { pid, started, nonce, version } = JSON.parse(text.toString('utf8'))
    if (!Number.isSafeInteger(pid) || pid <= 0 || typeof started !== 'string') return undefined
    return { pid, started, nonce: String(nonce), version: String(version) }
  } catch {
    return undefined
  }
}
