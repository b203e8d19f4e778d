import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { lengthOf, RawClient } from './raw-client.ts'
import { type Rig, within } from './rig.ts'

export interface Web {
  readonly port: number
  readonly address: string
  readonly token: string
}

/** What a daemon that serves WebSockets has put into its runtime directory. */
export function webOf({ paths }: Pick<Rig, 'paths'>): Web {
  const { address, token } = JSON.parse(readFileSync(paths.web, 'utf8'))
  return { address, token, port: Number(new URL(address).port) }
}

/** The head of a request for a WebSocket, as a native client sends it; `undefined` leaves a line out. */
export function upgradeHead(
  { port, token }: Web,
  { path = '/', method = 'GET', ...changed }: Readonly<Record<string, string | undefined>> = {},
): string {
  const headers = {
    host: `127.0.0.1:${port}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
    'sec-websocket-protocol': 'imago.v2.json',
    authorization: `Bearer ${token}`,
    ...changed,
  }
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  )
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

/** A connection that says exactly these bytes, and gathers what comes. */
export class RawWeb {
  readonly socket: Socket
  received = Buffer.alloc(0)
  readonly gone: Promise<void>
  #heard: () => void = () => {}

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => {})
    this.socket.on('data', bytes => {
      this.received = Buffer.concat([this.received, bytes])
      this.#heard()
    })
    this.gone = new Promise(resolve => this.socket.once('close', () => resolve()))
  }

  /** The status of the answer to a head. */
  async asks(head: string | Uint8Array): Promise<number> {
    this.socket.write(head)
    const answered = async () => {
      while (!this.received.includes('\r\n\r\n') && !this.socket.closed) await this.#more()
    }
    await within(answered(), 'an answer')
    return Number(this.received.toString('latin1').split(' ')[1])
  }

  /** The code that the server closes with; undefined where it hangs up without one. */
  async closeCode(): Promise<number | undefined> {
    for (;;) {
      const code = this.#closed()
      if (code !== undefined || this.socket.closed) return code
      await within(this.#more(), 'the end of a WebSocket')
    }
  }

  /** Resolves when more has come, or all has. */
  #more(): Promise<void> {
    const heard = new Promise<void>(resolve => {
      this.#heard = resolve
    })
    return Promise.race([this.gone, heard])
  }

  #closed(): number | undefined {
    let rest = this.received.subarray(this.received.indexOf('\r\n\r\n') + 4)
    while (rest.length >= 4) {
      const short = (rest[1] ?? 0) & 0x7f
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : rest.readUInt32BE(6)
      if (((rest[0] ?? 0) & 0x0f) === 8) return rest.readUInt16BE(head)
      rest = rest.subarray(head + length)
    }
    return undefined
  }
}

/** One WebSocket frame of a client. `announced` is the length that it tells, where that is not the payload's own. */
export function webFrame({
  opcode = 1,
  payload = Buffer.alloc(0),
  first = 0x80,
  masked = true,
  announced,
}: {
  readonly opcode?: number
  readonly payload?: Uint8Array | string
  /** The bits before the opcode: `FIN` and the reserved ones. */
  readonly first?: number
  readonly masked?: boolean
  readonly announced?: bigint
}): Buffer {
  const body = Buffer.from(payload as Uint8Array)
  const length = announced ?? BigInt(body.length)
  const head = Buffer.alloc(length < 126n ? 2 : length < 65_536n ? 4 : 10)
  head[0] = first | opcode
  head[1] = (masked ? 0x80 : 0) | (length < 126n ? Number(length) : length < 65_536n ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(Number(length), 2)
  if (head.length === 10) head.writeBigUInt64BE(length, 2)
  return Buffer.concat([head, masked ? Buffer.alloc(4) : Buffer.alloc(0), body])
}

/**
 * Frames of the client protocol over a WebSocket, as a stream: each write is one frame. `page`: the token that a page
 * shows; left out, it is a program, with that of the file.
 */
export async function dialWeb(
  { address, token }: Web,
  encoding: 'json' | 'msgpack' = 'json',
  page?: string,
): Promise<Duplex & { readonly web: WebSocket }> {
  const headers = page === undefined ? { authorization: `Bearer ${token}` } : {}
  const offered = [`imago.v2.${encoding}`, ...(page === undefined ? [] : [`imago.token.${page}`])]
  const web = new WebSocket(address, offered, { headers, perMessageDeflate: false })
  const stream = new Duplex({
    read() {},
    write: (bytes: Buffer, _, sent) => web.send(bytes.subarray(4), { binary: encoding === 'msgpack' }, sent),
    destroy(error, done) {
      web.terminate()
      done(error)
    },
  })
  web.on('message', (body: Buffer) => stream.push(Buffer.concat([lengthOf(body.length), body])))
  web.on('error', () => {})
  const opened = new Promise<void>((resolve, reject) => {
    web.once('open', resolve)
    web.once('close', code => {
      reject(new Error(`the WebSocket was closed with ${code}`))
      stream.push(null)
      stream.destroy()
    })
  })
  await within(opened, 'a WebSocket to open')
  return Object.assign(stream, { web })
}

/** A client that says exactly what it is told to, over a WebSocket. */
export const rawOverWeb = async (web: Web): Promise<RawClient> =>
  new RawClient((await dialWeb(web)) as unknown as Socket)
