import { createHash, randomBytes, randomUUID } from 'node:crypto'
import {
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import type { Envelope } from '../../../tools/outcome.ts'
import type { CallId } from '../../../wire/kernel.ts'
import type { Signal } from '../../../wire/signal.ts'
import type { ClientAnswer, ClientAsker, ShownPlan } from '../../core/approvals.ts'
import { answerFrom, failedWith, type Question, questionOf } from './question.ts'
import type { RequestState, Seals } from './request-state.ts'

/** The key of the one question that is asked at a time. */
export const QUESTION_KEY = 'approval'

/** Calls that were asked about and are remembered, so that a client that comes back late still gets their answer. */
const MOST_REMEMBERED = 64

/** Who makes a request, and what it calls: the same for the request that is tried again with an answer. */
export interface Asked {
  readonly client: string
  readonly tool: string
  readonly args: unknown
}

export interface ExchangesOptions {
  readonly session: { readonly id: string; readonly root: string }
  readonly seals: Seals
  /** How long a question may be answered, in milliseconds. */
  readonly questionMs: number
  readonly now?: () => number
}

/** What a call is begun or joined with: always under the same name, so that it runs once. */
export interface Leg {
  readonly call: CallId
  readonly args: unknown
  readonly client: ClientAsker
}

/**
 * Questions of one connection, as the revision 2026-07-28 asks them: a request is answered with the question and a
 * state, and is made again with the answer and that state. It joins the call that it is about, which waits meanwhile.
 */
export class Exchanges {
  readonly #options: ExchangesOptions
  readonly #known = new Map<string, Exchange>()
  #closed = false

  constructor(options: ExchangesOptions) {
    this.#options = options
  }

  /** A new call, which may turn out to be asked about. */
  begin(asked: Asked, how: Pick<ExchangeOptions, 'doubt' | 'ended'>): Exchange {
    return new Exchange({
      ...this.#options,
      ...how,
      asked,
      remember: exchange => this.#remember(exchange),
      gone: () => this.#closed,
    })
  }

  /**
   * The call that the state belongs to, once `answer` has been given to its question. Throws what the client is told
   * where the state is none of its own, was used, or is for another request; that answers nothing.
   */
  resume(text: string, { asked, answer }: { readonly asked: Asked; readonly answer: unknown }): Exchange {
    const { seals, session, now = clock } = this.#options
    const state = seals.open(text)
    if (state === undefined) throw unusable('it was not given out by this daemon, or was changed on the way')
    if (state.session !== session.id || state.root !== session.root || state.client !== asked.client)
      throw unusable('it was given to another client')
    if (state.tool !== asked.tool || state.args !== digestOf(asked.args))
      throw unusable('it belongs to a call of another tool, or with other arguments')
    if (now() >= state.expires) throw unusable('it has expired')
    const exchange = this.#known.get(state.call)
    if (exchange === undefined || !exchange.uses(state)) throw unusable('it was used already')
    exchange.answered(state, answer)
    return exchange
  }

  /** The client has gone: nothing that it was asked can be answered any more. */
  close(): void {
    this.#closed = true
    for (const exchange of this.#known.values()) exchange.close()
    this.#known.clear()
  }

  #remember(exchange: Exchange): void {
    this.#known.set(exchange.call, exchange)
    if (this.#known.size <= MOST_REMEMBERED) return
    const ended = [...this.#known.values()].find(one => one.ended)
    if (ended !== undefined) this.#known.delete(ended.call)
  }
}

interface ExchangeOptions extends ExchangesOptions {
  readonly asked: Asked
  doubt(): string | undefined
  /** How the call ended, once it has; it is under way. Never rejects. */
  ended(leg: Leg): Promise<Envelope>
  remember(exchange: Exchange): void
  /** Whether the client has gone. */
  gone(): boolean
}

interface Open {
  readonly plan: ShownPlan
  readonly question: Question
  settle(answer: ClientAnswer): void
}

/** One call of a client that may be asked about it, over as many requests as that takes. */
export class Exchange implements ClientAsker {
  readonly call = randomUUID() as CallId
  readonly #options: ExchangeOptions
  #open: Open | undefined
  /** The nonce of the state that the client has and has not used. */
  #given: string | undefined
  #end: Envelope | undefined
  #followed = false
  readonly #waiting = new Set<() => void>()

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  get who(): string {
    return this.#options.asked.client
  }

  get ended(): boolean {
    return this.#end !== undefined
  }

  doubt(): string | undefined {
    return this.#options.doubt()
  }

  ask(plan: ShownPlan, signal: Signal): Promise<ClientAnswer> {
    if (signal.aborted) return Promise.resolve(TAKEN_BACK)
    if (this.#options.gone()) return Promise.resolve(GONE)
    this.#options.remember(this)
    void this.#follow()
    return new Promise(resolve => {
      const settle = (answer: ClientAnswer) => {
        signal.removeEventListener('abort', takeBack)
        if (this.#open === open) this.#open = undefined
        resolve(answer)
      }
      const takeBack = () => settle(TAKEN_BACK)
      const open = { plan, question: questionOf(plan), settle }
      signal.addEventListener('abort', takeBack, { once: true })
      this.#open = open
      for (const wake of this.#waiting) wake()
    })
  }

  /**
   * One request of the client: how the call ended or goes on, or what to ask. `run` begins the call, or joins it: one
   * that has ended is not begun again.
   */
  async request(run: (leg: Leg) => Promise<Envelope>): Promise<Envelope | InputRequiredResult> {
    if (this.#end !== undefined) return this.#end
    const answer = run(this.#leg)
    const first = await this.#firstOf(answer)
    // A question may have been answered elsewhere before it could be put.
    if (first === 'asked') return this.#open === undefined ? answer : this.#put(this.#open)
    return first
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
    return { call: this.call, args: this.#options.asked.args, client: this }
  }

  /** What comes back late is told how the call ended, whoever heard of that before. */
  async #follow(): Promise<void> {
    if (this.#followed) return
    this.#followed = true
    this.#end = await this.#options.ended(this.#leg)
  }

  #put({ plan, question }: Open): InputRequiredResult {
    const { session, asked, seals, questionMs, now = clock } = this.#options
    const nonce = randomBytes(16).toString('base64url')
    this.#given = nonce
    return inputRequired({
      inputRequests: { [QUESTION_KEY]: inputRequired.elicit(question.params) },
      requestState: seals.seal({
        nonce,
        call: this.call,
        plan: plan.id,
        hash: plan.hash,
        session: session.id,
        client: asked.client,
        root: session.root,
        tool: asked.tool,
        args: digestOf(asked.args),
        expires: now() + questionMs,
      }),
    })
  }

  /** Whether that is the state that the client was given last, and has not used. */
  uses({ nonce }: RequestState): boolean {
    return this.#given === nonce
  }

  /** The state is used up by this. Where the plan needs no answer any more, this is none. */
  answered({ plan, hash }: RequestState, answer: unknown): void {
    this.#given = undefined
    const open = this.#open
    if (open === undefined || open.plan.id !== plan || open.plan.hash !== hash) return
    open.settle(answerFrom(answer, open.question))
  }

  close(): void {
    this.#given = undefined
    this.#open?.settle(GONE)
  }
}

const clock = () => performance.now()

const TAKEN_BACK: ClientAnswer = { type: 'no', how: 'cancelled', reason: null }
const GONE = failedWith('it went away before it answered')

/** The same for the same arguments, in whatever order a client writes them. */
function digestOf(args: unknown): string {
  const ordered = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value
  return createHash('sha256').update(JSON.stringify(args, ordered)).digest('base64url')
}

function unusable(because: string): ProtocolError {
  const message = `The requestState of this request cannot be used: ${because}. Nothing was answered by it, and nothing ran. Make the call again without requestState and inputResponses; if it needs approval, it is asked about anew.`
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { reason: 'invalid_request_state' })
}
