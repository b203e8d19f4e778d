import type { Method, Methods } from '../front/protocol.ts'

/** Why the daemon did not do what was asked; `next` says what can be done. */
export class Fault extends Error {
  readonly code: string
  readonly next: string

  constructor({ code, message, data }: { code: string; message: string; data?: { next?: string | null } }) {
    super(message)
    this.code = code
    this.next = data?.next ?? ''
  }
}

/** `lost`: the daemon is away, and is looked for. `closed`: what lets this page in counts no more. */
export type State = 'connecting' | 'open' | 'lost' | 'closed'

interface Asked {
  readonly heard: ((event: never) => void) | undefined
  resolve(result: never): void
  reject(error: Fault): void
}

type Message =
  | { type: 'return'; id: number; result: never }
  | { type: 'fail'; id: number; error: ConstructorParameters<typeof Fault>[0] }
  | { type: 'event'; id: number; event: never }
  | { type: 'call'; id: number; method: string; params: { question?: { prompt?: string; secret?: boolean } } }
  | { type: 'chunk'; stream: number; last: boolean; data: string }
  | { type: 'ping'; n: number }
  | { type: 'bye' }

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

const AGAIN_MS = 500

const LOST = new Fault({ code: 'lost', message: 'The daemon is away. Nobody knows whether that was done.' })

/** Why a page is closed whose credential counts no more. */
export const OVER = 'This page is let in no more: a token works once, and a session while its daemon lives.'

const encoder = new TextEncoder()

/** The daemon behind this page, over one WebSocket after the other. Calls under way when one breaks fail as `lost`. */
export class Client {
  readonly #options: ClientOptions
  #credential: string
  #socket: WebSocket | undefined
  #isOpen = false
  #calls = new Map<number, Asked>()
  #made = 0
  #pieces = new Map<number, string>()

  constructor(options: ClientOptions) {
    this.#options = options
    this.#credential = options.credential
    this.#connect()
  }

  call<M extends Method>(method: M, params: Methods[M]['params'], heard?: (event: never) => void) {
    const id = ++this.#made
    const answer = new Promise<Methods[M]['result']>((resolve, reject) => {
      if (!this.#isOpen) return reject(LOST)
      this.#calls.set(id, { heard, resolve, reject })
      this.#send({ type: 'call', id, method, params })
    })
    return { answer, cancel: () => this.#calls.has(id) && this.#send({ type: 'cancel', id }) }
  }

  request<M extends Method>(method: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    return this.call(method, params).answer
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message))
  }

  #connect(): void {
    this.#options.changed('connecting')
    const { root } = this.#options
    const shown = ['imago.v2.json', `imago.token.${this.#credential}`]
    const socket = new WebSocket(`ws://${location.host}/`, shown)
    this.#socket = socket
    let isUp = false
    socket.onopen = () => {
      isUp = true
      const about = { role: 'client', protocol: 2, name: 'page', version: '1', encodings: ['json'] }
      this.#send({ hello: { ...about, root, env: {} } })
    }
    socket.onmessage = ({ data }) => this.#heard(data)
    socket.onclose = () => {
      if (this.#socket !== socket) return
      this.#isOpen = false
      this.#pieces.clear()
      for (const { reject } of this.#calls.values()) reject(LOST)
      this.#calls.clear()
      void this.#again(isUp)
    }
  }

  // A browser does not tell why it was refused: where the daemon answers and takes no WebSocket, the credential is over.
  // A tunnel to another machine may be broken for seconds; a daemon that has ended does not come back at this address.
  async #again(wasUp: boolean): Promise<void> {
    this.#options.changed('lost')
    for (let left = 12; !(await fetch('page', { cache: 'no-store' }).catch(() => undefined))?.ok; left--) {
      if (left === 0) return this.#over('The daemon of this page has ended, or nothing leads to it any more.')
      await new Promise(done => setTimeout(done, AGAIN_MS))
    }
    if (!wasUp) return this.#over(OVER)
    setTimeout(() => this.#socket !== undefined && this.#connect(), AGAIN_MS)
  }

  #over(why: string): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close()
    this.#options.changed('closed', why)
  }

  #heard(text: string): void {
    const message = JSON.parse(text)
    const { welcome, refused } = message
    if (this.#isOpen) this.#take(message, text)
    else if (welcome !== undefined) {
      if (welcome.session !== undefined) {
        this.#credential = welcome.session
        this.#options.kept(welcome.session)
      }
      this.#isOpen = true
      this.#options.changed('open')
    } else if (refused?.code !== 'ending') this.#over(refused?.message)
  }

  #take(message: Message, text: string): void {
    switch (message.type) {
      case 'ping':
        this.#send({ type: 'pong', n: message.n })
        break
      case 'chunk':
        this.#join(message)
        break
      case 'event':
        this.#calls.get(message.id)?.heard?.(message.event)
        this.#send({ type: 'credit', id: message.id, bytes: encoder.encode(text).length })
        break
      case 'return':
        this.#calls.get(message.id)?.resolve(message.result)
        this.#calls.delete(message.id)
        break
      case 'fail':
        this.#calls.get(message.id)?.reject(new Fault(message.error))
        this.#calls.delete(message.id)
        break
      case 'call':
        void this.#answer(message)
        break
      case 'bye':
        break
      default:
        message satisfies never
    }
  }

  #join({ stream, last, data }: Extract<Message, { type: 'chunk' }>): void {
    const whole = (this.#pieces.get(stream) ?? '') + data
    if (last) this.#pieces.delete(stream)
    else this.#pieces.set(stream, whole)
    if (last) this.#take(JSON.parse(whole), whole)
  }

  /** The daemon asks for a line of input; nothing of this page can be proved. */
  async #answer({ id, method, params }: Extract<Message, { type: 'call' }>): Promise<void> {
    const { prompt = '', secret = false } = params.question ?? {}
    try {
      if (method !== 'ask') throw new Error(`A page has no method ${method}.`)
      this.#send({ type: 'return', id, result: { answer: await this.#options.ask(prompt, secret) } })
    } catch (error) {
      this.#send({ type: 'fail', id, error: { code: 'refused', message: String(error) } })
    }
  }
}
