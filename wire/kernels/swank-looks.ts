import { LOOK_ANSWERS } from '../contract/looks.ts'
import type { CallId, Look, Looked, LookName, Looks } from '../kernel.ts'
import { parseAnswer, underDeadline } from './answers.ts'
import type { Pulse } from './pulse.ts'
import { queryArguments } from './swank-encoding.ts'
import type { Turn, Turns } from './swank-evaluations.ts'
import { type InterruptSeen, interruptSeen } from './swank-interrupt.ts'
import { type SwankLine, TIMED_OUT } from './swank-line.ts'
import type { Suspended } from './swank-suspended.ts'

/** How long the image has to take down that a call is to stop, in ms. */
const ASK_MS = 2_000

interface LooksOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  readonly line: SwankLine
  readonly turns: Turns
  readonly suspended: Suspended
  readonly pulse: Pulse
  /** Whether the image hears anything while code runs. */
  readonly hears: boolean
}

type Found<Name extends LookName> = Looked<Looks[Name]['found']>

/** Looking at one image, under deadlines. Throws what `SwankLine.within` does, and `MESSAGE_INVALID`. */
export class SwankLooks {
  readonly #options: LooksOptions

  constructor(options: LooksOptions) {
    this.#options = options
  }

  async look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Found<Name>> {
    const { line, turns, suspended, hears } = this.#options
    if (turns.running !== undefined && !hears) return busyWith(turns.running)
    const found = await this.#answered(name, line.call(name, queryArguments(query, look)), look)
    suspended.looked(name, found)
    return found
  }

  /** Has the image interrupt one call, and no other. Undefined where it lives and does not answer in time. */
  async askToStop(call: CallId, how: 'stop' | 'leave'): Promise<InterruptSeen | undefined> {
    const { name, line } = this.#options
    const answer = await line.within('interrupt', { call, how }, { deadlineMs: ASK_MS })
    if (answer === TIMED_OUT) return undefined
    return parseAnswer(interruptSeen, answer, `What ${name} answered to interrupt`)
  }

  async #answered<Name extends LookName>(
    name: Name,
    answer: Promise<unknown>,
    look: Look,
  ): Promise<Found<Name>> {
    const { line, pulse } = this.#options
    const { deadlineMs } = look
    pulse.begin()
    try {
      const told = await line.limited(name, answer, look)
      if (told === TIMED_OUT) return { type: 'timed_out', deadline_ms: deadlineMs }
      const found = parseAnswer(LOOK_ANSWERS[name], told, `What ${this.#options.name} answered to ${name}`)
      return underDeadline(found, deadlineMs)
    } finally {
      pulse.end()
    }
  }
}

const busyWith = (turn: Turn) => ({ type: 'busy', call: turn.call, elapsed_ms: turn.elapsedMs }) as const
