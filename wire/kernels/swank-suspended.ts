import { setTimeout as delay } from 'node:timers/promises'
import { evaluated } from '../contract/evaluation.ts'
import type { SuspensionEnd } from '../contract/suspensions.ts'
import { WireError } from '../errors.ts'
import type {
  CallId,
  Evaluated,
  InterruptReport,
  Looked,
  LookName,
  Suspension,
  SuspensionNews,
} from '../kernel.ts'
import { parseAnswer } from './answers.ts'
import { Suspensions } from './suspensions.ts'
import { workArguments } from './swank-encoding.ts'
import type { Turn } from './swank-evaluations.ts'
import type { SwankLine } from './swank-line.ts'
import { resumed } from './swank-messages.ts'

/** How long an image may take to say how a suspension ended whose request it has answered. In milliseconds. */
const END_MS = 1_000

interface SuspendedOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  readonly line: Pick<SwankLine, 'call'>
  /** Whether errors can suspend what runs there. */
  readonly suspends: boolean
}

/**
 * Evaluations of an image that are suspended, and the requests for them, which it has not answered yet: what the last
 * resume of a suspension comes to is the answer to the request of the evaluation that was suspended first.
 */
export class Suspended {
  readonly #options: SuspendedOptions
  readonly #suspensions = new Suspensions()
  /** By the id of the suspension. */
  readonly #requests = new Map<string, Promise<unknown>>()

  constructor(options: SuspendedOptions) {
    this.#options = options
  }

  watch(listener: (news: SuspensionNews) => void): () => void {
    return this.#suspensions.watch(listener)
  }

  /**
   * Has the image run `turn`, or go on with what is suspended there. Resolves with what that comes to, or with the
   * suspension that it has come to. Throws what `SwankLine.call` does, and `MESSAGE_INVALID`.
   */
  async run(turn: Turn): Promise<Evaluated> {
    const { work } = turn.evaluation
    const { line } = this.#options
    turn.request =
      work.type === 'resume' ? this.#resume(turn, work.suspension) : line.call('evaluate', this.#params(turn))
    return Promise.race([turn.suspended, this.#parsed(turn.request)])
  }

  /** The image says that `turn` is suspended. What is not of the agreed form is its fault. */
  hear(turn: Turn, outcome: Extract<Evaluated, { type: 'suspended' }>): void {
    const { suspension } = outcome
    if (turn.request === undefined || turn.isSuspended) return
    if (this.#suspensions.has(suspension.id)) {
      const again = `${this.#options.name} gave the suspension ${suspension.id} to two evaluations.`
      turn.suspend(Promise.reject(new WireError('MESSAGE_INVALID', again)))
      return
    }
    turn.suspend(Promise.resolve(outcome))
    this.#keep(suspension, turn.request)
    this.#suspensions.begin(suspension, turn.call)
  }

  /** The image says that one has ended. */
  end(end: SuspensionEnd): void {
    this.#requests.delete(end.id)
    this.#suspensions.end(end)
  }

  /** See `Suspensions`. */
  looked(name: LookName, looked: Looked<unknown>): void {
    this.#suspensions.looked(name, looked)
  }

  /** The image is gone, and they with it. */
  lose(message: string): void {
    this.#requests.clear()
    this.#suspensions.lose(message)
  }

  /** See `Suspensions`. */
  notRunning(call: CallId): InterruptReport | undefined {
    return this.#suspensions.notRunning(call)
  }

  /** The code of a value that it is given can be suspended, too, before it is accepted. */
  async #resume(turn: Turn, suspension: string): Promise<unknown> {
    const { name, line } = this.#options
    const request = this.#requests.get(suspension)
    const answer = await line.call('resume', this.#params(turn))
    const taken = parseAnswer(resumed, answer, `What ${name} answered to resume`)
    if (taken.type !== 'accepted') return taken
    if (request !== undefined) return request
    throw new WireError('MESSAGE_INVALID', `${name} resumes what it was not known to have suspended.`)
  }

  #params({ evaluation }: Turn) {
    const { call, who, work, suspend } = evaluation
    const suspends = this.#options.suspends && suspend !== undefined
    return { call, who, ...workArguments(work), ...(suspends && { suspend: true }) }
  }

  async #parsed(answer: Promise<unknown>): Promise<Evaluated> {
    return parseAnswer(evaluated, await answer, `What ${this.#options.name} made of an evaluation`)
  }

  /** Keeps a request. Where it is answered and nobody says what became of the suspension, its thread has ended. */
  #keep({ id }: Suspension, request: Promise<unknown>): void {
    this.#requests.set(id, request)
    const answered = async () => {
      await delay(END_MS, undefined, { ref: false })
      if (this.#requests.get(id) !== request) return
      this.end({ id, how: 'lost', message: 'Its thread has ended, and it with it.' })
    }
    request.then(answered, answered)
  }
}
