import type { Method, Methods } from '../front/protocol.ts'

/** Why the daemon did not do what was asked; `next` says what can be done. */
export class Fault extends Error {
  readonly code: string
  readonly next: string | null

  constructor({ code, message, data }: { code: string; message: string; data?: { next?: string | null } }) {
    super(message)
    this.code = code
    this.next = data?.next ?? null
  }
}

/** `lost`: the daemon is away, and is looked for. `closed`: what lets this page in counts no more. */
export type State = 'connecting' | 'open' | 'lost' | 'closed'

export interface Call<Result> {
  readonly answer: Promise<Result>
  cancel(): void
}

interface Asked {
  readonly heard: ((event: never) => void) | undefined
  resolve(result: unknown): void
  reject(error: Fault): void
}

type Message =
  | { type: 'return'; id: number; result: unknown }
  | { type: 'fail'; id: number; error: ConstructorParameters<typeof Fault>[0] }
  | { type: 'event'; id: number; event: never }
  | { type: 'call'; id: number; method: string; params: { question?: { prompt?: string; secret?: boolean } } }
  | { type: 'chunk'; stream: number; last: boolean; data: string }
  | { type: 'ping'; n: number }
  | { type: 'bye'; code: string; message: string }

interface ClientOptions {
  readonly root: string
  /** A token that was not used, or the secret of a session. */
  readonly credential: string
  /** It has become the secret of a session. */
  kept(secret: string): void
  /** `why`: of `closed`. */
  changed(state: State, why?: string): void
  /** Code wants a line of input. Rejecting tells it that there is none. */
  ask(prompt: string, secret: boolean): Promise<string>
}

const FIRST_MS = 250
const LONGEST_MS = 5_000

/** The daemon behind this page, over one WebSocket after the other. Calls under way when one breaks fail as `lost`. */
export class Client {
  readonly #options: ClientOptions
  #credential: string
  #socket: WebSocket | undefined
  #isOpen = false
  #waitMs = FIRST_MS
  #calls = new Map<number, Asked>()
  #made = 0
  #pieces = new Map<number, { texts: string[]; bytes: number }>()

  constructor(options: ClientOptions) {
    this.#options = options
    this.#credential = options.credential
    this.#connect()
  }

  call<M extends Method>(
    method: M,
    params: Methods[M]['params'],
    heard?: (event: never) => void,
  ): Call<Methods[M]['result']> {
    const id = ++this.#made
    const answer = new Promise<Methods[M]['result']>((resolve, reject) => {
      if (!this.#isOpen) return reject(LOST)
      this.#calls.set(id, { heard, resolve: resolve as Asked['resolve'], reject })
      this.#send({ type: 'call', id, method, params })
    })
    return {
      answer,
      cancel: () => {
        if (this.#calls.has(id)) this.#send({ type: 'cancel', id })
      },
    }
  }

  request<M extends Method>(method: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    return this.call(method, params).answer
  }

  /** Ends the connection; nothing is looked for any more. */
  close(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close()
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message))
  }

  #connect(): void {
    this.#options.changed('connecting')
    const { root } = this.#options
    const socket = new WebSocket(`ws://${location.host}/`, [
      'imago.v2.json',
      `imago.token.${this.#credential}`,
    ])
    this.#socket = socket
    let isUp = false
    socket.onopen = () => {
      isUp = true
      const hello = {
        role: 'client',
        protocol: 2,
        name: 'page',
        version: '1',
        root,
        env: {},
        encodings: ['json'],
      }
      this.#send({ hello })
    }
    socket.onmessage = ({ data }) => this.#heard(String(data))
    socket.onclose = () => {
      if (this.#socket !== socket) return
      this.#isOpen = false
      this.#pieces.clear()
      const calls = [...this.#calls.values()]
      this.#calls.clear()
      for (const { reject } of calls) reject(LOST)
      void this.#again(isUp)
    }
  }

  /** A browser does not tell why it was refused: where the daemon answers and takes no WebSocket, the credential is over. */
  async #again(wasUp: boolean): Promise<void> {
    this.#options.changed('lost')
    if (!wasUp) {
      const answers = await fetch('page', { cache: 'no-store' }).then(
        ({ ok }) => ok,
        () => false,
      )
      if (answers)
        return this.#over('This page is let in no more: a token works once, and a session for a day.')
    }
    setTimeout(() => {
      if (this.#socket !== undefined) this.#connect()
    }, this.#waitMs)
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_MS)
  }

  #over(why: string): void {
    this.close()
    this.#options.changed('closed', why)
  }

  #heard(text: string): void {
    const message = JSON.parse(text)
    if (this.#isOpen) {
      this.#take(message, bytesOf(text))
      return
    }
    const { welcome, refused } = message
    if (welcome === undefined) {
      if (refused?.code !== 'ending') this.#over(refused?.message ?? 'The daemon speaks another protocol.')
      return
    }
    if (typeof welcome.session === 'string') {
      this.#credential = welcome.session
      this.#options.kept(welcome.session)
    }
    this.#waitMs = FIRST_MS
    this.#isOpen = true
    this.#options.changed('open')
  }

  #take(message: Message, bytes: number): void {
    switch (message.type) {
      case 'ping':
        this.#send({ type: 'pong', n: message.n })
        break
      case 'chunk':
        this.#join(message)
        break
      case 'event':
        this.#calls.get(message.id)?.heard?.(message.event)
        this.#send({ type: 'credit', id: message.id, bytes })
        break
      case 'return':
      case 'fail': {
        const asked = this.#calls.get(message.id)
        this.#calls.delete(message.id)
        if (message.type === 'return') asked?.resolve(message.result)
        else asked?.reject(new Fault(message.error))
        break
      }
      case 'call':
        void this.#answer(message.id, message)
        break
      case 'bye':
        break
      default:
        message satisfies never
    }
  }

  #join({ stream, last, data }: Extract<Message, { type: 'chunk' }>): void {
    const pieces = this.#pieces.get(stream) ?? { texts: [], bytes: 0 }
    pieces.texts.push(data)
    pieces.bytes += bytesOf(data)
    this.#pieces.set(stream, pieces)
    if (!last) return
    this.#pieces.delete(stream)
    this.#take(JSON.parse(pieces.texts.join('')), pieces.bytes)
  }

  /** The daemon asks for a line of input; nothing of this page can be proved. */
  async #answer(id: number, { method, params }: Extract<Message, { type: 'call' }>): Promise<void> {
    const { prompt = '', secret = false } = params.question ?? {}
    try {
      if (method !== 'ask') throw new Error(`A page has no method ${method}.`)
      this.#send({ type: 'return', id, result: { answer: await this.#options.ask(prompt, secret) } })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#send({ type: 'fail', id, error: { code: 'refused', message } })
    }
  }
}

const LOST = new Fault({
  code: 'lost',
  message: 'The connection to the daemon is lost; it comes back by itself.',
})

const encoder = new TextEncoder()
const bytesOf = (text: string) => encoder.encode(text).length
