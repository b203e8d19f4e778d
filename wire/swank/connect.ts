import { connect, type Socket } from 'node:net'
import { WireError } from '../errors.ts'
import { isAtom, type Returned, SwankConnection, textOf } from './connection.ts'
import { frame, MOST_BYTES } from './frames.ts'
import { type SwankInfo, swankInfo } from './info.ts'
import { beginConnection } from './peer.ts'
import { asksNone, explained, silent, unknowing, unreachable } from './refusals.ts'
import { type Sexp, symbol } from './sexp.ts'

export type { SwankInfo } from './info.ts'

/** How long a server may take to be connected to and to say what it is, in milliseconds. */
const TIMEOUT_MS = 5_000

/** How long a server that is refused may take to finish what it began for us. */
const FINISH_MS = 1_000

/** How long a server that was given up is left to come to its answer. */
const LINGER_MS = 600_000

/** Bytes of one message until a server has said what it is. What one says of itself takes a few thousand. */
const FIRST_BYTES = 1024 * 1024

export interface SwankPlace {
  readonly host: string
  readonly port: number
  /** Sent before all else; `null` sends none. */
  readonly secret: string | null
  readonly timeoutMs?: number | undefined
}

export interface SwankConnected {
  /** Nobody listens yet: see `SwankConnection.listen`. */
  readonly connection: SwankConnection
  readonly info: SwankInfo
  /** Whether the server was seen to ask for the secret; else it answers whoever reaches its port. */
  readonly asksSecret: boolean
}

/**
 * Connects to a Swank server, gives it the secret, and asks what it is. Throws
 *
 * - `LINK_REFUSED`: nothing listens there, or it cannot be reached in time;
 * - `NOT_AUTHENTICATED`: it ended the connection on the secret or asks for none, or wants one and was given none;
 * - `HANDSHAKE_TIMEOUT`: it took the secret and said nothing;
 * - `FRAME_MALFORMED`, `FRAME_TOO_LARGE`: it is no Swank;
 * - `REMOTE_FAULT`: it speaks as Swank does, and does not know what every Swank knows.
 *
 * Tried once and never again by itself, because every attempt counts there: a server that asks for a secret reads it in
 * the thread that accepts connections, and takes whatever goes wrong to the debugger: a wrong secret, a missing one,
 * a connection that closes before it gave one. All of it ends up before whoever sits at that Lisp, and until they
 * choose a restart nobody can connect; an image without a debugger ends. A Lisp of one thread hangs when a client has
 * closed before it was answered, so one that is late is given up here, and closed when it has come to its answer. (All
 * seen with Swank 2.27 on SBCL.)
 */
export async function connectSwank(place: SwankPlace): Promise<SwankConnected> {
  const { timeoutMs = TIMEOUT_MS } = place
  const deadline = performance.now() + timeoutMs
  const socket = await dial(place, timeoutMs)
  return new Opening(place, socket).done(Math.max(1, deadline - performance.now()))
}

function dial(place: SwankPlace, timeoutMs: number): Promise<Socket> {
  const { host, port } = place
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true, keepAlive: true })
    const fail = (why: string, cause?: Error) => {
      clearTimeout(timer)
      socket.destroy()
      reject(unreachable(place, why, cause))
    }
    const timer = setTimeout(() => fail(`nothing answered within ${timeoutMs} ms`), timeoutMs)
    socket.once('error', (cause: NodeJS.ErrnoException) => fail(cause.code ?? cause.message, cause))
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}

/** A connection until its server has said what it is. */
class Opening {
  readonly #place: SwankPlace
  readonly #socket: Socket
  readonly #connection: SwankConnection
  /** The server has read the secret as a message, and says that it could not. */
  #echoed = false
  /** The thread that has entered the debugger over our connection. */
  #entered: number | undefined

  constructor(place: SwankPlace, socket: Socket) {
    this.#place = place
    this.#socket = socket
    // In one turn with the connection: until it is there, a server that asks for it accepts nobody else.
    if (place.secret !== null) socket.write(frame(place.secret))
    this.#connection = new SwankConnection({
      socket,
      limit: FIRST_BYTES,
      heard: message => this.#heard(message),
    })
  }

  async done(ms: number): Promise<SwankConnected> {
    const connection = this.#connection
    const asksSecret = this.#place.secret !== null
    const asked = this.#ask()
    const answer = await within(ms, asked)
    if (answer === undefined) {
      this.#linger(asked)
      throw silent(this.#place, this.#place.timeoutMs ?? TIMEOUT_MS)
    }
    const info = !(answer instanceof WireError) && 'ok' in answer ? swankInfo(answer.ok) : undefined
    // With threads, a server that reads a secret as a message ends the connection: what entered is something else.
    const led = asksSecret && info !== undefined && info.style !== 'spawn' ? this.#entered : undefined
    if (this.#echoed || led !== undefined) {
      await this.#finish(led)
      throw asksNone(this.#place)
    }
    if (info === undefined) {
      connection.end()
      throw answer instanceof WireError ? explained(this.#place, answer) : unknowing(this.#place, answer)
    }
    connection.limit = MOST_BYTES
    connection.listen(() => {}, { answersQuestions: false })
    return { connection, info, asksSecret }
  }

  /** From the first request on, nothing in the image may be led to us that is not ours. */
  async #ask(): Promise<Returned | WireError> {
    try {
      await beginConnection(this.#connection)
      return await this.#connection.rex([symbol('swank:connection-info')])
    } catch (error) {
      return asFault(error)
    }
  }

  #heard(message: Sexp): void {
    const [tag, first] = (Array.isArray(message) ? message : []) as readonly Sexp[]
    const name = isAtom(tag) ? tag.atom : ''
    if (name === ':reader-error' && textOf(first) === this.#place.secret) this.#echoed = true
    else if (name === ':debug' && typeof first === 'number') this.#entered ??= first
  }

  /**
   * Ends the connection once the server has nothing more to say. One of a single thread takes a secret that it did
   * not ask for to its debugger and serves nobody meanwhile: it is led out again, as by a person who leaves it.
   */
  async #finish(led: number | undefined): Promise<void> {
    const connection = this.#connection
    const leave = (thread: number) =>
      connection.rex([symbol('swank:throw-to-toplevel')], thread).catch(asFault)
    await within(FINISH_MS, led === undefined ? this.#ask() : leave(led))
    connection.end()
  }

  #linger(asked: Promise<unknown>): void {
    this.#socket.unref()
    const timer = setTimeout(() => this.#connection.end(), LINGER_MS).unref()
    void asked.then(() => {
      clearTimeout(timer)
      this.#connection.end()
    })
  }
}

/** What it comes to, or undefined when it takes longer. */
async function within<Outcome>(ms: number, work: Promise<Outcome>): Promise<Outcome | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function asFault(error: unknown): WireError {
  if (error instanceof WireError) return error
  throw error
}
