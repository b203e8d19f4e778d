import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Envelope } from '../../tools/outcome.ts'
import { CLIENT_PROTOCOL } from '../../wire/codec/messages.ts'
import { messageOf, WireError } from '../../wire/errors.ts'
import type { Question } from '../../wire/kernel.ts'
import { Refusal } from '../../wire/link/calls.ts'
import { openClient } from '../../wire/link/handshake.ts'
import type { Link } from '../../wire/link/link.ts'
import { startOf } from '../../wire/process-start.ts'
import type { CallEvent } from '../calls/contract.ts'
import { refuseDebugger } from '../debugger.ts'
import { helloEnvironment } from '../environment.ts'
import { Failure, OTHER_PROTOCOL } from '../failure.ts'
import type { OutputRow } from '../kernels/background.ts'
import { findPaths, findRoot, type Paths, VERSION } from '../paths.ts'
import type { SuspensionEvent } from '../suspensions/rows.ts'
import type { Ask, Method, Methods, SeatEvent, TerminalChallenge } from './protocol.ts'
import { reachDaemon, type Start } from './reach.ts'
import type { SubscriptionEvent } from './subscriptions.ts'
import { suspensionNews } from './suspension-news.ts'
import { newsOf } from './topic-news.ts'

/** An evaluation typed by a person is waited for as long as the person does. */
export const WAIT_SECONDS = 1_000_000

export interface ConnectOptions {
  /** As this client names itself, such as `imago call`. */
  readonly name: string
  readonly start: Start
  /** The project: an absolute path. Fixed for the connection. */
  readonly root: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly paths?: Paths
  /** Whether this process has a terminal, which it shows where the daemon asks. Left out: as it is. */
  readonly terminal?: boolean
  /** Its calls count positions in units of UTF-16. Left out: in code points. */
  readonly positions?: 'utf-16'
}

export interface ToolCall {
  readonly tool: string
  readonly args: unknown
  /** The key of the call; the same key again returns the existing state. Made up unless given. */
  readonly call?: string
  /** A question to a person waits without end. */
  readonly held?: NonNullable<Methods['call']['params']['held']>
  /** Aborting interrupts the call, which is answered all the same. */
  readonly signal?: AbortSignal
  on?(event: CallEvent): void
  /** Answers what the running code asks. Absent or rejecting: refused, and the code is told. */
  ask?(question: Question): Promise<string>
}

interface WatchOptions {
  /** Of the kernel; read at each text, so that it may change. */
  readonly name: string | undefined
  readonly signal: AbortSignal
  heard(text: string): void
}

interface WatchSuspensionsOptions {
  /** Those of all projects; left out: of this one. */
  readonly everywhere?: boolean
  readonly signal: AbortSignal
  heard(event: SuspensionEvent): void
}

export interface SeatOptions {
  /** What it asks for. */
  readonly wanted: Methods['sit']['params']
  /** Aborting it leaves the seat. */
  readonly signal: AbortSignal
  heard(event: SeatEvent): void
}

export type SubscribeOptions = Methods['subscribe']['params'] & {
  readonly signal: AbortSignal
  heard(event: SubscriptionEvent): void
}

/** A connection to the daemon, with its methods. Faults are `WireError`s; what a tool answers is an envelope. */
export interface DaemonClient extends AsyncDisposable {
  readonly daemon: { readonly version: string; readonly pid: number; readonly instance: string }
  call(call: ToolCall): Promise<Envelope>
  request<M extends Exclude<Method, 'call'>>(
    method: M,
    params: Methods[M]['params'],
  ): Promise<Methods[M]['result']>
  /** Tells what a kernel prints from now on while no call runs in it, until `signal` aborts. Never rejects. */
  watch(watching: WatchOptions): Promise<void>
  /** Tells what becomes of suspended evaluations, until `signal` aborts. Never rejects. */
  watchSuspensions(watching: WatchSuspensionsOptions): Promise<void>
  /** Tells what changes in topics, until `signal` aborts or the connection ends. Rejects where it is refused. */
  subscribe(following: SubscribeOptions): Promise<void>
  /** Offers texts of files to the tools of the project, until the connection ends. Rejects where it is refused. */
  offerBuffers(textAt: (path: string) => string | undefined): Promise<void>
  /** Has a seat until `signal` aborts or the connection ends; rejects where it is refused or lost. One at a time. */
  sit(sitting: SeatOptions): Promise<void>
  readonly closed: Promise<WireError | undefined>
  /** Settles once the daemon has hung up and its process is gone: its place is free. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/**
 * Connects to the user's daemon, and starts it first where that is allowed and needed. A daemon of another version
 * is replaced when nobody uses it, and one that is just ending is waited for. Throws a `Failure` that says what to do.
 */
export async function connectDaemon(connecting: ConnectOptions): Promise<DaemonClient> {
  const deadline = performance.now() + SETTLE_MS
  for (;;) {
    const client = await tryOpen(connecting, deadline)
    if (client === undefined) await sleep(50)
    else if (client.daemon.version === VERSION || connecting.start === 'never') return client
    else await replace(client, deadline)
  }
}

/** The connection of a command, whose project is that of the folder that it is called in. */
export const connectHere = (name: string, start: Start = 'if-needed'): Promise<DaemonClient> =>
  connectDaemon({ name, start, root: findRoot(process.cwd()) })

/** How long daemons that end, and daemons of another version, may follow each other, in milliseconds. */
const SETTLE_MS = 30_000

/** `undefined` if the daemon hung up because it is ending, and another one may be started. */
async function tryOpen(connecting: ConnectOptions, deadline: number): Promise<DaemonClient | undefined> {
  try {
    return await openConnection(connecting)
  } catch (error) {
    const ending = error instanceof WireError && (error.code === 'LINK_CLOSED' || isRemote(error, 'ending'))
    if (ending && connecting.start === 'if-needed' && performance.now() < deadline) return undefined
    throw refusedBy(error)
  }
}

async function replace(client: DaemonClient, deadline: number): Promise<void> {
  const { version, pid } = client.daemon
  const skew = `The daemon (version ${version}, process ${pid}) is of another version than this command (${VERSION})`
  try {
    if (performance.now() > deadline)
      throw new Failure(`${skew}, and others of that version keep starting it.`)
    await client.request('shutdown', { when: 'unused' })
    await client.ended
  } catch (error) {
    await client.close()
    if (!isRemote(error, 'in_use')) throw error
    throw new Failure(
      `${skew}, and it is in use: ${error.remote?.message ?? error.message} Let that end, or end it with: imago shutdown --force`,
      { cause: error },
    )
  }
}

/** Whether the other end answered with this code. */
function isRemote(error: unknown, code: string): error is WireError {
  return error instanceof WireError && error.remote?.code === code
}

async function openConnection({
  name,
  start,
  root,
  env = process.env,
  paths = findPaths(),
  terminal = process.stdin.isTTY === true && process.stdout.isTTY === true,
  positions,
}: ConnectOptions) {
  const asked: Asked = { calls: new Map(), textAt: undefined }
  const transport = await reachDaemon({ paths, start })
  try {
    const { welcome, link } = await openClient({
      transport,
      hello: {
        role: 'client',
        protocol: CLIENT_PROTOCOL,
        name,
        version: VERSION,
        root,
        env: helloEnvironment(env),
        encodings: ['json'],
        options: { ...(terminal && { terminal }), ...(positions && { positions }), ...sessionOf() },
      },
      serve: (method, params) => answer(asked, method, params),
    })
    const { version, pid, instance } = welcome
    return clientOf({
      link,
      asked,
      daemon: { version: String(version), pid: Number(pid), instance: String(instance) },
    })
  } catch (error) {
    transport.destroy()
    throw error
  }
}

/** The session of this process: those that a shell starts at one terminal have the same. */
function sessionOf(): { session?: string } {
  try {
    const [, , , session] = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return session === undefined ? {} : { session }
  } catch {
    return {}
  }
}

/** Who answers what the daemon asks. */
interface Asked {
  /** What the code of each call asks. */
  readonly calls: Map<string, NonNullable<ToolCall['ask']>>
  /** The text of a file that is open here. */
  textAt: ((path: string) => string | undefined) | undefined
}

interface Connection {
  readonly link: Link
  readonly asked: Asked
  readonly daemon: DaemonClient['daemon']
}

function clientOf({ link, asked, daemon }: Connection): DaemonClient {
  const close = () => link.close()
  async function subscribe({ signal, heard, ...params }: SubscribeOptions): Promise<void> {
    const on = (event: unknown) => heard(event as SubscriptionEvent)
    await link.call('subscribe', params, { signal, on }).catch(error => {
      // A link that ends is told by `closed`.
      if (!signal.aborted && error instanceof WireError && error.remote !== undefined) throw error
    })
  }
  return {
    daemon,
    async call({ tool, args, call = randomUUID(), held, signal, on, ask }) {
      if (ask !== undefined) asked.calls.set(call, ask)
      try {
        const params: Methods['call']['params'] = {
          tool,
          args,
          call,
          follow: on !== undefined,
          ...(held && { held }),
        }
        const options = {
          ...(signal === undefined ? {} : { signal }),
          ...(on === undefined ? {} : { on: (event: unknown) => on(event as CallEvent) }),
        }
        return (await link.call('call', params, options)) as Envelope
      } finally {
        asked.calls.delete(call)
      }
    },
    // Daemon and client are one program of one version, so answers have the types that both were compiled with.
    request: async (method, params) => (await link.call(method, params)) as never,
    async watch(watching) {
      const heard = newsOf<OutputRow>(({ row, before, isFirst }) => {
        const news = isFirst || row?.kernel !== watching.name ? '' : row?.text.slice(before?.text.length)
        if (news) watching.heard(news)
      })
      const { signal } = watching
      await subscribe({ topics: ['output'], everywhere: true, signal, heard }).catch(() => {})
    },
    async watchSuspensions({ everywhere = false, signal, heard }) {
      const news = suspensionNews(heard)
      await subscribe({ topics: ['suspensions'], everywhere, signal, heard: news }).catch(() => {})
    },
    subscribe,
    async offerBuffers(textAt) {
      asked.textAt = textAt
      await link.call('offer_buffers', {})
    },
    async sit({ wanted, signal, heard }) {
      await link.call('sit', wanted, { signal, on: event => heard(event as SeatEvent) })
    },
    closed: link.closed,
    get ended() {
      return link.closed.then(() => processGone(daemon.pid))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Bounded, should the number be used again at once. */
async function processGone(pid: number): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await sleep(10))
    if (startOf(pid) === undefined) return
}

async function answer(asked: Asked, method: string, params: unknown): Promise<unknown> {
  if (method === 'prove') return proved(params as TerminalChallenge)
  if (method === 'buffer') return { text: asked.textAt?.((params as { path: string }).path) ?? null }
  if (method !== 'ask') throw new Refusal('unknown_method', `A client has no method ${method}.`)
  const { call, question } = params as Ask
  const ask = asked.calls.get(call)
  if (ask === undefined) throw new Refusal('refused', 'Nobody answers questions of this call.')
  try {
    return { answer: await ask(question) }
  } catch (error) {
    throw new Refusal('refused', messageOf(error))
  }
}

/** The daemon asks for it before it gives a seat, and before it tells a person of other projects. */
function proved(challenge: TerminalChallenge): { readonly pid: number } {
  try {
    return showTerminal(challenge)
  } catch (error) {
    throw new Refusal('refused', messageOf(error))
  }
}

/** Files by which the daemon sees that it is this very process that asks: it looks at once, at one or two of them. */
const shown: number[] = []

const MOST_SHOWN = 4

/** Opens the file as it is told, and keeps it open for a while. Throws why it does not. */
function showTerminal({ file, position, terminal }: TerminalChallenge): { pid: number } {
  refuseDebugger()
  if (terminal !== false && !(process.stdin.isTTY && process.stdout.isTTY))
    throw new Error('It has no terminal that it reads from and writes to.')
  if (!/^seat\.[0-9a-f]+\.proof$/.test(basename(file))) throw new Error(`${file} is no file of a proof.`)
  const opened = openSync(file, 'r+')
  shown.push(opened)
  if (shown.length > MOST_SHOWN) closeSync(shown.shift() ?? opened)
  readSync(opened, Buffer.alloc(position))
  return { pid: process.pid }
}

/** A refusal at the hello, in words that say what to do. */
function refusedBy(error: unknown): unknown {
  if (!(error instanceof WireError)) return error
  if (error.code !== 'VERSION_MISMATCH')
    return new Failure(`The daemon refused: ${error.message}`, { cause: error })
  return new Failure(
    `The daemon that runs speaks another protocol than this command: ${error.message} ${OTHER_PROTOCOL}`,
    { cause: error },
  )
}

/** One request to the daemon, on a connection of its own; the daemon is started where it is not there. */
export async function request<M extends Exclude<Method, 'call'>>(
  method: M,
  params: Methods[M]['params'],
): Promise<Methods[M]['result']> {
  await using client = await connectHere(`imago ${method}`)
  return await client.request(method, params)
}
