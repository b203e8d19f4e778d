import { randomBytes, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Envelope } from '../../../tools/outcome.ts'
import type { CallId } from '../../../wire/kernel.ts'
import type { Signal } from '../../../wire/signal.ts'
import type { ClientAnswer, ClientAsker, ShownPlan } from '../../approvals/contract.ts'
import { MODERN } from '../mcp-transport.ts'
import { answerFrom, failedWith, type Question, questionOf } from './question.ts'

/**
 * How the client that made a call is asked about it. Revisions of 2025 are asked by a request of the server's own, sent
 * while the call waits (`requestingAsker`). Those from 2026-07-28 on are asked by the reply to the call, which they make
 * again with the answer (`Exchanges`).
 */

/** Whether a connection speaks a revision in which the server makes no requests of its own, but asks by answering. */
export function isModern(server: Server): boolean {
  return (server.getNegotiatedProtocolVersion() ?? '') >= MODERN
}

const CAPABILITIES = z.looseObject({
  elicitation: z.looseObject({ form: z.unknown(), url: z.unknown() }).partial().optional(),
})

interface Asked {
  readonly context: ServerContext
  readonly server: Server
}

/** What the client says that it can do: with each request in new revisions, once in older ones. */
export function capabilitiesOf({ context, server }: Asked): Partial<z.output<typeof CAPABILITIES>> {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const told = isModern(server) ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities()
  return CAPABILITIES.safeParse(told).data ?? {}
}

/** Whether the client puts forms before a person: also where it names no mode, as the first revision had it. */
export function putsForms(asked: Asked): boolean {
  const { elicitation } = capabilitiesOf(asked)
  if (elicitation === undefined) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}

const TAKEN_BACK: ClientAnswer = { type: 'no', how: 'cancelled', reason: null }

const GONE = failedWith('it went away before it answered')

interface RequestingOptions {
  /** Of the request whose plan is asked about. */
  readonly context: ServerContext
  readonly who: string
  doubt(): string | undefined
  mayCount(): boolean
  /** How long an answer is waited for, in milliseconds; past that it is silence. */
  readonly questionMs: number
}

/** Asks with a request of the server's own. Taking the question back cancels it, so that the client closes its dialog. */
export function requestingAsker({
  context,
  who,
  doubt,
  mayCount,
  questionMs,
}: RequestingOptions): ClientAsker {
  return {
    who,
    doubt,
    mayCount,
    async ask(plan: ShownPlan, signal: Signal): Promise<ClientAnswer> {
      const question = questionOf(plan)
      const takenBack = new AbortController()
      const takeBack = () => takenBack.abort('it needs no answer any more')
      if (signal.aborted) return TAKEN_BACK
      signal.addEventListener('abort', takeBack, { once: true })
      try {
        const answer = await context.mcpReq.send(
          { method: 'elicitation/create', params: question.params },
          { signal: takenBack.signal, timeout: Math.min(questionMs, LONGEST_MS) },
        )
        return answerFrom(answer, question)
      } catch (error) {
        return takenBack.signal.aborted ? TAKEN_BACK : noAnswer(error)
      } finally {
        signal.removeEventListener('abort', takeBack)
      }
    },
  }
}

/** The longest that a timer of Node can wait, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1

/** What the client says in its error is its own text, and is left out: the journal has what it was. */
function noAnswer(error: unknown): ClientAnswer {
  if (!(error instanceof SdkError)) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return failedWith(`it answered with an error${typeof code === 'number' ? ` (${code})` : ''}`)
  }
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { type: 'no', how: 'silent', reason: null }
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return GONE
    default:
      return failedWith('it answered with something that is no answer to a form')
  }
}

/** The key of the one question that is asked at a time. */
export const QUESTION_KEY = 'approval'

/** States that are kept, so that a client that comes back late still gets the answer of its call. */
const MOST_STATES = 64

/** Who makes a request, and what it calls: the same for the request that is made again with an answer. */
export interface Request {
  readonly client: string
  readonly tool: string
  readonly args: unknown
}

/** What a call is begun or joined with: always under the same name, so that it runs once. */
interface Leg {
  readonly call: CallId
  readonly args: unknown
  readonly client: ClientAsker
}

interface ExchangeOptions {
  readonly request: Request
  doubt(): string | undefined
  mayCount(): boolean
  /** How the call ended, once it has; it is under way. Never rejects. */
  ended(leg: Leg): Promise<Envelope>
}

/** A question that the client was given, with the state that it carries to the answer. */
interface StateEntry {
  readonly exchange: Exchange
  readonly open: Open
  /** In milliseconds of `performance.now()`. */
  readonly expires: number
}

/**
 * Questions of one connection, as the revision 2026-07-28 asks them: a request is answered with the question and a
 * state, and is made again with the answer and that state. It joins the call that it is about, which waits meanwhile.
 *
 * A state is 32 random bytes that only this connection knows, once: a sealed one (AEAD) could keep no more from being
 * read, forged, or used again.
 */
export class Exchanges {
  readonly #questionMs: number
  readonly #given = new Map<string, StateEntry>()
  /** Those whose question waits for an answer. */
  readonly #asking = new Set<Exchange>()
  #closed = false

  /** `questionMs`: how long a question may be answered, in milliseconds. */
  constructor({ questionMs }: { readonly questionMs: number }) {
    this.#questionMs = questionMs
  }

  /** A new call, which may turn out to be asked about. */
  begin(options: ExchangeOptions): Exchange {
    return new Exchange(options, {
      asking: this.#asking,
      give: (...given) => this.#give(...given),
      closed: () => this.#closed,
    })
  }

  /**
   * The call that the state belongs to, once `answer` has been given to its question. Throws what the client is told
   * where the state is none of its own, was used, or is for another request; that answers nothing.
   */
  resume(
    state: string,
    { request, answer }: { readonly request: Request; readonly answer: unknown },
  ): Exchange {
    const given = this.#given.get(state)
    if (given === undefined)
      throw unusable('it was used already, was changed on the way, or was not given to this connection')
    const { exchange, open, expires } = given
    if (exchange.request.client !== request.client) throw unusable('it was given to another client')
    if (exchange.request.tool !== request.tool || !isDeepStrictEqual(exchange.request.args, request.args))
      throw unusable('it belongs to a call of another tool, or with other arguments')
    if (performance.now() >= expires) throw unusable('it has expired')
    this.#given.delete(state)
    exchange.answered(open, answer)
    return exchange
  }

  /** The client has gone: nothing that it was asked can be answered any more. */
  close(): void {
    this.#closed = true
    this.#given.clear()
    for (const exchange of this.#asking) exchange.close()
  }

  /** The state for a question. A call has one at a time: the earlier one is used up. */
  #give(exchange: Exchange, open: Open): string {
    for (const [state, given] of this.#given) if (given.exchange === exchange) this.#given.delete(state)
    const ended = [...this.#given].find(([, given]) => given.exchange.ended)
    if (ended !== undefined && this.#given.size >= MOST_STATES) this.#given.delete(ended[0])
    const state = randomBytes(32).toString('base64url')
    this.#given.set(state, { exchange, open, expires: performance.now() + this.#questionMs })
    return state
  }
}

function unusable(because: string): ProtocolError {
  const message = `The requestState of this request cannot be used: ${because}. Nothing was answered by it, and nothing ran. Make the call again without requestState and inputResponses; if it needs approval, it is asked about anew.`
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { reason: 'invalid_request_state' })
}

/** What a call needs of the connection that it belongs to. */
interface ExchangeConnection {
  readonly asking: Set<Exchange>
  give(exchange: Exchange, open: Open): string
  closed(): boolean
}

interface Open {
  readonly question: Question
  settle(answer: ClientAnswer): void
}

/** One call of a client that may be asked about it, over as many requests as that takes. */
class Exchange implements ClientAsker {
  readonly call = randomUUID() as CallId
  readonly #options: ExchangeOptions
  readonly #connection: ExchangeConnection
  #open: Open | undefined
  #end: Envelope | undefined
  #followed = false
  readonly #waiting = new Set<() => void>()

  constructor(options: ExchangeOptions, connection: ExchangeConnection) {
    this.#options = options
    this.#connection = connection
  }

  get request(): Request {
    return this.#options.request
  }

  get who(): string {
    return this.request.client
  }

  get ended(): boolean {
    return this.#end !== undefined
  }

  doubt(): string | undefined {
    return this.#options.doubt()
  }

  mayCount(): boolean {
    return this.#options.mayCount()
  }

  ask(plan: ShownPlan, signal: Signal): Promise<ClientAnswer> {
    if (signal.aborted) return Promise.resolve(TAKEN_BACK)
    if (this.#connection.closed()) return Promise.resolve(GONE)
    void this.#follow()
    return new Promise(resolve => {
      const settle = (answer: ClientAnswer) => {
        signal.removeEventListener('abort', takeBack)
        if (this.#open === open) {
          this.#open = undefined
          this.#connection.asking.delete(this)
        }
        resolve(answer)
      }
      const takeBack = () => settle(TAKEN_BACK)
      const open = { question: questionOf(plan), settle }
      signal.addEventListener('abort', takeBack, { once: true })
      this.#open = open
      this.#connection.asking.add(this)
      for (const wake of this.#waiting) wake()
    })
  }

  /**
   * One request of the client: how the call ended or goes on, or what to ask. `run` begins the call, or joins it: one
   * that has ended is not begun again.
   */
  async answer(run: (leg: Leg) => Promise<Envelope>): Promise<Envelope | InputRequiredResult> {
    if (this.#end !== undefined) return this.#end
    const answer = run(this.#leg)
    const first = await this.#firstOf(answer)
    // A question may have been answered elsewhere before it could be put.
    if (first === 'asked') return this.#open === undefined ? answer : this.#put(this.#open)
    return first
  }

  /** The answer to a question, which may need none any more. */
  answered(open: Open, answer: unknown): void {
    if (open === this.#open) open.settle(answerFrom(answer, open.question))
  }

  close(): void {
    this.#open?.settle(GONE)
  }

  async #firstOf(answer: Promise<Envelope>): Promise<Envelope | 'asked'> {
    let wake: () => void = () => {}
    const asked = new Promise<'asked'>(resolve => {
      wake = () => resolve('asked')
    })
    if (this.#open !== undefined) wake()
    this.#waiting.add(wake)
    try {
      return await Promise.race([asked, answer])
    } finally {
      this.#waiting.delete(wake)
    }
  }

  get #leg(): Leg {
    return { call: this.call, args: this.request.args, client: this }
  }

  /** What comes back late is told how the call ended, whoever heard of that before. */
  async #follow(): Promise<void> {
    if (this.#followed) return
    this.#followed = true
    this.#end = await this.#options.ended(this.#leg)
  }

  #put(open: Open): InputRequiredResult {
    return inputRequired({
      inputRequests: { [QUESTION_KEY]: inputRequired.elicit(open.question.params) },
      requestState: this.#connection.give(this, open),
    })
  }
}
