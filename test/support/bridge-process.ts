import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { type LinePeer, linePeer } from './line-peer.ts'
import { MAIN } from './rig.ts'

/** A user of imago of its own: a project and the directories of one daemon, in a folder that goes afterwards. */
export interface Place {
  readonly folder: string
  readonly project: string
  readonly socket: string
  readonly env: Readonly<Record<string, string>>
  /** The command of a client's configuration, and its arguments. */
  readonly command: string
  args(...more: string[]): string[]
  /** Starts `imago mcp` as a client does. */
  bridge(...more: string[]): BridgeProcess
  /** Runs another command of imago to its end. */
  imago(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>
  /** Ends what was started, the daemon included, and removes the folder. */
  clear(): Promise<void>
}

export interface BridgeProcess {
  readonly child: ChildProcess
  readonly peer: LinePeer
  readonly exit: Promise<number | null>
  /** All that came on standard error so far. */
  stderr(): string
}

export function makePlace(): Place {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-mcp-')))
  const project = join(folder, 'project')
  for (const path of [project, join(folder, 'run')]) mkdirSync(path, { mode: 0o700 })
  const env = {
    ...(process.env as Record<string, string>),
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  }
  const children = new Set<ChildProcess>()
  const start = (args: readonly string[]) => {
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: project, env })
    children.add(child)
    const exit = new Promise<number | null>(resolve =>
      child.once('close', code => {
        children.delete(child)
        resolve(code)
      }),
    )
    return { child, exit, stderr: collect(child.stderr) }
  }
  const imago = async (...args: string[]) => {
    const { child, exit, stderr } = start(args)
    const stdout = collect(child.stdout)
    return { code: await exit, stdout: stdout(), stderr: stderr() }
  }
  return {
    folder,
    project,
    socket: join(folder, 'run/daemon.sock'),
    env,
    command: process.execPath,
    args: (...more) => [MAIN, 'mcp', '--root', project, ...more],
    bridge(...more) {
      const { child, exit, stderr } = start(['mcp', ...more])
      child.stdin.on('error', () => {})
      return {
        child,
        exit,
        stderr,
        peer: linePeer(Duplex.from({ readable: child.stdout, writable: child.stdin })),
      }
    },
    imago,
    async clear() {
      for (const child of children) child.kill('SIGKILL')
      await imago('shutdown', '--force')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.on('data', chunk => {
    text += String(chunk)
  })
  return () => text
}
