import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { WireError } from '../errors.ts'
import type { Kernel, ScriptNews, Stream } from '../kernel.ts'
import type { InstalledEngine } from '../languages.ts'
import { listen, MAX_SOCKET_PATH_BYTES } from '../link/transport.ts'
import { type FramedKernel, type FramedOptions, framedKernel } from './framed.ts'
import { kernelEnvironment, OwnedProcess } from './process.ts'
import type { PulseTimes } from './pulse.ts'

export interface LaunchRequest {
  readonly name: string
  /** The project: the process starts there. */
  readonly root: string
  /** The caller's environment; `kernelEnvironment` decides what of it the kernel gets. */
  readonly env: Readonly<Record<string, string>>
  /** Names that look like secrets and are passed all the same. */
  readonly pass?: readonly string[]
  /** The user's program, run first; the kernel lives on in it. */
  readonly script?: string
  readonly args?: readonly string[]
  /** Where the socket is made: private to this user, or made so. */
  readonly runtimeDir: string
  /** How it connects to us. Left out: over a Unix socket, or over TCP where the path would be too long for one. */
  readonly address?: 'unix' | 'tcp'
  /** Output that belongs to no evaluation, as it comes. */
  background?(stream: Stream, text: string): void
  /** Told what its start does now, such as `loading Swank`, where that takes long enough to be told. */
  doing?(what: string): void
  /** News of `script`. */
  scripted?(news: ScriptNews): void
  /** Told the secret of the link, so that it is kept out of what is written; what it gives back forgets it. */
  secret?(value: string): () => void
  readonly pulse?: PulseTimes
  readonly limits?: Partial<LaunchLimits>
  /** The process only speaks to an image that is the user's own: see `KernelIdentity`. */
  readonly attached?: true
}

/** In milliseconds. */
export interface LaunchLimits {
  /** From the start of the process to the end of the handshake. */
  readonly startMs: number
  /** For ending in order, before it is killed. */
  readonly stopMs: number
  /** For coming back after its link broke. */
  readonly rejoinMs: number
}

/** How long the link of a process that has ended may still be read, in ms: a forked child can hold it open. */
const LAST_READ_MS = 250

const LAUNCH: LaunchLimits = { startMs: 20_000, stopMs: 5_000, rejoinMs: 10_000 }

/** A kernel whose process is ours. When either ends, the other is ended too. */
export interface Launched {
  readonly kernel: Kernel
  readonly pid: number
  /** Where the process only speaks to an engine. */
  readonly engine?: InstalledEngine
  /** Ends it in order, or after 5 s by force with all of its children. Resolves once it has ended. */
  stop(): Promise<void>
  /** Ends it by force, at once. */
  kill(): void
}

/** What is started: the command, and the folder of our own code in it, which is not what its last words are about. */
interface PeerCommand {
  readonly command: readonly [string, ...string[]]
  readonly own: string
}

/**
 * Starts a process with one of our peers in it, and waits until it has said hello. `find` gives what to start, for the
 * environment that the process will have.
 *
 * It gets the address of a listener made for it alone and a fresh secret, as one line on standard input: nothing of
 * that stands in its arguments or its environment. Whoever else connects there is turned away. Throws
 * `KERNEL_START_FAILED`, which has the last words of the process, and what `find` throws.
 */
export async function launchFramed(
  request: LaunchRequest,
  find: (env: Readonly<Record<string, string>>) => Promise<PeerCommand>,
): Promise<Launched> {
  const limits = { ...LAUNCH, ...request.limits }
  if (!statSync(request.root, { throwIfNoEntry: false })?.isDirectory())
    throw new WireError('KERNEL_START_FAILED', `${request.root} is no folder, so no kernel can live there.`)
  const env = kernelEnvironment(request.env, request.pass)
  const { command, own } = await find(env)
  const door = await Door.open(request)
  const secret = randomBytes(32).toString('hex')
  const forget = request.secret?.(secret)
  let child: OwnedProcess | undefined
  try {
    child = await OwnedProcess.start({
      name: request.name,
      command,
      cwd: request.root,
      env,
      own,
      line: JSON.stringify({
        address: door.address,
        secret,
        script: request.script ?? null,
        args: request.args ?? [],
      }),
    })
    const launched = await admit({ request, limits, door, child, secret })
    void child.ended.then(forget)
    return launched
  } catch (error) {
    child?.kill()
    await child?.ended
    await door.close()
    forget?.()
    throw error
  }
}

interface Parts {
  readonly request: LaunchRequest
  readonly limits: LaunchLimits
  readonly door: Door
  readonly child: OwnedProcess
  readonly secret: string
}

/** Lets the peer in, and ties its life and that of its process together. */
async function admit({ request, limits, door, child, secret }: Parts): Promise<Launched> {
  let ending: Promise<void> | undefined
  const stop = () => {
    ending ??= child.endInOrder(kernel.askToEnd(limits.stopMs), { kernel, ...limits })
    return ending
  }
  const kernel = await firstToProve({
    door,
    child,
    startMs: limits.startMs,
    framing: {
      name: request.name,
      secret,
      rejoinMs: limits.rejoinMs,
      piped: true,
      background: (stream, text) => {
        child.remember(text)
        request.background?.(stream, text)
      },
      scripted: news => request.scripted?.(news),
      nudge: () => child.nudge(),
      release: stop,
      ...(request.attached && { attached: true }),
      ...(request.pulse && { pulse: request.pulse }),
    },
  })
  child.hear = (stream, text) => {
    // What belongs to no evaluation is remembered as such.
    if (kernel.hear(stream, text) && stream === 'stderr') child.remember(text)
  }
  door.answer(async transport => void (await kernel.rejoin({ transport })))
  void kernel.ended.then(end => {
    // A process that nobody can speak to any more is of no use; one that was let go of is ending in order.
    if (end.reason === 'lost') child.kill()
  })
  void child.ended.then(async end => {
    await Promise.race([kernel.disconnected(), pause(LAST_READ_MS)])
    kernel.lose(end)
    await door.close()
  })
  return { kernel, pid: child.pid, stop, kill: () => child.kill() }
}

interface FirstPeerOptions {
  readonly door: Door
  readonly child: OwnedProcess
  readonly startMs: number
  readonly framing: Omit<FramedOptions, 'transport'>
}

/** The first connection that proves itself is the kernel; until then, whoever else knocks is turned away. */
function firstToProve({ door, child, startMs, framing }: FirstPeerOptions): Promise<FramedKernel> {
  return new Promise((resolve, reject) => {
    let turnedAway: unknown
    const fail = (why: string, lastWords?: string) => {
      clearTimeout(limit)
      const cause = turnedAway === undefined ? {} : { cause: turnedAway }
      reject(new WireError('KERNEL_START_FAILED', why, { ...cause, lastWords }))
    }
    const limit = setTimeout(() => {
      const last = turnedAway instanceof Error ? ` The last connection failed: ${turnedAway.message}` : ''
      fail(`${framing.name} did not say hello within ${startMs} ms.${last}${child.lastWords}`)
    }, startMs)
    void child.ended.then(end => fail(`${framing.name} was not ready yet. ${end.message}`, end.lastWords))
    door.answer(async transport => {
      try {
        resolve(await framedKernel({ ...framing, transport }))
        clearTimeout(limit)
      } catch (error) {
        turnedAway = error
      }
    })
  })
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms).unref())

/** Connections of one door that have not proved themselves; one more is closed at once. */
const STRANGERS = 16

interface DoorOptions {
  /** A directory that only this user can enter; made if it is missing. */
  readonly runtimeDir: string
  /** Left out: `unix`, or `tcp` where the path would be too long for a socket. */
  readonly address?: 'unix' | 'tcp'
}

/** A listener for one kernel alone. Who comes is judged by whoever answers; only a few at a time may be undecided. */
class Door {
  #listener: { readonly address: string; close(): Promise<void> } | undefined
  #answer: ((transport: Duplex) => Promise<void>) | undefined
  #undecided = 0

  static async open({ runtimeDir, address }: DoorOptions): Promise<Door> {
    const path = join(runtimeDir, `k-${randomBytes(6).toString('hex')}.sock`)
    const kind = address ?? (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES ? 'tcp' : 'unix')
    if (kind === 'unix') checkPrivate(runtimeDir)
    const door = new Door()
    const place = kind === 'unix' ? `unix:${path}` : 'tcp:127.0.0.1:0'
    door.#listener = await listen(place, transport => void door.#welcome(transport))
    return door
  }

  get address(): string {
    return this.#listener?.address ?? ''
  }

  /** From now on, `answer` judges who comes; it settles when that is done, and rejects for a stranger. */
  answer(answer: (transport: Duplex) => Promise<void>): void {
    this.#answer = answer
  }

  async close(): Promise<void> {
    this.#answer = undefined
    await this.#listener?.close()
  }

  async #welcome(transport: Duplex): Promise<void> {
    transport.on('error', () => {})
    if (this.#undecided >= STRANGERS || this.#answer === undefined) {
      transport.destroy()
      return
    }
    this.#undecided++
    try {
      await this.#answer(transport)
    } catch {
      transport.destroy()
    } finally {
      this.#undecided--
    }
  }
}

/** Whoever can enter the directory can try the secret, so it must be a real one, ours, and closed to all others. */
function checkPrivate(path: string): void {
  const refuse = (why: string, cause?: unknown) =>
    new WireError('KERNEL_START_FAILED', `The runtime directory ${path} ${why}. Set another one.`, { cause })
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw refuse('cannot be made', error)
  }
  const found = lstatSync(path)
  if (!found.isDirectory()) throw refuse('is a link, or no directory')
  if (process.getuid && found.uid !== process.getuid()) throw refuse(`belongs to user ${found.uid}`)
  if ((found.mode & 0o077) !== 0) throw refuse('can be entered by others')
}
