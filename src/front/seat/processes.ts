import { randomBytes, randomInt } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf } from '../../../wire/errors.ts'
import { startOf } from '../../../wire/process-start.ts'
import type { TerminalChallenge } from '../protocol.ts'
import type { AnswerFacts, DaemonFacts, Line, Process, SeatFacts } from './rule.ts'

/** The facts that `rule.ts` judges, as the system tells them: `/proc` on Linux, and elsewhere only when a process began. */

/** `undefined` where there is none of that number, or it only waits to be collected. */
export function processOf(pid: number): Process | undefined {
  const started = startOf(pid)
  if (started === undefined) return undefined
  try {
    const [, parent, group, session, terminal, foreground] = statOf(pid)
    const found = {
      pid,
      parent: parent ?? 0,
      group: group ?? 0,
      session: session ?? 0,
      terminal: terminal ?? 0,
      foreground: foreground ?? 0,
      started,
      uid: statSync(`/proc/${pid}`).uid,
      input: inputOf(pid),
      fromKernel: descendsFromKernel(pid),
      command: commandOf(pid),
    }
    return startOf(pid) === started ? found : undefined
  } catch {
    return undefined
  }
}

function statOf(pid: number): readonly number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the command is in parentheses, and may hold anything.
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

/** All processes of the same user at the terminal of that process, each with those that started it. */
export function linesBeside(pid: number): readonly Line[] {
  const terminal = terminalOf(pid)
  if (terminal === 0) return []
  // Terminals of containers bear the same numbers.
  return linesOfUser(numbers().filter(one => terminalOf(one) === terminal))
}

/** That process, and all below it that the daemon has not started, of the same user, each with those that started it. */
export function linesBelow(pid: number): readonly Line[] {
  if (process.platform !== 'linux') return []
  const parents = new Map(numbers().map(one => [one, fieldOf(one, PARENT)]))
  const isBelow = (one: number, generations = 0): boolean =>
    one === pid ||
    (one !== process.pid &&
      one > 1 &&
      generations < GENERATIONS &&
      isBelow(parents.get(one) ?? 0, generations + 1))
  return linesOfUser([pid, ...numbers().filter(one => one !== pid && isBelow(one))])
}

const numbers = () =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)

function linesOfUser(pids: readonly number[]): readonly Line[] {
  const seen = new Map<number, Process | undefined>()
  return pids.map(pid => lineOf(pid, seen)).filter(([first]) => first?.uid === process.getuid?.())
}

/** The number of the device; 0 without one. */
const terminalOf = (pid: number) => fieldOf(pid, TERMINAL)

function fieldOf(pid: number, field: typeof PARENT | typeof TERMINAL): number {
  try {
    return statOf(pid)[field] ?? 0
  } catch {
    return 0
  }
}

/** Where `/proc/PID/stat` has them, counted from behind the name. */
const PARENT = 1
const TERMINAL = 4

/** `known`: what was seen of processes already. */
function lineOf(pid: number, known = new Map<number, Process | undefined>()): Line {
  const line: Process[] = []
  for (let next = pid; next > 1 && line.length < GENERATIONS; ) {
    const seen = known.has(next) ? known.get(next) : processOf(next)
    known.set(next, seen)
    if (seen === undefined) break
    line.push(seen)
    next = seen.parent
  }
  return line
}

/** More than any real line has: one that seems longer was changed while it was read. */
const GENERATIONS = 1_000

/**
 * Whether it descends from a kernel of a daemon, or from a Python of `imago run`. Each of these lowers a limit of its own
 * that Linux has not used since 2003, on file locks, before it runs anything (`wire/peers/python/imago/mark.py`). What it
 * starts inherits that, however often it forks and whatever it becomes, and without CAP_SYS_RESOURCE nothing can raise it again.
 */
function descendsFromKernel(pid: number): boolean {
  try {
    const hard = /^Max file locks\s+\S+\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1]
    return hard !== 'unlimited'
  } catch {
    return true
  }
}

function inputOf(pid: number): string | undefined {
  try {
    const input = statSync(`/proc/${pid}/fd/0`)
    return input.isFIFO() || input.isSocket() ? `${input.dev}:${input.ino}` : undefined
  } catch {
    return undefined
  }
}

function commandOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
  return words === '' ? readFileSync(`/proc/${pid}/comm`, 'utf8').trim() : words
}

const daemonFacts = (): DaemonFacts => ({
  uid: process.getuid?.(),
  fromKernel: descendsFromKernel(process.pid),
})

interface HeldFile {
  readonly dev: number
  readonly ino: number
  /** Where the file is read or written next. */
  readonly position: number
}

/** Whether a process has that very file open for reading and writing, at that position. */
function holds(pid: number, file: HeldFile): boolean {
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

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    return []
  }
}

export interface SeatQuestion {
  /** Where the file is made that is to be opened: private to this user. */
  readonly runtimeDir: string
  /** Told to the client, which answers with its process number. Rejects where the client does not. */
  challenge(challenge: TerminalChallenge): Promise<number>
  readonly platform?: NodeJS.Platform
}

/**
 * What is known of a client that asks for a seat. It is told of a fresh file and of a position in it, opens the file for
 * reading and writing, goes to the position, and says its process number. Never rejects; the file goes.
 */
export async function seatFacts({
  runtimeDir,
  challenge,
  platform = process.platform,
}: SeatQuestion): Promise<SeatFacts> {
  const path = join(runtimeDir, `seat.${randomBytes(16).toString('hex')}.proof`)
  const position = 1 + randomInt(FILE_BYTES - 1)
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, Buffer.alloc(FILE_BYTES))
    const { dev, ino } = fstatSync(file)
    const pid = await challenge({ file: path, position })
    if (platform !== 'linux') return { type: 'unseen', pid, started: startOf(pid) }
    const line = lineOf(pid)
    const seen = {
      holdsFile: holds(pid, { dev, ino, position }),
      reads: deviceOf(pid, 0),
      writes: deviceOf(pid, 1),
      device: deviceName(pid),
      beside: linesBeside(pid),
    }
    // Whatever was read was that of this process, and not of a later one of its number.
    const same = startOf(pid) === line[0]?.started
    return { type: 'seen', pid, line: same ? line : [], ...seen, daemon: daemonFacts() }
  } catch (error) {
    return { type: 'silent', why: `It did not show which process it is: ${messageOf(error)}` }
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

const FILE_BYTES = 4_096

/** The device behind one of its descriptors; 0 where that is none, or cannot be seen. */
function deviceOf(pid: number, descriptor: number): number {
  try {
    return statSync(`/proc/${pid}/fd/${descriptor}`).rdev
  } catch {
    return 0
  }
}

function deviceName(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`)
  } catch {
    return 'that has gone'
  }
}

/**
 * What is known of a bridge that has connected. It names its process number and a file that it holds open; one that
 * does not hold it is `hidden`. The file goes: it counts once.
 */
export function bridgeFacts(
  { process: shown }: Readonly<Record<string, unknown>>,
  runtimeDir: string,
): Pick<AnswerFacts, 'bridge' | 'daemon'> {
  const daemon = daemonFacts()
  if (process.platform !== 'linux') return { bridge: 'unseen', daemon }
  const hidden = { bridge: 'hidden', daemon } as const
  if (typeof shown !== 'object' || shown === null || !('pid' in shown) || !('file' in shown)) return hidden
  const { pid, file } = shown
  if (typeof pid !== 'number' || typeof file !== 'string' || !/^mcp\.[0-9a-f]+\.proof$/.test(basename(file)))
    return hidden
  const path = join(runtimeDir, basename(file))
  try {
    const { dev, ino } = statSync(path)
    return holds(pid, { dev, ino, position: 0 }) ? { bridge: lineOf(pid), daemon } : hidden
  } catch {
    return hidden
  } finally {
    rmSync(path, { force: true })
  }
}
