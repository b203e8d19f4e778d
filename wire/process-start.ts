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
export const listensAt = (pid: number, path: string): boolean | undefined =>
  told(() => {
    const sockets = socketsAt(path)
    return sockets.length === 0 ? undefined : holds(pid, sockets)
  })

/**
 * Whether processes that are seen from here listen at that socket, and none of them has that number, in a process
 * namespace of its own either.
 */
export function isOfAnother(pid: number, path: string): boolean {
  const sockets = told(() => socketsAt(path)) ?? []
  const holders = sockets.length === 0 ? [] : processes().filter(one => told(() => holds(one, sockets)))
  return holders.length > 0 && !holders.some(one => numbersOf(one).includes(String(pid)))
}

function socketsAt(path: string): readonly string[] {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
  // The flag says that connections are accepted there. The inode comes before the path.
  const listening = lines.filter(line => line.endsWith(` ${path}`) && line.includes(' 00010000 '))
  return listening.map(line => `socket:[${line.split(/\s+/)[6]}]`)
}

const holds = (pid: number, sockets: readonly string[]) =>
  readdirSync(`/proc/${pid}/fd`).some(fd =>
    sockets.includes(told(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''),
  )

/** The number of a process in each namespace that it is in. */
const numbersOf = (pid: number): readonly string[] =>
  told(() => /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split(/\s+/)) ?? [
    String(pid),
  ]

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
