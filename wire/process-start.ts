import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

/**
 * When a process began, in the terms of the system, so that a number that is used again is not taken for the same
 * process; `undefined` if there is none of that number, or it only waits to be collected.
 */
export function startOf(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux')
      return (
        execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
      )
    const fields = fieldsOf(pid)
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
  } catch {
    return undefined
  }
}

/** Whether a process is stopped, as by Ctrl-Z or a debugger: it answers nobody. Not known without `/proc`: then false. */
export function isStopped(pid: number): boolean {
  try {
    return process.platform === 'linux' && /^t$/i.test(fieldsOf(pid)[0] ?? '')
  } catch {
    return false
  }
}

/**
 * Whether a process listens at the Unix socket of that path; undefined where that cannot be seen: without `/proc`, or
 * where the socket or the process is of another namespace.
 */
export function listensAt(pid: number, path: string): boolean | undefined {
  try {
    const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
    // The flag says that connections are accepted there. The inode comes before the path.
    const listening = lines.filter(line => line.endsWith(` ${path}`) && line.includes(' 00010000 '))
    const sockets = listening.map(line => `socket:[${line.split(/\s+/)[6]}]`)
    if (sockets.length === 0) return undefined
    return readdirSync(`/proc/${pid}/fd`).some(fd => {
      try {
        return sockets.includes(readlinkSync(`/proc/${pid}/fd/${fd}`))
      } catch {
        return false
      }
    })
  } catch {
    return undefined
  }
}

/** What a process was started with. */
export interface Started {
  readonly pid: number
  /** The command and its arguments. */
  readonly words: readonly string[]
  /** The environment; `undefined` where it may not be read. */
  env(): Readonly<Record<string, string>> | undefined
}

/** The folders of the processes of this user that were started with such words, by their numbers; none without `/proc`. */
export function foldersOf(isMeant: (words: readonly string[]) => boolean): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  for (const pid of processes())
    try {
      const isOwn = statSync(`/proc/${pid}`).uid === process.getuid?.()
      if (isOwn && isMeant(startedOf(pid)?.words ?? [])) found.set(pid, readlinkSync(`/proc/${pid}/cwd`))
    } catch {
      // It has ended since.
    }
  return found
}

/** What a process of that number was started with; `undefined` where there is none, or no `/proc`. */
export function startedOf(pid: number): Started | undefined {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').slice(0, -1)
  try {
    return {
      pid,
      words: read('cmdline'),
      env: () => {
        try {
          const entries = read('environ').map(entry => [entry, entry.indexOf('=')] as const)
          return Object.fromEntries(entries.map(([entry, at]) => [entry.slice(0, at), entry.slice(at + 1)]))
        } catch {
          return undefined
        }
      },
    }
  } catch {
    return undefined
  }
}

/** That process, and all that it and its descendants have started and that live; none without `/proc`. */
export function startedFrom(pid: number): readonly Started[] {
  const children = new Map<number, number[]>()
  for (const child of processes()) {
    try {
      const parent = Number(fieldsOf(child)[1])
      children.set(parent, [...(children.get(parent) ?? []), child])
    } catch {
      // It has ended since.
    }
  }
  const family = [pid]
  for (const one of family) family.push(...(children.get(one) ?? []))
  return family.flatMap(one => startedOf(one) ?? [])
}

/** The numbers of all processes; none without `/proc`. */
function processes(): readonly number[] {
  try {
    return readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? [Number(name)] : []))
  } catch {
    return []
  }
}

/** The name of the command is in parentheses, and may hold anything; the state and the start time follow it. */
function fieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
