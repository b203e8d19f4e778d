import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ConnectOptions,
  connectDaemon,
  type DaemonClient,
  type ToolCall,
} from '../../src/front/client.ts'
import { findPaths, PACKAGE_ROOT, type Paths } from '../../src/paths.ts'
import { asSaid } from './answers.ts'
import { lispCache } from './runtimes.ts'
import { endLeft } from './temporary.ts'

export const MAIN = join(PACKAGE_ROOT, 'dist/src/main.cjs')

/** How long anything awaited here may take before it counts as a hang, in milliseconds. */
const HANG_MS = 60_000

/** A user of their own, in a temporary folder: home, project, daemon. Runs the compiled program. */
export interface Rig {
  readonly folder: string
  readonly project: string
  readonly env: Readonly<Record<string, string>>
  readonly paths: Paths
  /** Starts `imago serve` and waits until it answers. */
  serve(): Promise<Daemon>
  /** Runs one command to its end. */
  imago(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Begins one command. It is ended with the rig. */
  begin(args: readonly string[], options?: RunOptions): Begun
  connect(options?: Partial<ConnectOptions>): Promise<DaemonClient>
  /** A bare connection to the daemon's socket. */
  dial(): Promise<Socket>
  /** Ends the daemon and every process that was begun here, and removes the folder. */
  close(): Promise<void>
}

export interface Daemon {
  readonly pid: number
  readonly process: Begun
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Standard input; it ends at once without. */
  readonly input?: string | Uint8Array
  /** Another entry than that of this checkout. */
  readonly main?: string
}

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Begun {
  readonly child: ChildProcess
  /** What it has printed by now. */
  readonly so: { stdout: string; stderr: string }
  readonly ended: Promise<Ran>
  /** Resolves once standard output matches; rejects if it ends before. */
  says(expected: RegExp): Promise<void>
}

export interface RigOptions {
  /** The user's `config.toml`. */
  readonly config?: string
  /** The user's `policy.toml`. */
  readonly policy?: string
  /** Files of the project, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** Its folders are found as a desktop session has them, without a variable of Imago's. */
  readonly session?: boolean
}

/** A policy by which callers in other projects may name the kernel `project` for what is not dangerous. */
export const LETS_OTHERS_IN = ['safe', 'cautious']
  .map(level => `[[rule]]\ndecision = "allow"\nlevel = "${level}"\nkernel = "project"\n`)
  .join('')

export function openRig({ config, policy, files = {}, session = false }: RigOptions = {}): Rig {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing; run: npm run build`)
  const folder = mkdtempSync(join(tmpdir(), 'imago-rig-'))
  const project = join(folder, 'project')
  const env = session ? sessionEnvironment(folder) : ownEnvironment(folder)
  const paths = findPaths(env)
  mkdirSync(project)
  mkdirSync(env.HOME)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text)
  for (const [name, text] of Object.entries({ 'config.toml': config, 'policy.toml': policy })) {
    if (text === undefined) continue
    mkdirSync(paths.configDir, { recursive: true })
    writeFileSync(join(paths.configDir, name), text)
  }
  const begun = new Set<Begun>()

  function begin(args: readonly string[], options: RunOptions = {}): Begun {
    const started = run(args, { cwd: project, ...options, env: { ...env, ...options.env } })
    begun.add(started)
    void started.ended.then(() => begun.delete(started))
    return started
  }

  const clients = new Set<DaemonClient>()
  return {
    folder,
    project,
    env,
    paths,
    begin,
    imago(args, options) {
      const { ended, so } = begin(args, options)
      const seen = () => `to end. It has said:\n${so.stdout.slice(-2_000)}${so.stderr.slice(-2_000)}`
      return within(ended, `imago ${args.join(' ').slice(0, 80)}`, seen)
    },
    async serve() {
      const process = begin(['serve'])
      await process.says(/serves at/)
      return { pid: process.child.pid ?? 0, process }
    },
    async connect(options = {}) {
      const client = await connectDaemon({
        name: 'imago test',
        start: 'never',
        root: project,
        env,
        paths,
        // Also where the tests themselves run at one.
        terminal: false,
        ...options,
      })
      clients.add(client)
      const { call } = client
      return Object.assign(client, {
        call: async (given: ToolCall) => asSaid(given.tool, await call(given)),
      })
    },
    dial: () => dial(paths.socket),
    async close() {
      await Promise.all([...clients].map(client => client.close()))
      const shutdown = async () => {
        for (let pid = daemonOf(paths.runtimeDir, folder); pid; pid = daemonOf(paths.runtimeDir, folder)) {
          const ending = pid
          endIfAlive(ending, 'SIGTERM')
          await until(() => !lives(ending), 'the daemon to end')
        }
      }
      await shutdown()
      for (const { child } of begun) child.kill('SIGKILL')
      // A program that a command has started outlives it and holds its streams; a daemon may just have been started, too.
      while (endLeft(folder).length > 0) await new Promise(resolve => setTimeout(resolve, 10))
      await Promise.all([...begun].map(({ ended }) => ended))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Sends a signal to a process, which may have ended by itself a moment before. */
export function endIfAlive(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A process of this folder that lives, and holds the lock or once held it. */
function daemonOf(runtimeDir: string, folder: string): number | undefined {
  if (!existsSync(runtimeDir)) return undefined
  return readdirSync(runtimeDir)
    .filter(name => name.startsWith('daemon.lock.'))
    .map(name => Number(/"pid":(\d+)/.exec(readFileSync(join(runtimeDir, name), 'utf8'))?.[1]))
    .find(pid => pid > 0 && pid !== process.pid && lives(pid) && isOf(pid, folder))
}

/** Whether a process was started with something of that folder in its environment: numbers are used again. */
function isOf(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${folder}/`)
  } catch {
    return false
  }
}

/** Everything of Imago's below the folder, and of the rest only what programs need. */
function ownEnvironment(folder: string) {
  return {
    PATH: process.env.PATH ?? '',
    HOME: join(folder, 'home'),
    LANG: 'C.UTF-8',
    XDG_CACHE_HOME: lispCache,
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  }
}

function sessionEnvironment(folder: string) {
  const {
    IMAGO_RUNTIME_DIR: _,
    IMAGO_STATE_DIR: __,
    IMAGO_CONFIG_DIR: ___,
    ...usual
  } = ownEnvironment(folder)
  return { ...usual, XDG_RUNTIME_DIR: join(folder, 'session') }
}

function run(args: readonly string[], { cwd, env, input, main = MAIN }: RunOptions): Begun {
  const given = Object.fromEntries(Object.entries(env ?? {}).filter(([, value]) => value !== undefined))
  const child = spawn(process.execPath, [main, ...args], { cwd, env: given, stdio: ['pipe', 'pipe', 'pipe'] })
  const so = { stdout: '', stderr: '' }
  const hear = (stream: 'stdout' | 'stderr') => {
    child[stream].setEncoding('utf8')
    child[stream].on('data', (text: string) => {
      so[stream] += text
    })
  }
  hear('stdout')
  hear('stderr')
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<Ran>(resolve => child.on('close', code => resolve({ code, ...so })))
  return {
    child,
    so,
    ended,
    says: expected =>
      until(
        () => {
          if (expected.test(so.stdout)) return true
          if (child.exitCode !== null)
            throw new Error(`it ended with ${child.exitCode}: ${so.stdout}${so.stderr}`)
          return false
        },
        `${args.join(' ')} to say ${expected}`,
      ),
  }
}

/** Waits for something that has no event of its own. A hang is an error, with what was `seen` last; how long it took says nothing. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  seen: () => string = () => '',
): Promise<void> {
  for (const deadline = performance.now() + HANG_MS; !(await holds()); ) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what} ${seen()}`.trimEnd())
    await new Promise(resolve => setTimeout(resolve, 15))
  }
}

/** The value, or an error that says what did not come, with what was `seen` last. */
export async function within<Value>(
  work: Promise<Value>,
  what: string,
  seen: () => string = () => '',
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what} ${seen()}`.trimEnd())), HANG_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

export function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Whether a process of that number lives, a dead one that nobody has collected not counted. Linux. */
export function lives(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}
