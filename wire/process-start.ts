import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

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

/** The command stands in parentheses and may hold anything; the state and the start time follow it. */
function fieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
