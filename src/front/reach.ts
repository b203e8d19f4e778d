import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { daemonEnvironment } from '../environment.ts'
import { EXIT, Failure } from '../failure.ts'
import { checkRuntimeDir, findPaths, PACKAGE_ROOT, type Paths, PROGRAM, preparePaths } from '../paths.ts'

/** Whether a command may start a daemon that is not there. */
export type Start = 'if-needed' | 'never'

/** There is none, and the caller did not want one started. */
export class NoDaemon extends Failure {
  constructor(socket: string) {
    super(`No daemon answers at ${socket}. Start it with: imago serve`)
  }
}

/** How long a daemon may take to answer, a predecessor that is just ending included. */
const START_MS = 20_000

/**
 * A connection to the daemon's socket, before any byte has been exchanged. Starts the daemon when it is not there
 * and may be started; however many do so at once, one of theirs stays. Throws a `Failure` that says what is wrong.
 */
export async function reachDaemon({ paths, start }: { paths: Paths; start: Start }): Promise<Socket> {
  checkRuntimeDir(paths.runtimeDir)
  const already = await tryConnect(paths.socket)
  if (already !== undefined) return already
  if (start === 'never') throw new NoDaemon(paths.socket)
  preparePaths(paths)
  const deadline = performance.now() + START_MS
  let started = startDaemon(paths)
  while (performance.now() < deadline) {
    const socket = await tryConnect(paths.socket)
    if (socket !== undefined) return socket
    if (started.exit !== undefined && started.exit !== EXIT.usage) {
      const now = findPaths()
      // One that began at the same moment, with other variables, has the state directory.
      if (now.stateDir === paths.stateDir && now.socket !== paths.socket)
        return reachDaemon({ paths: now, start })
      throw started.failure()
    }
    if (started.exit !== undefined) {
      // Another daemon holds the lock: it is about to answer, or about to end and make room.
      await sleep(200)
      started = startDaemon(paths)
    }
    await sleep(20)
  }
  throw new Failure(`The daemon did not answer at ${paths.socket} in ${START_MS / 1000} s. See ${paths.log}`)
}

/** `undefined` when nobody listens there. */
export function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== undefined && ABSENT.has(error.code)) resolve(undefined)
      else
        reject(new Failure(`The daemon's socket ${path} cannot be used: ${error.message}`, { cause: error }))
    })
  })
}

/** `EAGAIN` is a full queue of connections: there is a daemon, and it is asked again. */
const ABSENT = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTDIR', 'EAGAIN'])

interface DaemonChild {
  /** Its exit code; `undefined` while it lives. */
  exit: number | undefined
  failure(): Failure
}

/** In a session of its own, so that neither the terminal's signals nor its end reach it. */
function startDaemon(paths: Paths): DaemonChild {
  const said = existsSync(paths.errorLog) ? statSync(paths.errorLog).size : 0
  const errors = openSync(paths.errorLog, 'a', 0o600)
  const child = spawn(process.execPath, [...mainProgram(), 'serve'], {
    cwd: PACKAGE_ROOT,
    detached: true,
    env: daemonEnvironment(process.env),
    stdio: ['ignore', 'ignore', errors],
  })
  closeSync(errors)
  const started: DaemonChild = {
    exit: undefined,
    failure() {
      const words = readFileSync(paths.errorLog)
        .subarray(said)
        .toString()
        .trim()
        .replace(/^imago: /, '')
      return new Failure(words || `The daemon ended with ${started.exit} at its start. See ${paths.log}`)
    },
  }
  child.on('exit', code => {
    started.exit = code ?? EXIT.failed
  })
  child.on('error', () => {
    started.exit = EXIT.failed
  })
  child.unref()
  return started
}

/** The entry of this program: compiled as it is installed, or its source, with what loads that in this process. */
export function mainProgram(): string[] {
  if (extname(import.meta.filename) !== '.ts') return [PROGRAM]
  return [...loadersIn(process.execArgv), join(import.meta.dirname, '../main.ts')]
}

/** Of the options that Node was started with, those that say how modules are loaded: no inspector's, no test runner's. */
export function loadersIn(options: readonly string[]): string[] {
  return options.flatMap((option, at) => {
    if (LOADERS.some(name => option.startsWith(`${name}=`))) return [option]
    const value = options[at + 1]
    return LOADERS.includes(option) && value !== undefined ? [option, value] : []
  })
}

const LOADERS = ['--import', '--loader', '--experimental-loader']
