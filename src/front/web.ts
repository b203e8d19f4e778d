import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Encoding, HEADER_BYTES, LIMITS } from '../../wire/codec/messages.ts'
import type { Listener } from '../../wire/link/transport.ts'
import { EXIT, Failure } from '../failure.ts'
import { keepSecret } from '../journal/redaction.ts'
import { PACKAGE_ROOT } from '../paths.ts'
import type { PageSession, PageSessions } from './page-sessions.ts'
import type { Accept } from './server.ts'

interface WebOptions {
  /** Of 127.0.0.1; 0 lets the system choose. */
  readonly port: number
  /** Gets the address and the token, for programs of the user. Nothing is there yet. */
  readonly file: string
  /** Connections at once, those that have shown no token yet included. */
  readonly connections: number
  readonly pages: Pick<PageSessions, 'take'>
  readonly accept: Accept
}

/** Each message is the body of one frame of the client protocol: bytes for msgpack, text for JSON. */
const SUBPROTOCOLS: Readonly<Record<string, Encoding>> = {
  'imago.v2.msgpack': 'msgpack',
  'imago.v2.json': 'json',
}

/** What a browser offers beside one of those, because a page can set no header. */
const TOKEN_PREFIX = 'imago.token.'

/** Where WebSockets connect, with a token, and the files of the page, which hold no data, without one. */
export const ROUTES: Readonly<Record<string, 'sockets' | Readonly<Record<'file' | 'type', string>>>> = {
  '/': 'sockets',
  '/page': { file: 'index.html', type: 'text/html' },
  '/page.js': { file: 'page.js', type: 'text/javascript' },
  '/page.css': { file: 'page.css', type: 'text/css' },
}

const PAGE_FOLDER = join(PACKAGE_ROOT, 'dist/src/page')

/** A page runs no script and shows no picture but its own, and is shown in no other page. */
const pageHeaders = (host: string) => ({
  'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws://${host}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // Another build may answer the next time.
  'cache-control': 'no-store',
})

/** How long a request may take to come, in milliseconds. */
const REQUEST_MS = 5_000

/** How many pings may wait for their answer. */
const PINGS = 64

/** Takes clients over WebSocket, at the loopback address. Throws a `Failure` where the port cannot be listened at. */
export async function openWeb(options: WebOptions): Promise<Listener> {
  const { port: wanted, file, connections, pages, accept } = options
  const token = randomBytes(32).toString('base64url')
  const forget = keepSecret(token, 'token of the WebSocket')
  const settings = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LIMITS.frameBytes,
    maxFragments: 1_024,
    maxBufferedChunks: 16_384,
    autoPong: false,
    closeTimeout: 1_000,
    handleProtocols: (offered: Set<string>) => encodingIn([...offered])?.[0] ?? false,
  }
  const sockets = new WebSocketServer(settings)
  const [headersTimeout, requestTimeout] = [REQUEST_MS, REQUEST_MS]
  const timeouts = { headersTimeout, requestTimeout, connectionsCheckingInterval: 1_000 }
  const server = createServer({ ...timeouts, noDelay: true })
  server.maxConnections = connections

  const refuse = (request: IncomingMessage, response: ServerResponse) => {
    const asked = isProgram(request, token) ? (routeFault(request) ?? NO_SOCKET) : UNKNOWN
    const [status, why] = originFault(request, port) ?? asked
    response.writeHead(status, { connection: 'close', 'content-type': 'text/plain' }).end(`${why}\n`)
  }
  server.on('request', (request, response) => {
    const asked = originFault(request, port) === undefined ? fileOf(request) : undefined
    if (asked === undefined) return refuse(request, response)
    const headers = { ...pageHeaders(request.headers.host ?? ''), connection: 'close' }
    response.writeHead(200, { ...headers, 'content-type': `${asked.type}; charset=utf-8` })
    response.end(readFileSync(join(PAGE_FOLDER, asked.file)))
  })
  for (const event of ['checkContinue', 'checkExpectation']) server.on(event, refuse)
  for (const event of ['upgrade', 'connect'])
    server.on(event, (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => {})
      const [, encoding] = encodingIn(offeredBy(request)) ?? []
      const isMeant =
        encoding !== undefined && (originFault(request, port) ?? routeFault(request)) === undefined
      const page = isMeant && !isProgram(request, token) ? pageOf(request, pages) : undefined
      if (isMeant && (page !== undefined || isProgram(request, token)))
        return sockets.handleUpgrade(request, socket, head, web =>
          accept(carrying(web, { socket, encoding }), { encoding, page }),
        )
      const response = new ServerResponse(request)
      response.assignSocket(socket)
      response.once('finish', () => socket.destroySoon())
      refuse(request, response)
    })

  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another program listens there' : cause.message
      const fix = 'Choose another one: imago serve --web PORT, or port below [web] in config.toml'
      const said = `The WebSocket port ${wanted} of 127.0.0.1 cannot be used: ${why}. ${fix}.`
      reject(new Failure(said, { exit: EXIT.failed, cause }))
    })
    server.listen(wanted, '127.0.0.1', resolve)
  })
  server.on('error', () => {})
  const { port } = server.address() as AddressInfo
  const address = `ws://127.0.0.1:${port}/`
  writeFileSync(file, `${JSON.stringify({ address, token })}\n`, { flag: 'wx', mode: 0o600 })
  return {
    address,
    async close() {
      rmSync(file, { force: true })
      server.close()
      server.closeAllConnections()
      forget()
    },
  }
}

/** Why a request is refused: status and sentence, with nothing of the request in it. */
type Why = readonly [status: number, why: string]

const UNKNOWN: Why = [401, 'The token is missing or wrong. It is in the file that imago serve names.']
const NO_SOCKET: Why = [426, 'Ask for a WebSocket here.']

/** Of any request, before all else. */
function originFault({ headers, headersDistinct, url = '' }: IncomingMessage, port: number): Why | undefined {
  const [host = '', ...more] = headersDistinct.host ?? []
  if (more.length > 0 || !url.startsWith('/') || ![`127.0.0.1:${port}`, `localhost:${port}`].includes(host))
    return [421, STATUS_CODES[421] ?? '']
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    return [403, 'No page of another origin is let in.']
  return undefined
}

const routeOf = ({ url = '' }: IncomingMessage) => (Object.hasOwn(ROUTES, url) ? ROUTES[url] : undefined)

/** Of one that shows what lets it in. */
function routeFault(request: IncomingMessage): Why | undefined {
  if (routeOf(request) !== 'sockets') return [404, STATUS_CODES[404] ?? '']
  if (request.headers.upgrade !== undefined && encodingIn(offeredBy(request)) === undefined)
    return [400, `Offer the subprotocol ${Object.keys(SUBPROTOCOLS).join(' or ')}.`]
  return undefined
}

/** The file of the page that is asked for. */
function fileOf(request: IncomingMessage) {
  const route = routeOf(request)
  return request.method === 'GET' && route !== 'sockets' ? route : undefined
}

const shownBy = (request: IncomingMessage): readonly string[] =>
  offeredBy(request).flatMap(name => (name.startsWith(TOKEN_PREFIX) ? [name.slice(TOKEN_PREFIX.length)] : []))

/** It shows the token of the file. */
function isProgram(request: IncomingMessage, token: string): boolean {
  const bearer = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1]
  return [bearer ?? '', ...shownBy(request)].some(one => isSame(one, token))
}

/** The session of a page, which shows its token or its secret as a subprotocol. A token is used up by this. */
function pageOf(request: IncomingMessage, pages: WebOptions['pages']): PageSession | undefined {
  const [shown] = shownBy(request)
  return shown === undefined ? undefined : pages.take(shown)
}

const offeredBy = ({ headers }: IncomingMessage): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())

const encodingIn = (offered: readonly string[]) =>
  Object.entries(SUBPROTOCOLS).find(([name]) => offered.includes(name))

const digest = (text: string) => createHash('sha256').update(text).digest()

const isSame = (given: string, token: string) => timingSafeEqual(digest(given), digest(token))

/** The stream of frames that a Unix socket would be, over one WebSocket: each message is the body of one frame. */
function carrying(web: WebSocket, o: { readonly socket: Duplex; readonly encoding: Encoding }): Duplex {
  const binary = o.encoding === 'msgpack'
  let pings = 0
  const send = (frame: Buffer, sent?: (error?: Error | null) => void) =>
    web.send(frame.subarray(HEADER_BYTES), { binary }, sent)
  const carried = new Duplex({
    read: () => web.resume(),
    write: (frame: Buffer, _, sent) => send(frame, sent),
    // A link writes whole frames, and those of one turn together.
    writev(frames: readonly { chunk: Buffer }[], sent) {
      o.socket.cork()
      for (const [at, { chunk }] of frames.entries()) send(chunk, at === frames.length - 1 ? sent : undefined)
      o.socket.uncork()
    },
    final(done) {
      web.close(1000)
      done()
    },
    destroy(error, done) {
      if (web.readyState === web.CLOSED) return done(error)
      web.once('close', () => done(error))
      web.resume()
      web.close(1008, 'The link has ended.')
    },
  })
  web.on('message', (body: Buffer, isBinary) => {
    if (web.readyState !== web.OPEN) return
    if (isBinary !== binary)
      return web.close(1003, `Messages of this subprotocol are ${binary ? 'binary' : 'text'}.`)
    const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length)
    frame.writeUInt32BE(body.length, 0)
    body.copy(frame, HEADER_BYTES)
    if (!carried.push(frame)) web.pause()
  })
  web.on('ping', (data: Buffer) => {
    if (++pings > PINGS) web.close(1008, 'Too many pings.')
    else web.pong(data, false, () => pings--)
  })
  // The package closes a WebSocket that breaks a rule, with the code of that rule.
  web.on('error', () => {})
  web.on('close', () => {
    carried.push(null)
    carried.destroy()
  })
  return carried
}
