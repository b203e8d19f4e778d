import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { WireError } from '../errors.ts'
import { listen, MAX_SOCKET_PATH_BYTES } from '../link/transport.ts'

/** Connections of one door that have not proved themselves; one more is closed at once. */
const STRANGERS = 16

export interface DoorOptions {
  /** A directory that only this user can enter; made if it is missing. */
  readonly runtimeDir: string
  /** Left out: `unix`, or `tcp` where the path would be too long for a socket. */
  readonly address?: 'unix' | 'tcp'
}

/** A listener for one kernel alone. Who comes is judged by whoever answers; only a few at a time may be undecided. */
export class Door {
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
