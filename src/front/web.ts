import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Encoding, HEADER_BYTES, LIMITS } from '../../wire/codec/messages.ts'
import type { Listener } from '../../wire/link/transport.ts'
import { EXIT, Failure } from '../failure.ts'
import { keepSecret } from '../journal/redaction.ts'
import type { Accept } from './server.ts'

interface WebOptions {
  /** Of 127.0.0.1; 0 lets the system choose. */
  readonly port: number
  /** Gets the address and the token, for programs of the user. Nothing is there yet. */
  readonly file: string
  /** Connections at once, those that have shown no token yet included. */
  readonly connections: number
  readonly accept: Accept
}

/** Each message is the body of one frame of the client protocol: bytes for msgpack, text for JSON. */
const SUBPROTOCOLS: Readonly<Record<string, Encoding>> = {
  'imago.v2.msgpack': 'msgpack',
  'imago.v2.json': 'json',
}

/** What a browser offers beside one of those, because a page can set no header. */
const TOKEN_PREFIX = 'imago.token.'

/** The paths that there are. */
const ROUTES: ReadonlySet<string> = new Set(['/'])

/** How long a request may take to come, in milliseconds. */
const REQUEST_MS = 5_000

/** How many pings may wait for their answer. */
const PINGS = 64

/**
 * Takes clients over WebSocket, at the loopback address. Host, Origin and token of each request are checked before all
 * else. Throws a `Failure` where the port cannot be listened at.
 */
export async function openWeb({ port: wanted, file, connections, accept }: WebOptions): Promise<Listener> {
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
  const timeouts = {
    headersTimeout: REQUEST_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: 1_000,
  }
  const server = createServer({ ...timeouts, noDelay: true })
  server.maxConnections = connections

  const refuse = (request: IncomingMessage, response: ServerResponse) => {
    const [status, why] = refusalOf(request, { port, token }) ?? [426, 'Ask for a WebSocket here.']
    response.writeHead(status, { connection: 'close', 'content-type': 'text/plain' }).end(`${why}\n`)
  }
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, refuse)
  for (const event of ['upgrade', 'connect'])
    server.on(event, (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => {})
      const [, encoding] = encodingIn(offeredBy(request)) ?? []
      if (encoding !== undefined && refusalOf(request, { port, token }) === undefined)
        return sockets.handleUpgrade(request, socket, head, web =>
          accept(carrying(web, { socket, encoding }), encoding),
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

/** Why a request is refused: status and sentence, with nothing of the request in it. `undefined` where it is not. */
function refusalOf(
  request: IncomingMessage,
  { port, token }: { readonly port: number; readonly token: string },
): [status: number, why: string] | undefined {
  const { headers, headersDistinct, url = '' } = request
  const [host = '', ...more] = headersDistinct.host ?? []
  if (more.length > 0 || !url.startsWith('/') || ![`127.0.0.1:${port}`, `localhost:${port}`].includes(host))
    return [421, STATUS_CODES[421] ?? '']
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    return [403, 'No page of another origin is let in.']
  const bearer = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1]
  const offered = offeredBy(request)
  const shown = offered.flatMap(name =>
    name.startsWith(TOKEN_PREFIX) ? [name.slice(TOKEN_PREFIX.length)] : [],
  )
  if (![bearer ?? '', ...shown].some(one => isSame(one, token)))
    return [401, 'The token is missing or wrong. It is in the file that imago serve names.']
  if (!ROUTES.has(url)) return [404, STATUS_CODES[404] ?? '']
  if (headers.upgrade !== undefined && encodingIn(offered) === undefined)
    return [400, `Offer the subprotocol ${Object.keys(SUBPROTOCOLS).join(' or ')}.`]
  return undefined
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
