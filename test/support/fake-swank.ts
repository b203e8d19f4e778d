import { createServer, type Server, type Socket } from 'node:net'
import { isAtom, textOf } from '../../wire/swank/connection.ts'
import { Frames, frame } from '../../wire/swank/frames.ts'
import { read } from '../../wire/swank/read.ts'
import { type Sexp, write } from '../../wire/swank/sexp.ts'

/** One `:emacs-rex` as it came. */
export interface Rex {
  readonly id: number
  /** The function of the form: `swank:connection-info`, or `peer:identity` for a call of our peer. */
  readonly name: string
  readonly form: Sexp
  /** `true` asks for a fresh thread. */
  readonly thread: true | number
  /** Of a call of our peer: what it was given, key by key. */
  readonly given: Readonly<Record<string, Sexp>>
}

/** What the server does when a function is called; one that is not named is never answered. */
export type SwankScript = Readonly<Record<string, (rex: Rex, client: SwankClient) => void>>

/**
 * A Swank server played by a script. It speaks through the real codec and keeps no rule by itself: it answers when
 * told to, twice if told to, or never. Unless told otherwise it answers `swank:connection-info`, and takes our peer.
 * Messages are Lisp text, so that it can say anything that a Lisp can, and what none can.
 *
 *     const server = await fakeSwank({ script: { 'peer:identity': ({ id }, client) => client.json(id, {}) } })
 *     const { connection } = await connectSwank({ host: '127.0.0.1', port: server.port, secret: null })
 *     const client = await server.next()
 *     client.say('(:write-string "x" nil 7)')
 */
export interface FakeSwank {
  readonly port: number
  /** All that connected, in order. */
  readonly clients: readonly SwankClient[]
  /** The first that connected and that no earlier `next` has returned; waits for it. */
  next(): Promise<SwankClient>
  /** Ends every connection and listens no more. */
  close(): Promise<void>
}

/** One client of the server, from the server's side. */
export interface SwankClient {
  readonly socket: Socket
  /** The raw text of the first frame, where a secret is asked. */
  readonly secret: string | undefined
  /** All messages that came, in order. */
  readonly received: readonly (readonly Sexp[])[]
  /** The first message with this tag, such as `:write-done`, that no earlier `next` has returned; waits for it. */
  next(tag: string): Promise<readonly Sexp[]>
  /** As `next`, for a request of this name. */
  called(name: string): Promise<Rex>
  /** One frame with this text in it. */
  say(text: string): SwankClient
  /** `(:return (:ok VALUE) ID)`, with a value as Lisp text. */
  answer(id: number, value: string): SwankClient
  /** The answer of a call of our peer: JSON as a text. */
  json(id: number, value: unknown): SwankClient
  abort(id: number, why: string): SwankClient
  /** `:debug` and `:debug-activate` at a level, as for an error with the one restart that quits. */
  debug(thread: number, level: number, waiting?: readonly number[]): SwankClient
  /** Bytes as they are, whatever they are. */
  sendBytes(bytes: string | Uint8Array): SwankClient
  /** Says the rest of a frame never: announces all of it, sends so many bytes, and ends. */
  dieWithin(text: string, bytes: number): void
  /** Ends at once, by a reset. */
  die(): void
  /** Reads nothing more, and so lets the other end's bytes pile up. */
  freeze(): SwankClient
  /** Settles when the other end has closed, or the connection broke. */
  readonly ended: Promise<void>
}

export interface FakeSwankOptions {
  readonly script?: SwankScript
  /** Asked for, as the raw text of the first frame; another ends the connection, or is left in silence. */
  readonly secret?: string
  readonly wrongSecret?: 'close' | 'silence'
  /** Writes one byte at a time, each in a packet of its own. */
  readonly oneByte?: boolean
  /** What it says of itself, as Lisp text in place of `FAKE_INFO`. */
  readonly info?: string
  /** Sent to whoever connects, before anything else. */
  readonly greeting?: string
}

const FAKE_INFO =
  '(:pid 4711 :style :spawn :encoding (:coding-systems ("utf-8-unix" "iso-latin-1-unix")) ' +
  ':lisp-implementation (:type "SBCL" :name "sbcl" :version "2.2.9.debian" :program "/usr/bin/sbcl") ' +
  ':machine (:instance "elsewhere" :type "X86-64" :version "a processor") ' +
  ':features (:swank :sbcl :x86-64 :sb-thread) :modules ("SWANK-ARGLISTS" "SWANK-REPL") ' +
  ':package (:name "COMMON-LISP-USER" :prompt "CL-USER") :version "2.27")'

export async function fakeSwank(options: FakeSwankOptions = {}): Promise<FakeSwank> {
  const clients: FakeClient[] = []
  const untaken = queue<SwankClient>()
  const server = createServer({ noDelay: true }, socket => {
    const client = new FakeClient(socket, options)
    clients.push(client)
    untaken.put(client)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: portOf(server),
    clients,
    next: () => untaken.take(() => true),
    async close() {
      for (const { socket } of clients) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

class FakeClient implements SwankClient {
  readonly socket: Socket
  readonly received: (readonly Sexp[])[] = []
  readonly ended: Promise<void>
  secret: string | undefined
  readonly #options: FakeSwankOptions
  readonly #frames = new Frames()
  readonly #messages = queue<readonly Sexp[]>()
  readonly #calls = queue<Rex>()

  constructor(socket: Socket, options: FakeSwankOptions) {
    this.socket = socket
    this.#options = options
    this.ended = new Promise(resolve => socket.once('end', resolve).once('close', resolve))
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      for (const body of this.#frames.add(chunk)) this.#take(body.toString())
    })
    if (options.greeting !== undefined) this.sendBytes(options.greeting)
  }

  next(tag: string) {
    return this.#messages.take(([head]) => isAtom(head) && head.atom === tag)
  }

  called(name: string) {
    return this.#calls.take(rex => rex.name === name)
  }

  say(text: string) {
    return this.sendBytes(frame(text))
  }

  answer(id: number, value: string) {
    return this.say(`(:return (:ok ${value}) ${id})`)
  }

  json(id: number, value: unknown) {
    return this.answer(id, write(JSON.stringify(value)))
  }

  abort(id: number, why: string) {
    return this.say(`(:return (:abort ${write(why)}) ${id})`)
  }

  debug(thread: number, level: number, waiting: readonly number[] = []) {
    const condition = '("The value 1 is not of type LIST" "   [Condition of type TYPE-ERROR]" nil)'
    const restarts = '(("*ABORT" "Return to SLIME\'s top level."))'
    const frames = '((0 "(CAR 1)" (:restartable nil)))'
    const ids = waiting.length === 0 ? 'nil' : `(${waiting.join(' ')})`
    return this.say(`(:debug ${thread} ${level} ${condition} ${restarts} ${frames} ${ids})`).say(
      `(:debug-activate ${thread} ${level} nil)`,
    )
  }

  sendBytes(bytes: string | Uint8Array) {
    if (this.socket.destroyed) return this
    if (!this.#options.oneByte) this.socket.write(bytes)
    else for (const byte of Buffer.from(bytes)) this.socket.write(Uint8Array.of(byte))
    return this
  }

  dieWithin(text: string, bytes: number) {
    this.socket.end(frame(text).subarray(0, bytes))
  }

  die() {
    this.socket.resetAndDestroy()
  }

  freeze() {
    this.socket.pause()
    return this
  }

  #take(text: string) {
    const { secret, wrongSecret = 'close' } = this.#options
    if (secret !== undefined && this.secret === undefined) {
      this.secret = text
      if (text === secret) return
      // A real one does not look at what comes after.
      this.socket.removeAllListeners('data').resume()
      if (wrongSecret === 'close') this.socket.end()
      return
    }
    const message = read(text)
    // Such as a secret that was not asked for: a real one with threads ends the connection, too.
    if (!Array.isArray(message)) return void this.socket.end()
    this.received.push(message)
    this.#messages.put(message)
    const rex = rexOf(message)
    if (rex === undefined) return
    this.#calls.put(rex)
    if (this.#options.script && Object.hasOwn(this.#options.script, rex.name))
      this.#options.script[rex.name]?.(rex, this)
    else if (rex.name === 'swank:connection-info') this.answer(rex.id, this.#options.info ?? FAKE_INFO)
    else if (rex.name === 'cl:if') this.answer(rex.id, 't')
  }
}

/** `(:emacs-rex FORM PACKAGE THREAD ID)`. */
function rexOf([tag, form, , thread, id]: readonly Sexp[]): Rex | undefined {
  if (!isAtom(tag) || tag.atom !== ':emacs-rex') return undefined
  const [head, name, given] = (Array.isArray(form) ? form : []) as readonly Sexp[]
  const called = isAtom(head) ? head.atom : ''
  return {
    id: Number(id),
    name: called === 'imago-peer:dispatch' ? `peer:${textOf(name)}` : called,
    form: form ?? null,
    thread: typeof thread === 'number' ? thread : true,
    given: Array.isArray(given) && Array.isArray(given[1]) ? pairs(given[1]) : {},
  }
}

function pairs(list: readonly Sexp[]): Record<string, Sexp> {
  const found: Record<string, Sexp> = {}
  for (let at = 0; at + 1 < list.length; at += 2) found[textOf(list[at])] = list[at + 1] ?? null
  return found
}

/** What came and was not taken, and who waits for what. */
function queue<Item>() {
  const items: Item[] = []
  const waiting: { wants(item: Item): boolean; give(item: Item): void }[] = []
  return {
    put(item: Item) {
      const at = waiting.findIndex(({ wants }) => wants(item))
      if (at < 0) items.push(item)
      else waiting.splice(at, 1)[0]?.give(item)
    },
    take(wants: (item: Item) => boolean): Promise<Item> {
      const at = items.findIndex(wants)
      const [found] = at < 0 ? [] : items.splice(at, 1)
      if (found !== undefined) return Promise.resolve(found)
      return new Promise(give => waiting.push({ wants, give }))
    },
  }
}

function portOf(server: Server): number {
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server has no port')
  return bound.port
}
