import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Envelope } from '../tools/outcome.ts'
import { openClient } from '../wire/link/handshake.ts'
import type { Link } from '../wire/link/link.ts'
import { connect } from '../wire/link/transport.ts'

const main = join(import.meta.dirname, '../dist/src/main.cjs')

/** A compiled daemon in a folder of its own, as a user would run it, and a client of it. */
export interface BenchDaemon {
  readonly pid: number
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly link: Link
  connect(): Promise<Link>
  /** Calls a tool and throws unless it succeeded. */
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown>
  /** Runs code on the default kernel and returns its pid. */
  kernelPid(): Promise<number>
  close(): Promise<void>
}

/** Starts a daemon, with this as its `config.toml`; the compiled program must be up to date (`npm run build`). */
export async function benchDaemon(config = ''): Promise<BenchDaemon> {
  if (!existsSync(main)) throw new Error('dist is missing: run `npm run build` first')
  const folder = mkdtempSync(join(tmpdir(), 'imago-bench-'))
  const env = {
    ...(process.env as Record<string, string>),
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  }
  mkdirSync(env.IMAGO_CONFIG_DIR, { mode: 0o700 })
  writeFileSync(join(env.IMAGO_CONFIG_DIR, 'config.toml'), config, { mode: 0o600 })
  const child = spawn(process.execPath, [main, 'serve'], { env, cwd: folder, stdio: 'ignore' })
  const path = join(folder, 'run', 'daemon.sock')
  const open = () => client(path, folder)
  // The socket is there a moment before somebody listens at it.
  let link: Link | undefined
  for (let tries = 0; link === undefined; tries++) {
    if (tries > 200) throw new Error('the daemon did not start within 10 s')
    link = existsSync(path) ? await open().catch(() => undefined) : undefined
    if (link === undefined) await pause(50)
  }
  const call = async (tool: string, args: Readonly<Record<string, unknown>>) => {
    const envelope = (await link.call('call', { tool, args })) as Envelope
    if (!envelope.ok) throw new Error(`${tool}: ${envelope.error.code}: ${envelope.error.message}`)
    return envelope.result
  }
  return {
    pid: child.pid ?? 0,
    folder,
    env,
    link,
    connect: open,
    call,
    async kernelPid() {
      const result = (await call('eval_expr', { expr: '__import__("os").getpid()' })) as {
        value_repr: string
      }
      return Number(result.value_repr)
    },
    close: () => end(child, folder),
  }
}

async function client(path: string, root: string): Promise<Link> {
  const transport = await connect(`unix:${path}`)
  const hello = {
    role: 'client' as const,
    protocol: 2,
    name: 'bench',
    version: packageVersion,
    root,
    env: { PATH: process.env.PATH ?? '' },
    encodings: ['msgpack' as const, 'json' as const],
  }
  const { link } = await openClient({ transport, hello })
  return link
}

const packageVersion = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { version: string }
).version

async function end(child: ChildProcess, folder: string): Promise<void> {
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
  rmSync(folder, { recursive: true, force: true })
}

/** Processor time that a process has used, all of its threads together, in seconds; of 10 ms each. Linux only. */
export function processorSeconds(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(afterName[11]) + Number(afterName[12])) / 100
}

/**
 * Keeps the main threads of processes on one processor until what it returns is called. Where the system puts two processes
 * that wake each other moves every exchange by tens of microseconds, and it may put each pair elsewhere. Linux only.
 */
export function onOneProcessor(pids: readonly number[]): () => void {
  const [, all = '0'] = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  const bind = (processors: string) => {
    for (const pid of pids)
      if (spawnSync('taskset', ['--cpu-list', '--pid', processors, `${pid}`]).status !== 0)
        throw new Error('taskset of util-linux is missing, or was refused')
  }
  bind(`${Number.parseInt(all, 10)}`)
  return () => bind(all)
}

/** Resident memory of a process in bytes, now. Linux only, as the bench is. */
export function residentBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1] ?? Number.NaN) * 1024
}

/** Resident memory of a daemon for each of 1,000 clients, in kB: what it grows by while `open` opens one after another. */
export async function residentEach(
  { pid }: Pick<BenchDaemon, 'pid'>,
  open: () => Promise<unknown>,
): Promise<number> {
  const before = residentBytes(pid)
  for (let count = 0; count < 1_000; count++) await open()
  await pause(500)
  return (residentBytes(pid) - before) / 1_000 / 1_000
}

export const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
