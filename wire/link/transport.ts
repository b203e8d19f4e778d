import { createServer, connect as dial, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WireError } from '../errors.ts'

/** The longest path of a Unix socket, in bytes. The system cuts longer ones off without a word. */
export const MAX_SOCKET_PATH_BYTES = 103

/** How long a transport may take to carry the last words of this end, in milliseconds. */
const LAST_WORDS_MS = 1_000

export interface Listener {
  /** Where it can be reached: the address asked for, with the port that was given in place of 0. */
  readonly address: string
  /** Accepts no more, and removes the socket's file. Transports that were accepted live on. */
  close(): Promise<void>
}

/** Connections that may wait to be accepted: one more is turned away by the system, and a crowd comes all at once. */
const BACKLOG = 1_024

/**
 * Waits for connections at `unix:/path` or `tcp:127.0.0.1:PORT`; port 0 lets the system choose. Every connection
 * is handed to `onTransport`, paused; it is the caller's to close. Throws `LINK_REFUSED` for an address that
 * cannot be listened at: what to do about a file that is in the way is the caller's to decide.
 */
export async function listen(address: string, onTransport: (transport: Duplex) => void): Promise<Listener> {
  const place = parseAddress(address)
  const server = createServer({ pauseOnConnect: false, noDelay: true }, onTransport)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(refused(address, 'cannot be listened at', cause)))
    server.listen({ ...place, backlog: BACKLOG }, resolve)
  })
  // A failed accept concerns one connection that nobody has yet.
  server.on('error', () => {})
  return { address: addressOf(server, address), close: async () => void server.close() }
}

/** A connection to an address of `listen`. Throws `LINK_REFUSED` if there is nobody, or no such address. */
export async function connect(address: string): Promise<Duplex> {
  const place = parseAddress(address)
  return new Promise<Socket>((resolve, reject) => {
    const socket = dial({ ...place, noDelay: true })
    const fail = (cause: Error) => reject(refused(address, 'cannot be connected to', cause))
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

/**
 * Ends a transport after it has carried `lastWords`, if any, and what was written before. It is destroyed when that
 * is done, or after a second with an end that does not read. Resolves once it is gone.
 */
export function finish(transport: Duplex, lastWords?: Uint8Array): Promise<void> {
  if (transport.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    const destroy = () => void transport.destroy()
    const timer = setTimeout(destroy, LAST_WORDS_MS)
    transport.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    // An end that has ended too will not tell that it has read the last of it.
    const heard = () => {
      if (transport.readableEnded && transport.writableLength === 0) transport.destroy()
    }
    transport.once('error', destroy).once('finish', destroy).once('end', heard)
    if (lastWords !== undefined && !transport.writableEnded) transport.write(lastWords, heard)
    transport.end()
    heard()
  })
}

function parseAddress(address: string): { path: string } | { host: string; port: number } {
  const path = /^unix:(\/.+)$/s.exec(address)?.[1]
  if (path !== undefined) {
    const bytes = Buffer.byteLength(path)
    if (path.includes('\0') || bytes > MAX_SOCKET_PATH_BYTES)
      throw new WireError(
        'LINK_REFUSED',
        `The path ${path} is ${bytes} bytes long; a Unix socket's has at most ${MAX_SOCKET_PATH_BYTES}, and no NUL. ` +
          'Choose a shorter directory, such as with IMAGO_RUNTIME_DIR.',
      )
    return { path }
  }
  const port = Number(/^tcp:127\.0\.0\.1:(\d{1,5})$/.exec(address)?.[1] ?? Number.NaN)
  if (port <= 65_535) return { host: '127.0.0.1', port }
  throw new WireError(
    'LINK_REFUSED',
    `${address} is no address here. Addresses are unix:/path and tcp:127.0.0.1:PORT; nothing else is reachable.`,
  )
}

function addressOf(server: Server, asked: string): string {
  const bound = server.address()
  return bound === null || typeof bound === 'string' ? asked : `tcp:127.0.0.1:${bound.port}`
}

function refused(address: string, how: string, cause: NodeJS.ErrnoException): WireError {
  return new WireError('LINK_REFUSED', `${address} ${how}: ${cause.code ?? cause.message}.`, { cause })
}
