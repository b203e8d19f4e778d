import { rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { startOf } from '../../instance.ts'
import { holds, lineOf, type SeenProcess } from './processes.ts'
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
  /** To be called when the bridge has gone. */
  gone(): void
}

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
      const host = process.platform === 'linux' ? hostOf(bridgeOf(options, runtimeDir)) : undefined
      if (host === undefined) return { host, gone: () => {} }
      const key = `host ${host.pid} ${host.started}`
      const known = hosts.get(key) ?? host
      hosts.set(key, known)
      known.bridges++
      return {
        host: key,
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

/** The nearest process above it that is no launcher of ours, as `npx imago mcp` has them. */
function hostOf(bridge: number | undefined): Host | undefined {
  if (bridge === undefined) return undefined
  const [, ...above] = lineOf(bridge)
  const host = above.find(({ command }) => !/\bimago\b\S*\s+mcp\b/.test(command))
  return (
    host && { ...host, what: `the host of an MCP server, ${nameOf(host)}`, shell: isShell(host), bridges: 0 }
  )
}

const isShell = ({ pid, session, terminal }: SeenProcess) => pid === session && terminal !== 0
const nameOf = ({ command }: SeenProcess) => basename(command.split(' ')[0] ?? command)
