import type { Socket } from 'node:net'
import { WireError } from '../errors.ts'
import { Frames, frame } from './frames.ts'
import { read } from './read.ts'
import { type Form, quote, type Sexp, symbol, write } from './sexp.ts'

/** What one request came to: the value, or the printed condition of a request that was aborted. */
export type Returned = { readonly ok: Sexp } | { readonly abort: string }

export interface ConnectionOptions {
  readonly socket: Socket
  /** A message that answers no request. */
  heard(message: Sexp): void
}

/** One connection to a Swank server: requests by number, and whatever else the server says. */
export class SwankConnection {
  #options: ConnectionOptions
  readonly #pending = new Map<number, { resolve(value: Returned): void; reject(error: unknown): void }>()
  readonly #frames = new Frames()
  #last = 0
  #closed: WireError | undefined
  /** Settles with why, once nothing more can be asked. */
  readonly closed: Promise<WireError>

  constructor(options: ConnectionOptions) {
    this.#options = options
    const { socket } = options
    this.closed = new Promise(resolve => {
      const close = (error: WireError) => {
        if (this.#closed) return
        this.#closed = error
        for (const { reject } of this.#pending.values()) reject(error)
        this.#pending.clear()
        socket.destroy()
        resolve(error)
      }
      socket.on('data', (chunk: Buffer) => {
        try {
          for (const text of this.#frames.add(chunk)) this.#hear(read(text))
        } catch (error) {
          close(error instanceof WireError ? error : new WireError('PROTOCOL_BROKEN', String(error)))
        }
      })
      socket.on('error', () => {})
      socket.on('close', () => close(new WireError('LINK_CLOSED', 'The connection to Swank has ended.')))
    })
  }

  /** Evaluates `form` there: on a new thread, or on the one of that number. */
  rex(form: Form, thread: true | number = true): Promise<Returned> {
    if (this.#closed) return Promise.reject(this.#closed)
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      this.send([symbol(':emacs-rex'), form, null, thread, id])
    })
  }

  /** Gives what answers no request to `heard` from now on. */
  listen(heard: (message: Sexp) => void): void {
    this.#options = { ...this.#options, heard }
  }

  send(message: Form): void {
    this.#options.socket.write(frame(write(message)))
  }

  end(): void {
    this.#options.socket.destroy()
  }

  #hear(message: Sexp): void {
    if (!Array.isArray(message)) return
    const [tag, ...rest] = message as readonly Sexp[]
    const name = isAtom(tag) ? tag.atom : ''
    if (name === ':return') this.#return(rest)
    else if (name === ':ping') this.send([symbol(':emacs-pong'), rest[0] as number, rest[1] as number])
    else if (name === ':invalid-rpc') this.#return([[{ atom: ':abort' }, rest[1] ?? null], rest[0] ?? null])
    else this.#options.heard(message)
  }

  #return([result, id]: readonly Sexp[]): void {
    const pending = this.#pending.get(Number(id))
    this.#pending.delete(Number(id))
    if (pending === undefined || !Array.isArray(result)) return
    const [tag, value] = result as readonly Sexp[]
    pending.resolve(isAtom(tag) && tag.atom === ':ok' ? { ok: value ?? null } : { abort: textOf(value) })
  }
}

export const isAtom = (value: Sexp | undefined): value is { readonly atom: string } =>
  typeof value === 'object' && value !== null && 'atom' in value

/** A text literal as it is; anything else as nothing. */
export const textOf = (value: Sexp | undefined): string =>
  typeof value === 'object' && value !== null && 'text' in value ? value.text : ''

export { quote }
