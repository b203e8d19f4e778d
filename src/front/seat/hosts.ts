import { rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { startOf } from '../../instance.ts'
import { descendsFromKernel, holds, inputOf, lineOf, type SeenProcess } from './processes.ts'
import type { Barred } from './proof.ts'

/**
 * The programs behind MCP connections: what they start, a model may have asked for, so nothing below them approves.
 *
 * A bridge names its process number and a file that it holds open; one that does not hold it is not believed. A bridge
 * that keeps silent, or lies, gains what a program has that never connected as a bridge: its own tree is not barred by
 * this list. It can bar nobody else's.
 */
export interface Hosts {
  /** A bridge has connected, with the options of its hello. */
  came(options: Readonly<Record<string, unknown>>): Came
  /** Those that live: a host stays barred after its bridge has gone. */
  list(): readonly Barred[]
}

export interface Came {
  /** The program that started it, `host 4711 STARTED`: the same for all bridges of one life of it. Undefined: unknown. */
  readonly host: string | undefined
  /**
   * Why the answers of its client may not be a person's; undefined where nothing speaks against that. `others` are
   * programs besides all hosts below which nobody approves.
   */
  doubt(others: readonly Barred[]): Doubt | undefined
  /** To be called when the bridge has gone. */
  gone(): void
}

/** Why what a client answers may not be a person's. */
export interface Doubt {
  /** A clause. */
  readonly why: string
  /** Whether the user's policy can say that it is one's all the same. */
  readonly liftable: boolean
}

/** Where nothing of the kind can be looked up, the user's word is all there is. */
const UNTOLD: Doubt = { why: 'this system does not tell which program answers', liftable: true }
const HIDDEN: Doubt = { why: 'it is not known which program answers', liftable: false }

interface Host extends Barred {
  readonly started: string
  /** A shell at a terminal: whoever ran the bridge there by hand has the terminal back when it has ended. */
  readonly shell: boolean
  bridges: number
}

export function openHosts({ runtimeDir }: { runtimeDir: string }): Hosts {
  const hosts = new Map<string, Host>()

  function live(): Host[] {
    for (const [key, { pid, started, shell, bridges }] of hosts)
      if (startOf(pid) !== started || (shell && bridges === 0)) hosts.delete(key)
    return [...hosts.values()]
  }

  return {
    came(options) {
      if (process.platform !== 'linux') return { host: undefined, doubt: () => UNTOLD, gone: () => {} }
      const seen = seenBehind(bridgeOf(options, runtimeDir))
      const host = seen && hostOf(seen)
      if (seen === undefined || host === undefined)
        return { host: undefined, doubt: () => HIDDEN, gone: () => {} }
      const key = `host ${host.pid} ${host.started}`
      const known = hosts.get(key) ?? host
      hosts.set(key, known)
      known.bridges++
      return {
        host: key,
        doubt: others => doubtOf({ seen, host, barred: [...live().filter(one => one !== known), ...others] }),
        gone() {
          known.bridges--
        },
      }
    },
    list: live,
  }
}

/** The process that a bridge says it is; undefined where that is not so. Its file goes: it counts once. */
function bridgeOf({ process: shown }: Readonly<Record<string, unknown>>, runtimeDir: string) {
  if (typeof shown !== 'object' || shown === null || !('pid' in shown) || !('file' in shown)) return undefined
  const { pid, file } = shown
  if (typeof pid !== 'number' || typeof file !== 'string' || !/^mcp\.[0-9a-f]+\.proof$/.test(basename(file)))
    return undefined
  const path = join(runtimeDir, basename(file))
  try {
    const { dev, ino } = statSync(path)
    return holds(pid, { dev, ino, position: 0 }) ? pid : undefined
  } catch {
    return undefined
  } finally {
    rmSync(path, { force: true })
  }
}

/** A bridge and all that started it, as they stood when it came: what parted from its parents later is below them still. */
interface Seen {
  readonly line: readonly SeenProcess[]
  /** Whether it was started from inside a kernel. */
  readonly within: boolean
}

function seenBehind(bridge: number | undefined): Seen | undefined {
  if (bridge === undefined) return undefined
  return { line: lineOf(bridge), within: descendsFromKernel(bridge) || descendsFromKernel(process.pid) }
}

/**
 * Who writes to the bridge: the nearest process above it that has another input. What stands between has handed its own
 * input on, as `npx` and a shell do. A terminal is no such sign, for all that runs there has it.
 */
function hostOf({ line: [bridge, ...above] }: Seen): Host | undefined {
  const input = bridge && inputOf(bridge.pid)
  const host = above.find(({ pid }) => input === undefined || inputOf(pid) !== input)
  return (
    host && { ...host, what: `the host of an MCP server, ${nameOf(host)}`, shell: isShell(host), bridges: 0 }
  )
}

interface Doubting {
  readonly seen: Seen
  readonly host: Host
  /** All but the host itself. */
  readonly barred: readonly Barred[]
}

/** Whoever hands its input on to a bridge can write there, too: it is not believed. */
function doubtOf({ seen: { line, within }, host, barred }: Doubting): Doubt | undefined {
  const doubted = (why: string): Doubt => ({ why, liftable: false })
  if (within) return doubted('its program was started from inside a kernel')
  for (const one of line) {
    const found = barred.find(
      bar => bar.pid === one.pid && (bar.started === undefined || bar.started === one.started),
    )
    if (found !== undefined) return doubted(`its program was started by ${found.what} (process ${found.pid})`)
  }
  const [, above] = line
  if (above === undefined || above.pid === host.pid) return undefined
  return doubted(`another program, ${nameOf(above)}, stands between it and imago mcp`)
}

const isShell = ({ pid, session, terminal }: SeenProcess) => pid === session && terminal !== 0
const nameOf = ({ command }: SeenProcess) => basename(command.split(' ')[0] ?? command)
