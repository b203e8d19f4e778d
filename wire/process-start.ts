import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

/** What the system tells; `undefined` where it does not, or the process has ended since. */
function told<Answer>(ask: () => Answer): Answer | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

/**
 * When a process began, in the terms of the system, so that a number that is used again is not taken for the same
 * process; `undefined` if there is none of that number, or it only waits to be collected.
 */
export const startOf = (pid: number): string | undefined =>
  told(() => {
    if (process.platform !== 'linux')
      return (
        execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
      )
    const fields = fieldsOf(pid)
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
  })

/** Whether a process is stopped, as by Ctrl-Z or a debugger: it answers nobody. Not known without `/proc`: then false. */
export const isStopped = (pid: number): boolean =>
  process.platform === 'linux' && /^t$/i.test(told(() => fieldsOf(pid)[0]) ?? '')

/**
 * Whether a process listens at the Unix socket of that path; undefined where that cannot be seen: without `/proc`, or
 * where the socket or the process is of another namespace.
 */
export const listensAt = (pid: number, path: string, table = unixSockets()): boolean | undefined =>
  told(() => {
    const lines = table.split('\n')
    // The flag says that connections are accepted there. The inode comes before the path.
    const listening = lines.filter(line => line.endsWith(` ${path}`) && line.includes(' 00010000 '))
    const sockets = listening.map(line => `socket:[${line.split(/\s+/)[6]}]`)
    if (sockets.length === 0) return undefined
    const open = readdirSync(`/proc/${pid}/fd`)
    return open.some(fd => sockets.includes(told(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''))
  })

const unixSockets = () => told(() => readFileSync('/proc/net/unix', 'utf8')) ?? ''

/** Whether what listens there is seen from here and has another number, in a process namespace of its own, too. */
export function isOfAnother(pid: number, path: string): boolean {
  const [table, namesIt] = [unixSockets(), new RegExp(`^NSpid:.*\\s${pid}(\\s|$)`, 'm')]
  const holders = processes().filter(one => listensAt(one, path, table))
  const status = (one: number) => told(() => readFileSync(`/proc/${one}/status`, 'utf8')) ?? ''
  return holders.length > 0 && !holders.some(one => namesIt.test(status(one)))
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
  for (const pid of processes()) {
    const isOwn = told(() => statSync(`/proc/${pid}`).uid) === process.getuid?.()
    const isFound = isOwn && isMeant(startedOf(pid)?.words ?? [])
    const folder = isFound ? told(() => readlinkSync(`/proc/${pid}/cwd`)) : undefined
    if (folder !== undefined) found.set(pid, folder)
  }
  return found
}

/** What a process of that number was started with; `undefined` where there is none, or no `/proc`. */
export function startedOf(pid: number): Started | undefined {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').slice(0, -1)
  const env = () => {
    const entries = read('environ').map(entry => [entry, entry.indexOf('=')] as const)
    return Object.fromEntries(entries.map(([entry, at]) => [entry.slice(0, at), entry.slice(at + 1)]))
  }
  return told(() => ({ pid, words: read('cmdline'), env: () => told(env) }))
}

/** That process, and all that it and its descendants have started and that live; none without `/proc`. */
export function startedFrom(pid: number): readonly Started[] {
  const children = new Map<number, number[]>()
  for (const child of processes()) {
    const parent = told(() => Number(fieldsOf(child)[1]))
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), child])
  }
  const family = [pid]
  for (const one of family) family.push(...(children.get(one) ?? []))
  return family.flatMap(one => startedOf(one) ?? [])
}

/** The numbers of all processes; none without `/proc`. */
const processes = (): readonly number[] =>
  told(() => readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? [Number(name)] : []))) ?? []

/** The name of the command is in parentheses, and may hold anything; the state and the start time follow it. */
function fieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
