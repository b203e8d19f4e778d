import type { Socket } from 'node:net'
import { VERSION } from '../../src/paths.ts'
import { dial, within } from './rig.ts'

type Fields = Readonly<Record<string, unknown>>

/** A client that says exactly what it is told to, byte by byte, and answers nothing by itself. */
export class RawClient {
  readonly socket: Socket
  /** Settles once the daemon has hung up. */
  readonly gone: Promise<void>
  #bytes = Buffer.alloc(0)
  readonly #frames: Buffer[] = []
  #wanting: (() => void) | undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => this.#hear(chunk))
    this.gone = new Promise(resolve => {
      socket.once('close', () => {
        resolve()
        this.#wanting?.()
      })
    })
  }

  static async dial(path: string): Promise<RawClient> {
    return new RawClient(await dial(path))
  }

  /** Connects and is welcomed. */
  static async greeted(path: string, root: string): Promise<RawClient> {
    const client = await RawClient.dial(path)
    client.send({ hello: hello(root) })
    await client.next()
    return client
  }

  send(...values: readonly unknown[]): void {
    for (const value of values) this.socket.write(frame(value))
  }

  write(bytes: Uint8Array | string): void {
    this.socket.write(bytes)
  }

  /** The next frame, parsed; `undefined` once the daemon has hung up and all is read. */
  async next(): Promise<Fields | undefined> {
    while (this.#frames.length === 0 && !this.socket.closed)
      await within(
        new Promise<void>(resolve => {
          this.#wanting = resolve
        }),
        'a frame',
      )
    const body = this.#frames.shift()
    return body === undefined ? undefined : (JSON.parse(body.toString()) as Fields)
  }

  /** The next frame for which `wanted` holds; the ones before are passed over. */
  async find(wanted: (message: Fields) => boolean): Promise<Fields> {
    for (;;) {
      const message = await this.next()
      if (message === undefined) throw new Error('the daemon hung up')
      if (wanted(message)) return message
    }
  }

  /** What the daemon said before it hung up. */
  async lastWords(): Promise<Fields[]> {
    const words: Fields[] = []
    for (let message = await this.next(); message !== undefined; message = await this.next())
      words.push(message)
    return words
  }

  close(): void {
    this.socket.destroy()
  }

  #hear(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    while (this.#bytes.length >= 4 && this.#bytes.length >= 4 + this.#bytes.readUInt32BE(0)) {
      const end = 4 + this.#bytes.readUInt32BE(0)
      this.#frames.push(this.#bytes.subarray(4, end))
      this.#bytes = this.#bytes.subarray(end)
    }
    this.#wanting?.()
  }
}

export function frame(value: unknown): Buffer {
  const body = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return Buffer.concat([lengthOf(body.length), body])
}

export function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  return length
}

export function hello(root: string): Fields {
  const env = { PATH: process.env.PATH ?? '' }
  return { role: 'client', protocol: 2, name: 'imago test', version: VERSION, root, env, encodings: ['json'] }
}
