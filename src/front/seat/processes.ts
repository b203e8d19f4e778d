import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { startOf } from '../../instance.ts'

/** A process as Linux shows it in `/proc`. */
export interface SeenProcess {
  readonly pid: number
  readonly parent: number
  /** Its process group, and the session that it belongs to, by the numbers of their leaders. */
  readonly group: number
  readonly session: number
  /** The number of the device of its controlling terminal; 0 without one. */
  readonly terminal: number
  /** The process group in the foreground of that terminal. */
  readonly foreground: number
  /** As `startOf` has it: with the number it names one process for good. */
  readonly started: string
  readonly uid: number
  /** What it was called with, as it says itself. For people. */
  readonly command: string
}

/** `undefined` where there is none of that number, or it only waits to be collected. */
export function processOf(pid: number): SeenProcess | undefined {
  const started = startOf(pid)
  if (started === undefined) return undefined
  try {
    const [, parent, group, session, terminal, foreground] = statOf(pid)
    const uid = statSync(`/proc/${pid}`).uid
    if (startOf(pid) !== started) return undefined
    return {
      pid,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      terminal: Number(terminal),
      foreground: Number(foreground),
      started,
      uid,
      command: commandOf(pid),
    }
  } catch {
    return undefined
  }
}

/** The process itself, the one that started it, and so on; as far as they still live. */
export function lineOf(pid: number): SeenProcess[] {
  const line: SeenProcess[] = []
  for (let next = pid; next > 1 && line.length < GENERATIONS; ) {
    const seen = processOf(next)
    if (seen === undefined) break
    line.push(seen)
    next = seen.parent
  }
  return line
}

/** More than any real line has: one that seems longer was changed while it was read. */
const GENERATIONS = 1_000

export interface HeldFile {
  readonly dev: number
  readonly ino: number
  /** Where the file is read or written next. */
  readonly position: number
}

/** Whether a process has that very file open for reading and writing, at that position. */
export function holds(pid: number, file: HeldFile): boolean {
  return descriptorsOf(pid).some(name => {
    try {
      const { dev, ino } = statSync(`/proc/${pid}/fd/${name}`)
      if (dev !== file.dev || ino !== file.ino) return false
      const info = readFileSync(`/proc/${pid}/fdinfo/${name}`, 'utf8')
      const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '', 8)
      return (flags & ACCESS) === READ_AND_WRITE && /^pos:\s*(\d+)/m.exec(info)?.[1] === `${file.position}`
    } catch {
      return false
    }
  })
}

const ACCESS = 0o3
const READ_AND_WRITE = 0o2

/** The device behind one of its descriptors; 0 where that is none, or cannot be seen. */
export function deviceOf(pid: number, descriptor: number): number {
  try {
    return statSync(`/proc/${pid}/fd/${descriptor}`).rdev
  } catch {
    return 0
  }
}

/**
 * Whether it descends from a kernel of a daemon. Every such kernel lowers a limit of its own that Linux has not used
 * since 2003, on file locks, before it runs anything (`wire/peers/python/imago/boot.py`). What it starts inherits
 * that, however often it forks and whatever it becomes, and without CAP_SYS_RESOURCE nothing can raise it again.
 */
export function descendsFromKernel(pid: number): boolean {
  try {
    const hard = /^Max file locks\s+\S+\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1]
    return hard !== 'unlimited'
  } catch {
    return true
  }
}

function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command stands in parentheses and may hold anything.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function commandOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
  return words === '' ? readFileSync(`/proc/${pid}/comm`, 'utf8').trim() : words
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(join('/proc', String(pid), 'fd'))
  } catch {
    return []
  }
}
