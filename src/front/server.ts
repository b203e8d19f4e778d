import { realpathSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Encoding } from '../../wire/codec/messages.ts'
import { messageOf } from '../../wire/errors.ts'
import { Refusal, type ServedCall } from '../../wire/link/calls.ts'
import { acceptClient } from '../../wire/link/handshake.ts'
import type { Link } from '../../wire/link/link.ts'
import { type Listener, listen } from '../../wire/link/transport.ts'
import { keepSecret, secretsOf } from '../journal/redaction.ts'
import type { Log } from '../log.ts'
import { plainName } from '../text/escape.ts'
import type { PageSession } from './page-sessions.ts'
import type { CLIENT_FAILURES } from './protocol.ts'

/** Who is at the other end of one connection: fixed by its hello, and the same until it ends. */
export interface Session {
  readonly id: string
  /** As the client names itself, `imago call`, with nothing in it that is not seen. For people; it grants nothing. */
  readonly name: string
  readonly version: string
  /** The project whose default kernel is meant: an existing directory, links resolved. */
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** As the hello carried them, `positions` alone checked; over a WebSocket there is none but that. */
  readonly options: Readonly<Record<string, unknown>>
  /** The client came over a WebSocket, where no process can be proved, and so no person. */
  readonly overWeb?: boolean
  /** It is a page of ours: that session of it. */
  readonly page?: Pick<PageSession, 'id'> | undefined
}

/** One method of the client protocol. It may throw a `Refusal`; anything else is logged, and answered as a fault. */
export type Serve = (params: unknown, context: ServeContext) => Promise<unknown>

export interface ServeContext {
  readonly session: Session
  /** For asking the client something while its call runs. */
  readonly link: Link
  readonly served: ServedCall
}

interface ServerOptions {
  /** `unix:/path`. The directory is private already, and what a dead daemon left there is gone. */
  readonly address: string
  readonly welcome: Readonly<Record<string, unknown>>
  /** Listens for WebSockets, where the daemon takes them; called before the socket answers, and for `openWeb`. */
  web?(accept: Accept, isAsked: boolean): Promise<Listener | undefined>
  readonly methods: ReadonlyMap<string, Serve>
  /** A client that is no MCP client has connected; what is answered is called when it has gone. */
  came?(session: Session): () => void
  /** Serves an MCP client whose bytes begin after the welcome; settles when it has gone. */
  serveMcp(connection: { session: Session; transport: Duplex }): Promise<void>
  readonly log: Log
  readonly limits: ServerLimits
}

/** Takes a connection. `web`: of a WebSocket, whose subprotocol has fixed the encoding; left out for a Unix socket. */
export type Accept = (transport: Duplex, web?: OverWeb) => void

interface OverWeb {
  readonly encoding: Encoding
  /** Undefined for a program of the user's. */
  readonly page: PageSession | undefined
}

export interface ServerLimits {
  /** Connections at once, those still at their hello included. */
  readonly connections: number
  /** Of these, MCP clients: hosts keep theirs for days, and a terminal shall find a place beside them. */
  readonly mcpClients: number
  /** A client that has been silent this long is asked for a sign of life, and dropped without one. */
  readonly heartbeatMs: number
  /** Calls that one client may have pending. */
  readonly pendingCalls: number
}

export const SERVER_LIMITS: ServerLimits = {
  connections: 1_024,
  mcpClients: 960,
  heartbeatMs: 15_000,
  pendingCalls: 256,
}

export interface Server {
  readonly address: string
  /** Where WebSockets connect; undefined where the daemon takes none. */
  readonly web: string | undefined
  /** The same, and from now on it takes them. Rejects with the `Failure` of a port that cannot be listened at. */
  openWeb(): Promise<string>
  /** Connected now. */
  readonly clients: () => number
  /** Refuses new clients, then ends the connections. */
  close(): Promise<void>
}

/**
 * Accepts the clients of the daemon. Each has a connection of its own, and nothing that one of them sends, or does
 * not read, reaches another. A connection that ends takes its session along; the calls it made go on.
 */
export async function openServer(options: ServerOptions): Promise<Server> {
  const { limits, log } = options
  const connections = new Set<Duplex>()
  const links = new Map<Link, Session>()
  let made = 0
  let mcpClients = 0
  let ending = false

  const accept: Accept = (transport, over) => {
    transport.on('error', () => {})
    if (connections.size >= limits.connections) {
      log.warn({ connections: connections.size }, 'A client was turned away: there are too many.')
      transport.destroy()
      return
    }
    connections.add(transport)
    transport.once('close', () => connections.delete(transport))
    welcome(transport, over).catch(error => {
      log.info({ reason: messageOf(error) }, 'A connection did not become a client.')
      transport.destroy()
    })
  }
  let web = await options.web?.(accept, false)
  let opening: Promise<string> | undefined
  const listener = await listen(options.address, transport => accept(transport))
  const heart = setInterval(() => beat(links.keys(), limits.heartbeatMs), limits.heartbeatMs)
  heart.unref()

  async function welcome(transport: Duplex, over: OverWeb | undefined) {
    const overWeb = over !== undefined
    const { page } = over ?? {}
    const session: { current?: Session } = {}
    let link: Link | undefined
    const accepted = await acceptClient({
      transport,
      encoding: over?.encoding,
      welcome: { ...options.welcome, ...(page?.secret && { session: page.secret }) },
      limits: { pendingCalls: limits.pendingCalls },
      judge(hello) {
        if (ending) return refusal('ending', 'The daemon is ending. Connect again.')
        const root = realDirectory(hello.root)
        if (root === undefined)
          return refusal('invalid_root', 'The root is not the absolute path of a directory.')
        if (page !== undefined && root !== page.root)
          return refusal('invalid_root', 'This session of a page is of another project.')
        if (hello.role === 'mcp') {
          if (overWeb)
            return refusal(
              'invalid_hello',
              'No MCP is spoken over a WebSocket. Start the MCP server: imago mcp',
            )
          if (mcpClients >= limits.mcpClients)
            return refusal('too_many_clients', `${mcpClients} MCP clients are connected: end some of them.`)
          mcpClients++
          transport.once('close', () => mcpClients--)
        }
        const { env } = page ?? hello
        const [name, version] = [plainName(hello.name.slice(0, 80)), plainName(hello.version.slice(0, 40))]
        const { positions } = hello.options ?? {}
        if (!POSITIONS.includes(positions))
          return refusal('invalid_hello', 'positions among the options is "utf-16" or "utf-32".')
        const given = overWeb ? { positions } : (hello.options ?? {})
        const id = `client-${++made}`
        session.current = { id, name, version, root, env, options: given, overWeb, page }
        return undefined
      },
      serve(method, params, served) {
        if (session.current === undefined || link === undefined)
          throw new Error('a call came before the welcome')
        return serveCall({ method, params, context: { session: session.current, link, served } })
      },
    })
    const current = session.current
    if (current === undefined) throw new Error('a client was accepted without being judged')
    log.info({ client: current.id, name: current.name, version: current.version }, 'A client connected.')
    const forget = secretsOf(current.env).map(value => keepSecret(value, 'environment variable', current.id))
    let reason: string | undefined
    try {
      if (accepted.type === 'mcp') {
        await options.serveMcp({ session: current, transport: accepted.transport })
      } else {
        link = accepted.link
        links.set(link, current)
        const gone = options.came?.(current)
        reason = (await link.closed)?.message
        links.delete(link)
        gone?.()
      }
    } finally {
      for (const forgetOne of forget) forgetOne()
    }
    transport.destroy()
    log.info({ client: current.id, reason }, 'A client left.')
  }

  async function serveCall({ method, params, context }: Call) {
    const serve = options.methods.get(method)
    if (serve === undefined) {
      const known = [...options.methods.keys()].join(', ')
      throw new Refusal(
        'unknown_method',
        `The daemon has no method ${method.slice(0, 80)}; a tool is run by call. It has: ${known}.`,
      )
    }
    try {
      return await serve(params, context)
    } catch (error) {
      if (!(error instanceof Refusal))
        log.error({ error, method, client: context.session.id }, 'A method failed.')
      throw error
    }
  }

  return {
    address: listener.address,
    get web() {
      return web?.address
    },
    openWeb() {
      const open = async () => {
        web ??= await options.web?.(accept, true)
        if (web === undefined) throw new Error('no WebSockets were listened for')
        return web.address
      }
      opening ??= open().finally(() => {
        opening = undefined
      })
      return opening
    },
    clients: () => connections.size,
    async close() {
      ending = true
      clearInterval(heart)
      // First, so that whoever connects from now on finds nobody and starts the next daemon.
      await listener.close()
      await web?.close()
      const bye = { code: 'ending', message: 'The daemon is ending.' }
      await Promise.all([...links.keys()].map(link => link.close(bye)))
      for (const transport of connections) transport.destroy()
    },
  }
}

interface Call {
  readonly method: string
  readonly params: unknown
  readonly context: ServeContext
}

/** The units in which a client can count, as the language server protocol names them: code points unless it says so. */
const POSITIONS: readonly unknown[] = [undefined, 'utf-32', 'utf-16']

const refusal = (code: keyof typeof CLIENT_FAILURES, message: string) => ({ refused: { code, message } })

function realDirectory(path: string): string | undefined {
  try {
    if (!isAbsolute(path) || !statSync(path).isDirectory()) return undefined
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Only the silent are asked, so a busy or a large crowd costs next to nothing. */
function beat(links: Iterable<Link>, heartbeatMs: number) {
  for (const link of links) {
    if (performance.now() - link.lastHeard < heartbeatMs) continue
    link
      .ping(heartbeatMs)
      // After this process itself was held up, timers run before the bytes that wait: let those be read first.
      .catch(() => new Promise(resolve => setImmediate(resolve)))
      .then(() => {
        if (performance.now() - link.lastHeard < heartbeatMs) return
        return link.close({ code: 'unresponsive', message: `Nothing came for ${2 * heartbeatMs} ms.` })
      })
  }
}
