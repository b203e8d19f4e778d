import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { readBounded } from '../wire/bounded-file.ts'
import { messageOf } from '../wire/errors.ts'
import { Failure } from './failure.ts'

/** Where one user's daemon keeps its things. Absolute paths; nothing is created by asking. */
export interface Paths {
  /** Sockets and the lock: a directory that only its owner can enter. */
  readonly runtimeDir: string
  readonly socket: string
  /** Has the address and the token for WebSockets, while a daemon takes those. */
  readonly web: string
  /** Leads a browser to a page, by its token, until that is used. */
  readonly page: string
  /** What outlives the daemon: journal, policy, log. */
  readonly stateDir: string
  readonly log: string
  /** The error stream of a daemon that a command started. */
  readonly errorLog: string
  readonly configDir: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * `IMAGO_RUNTIME_DIR`, `IMAGO_STATE_DIR` and `IMAGO_CONFIG_DIR` come before the XDG directories. Many hosts pass on few
 * variables: without `IMAGO_RUNTIME_DIR`, the runtime directory is the one that the state directory names, as long as it
 * is there. `listener.py` finds it in the same order.
 */
export function findPaths(env: Environment = process.env): Paths {
  const home = env.HOME || homedir()
  const stateDir =
    named(env.IMAGO_STATE_DIR) ?? within(env.XDG_STATE_HOME) ?? join(home, '.local/state/imago')
  const runtimeDir =
    named(env.IMAGO_RUNTIME_DIR) ??
    runtimeDirInUse(stateDir) ??
    within(env.XDG_RUNTIME_DIR) ??
    systemRuntimeDir() ??
    join(env.TMPDIR || tmpdir(), `imago-${process.getuid?.() ?? 'user'}`)
  const configDir = named(env.IMAGO_CONFIG_DIR) ?? within(env.XDG_CONFIG_HOME) ?? join(home, '.config/imago')
  return {
    runtimeDir,
    socket: join(runtimeDir, 'daemon.sock'),
    web: join(runtimeDir, 'web'),
    page: join(runtimeDir, 'page.html'),
    stateDir,
    log: join(stateDir, 'daemon.log'),
    errorLog: join(stateDir, 'daemon.err'),
    configDir,
  }
}

const named = (value: string | undefined) => (value ? resolve(value) : undefined)
/** A relative XDG directory is to be ignored, says the specification of those. */
const within = (value: string | undefined) => (value && isAbsolute(value) ? join(value, 'imago') : undefined)

/** Ours in the directory that systemd makes for each user who logs in; undefined where there is none, or it is no private one. */
export function systemRuntimeDir(all = '/run/user'): string | undefined {
  const own = join(all, String(process.getuid?.()))
  return isPrivate(own) ? join(own, 'imago') : undefined
}

function isPrivate(path: string): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
  } catch {
    return false
  }
}

/** One line in the state directory: the runtime directory of the last daemon, or of the first program that listened. */
const inUse = (stateDir: string) => join(stateDir, 'runtime')

const LINE_BYTES = 4_096

function runtimeDirInUse(stateDir: string): string | undefined {
  try {
    const [path = '', ...rest] = readBounded(inUse(stateDir), { most: LINE_BYTES })
      .toString('utf8')
      .split('\n')
    // A line without its end was cut short.
    return rest.length > 0 && isAbsolute(path) && isPrivate(path) ? path : undefined
  } catch {
    return undefined
  }
}

/** Names the runtime directory for clients and programs that are started with other variables. */
export function tellRuntimeDir({ stateDir, runtimeDir }: Paths): void {
  const draft = join(stateDir, `runtime.${process.pid}`)
  try {
    writeFileSync(draft, `${runtimeDir}\n`, { mode: 0o600 })
    renameSync(draft, inUse(stateDir))
  } catch {
    // On a full disk, those with the same variables still find it.
  }
}

/** The kernel keeps only so many bytes of the address of a Unix socket, and cuts the rest without a word. */
const SOCKET_PATH_BYTES = 103

/**
 * Makes the directories that a daemon needs, or throws a `Failure` that names the one at fault. The runtime
 * directory is the credential of every client, so it must be a real directory, ours, and closed to others.
 */
export function preparePaths(paths: Paths): void {
  prepareRuntimeDir(paths)
  prepareStateDir(paths)
  prepareConfigDir(paths)
}

/** The part of `preparePaths` that is about sockets. */
export function prepareRuntimeDir(paths: Paths): void {
  const length = Buffer.byteLength(paths.socket)
  if (length > SOCKET_PATH_BYTES)
    throw new Failure(
      `The socket path ${paths.socket} has ${length} bytes; a Unix socket may have ${SOCKET_PATH_BYTES}. Set IMAGO_RUNTIME_DIR to a shorter directory.`,
    )
  makeDirectory(paths.runtimeDir, 'IMAGO_RUNTIME_DIR')
  checkRuntimeDir(paths.runtimeDir)
}

/** The part of `preparePaths` that is about what outlives the daemon. */
export function prepareStateDir({ stateDir }: Paths): void {
  makeDirectory(stateDir, 'IMAGO_STATE_DIR')
}

/** There for whoever is told to write a rule into it. Without it a daemon works as well. */
function prepareConfigDir({ configDir }: Paths): void {
  try {
    makeDirectories(configDir)
  } catch {
    // Whoever writes a file there learns what is wrong.
  }
}

/** Whoever connects checks this first, so that nobody else's socket is taken for the daemon's. */
export function checkRuntimeDir(path: string): void {
  const advice = 'Remove it, or set IMAGO_RUNTIME_DIR to a directory of your own.'
  const found = lookAt(path)
  if (found === undefined) return
  if (found.isSymbolicLink())
    throw new Failure(`The runtime directory ${path} is a symbolic link, which is refused. ${advice}`)
  if (process.getuid !== undefined && found.uid !== process.getuid())
    throw new Failure(`The runtime directory ${path} belongs to user ${found.uid}, not to you. ${advice}`)
  if ((found.mode & 0o077) !== 0) chmodSync(path, 0o700)
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw new Failure(
      `The runtime directory ${path} cannot be looked at: ${messageOf(error)}. Open the way to it, or set IMAGO_RUNTIME_DIR to another one.`,
      { cause: error },
    )
  }
}

/** Each in its turn: Node's own way of making all of them never ends where the system denies that a parent is there. */
function makeDirectories(path: string) {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeDirectories(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Somebody else was faster.
    if (!existsSync(path)) throw error
  }
}

function makeDirectory(path: string, variable: string) {
  try {
    makeDirectories(path)
    if (!statSync(path).isDirectory()) throw new Error('it is no directory')
    if (!lstatSync(path).isSymbolicLink()) accessSync(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new Failure(
      `The directory ${path} cannot be made or written: ${messageOf(error)}. Make it writable, or set ${variable} to another one.`,
      { cause: error },
    )
  }
}

/** What marks the top folder of a project. */
const MARKS = ['imago.toml', '.git', 'pyproject.toml', 'setup.py', 'package.json', '.venv']

/**
 * The project that a folder belongs to: the nearest folder upwards that bears a mark of one, or else the folder
 * itself. The home directory and what is above it are never found by looking upwards.
 */
export function findRoot(from: string, home: string = homedir()): string {
  const start = resolve(from)
  for (let folder = start; folder !== home && dirname(folder) !== folder; folder = dirname(folder))
    if (MARKS.some(mark => existsSync(join(folder, mark)))) return folder
  return start
}

/** Where a shell finds a program of that name; undefined where it finds none. */
export const onPath = (name: string, env: Environment = process.env): string | undefined =>
  (env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, name))
    .find(isProgram)

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The folder that holds this package: `package.json`, and the peers in other languages under `wire/peers`. */
export const PACKAGE_ROOT = findPackage(import.meta.dirname)

/** The entry of this program, as a build makes it. */
export const PROGRAM = join(PACKAGE_ROOT, 'dist/src/main.cjs')

/** The version of this package, as clients and daemon tell it to each other. */
export const VERSION = readVersion()

function findPackage(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from
  if (dirname(from) === from) throw new Failure('The package.json of imago is missing; install imago again.')
  return findPackage(dirname(from))
}

function readVersion(): string {
  const contents: unknown = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'))
  if (typeof contents === 'object' && contents !== null && 'version' in contents)
    return String(contents.version)
  throw new Failure(`${PACKAGE_ROOT}/package.json has no version; install imago again.`)
}
