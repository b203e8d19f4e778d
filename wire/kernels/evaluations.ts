import type { CallId, EvalEvent, Stream, Watcher } from '../kernel.ts'
import { type Link, Refusal } from '../link/link.ts'
import { LightSignal } from '../signal.ts'
import { askParams, evalEvent, parseAnswer } from './shapes.ts'

/** One evaluation that has been asked for and has not settled. */
export interface Pending {
  readonly call: CallId
  readonly watcher: Watcher
  /** Takes an event as the peer sent it. One that is not an event is kept as the fault of the evaluation. */
  readonly hear: (event: unknown) => void
  /** Thrown in place of the answer. */
  fault: unknown
}

export interface Asked {
  readonly method: string
  readonly params: object
}

/** Asks for what became of a call that the peer was given; nothing is begun. */
export const recallOf = (call: CallId): Asked => ({ method: 'recall', params: { call } })

/** An abort that came while the link was broken is sent after the call; the link itself would send neither. */
export function send(link: Link, { method, params, pending }: Asked & { readonly pending: Pending }) {
  const { signal } = pending.watcher
  if (!signal?.aborted) return link.call(method, params, { on: pending.hear, signal })
  const late = new LightSignal()
  const asking = link.call(method, params, { on: pending.hear, signal: late })
  late.abort()
  return asking
}

/** The evaluations of one kernel, in the order in which they were asked for: the first is the one that runs. */
export class Evaluations {
  readonly #pending = new Set<Pending>()
  readonly #kernel: string

  constructor(kernel: string) {
    this.#kernel = kernel
  }

  get size(): number {
    return this.#pending.size
  }

  /** The first that was asked for and has not ended. */
  get running(): CallId | undefined {
    const [running] = this.#pending
    return running?.call
  }

  add(call: CallId, watcher: Watcher): Pending {
    const pending: Pending = {
      call,
      watcher,
      fault: undefined,
      hear: event => {
        try {
          watcher.on?.(parseAnswer(evalEvent, event, `An event of ${this.#kernel}`))
        } catch (error) {
          pending.fault ??= error
        }
      },
    }
    this.#pending.add(pending)
    return pending
  }

  remove(pending: Pending): void {
    this.#pending.delete(pending)
  }

  /** Gives text of the process's own descriptors to the evaluation that runs; false if there is none. */
  hearOutput(stream: Stream, text: string): boolean {
    const [running] = this.#pending
    const event: EvalEvent = { type: 'output', stream, text }
    running?.watcher.on?.(event)
    return running !== undefined
  }

  /** Serves `ask`: puts a question of running code to whoever asked for the evaluation. */
  async ask(params: unknown): Promise<{ answer: string }> {
    const asked = askParams.safeParse(params)
    if (!asked.success) throw new Refusal('invalid_params', 'ask takes {call, question}')
    const { call, question } = asked.data
    for (const pending of this.#pending) {
      if (pending.call !== call) continue
      if (pending.watcher.ask === undefined) throw new Refusal('refused', 'Nobody can answer here.')
      return { answer: await answerOf(pending.watcher.ask(question)) }
    }
    throw new Refusal('unknown_call', `No evaluation ${call} is waiting for an answer.`)
  }
}

async function answerOf(answer: Promise<string>): Promise<string> {
  try {
    return await answer
  } catch (error) {
    throw new Refusal('refused', error instanceof Error ? error.message : String(error))
  }
}
