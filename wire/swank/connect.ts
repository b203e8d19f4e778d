import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { WireError } from '../errors.ts'
import { within } from '../signal.ts'
import { isAtom, type Returned, SwankConnection, textOf } from './connection.ts'
import { frame, MOST_BYTES } from './frames.ts'
import { beginConnection, NO_SWANK } from './peer.ts'
import { type Sexp, symbol } from './sexp.ts'
import { inShort } from './short.ts'

/** How long a server may take to be connected to and to say what it is, in milliseconds. */
const TIMEOUT_MS = 5_000

/** How long a server that is refused may take to finish what it began for us. */
const FINISH_MS = 1_000

/** How long a server that was given up is left to come to its answer. */
const LINGER_MS = 600_000

/** Bytes of one message until a server has said what it is. What one says of itself takes a few thousand. */
const FIRST_BYTES = 1024 * 1024

/** Bytes that a server may say besides before it has answered; more is a flood. */
const MOST_UNASKED = 64 * 1024

export interface SwankPlace {
  readonly host: string
  readonly port: number
  /** Sent before all else; `null` sends none. */
  readonly secret: string | null
  readonly timeoutMs?: number | undefined
}

interface SwankConnected {
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
 * - `HANDSHAKE_TIMEOUT`: it took the secret and said nothing, or says much and no answer;
 * - `FRAME_MALFORMED`, `FRAME_TOO_LARGE`: it is no Swank;
 * - `REMOTE_FAULT`: it is Slynk, or speaks as Swank does and does not know what every Swank knows.
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
  if (isServedBySlynk(place)) throw slynk(place, { answered: false, printed: false })
  const deadline = performance.now() + timeoutMs
  const socket = await dial(place, timeoutMs)
  return new Opening(place, socket).done(Math.max(1, deadline - performance.now()))
}

/**
 * Whether Slynk listens at a port of this machine. A Lisp can only be asked after it has the secret, so the system is
 * asked: SBCL tells it the names of its threads, and Slynk's has the port in it.
 */
function isServedBySlynk({ host, port }: SwankPlace): boolean {
  if (!/^(127\.|::1$|localhost$)/.test(host)) return false
  const names = entriesOf('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .flatMap(pid => entriesOf(`/proc/${pid}/task`).map(thread => textAt(`/proc/${pid}/task/${thread}/comm`)))
  // One of the two may listen at that port of a container.
  return names.includes(`Slynk ${port}\n`) && !names.includes(`Swank ${port}\n`)
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
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
    const answer = await within(ms, asked, () => undefined)
    if (answer === undefined) {
      this.#linger(asked)
      const late = this.#socket.bytesRead > MOST_UNASKED ? flooding : silent
      throw late(this.#place, this.#place.timeoutMs ?? TIMEOUT_MS, this.#socket.bytesRead)
    }
    const info = !(answer instanceof WireError) && 'ok' in answer ? swankInfo(answer.ok) : undefined
    // With threads, a server that reads a secret as a message ends the connection: what entered is something else.
    const led = asksSecret && info !== undefined && info.style !== 'spawn' ? this.#entered : undefined
    if (answer instanceof WireError && answer.message === NO_SWANK) {
      connection.end()
      throw slynk(this.#place, { answered: true, printed: this.#echoed })
    }
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
    await within(FINISH_MS, led === undefined ? this.#ask() : leave(led), () => undefined)
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

function asFault(error: unknown): WireError {
  if (error instanceof WireError) return error
  throw error
}

/** Characters of one name or version. */
const MOST_CHARACTERS = 200

/** What a Swank server says of itself and its Lisp. What it leaves out is null or empty. */
export interface SwankInfo {
  /** Of the process; null where the Lisp does not know it. */
  readonly pid: number | null
  /** How it serves: with threads, by signals, while it waits for input, or not while anything else runs. */
  readonly style: 'spawn' | 'sigio' | 'fd-handler' | null
  /** Type and version of the Lisp: `SBCL`, `2.2.9.debian`. */
  readonly implementation: { readonly name: string; readonly version: string }
  /** Of Swank: `2.27`. */
  readonly version: string | null
  /** The name of the machine, as the Lisp gives it. */
  readonly machine: string | null
  /** The package of new threads: `COMMON-LISP-USER`. */
  readonly package: string | null
  /** What was loaded by `require` and `swank-require`, such as `SWANK-REPL`. */
  readonly modules: readonly string[]
  /** `*features*`, in lower case and without colons. */
  readonly features: readonly string[]
}

/** Reads what `swank:connection-info` answers, or undefined for what is no list of properties. */
function swankInfo(answer: Sexp): SwankInfo | undefined {
  const told = properties(answer)
  if (told.size === 0) return undefined
  const lisp = properties(told.get(':lisp-implementation'))
  const pid = told.get(':pid')
  return {
    pid: typeof pid === 'number' ? pid : null,
    style: styleOf(told.get(':style')),
    implementation: { name: nameIn(lisp.get(':type')), version: nameIn(lisp.get(':version')) },
    version: textOrNull(told.get(':version')),
    machine: textOrNull(properties(told.get(':machine')).get(':instance')),
    package: textOrNull(properties(told.get(':package')).get(':name')),
    modules: listOf(told.get(':modules')).map(nameIn),
    features: listOf(told.get(':features')).flatMap(one => (isAtom(one) ? [one.atom.replace(/^:/, '')] : [])),
  }
}

function styleOf(value: Sexp | undefined): SwankInfo['style'] {
  const name = isAtom(value) ? value.atom.slice(1) : ''
  return name === 'spawn' || name === 'sigio' || name === 'fd-handler' ? name : null
}

/** `(:key value …)`, as far as it has that form. */
function properties(value: Sexp | undefined): ReadonlyMap<string, Sexp> {
  const list = listOf(value)
  const found = new Map<string, Sexp>()
  for (let at = 0; at + 1 < list.length; at += 2) {
    const key = list[at]
    if (isAtom(key)) found.set(key.atom, list[at + 1] ?? null)
  }
  return found
}

const listOf = (value: Sexp | undefined): readonly Sexp[] => (Array.isArray(value) ? value : [])
const nameIn = (value: Sexp | undefined) => inShort(textOf(value), MOST_CHARACTERS)
const textOrNull = (value: Sexp | undefined): string | null => nameIn(value) || null

/*
 * Why a Swank server could not be joined: what was seen, what that most often comes from, and what to do next. What was
 * seen is certain, and decides the code.
 */

function unreachable(place: SwankPlace, why: string, cause?: Error): WireError {
  const next = `Start Swank in your Lisp, such as by (swank:create-server :port ${place.port} :dont-close t), or give its port.`
  const message = `Nothing can be connected to at ${nameOf(place)}: ${why}. ${next}`
  return new WireError('LINK_REFUSED', message, { cause })
}

/** It was given a secret, and answers whoever gives none. */
function asksNone(place: SwankPlace): WireError {
  const message =
    `The Swank at ${nameOf(place)} asks for no secret: whoever reaches that port can run code there. Put a line that ` +
    'nobody can guess into .slime-secret in the home directory of that Lisp, with mode 600; Swank reads it anew for ' +
    'every connection. Or attach without a secret.'
  return new WireError('NOT_AUTHENTICATED', message)
}

function silent(place: SwankPlace, ms: number): WireError {
  const within = `${nameOf(place)} said nothing within ${ms} ms`
  const stuck =
    'waits in its debugger now, in SLIME or at its terminal, and accepts nobody: leave the debugger there, and listen ' +
    `anew with (swank:stop-server ${place.port}) and (swank:create-server :port ${place.port} :dont-close t)`
  if (place.secret === null)
    return new WireError(
      'NOT_AUTHENTICATED',
      `${within}, and it was given no secret. A Swank that asks for one ${stuck}; then attach with the secret. ` +
        'A Lisp of one thread that is at work says nothing either: then try again when it is done.',
    )
  return new WireError(
    'HANDSHAKE_TIMEOUT',
    `${within} of the secret. If that Lisp is at work or was stopped, try again when it goes on. If the secret was ` +
      `wrong, that Swank ${stuck}.`,
  )
}

/** It speaks as Swank does, and not of what it was asked. */
function flooding(place: SwankPlace, ms: number, bytes: number): WireError {
  const message =
    `${nameOf(place)} sent ${bytes} bytes within ${ms} ms, and no answer among them. If it is Swank, something there ` +
    'prints without end: stop that, and try again.'
  return new WireError('HANDSHAKE_TIMEOUT', message)
}

/** What the connection failed of, in words for whoever wanted to attach. */
function explained(place: SwankPlace, fault: WireError): WireError {
  const at = nameOf(place)
  switch (fault.code) {
    case 'LINK_CLOSED':
    case 'FRAME_TRUNCATED':
      return new WireError('NOT_AUTHENTICATED', place.secret === null ? closedWithout(at) : closedOn(at), {
        cause: fault,
      })
    case 'FRAME_MALFORMED':
    case 'FRAME_TOO_LARGE':
    case 'LIMIT_EXCEEDED':
      return new WireError(fault.code, `${at} is no Swank server. ${fault.message}`, { cause: fault })
    case 'REMOTE_FAULT':
      return new WireError('REMOTE_FAULT', `${at} does not say what it is: ${fault.message} ${SLYNK}`, {
        cause: fault,
      })
    default:
      return fault
  }
}

/** It answered, and not with what every Swank says of itself. */
function unknowing(place: SwankPlace, returned: Returned): WireError {
  const why = 'abort' in returned ? inShort(returned.abort) : 'no list of properties came'
  return new WireError('REMOTE_FAULT', `${nameOf(place)} does not say what it is: ${why}. ${SLYNK}`)
}

const SLYNK = 'Imago speaks to Swank, which SLIME brings: beside Slynk, load it and give the port of that.'

/** SLY's server, seen from outside or by what it `answered`; it may have `printed` the secret where that Lisp prints. */
function slynk(
  place: SwankPlace,
  { answered, printed }: { readonly answered: boolean; readonly printed: boolean },
): WireError {
  const other = place.port === 4005 ? 4006 : place.port + 1
  const what = `Slynk, the server of SLY${answered ? ', or another server without Swank' : ''}`
  const message =
    `${nameOf(place)} is ${what}. Imago speaks to Swank, and one image can have both. Evaluate there ` +
    '(ql:quickload :swank), or load the swank-loader.lisp of SLIME, then ' +
    `(swank:create-server :port ${other} :dont-close t), and give that port.` +
    (printed ? ' It has printed the secret in its log: choose another one.' : '')
  return new WireError('REMOTE_FAULT', message)
}

const closedOn = (at: string) =>
  `${at} ended the connection on the secret. A Swank that asks for none does so: then there is no .slime-secret in ` +
  'the home directory of that Lisp; put the secret there, or attach without one. If it does ask for one, the secret ' +
  'was wrong; see whether that Lisp still runs.'

const closedWithout = (at: string) =>
  `${at} ended the connection without a word. If it is a Swank that asks for a secret, attach with the first line of ` +
  '.slime-secret in the home directory of that Lisp.'

const nameOf = ({ host, port }: SwankPlace) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
