import { randomBytes } from 'node:crypto'
import { linkSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBounded } from '../wire/bounded-file.ts'
import { startOf } from '../wire/process-start.ts'

/**
 * One daemon per user, decided by lock files `daemon.lock.N` in the runtime directory; and one process per run of the agent.
 *
 * Numbers only grow. Whoever finds the holder of the highest one gone makes the next one, which the file system
 * lets exactly one contender do; a lock is removed only by the holder of a higher one. So a slow contender that
 * still believes in an old number finds a higher one after making its own, and withdraws. Whether a holder lives
 * is told by its process number together with its start time; no daemon named in a file is ever signalled.
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
  /** What lock files begin with. */
  readonly name?: string
  readonly version: string
  /** Whether somebody listens at the socket; a daemon in another process namespace shows only there. */
  listens(): Promise<boolean>
}

/** Makes this process the one of that name in the directory until it ends, or says which one is. */
export async function claimInstance({
  dir,
  name = 'daemon',
  version,
  listens,
}: ClaimOptions): Promise<Claim> {
  const lock = { dir, name }
  const instance: Instance = {
    pid: process.pid,
    started: startOf(process.pid) ?? '',
    nonce: randomBytes(16).toString('hex'),
    version,
  }
  for (;;) {
    const highest = Math.max(0, ...numbers(lock))
    const holder = highest === 0 ? undefined : readLock(lockPath(lock, highest))
    if (holder !== undefined && startOf(holder.pid) === holder.started) return { type: 'taken', by: holder }
    if (await listens()) return { type: 'taken', by: holder }
    if (!writeLock({ ...lock, number: highest + 1, instance })) continue
    const others = numbers(lock).filter(number => number !== highest + 1)
    if (others.some(number => number > highest)) {
      rmSync(lockPath(lock, highest + 1), { force: true })
      continue
    }
    for (const number of others) rmSync(lockPath(lock, number), { force: true })
    return { type: 'held', instance }
  }
}

/** The process that has that name in the directory; undefined where none lives. */
export function holderOf(dir: string, name: string): Instance | undefined {
  const highest = Math.max(0, ...numbers({ dir, name }))
  const holder = highest === 0 ? undefined : readLock(lockPath({ dir, name }, highest))
  return holder !== undefined && startOf(holder.pid) === holder.started ? holder : undefined
}

interface Lock {
  readonly dir: string
  readonly name: string
}

const LOCK_BYTES = 64 * 1024
const lockPath = ({ dir, name }: Lock, number: number) => join(dir, `${name}.lock.${number}`)

function numbers({ dir, name }: Lock): number[] {
  const prefix = `${name}.lock.`
  return readdirSync(dir)
    .filter(file => file.startsWith(prefix))
    .map(file => Number(file.slice(prefix.length)))
    .filter(number => Number.isSafeInteger(number) && number > 0)
}

/** A link to a finished file, so that a lock never exists without its contents. `false` if the number is taken. */
function writeLock({ number, instance, ...lock }: Lock & { number: number; instance: Instance }): boolean {
  const draft = join(lock.dir, `${lock.name}.draft.${instance.nonce}`)
  writeFileSync(draft, `${JSON.stringify(instance)}\n`, { flag: 'wx', mode: 0o600 })
  try {
    linkSync(draft, lockPath(lock, number))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** `undefined` for a lock that has gone, or that does not have our form: nobody holds it. */
function readLock(path: string): Instance | undefined {
  try {
    const text = readBounded(path, { most: LOCK_BYTES })
    const { pid, started, nonce, version } = JSON.parse(text.toString('utf8'))
    if (!Number.isSafeInteger(pid) || pid <= 0 || typeof started !== 'string') return undefined
    return { pid, started, nonce: String(nonce), version: String(version) }
  } catch {
    return undefined
  }
}
