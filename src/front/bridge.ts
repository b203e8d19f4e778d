import { randomBytes } from 'node:crypto'
import { openSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { parseArgs } from 'node:util'
import { fieldOf } from '../../tools/record.ts'
import { CLIENT_PROTOCOL } from '../../wire/codec/messages.ts'
import { messageOf } from '../../wire/errors.ts'
import { helloEnvironment } from '../environment.ts'
import { EXIT, type ExitCode, Failure, OTHER_PROTOCOL } from '../failure.ts'
import { isProject } from '../files/roots.ts'
import { checkRuntimeDir, findPaths, findRoot, type Paths, VERSION } from '../paths.ts'
import { escapeText } from '../text/escape.ts'

/** The streams between which bytes are carried, and where a fault is told: the process itself, but in tests. */
interface BridgeStreams {
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
}

/**
 * Carries bytes between an MCP client and the daemon, until one of them ends; the daemon is started when it is not
 * there. Nothing is understood here and nothing is written to stdout but what the daemon sent after its welcome.
 *
 * Resolves with 0 when the client ended, and with 1, after a line on stderr, when it was the daemon.
 */
export async function bridge(args: string[], streams: BridgeStreams = process): Promise<ExitCode> {
  try {
    const wanted = wantedBy(args)
    return await carried({ ...(await attached(wanted)), streams })
  } catch (error) {
    streams.stderr.write(escapeText(`imago mcp: ${messageOf(error)}\n`))
    return error instanceof Failure ? error.exit : EXIT.failed
  }
}

interface BridgeOptions {
  /** Where the project is; its root is looked for from there upwards. */
  readonly folder: string
  /** Somebody has named it; otherwise the roots of the client come first. */
  readonly rooted: boolean
  readonly profile: string
  readonly structured: boolean
}

const PROFILES = ['core', 'live', 'full', 'desk']

const USAGE = 'Usage: imago mcp [--root FOLDER] [--profile core|live|full|desk] [--structured]'

function wantedBy(args: string[]): BridgeOptions {
  const { root: given, profile, structured } = optionsOf(args)
  const named = fromHome(given) ?? projectOf(fromHome(process.env.CLAUDE_PROJECT_DIR))
  const root = named ?? process.cwd()
  if (!PROFILES.includes(profile)) throw misused(`There is no profile ${JSON.stringify(profile)}.`)
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) throw misused(`${root} is not a folder.`)
  return { folder: root, rooted: named !== undefined, profile, structured }
}

/** Hosts hand on what a person wrote, without a shell. */
const fromHome = (folder: string | undefined) => folder?.replace(/^~(?=\/|$)/, homedir())

/** The project that a host names in the environment; what is no project is as if nothing had been said. */
const projectOf = (folder: string | undefined): string | undefined =>
  folder !== undefined && isAbsolute(folder) && isProject(folder, homedir()) ? folder : undefined

function optionsOf(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        root: { type: 'string' },
        profile: { type: 'string', default: 'live' },
        structured: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw misused(messageOf(error))
  }
}

const misused = (because: string) => new Failure(`${because} ${USAGE}`, { exit: EXIT.usage })

interface DaemonStream {
  readonly socket: Socket
  /** What came right behind the welcome. */
  readonly early: Buffer
}

async function attached(wanted: BridgeOptions): Promise<DaemonStream> {
  const paths = findPaths()
  checkRuntimeDir(paths.runtimeDir)
  for (let attempt = 1; ; attempt++) {
    const socket = (await connected(paths.socket)) ?? (await started(paths))
    const { version, early } = await introduced(socket, { ...wanted, runtimeDir: paths.runtimeDir })
    if (version === VERSION) return { socket, early }
    socket.destroy()
    if (attempt > 1)
      throw new Failure(`daemons of version ${version} keep being started; this is ${VERSION}.`)
    await replaceDaemon({ paths, wanted })
  }
}

/** As any command does: it is replaced where nobody uses it, and otherwise the failure says what to do. */
async function replaceDaemon({ paths, wanted }: { paths: Paths; wanted: BridgeOptions }): Promise<void> {
  const { connectDaemon } = await import('./client.ts')
  const client = await connectDaemon({ name: 'imago mcp', start: 'if-needed', root: wanted.folder, paths })
  await client.close()
}

/** The usual case, a daemon that runs, costs no more than this: what starts one is loaded when it is needed. */
function connected(path: string): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connect({ path, allowHalfOpen: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}

async function started(paths: Paths): Promise<Socket> {
  const { reachDaemon } = await import('./reach.ts')
  return reachDaemon({ paths, start: 'if-needed' })
}

/** Says hello and reads the welcome. */
async function introduced(
  socket: Socket,
  { folder, rooted, profile, structured, runtimeDir }: BridgeOptions & { runtimeDir: string },
): Promise<{ version: string; early: Buffer }> {
  const hello = {
    role: 'mcp',
    protocol: CLIENT_PROTOCOL,
    name: 'imago mcp',
    version: VERSION,
    root: findRoot(folder),
    env: helloEnvironment(process.env),
    encodings: ['json'],
    options: { profile, structured, rooted, ...shownProcess(runtimeDir) },
  }
  const body = Buffer.from(JSON.stringify({ hello }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  socket.write(Buffer.concat([length, body]))

  const { answer, rest } = await firstFrame(socket)
  const welcome = fieldOf(answer, 'welcome')
  if (welcome !== undefined) return { version: String(fieldOf(welcome, 'version')), early: rest }
  const refused = fieldOf(answer, 'refused')
  const reason = String(fieldOf(refused, 'message') ?? 'The daemon gave an answer that is not known here.')
  throw new Failure(fieldOf(refused, 'code') === 'VERSION_MISMATCH' ? `${reason} ${OTHER_PROTOCOL}` : reason)
}

/**
 * Which process this is, shown by a file that it holds open for as long as it lives, so that nothing that its host
 * starts gets a seat. Whoever leaves it out gains nothing by that: `src/front/seat/seats.ts`.
 */
function shownProcess(runtimeDir: string): { process?: { pid: number; file: string } } {
  const file = `mcp.${randomBytes(16).toString('hex')}.proof`
  try {
    openSync(join(runtimeDir, file), 'wx+', 0o600)
    return { process: { pid: process.pid, file } }
  } catch {
    return {}
  }
}

/** A welcome is far smaller; what announces more is not our daemon. */
const WELCOME_BYTES = 256 * 1024

function firstFrame(socket: Socket): Promise<{ answer: unknown; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const settle = (how: () => void) => {
      socket.off('data', take).off('error', fail).off('end', ended)
      how()
    }
    const fail = (error: Error) => settle(() => reject(new Failure(`the daemon hung up: ${error.message}`)))
    const ended = () => settle(() => reject(new Failure('the daemon hung up before it answered.')))
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.length < 4) return
      const end = 4 + bytes.readUInt32BE(0)
      if (end > WELCOME_BYTES) return fail(new Error('its answer is not that of an imago daemon'))
      if (bytes.length < end) return
      socket.pause()
      settle(() => resolve({ answer: parsed(bytes.toString('utf8', 4, end)), rest: bytes.subarray(end) }))
    }
    socket.on('data', take).on('error', fail).on('end', ended)
  })
}

/** `undefined` for what is not JSON, which is then refused like any answer that is not known. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How long the daemon may take to write its last answers once the client has ended. */
const LAST_ANSWERS_MS = 2_000

interface Ends extends DaemonStream {
  readonly streams: BridgeStreams
}

/** Both ways at once, each no faster than its reader; the client's end of input is passed on to the daemon. */
function carried({ socket, early, streams: { stdin, stdout, stderr } }: Ends): Promise<ExitCode> {
  return new Promise(resolve => {
    let clientEnded = false
    const finish = (exit: ExitCode) => {
      stdin.pause()
      socket.destroy()
      resolve(exit)
    }
    const clientGone = () => {
      clientEnded = true
      finish(EXIT.done)
    }
    const daemonGone = () => {
      if (clientEnded) return finish(EXIT.done)
      stderr.write(
        'imago mcp: the daemon ended the connection. Restart this MCP server to start a new daemon.\n',
      )
      finish(EXIT.failed)
    }
    socket.on('end', daemonGone).on('error', daemonGone)
    stdout.on('error', clientGone)
    stdin.on('error', clientGone)
    stdin.on('end', () => {
      clientEnded = true
      socket.end()
      setTimeout(() => finish(EXIT.done), LAST_ANSWERS_MS).unref()
    })
    if (early.length > 0) stdout.write(early)
    socket.pipe(stdout, { end: false })
    stdin.pipe(socket, { end: false })
  })
}
