import type { Socket } from 'node:net'
import { messageOf, WireError } from '../errors.ts'
import { Frames, frame } from './frames.ts'
import { read } from './read.ts'
import { type Form, quote, type Sexp, symbol, write } from './sexp.ts'
import { inShort } from './short.ts'

/** What one request came to: the value, or the printed condition of a request that was aborted. */
export type Returned = { readonly ok: Sexp } | { readonly abort: string }

interface ConnectionOptions {
  readonly socket: Socket
  /** A message that answers no request, known or not, in order. What it throws ends the connection. */
  heard(message: Sexp): void
  /** Bytes that one message may have; all that Swank can frame unless given. */
  readonly limit?: number
}

/** Bytes that may wait for a server that does not read: four of the largest messages. */
const MOST_UNSENT = 64 * 1024 * 1024

/** Said in the image, as an error, to code that wants something of an editor. */
const NO_EDITOR = 'is no editor and runs no code for an image'

interface Pending {
  resolve(value: Returned): void
  reject(error: WireError): void
}

/**
 * One connection to a Swank server: requests by number, and whatever else the server says.
 *
 * Everything that Swank waits for is answered: flow control at once, and what an image asks of an editor (`:eval`,
 * `:ed-rpc`, `:inspect`) by a refusal. Questions that a person could answer are refused until somebody listens.
 */
export class SwankConnection {
  /** Settles with why, once nothing more can be asked. By then all requests have failed with the same. */
  readonly closed: Promise<WireError>
  readonly #socket: Socket
  readonly #frames: Frames
  readonly #pending = new Map<number, Pending>()
  #heard: (message: Sexp) => void
  #answersQuestions = false
  #last = 0
  #closed: WireError | undefined
  #settleClosed: (why: WireError) => void = () => {}

  constructor({ socket, heard, limit }: ConnectionOptions) {
    this.#socket = socket
    this.#heard = heard
    this.#frames = new Frames(limit === undefined ? {} : { limit })
    this.closed = new Promise(resolve => {
      this.#settleClosed = resolve
    })
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('end', () => this.#lost())
    socket.on('close', () => this.#lost())
    socket.on('error', cause => this.#lost(cause))
  }

  /** Bytes that one message may have, from the next one on. */
  set limit(bytes: number) {
    this.#frames.limit = bytes
  }

  /**
   * Hears from now on what answers no request, in place of who did before. Unless told otherwise it also answers the
   * questions of code there for a line or a yes (`:read-string`, `:y-or-n-p`, `:read-from-minibuffer`).
   */
  listen(heard: (message: Sexp) => void, { answersQuestions = true } = {}): void {
    this.#heard = heard
    this.#answersQuestions = answersQuestions
  }

  /**
   * Evaluates `form` there: on a new thread, or on the one of that number. Rejects with `REMOTE_FAULT` where the
   * server could not read the request or has no such thread, with `MESSAGE_TOO_LARGE` for what was not sent, with
   * `FRAME_MALFORMED` for an answer that is neither a value nor an end, or for an answer that is no Lisp, and with what ended the connection.
   */
  async rex(form: Form, thread: true | number = true): Promise<Returned> {
    if (this.#closed) throw this.#closed
    const id = this.#last + 1
    const bytes = frame(write([symbol(':emacs-rex'), form, null, thread, id]))
    this.#last = id
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      this.#write(bytes)
    })
  }

  /** Says something that is not answered; nothing once the connection has ended. Throws `MESSAGE_TOO_LARGE`. */
  send(message: Form): void {
    if (!this.#closed) this.#write(frame(write(message)))
  }

  /** Closes it at once. The server drops what it still works on for us when it notices. */
  end(): void {
    this.#close(new WireError('LINK_CLOSED', 'The connection to Swank was closed at this end.'))
  }

  #write(bytes: Buffer): void {
    this.#socket.write(bytes)
    const unsent = this.#socket.writableLength
    if (unsent <= MOST_UNSENT) return
    const message = `Swank reads too slowly: ${unsent} bytes wait for it, and the limit is ${MOST_UNSENT}.`
    this.#close(new WireError('LINK_CLOSED', message))
  }

  #take(chunk: Buffer): void {
    try {
      for (const body of this.#frames.add(chunk)) {
        if (this.#closed) return
        const message = this.#read(body)
        if (message !== undefined) this.#receive(message)
      }
    } catch (error) {
      if (error instanceof WireError) this.#close(error)
      else {
        const message = `A listener on the connection to Swank failed: ${messageOf(error)}`
        this.#close(new WireError('LINK_CLOSED', message, { cause: error }))
      }
    }
  }

  /** An answer that cannot be read fails the one request that it is for, and is then undefined. */
  #read(body: Buffer): Sexp | undefined {
    try {
      return read(body)
    } catch (error) {
      const id =
        body.toString('latin1', 0, 9) === '(:return '
          ? idAtEnd(body.subarray(-24).toString('latin1'))
          : undefined
      if (id === undefined || !(error instanceof WireError)) throw error
      this.#settle(id, pending => pending.reject(error))
      return undefined
    }
  }

  #receive(message: Sexp) {
    const [tag, ...rest] = listOf(message)
    switch (isAtom(tag) ? tag.atom : '') {
      case ':return':
        return this.#returned(rest)
      case ':invalid-rpc':
        return this.#invalid(rest)
      case ':reader-error':
        return this.#unread(message, rest)
      case ':ping':
        return this.#reply(':emacs-pong', rest)
      case ':write-string':
        this.#written(rest[2])
        break
      case ':read-string':
        if (!this.#answersQuestions) this.#reply(':emacs-return-string', rest, '')
        break
      case ':y-or-n-p':
      case ':read-from-minibuffer':
        if (!this.#answersQuestions) this.#reply(':emacs-return', rest, null)
        break
      case ':eval':
      case ':ed-rpc':
        this.#reply(':emacs-return', rest, [symbol(':error'), 'Imago', NO_EDITOR])
        break
      case ':inspect':
        this.#reply(':emacs-return', rest.slice(1), null)
    }
    this.#heard(message)
  }

  /** An answer for nobody is dropped: the request was answered before, or failed. */
  #returned([result, id]: readonly Sexp[]): void {
    const [tag, value] = listOf(result)
    const name = isAtom(tag) ? tag.atom : ''
    if (name === ':ok') this.#settle(id, pending => pending.resolve({ ok: value ?? null }))
    else if (name === ':abort') this.#settle(id, pending => pending.resolve({ abort: textOf(value) }))
    else {
      const shape = 'Swank answered a request with neither :ok nor :abort: it is no Swank of today'
      this.#settle(id, pending => pending.reject(new WireError('FRAME_MALFORMED', `${shape}.`)))
    }
  }

  #invalid([id, why]: readonly Sexp[]): void {
    const message = `Swank refused a request: ${inShort(textOf(why)) || 'it has no such thread'}.`
    this.#settle(id, pending => pending.reject(new WireError('REMOTE_FAULT', message)))
  }

  /**
   * The server could not read a message of ours, and says which by repeating it. A request fails by the number at its
   * end; where it cannot be told which one it was, the oldest fails, which would wait for ever otherwise.
   */
  #unread(message: Sexp, [echo, cause]: readonly Sexp[]): void {
    const packet = textOf(echo)
    const isRequest = packet.startsWith('(:emacs-rex ')
    const isOther = packet.startsWith('(:') && !isRequest
    const [oldest] = this.#pending.keys()
    const id = (isRequest ? idAtEnd(packet.slice(-24)) : undefined) ?? oldest
    const why = `Swank could not read a request, and ran nothing of it: ${inShort(textOf(cause)) || 'it says no reason'}`
    if (!isOther) this.#settle(id, pending => pending.reject(new WireError('REMOTE_FAULT', why)))
    this.#heard(message)
  }

  /** From 2.28 on, a thread that prints waits until it is told that its text has been shown. */
  #written(thread: Sexp | undefined): void {
    if (typeof thread === 'number') this.send([symbol(':write-done'), thread])
  }

  /** Answers a thread that waits, where the message names it: first the thread, then the tag of what it waits for. */
  #reply(tag: string, [thread, what]: readonly Sexp[], ...answer: readonly Form[]): void {
    if (Number.isSafeInteger(thread) && Number.isSafeInteger(what))
      this.send([symbol(tag), Number(thread), Number(what), ...answer])
  }

  #settle(id: Sexp | undefined, end: (pending: Pending) => void): void {
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined
    if (pending === undefined) return
    this.#pending.delete(Number(id))
    end(pending)
  }

  #lost(cause?: Error): void {
    const why =
      cause !== undefined
        ? new WireError('LINK_CLOSED', `The connection to Swank broke: ${cause.message}.`, { cause })
        : this.#frames.midFrame
          ? new WireError('FRAME_TRUNCATED', 'The connection to Swank ended in the middle of a message.')
          : new WireError('LINK_CLOSED', 'Swank ended the connection.')
    this.#close(why)
  }

  #close(why: WireError): void {
    if (this.#closed) return
    this.#closed = why
    for (const { reject } of this.#pending.values()) reject(why)
    this.#pending.clear()
    this.#socket.destroy()
    this.#settleClosed(why)
  }
}

/** The number that ends a message: `… 12)`. */
function idAtEnd(text: string): number | undefined {
  const digits = / (\d{1,15})\)\s*$/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

const listOf = (value: Sexp | undefined): readonly Sexp[] => (Array.isArray(value) ? value : [])

export const isAtom = (value: Sexp | undefined): value is { readonly atom: string } =>
  typeof value === 'object' && value !== null && 'atom' in value

/** A text literal as it is; anything else as nothing. */
export const textOf = (value: Sexp | undefined): string =>
  typeof value === 'object' && value !== null && 'text' in value ? value.text : ''

export { quote }
