import { randomBytes, randomInt } from 'node:crypto'
import { closeSync, fstatSync, openSync, readlinkSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../failure.ts'
import { startOf } from '../../instance.ts'
import type { TerminalChallenge } from '../protocol.ts'
import { descendsFromKernel, deviceOf, holds, lineOf, processOf, type SeenProcess } from './processes.ts'

/** A process below which nobody gets a seat. `what` names it: `the kernel shop`. */
export interface Barred {
  readonly pid: number
  /** As `startOf` has it, where that is known. */
  readonly started?: string
  readonly what: string
}

export interface ProofOptions {
  /** Where the file is made that is to be opened: private to this user. */
  readonly runtimeDir: string
  barred(): readonly Barred[]
  /** Told to the client, which answers with its process number. Rejects where the client does not. */
  challenge(challenge: TerminalChallenge): Promise<number>
  readonly platform?: NodeJS.Platform
}

/** Who is at the terminal, or why that is nobody who could have a seat. */
export type Proof =
  | {
      readonly type: 'proved'
      readonly pid: number
      readonly started: string
      readonly terminal: string
      readonly command: string
      /** `terminal /dev/pts/3 (process 4711)` */
      readonly who: string
    }
  | Unproved

export interface Unproved {
  readonly type: 'unproved'
  readonly who: string
  /** A sentence for a person, and what to do. */
  readonly why: string
  readonly next: string
}

/**
 * Whether the other end of a connection is a program that a person runs at a terminal.
 *
 * It is told of a fresh file and of a position in it, opens the file for reading and writing, goes to the position,
 * and says its process number. On Linux the rest is looked up: that very process has that very file open there, is
 * ours, is in the foreground of a terminal that it reads from and writes to, and neither it nor what started it is a
 * kernel, an attached program, the host of an MCP connection, or the daemon. Elsewhere the client is taken at its word.
 */
export async function proveTerminal(options: ProofOptions): Promise<Proof> {
  const path = join(options.runtimeDir, `seat.${randomBytes(16).toString('hex')}.proof`)
  const position = 1 + randomInt(FILE_BYTES - 1)
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, Buffer.alloc(FILE_BYTES))
    const { dev, ino } = fstatSync(file)
    const pid = await options.challenge({ file: path, position })
    if ((options.platform ?? process.platform) !== 'linux') return takenAtItsWord(pid)
    return judge(pid, { held: { dev, ino, position }, barred: options.barred() })
  } catch (error) {
    return unproved('a client', `It did not show its terminal: ${messageOf(error)}`, AT_A_TERMINAL)
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

const FILE_BYTES = 4_096
const AT_A_TERMINAL = 'Run imago watch in a terminal of your own, as a command by itself.'

function takenAtItsWord(pid: number): Proof {
  const started = startOf(pid)
  const who = `a terminal (process ${pid}, as it says itself)`
  if (started === undefined) return unproved(who, `There is no process ${pid}.`, AT_A_TERMINAL)
  return { type: 'proved', pid, started, terminal: 'a terminal', command: '', who }
}

interface Judging {
  readonly held: { readonly dev: number; readonly ino: number; readonly position: number }
  readonly barred: readonly Barred[]
}

function judge(pid: number, { held, barred }: Judging): Proof {
  const seen = processOf(pid)
  const who = `process ${pid}`
  if (seen === undefined) return unproved(who, `There is no process ${pid}.`, AT_A_TERMINAL)
  if (seen.uid !== process.getuid?.())
    return unproved(who, `Process ${pid} belongs to another user.`, AT_A_TERMINAL)
  if (!holds(pid, held))
    return unproved(who, `Process ${pid} has not opened the file that it was told of.`, AT_A_TERMINAL)
  const fault = faultOfTerminal(seen) ?? faultOfDescent(seen, barred)
  if (fault !== undefined) return unproved(`process ${pid} (${shortly(seen.command)})`, ...fault)
  const terminal = terminalOf(seen)
  // Whatever was read above was that of this process, and not of a later one of its number.
  if (startOf(pid) !== seen.started) return unproved(who, `Process ${pid} has ended.`, AT_A_TERMINAL)
  const { started, command } = seen
  const name = `terminal ${terminal} (process ${pid})`
  return { type: 'proved', pid, started, terminal, command: shortly(command), who: name }
}

type Fault = readonly [why: string, next: string]

function faultOfTerminal({ pid, terminal, foreground, group }: SeenProcess): Fault | undefined {
  if (terminal === 0) return [`Process ${pid} has no terminal.`, AT_A_TERMINAL]
  if (foreground !== group)
    return [`Process ${pid} is in the background of its terminal.`, 'Bring it to the foreground: fg']
  if (deviceOf(pid, 0) !== terminal || deviceOf(pid, 1) !== terminal)
    return [
      `Process ${pid} does not read from its terminal and write to it.`,
      'Run it without redirecting its input or output.',
    ]
  return undefined
}

function faultOfDescent({ pid }: SeenProcess, barred: readonly Barred[]): Fault | undefined {
  const elsewhere = 'Open a terminal by other means, and run imago watch there.'
  if (descendsFromKernel(process.pid))
    return [
      'The daemon itself was started from inside a kernel, so it gives nobody a seat.',
      'End it with imago shutdown, and start it from a terminal: imago kernels',
    ]
  if (descendsFromKernel(pid))
    return [
      `Process ${pid} was started from inside a kernel: its limit on file locks is the mark.`,
      elsewhere,
    ]
  for (const one of lineOf(pid)) {
    const found = barred.find(
      bar => bar.pid === one.pid && (bar.started === undefined || bar.started === one.started),
    )
    if (found === undefined) continue
    const is = one.pid === pid ? 'is' : 'was started by'
    return [`Process ${pid} ${is} ${found.what} (process ${found.pid}), which may not approve.`, elsewhere]
  }
  return undefined
}

function terminalOf({ pid }: SeenProcess): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`)
  } catch {
    return 'that has gone'
  }
}

const shortly = (command: string) => (command.length > 200 ? `${command.slice(0, 200)}…` : command)

const unproved = (who: string, why: string, next: string): Unproved => ({ type: 'unproved', who, why, next })
