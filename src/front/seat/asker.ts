import { oneLine } from '../../../tools/wording.ts'
import type { Printer } from '../print.ts'
import type { SeatWanted } from '../protocol.ts'
import { askHunks } from './hunk-question.ts'
import { type LineQuestion, type LineTerminal, ownText, type Posed, printOwn } from './line-question.ts'
import type { OpenSeat, SeatTold } from './open-seat.ts'
import { askPlan } from './plan-question.ts'
import { type Question, Questions } from './questions.ts'
import { askSeat, askTrouble } from './seat-question.ts'

export { whyNot } from './line-question.ts'

export interface AskerOptions extends Pick<LineTerminal, 'typing' | 'terminal' | 'edit'> {
  readonly printer: Printer
}

/** Puts before a person, line by line, what comes to a seat. */
export interface Asker {
  tell(told: SeatTold): void
  admit(wanted: SeatWanted): Promise<boolean>
  /** Asks, until the person leaves the seat or `over` aborts. */
  run(seat: OpenSeat, over: AbortSignal): Promise<void>
}

export function openAsker({ printer, ...terminal }: AskerOptions): Asker {
  return new LineAsker({ ...terminal, print: text => printer.out(text) })
}

/** What is asked now. */
interface Standing {
  readonly question: Question
  readonly withdrawn: AbortController
  /** Why it needs no answer any more. */
  why?: string
}

class LineAsker implements Asker {
  readonly #line: LineTerminal
  readonly #questions = new Questions()
  #standing: Standing | undefined

  constructor(line: LineTerminal) {
    this.#line = line
  }

  tell = (told: SeatTold): void => {
    if (told.type === 'plan') this.#put({ type: 'plan', id: told.plan.id, plan: told.plan, draft: {} })
    else if (told.type === 'settled') this.#settled(told.id, told.why)
    else if (told.type === 'notice') this.#say(`! ${oneLine(told.text)}`)
    else {
      const names = told.seats.map(({ seat, who }) => `${seat}, ${who}`).join('; ')
      this.#say(`There is a seat already. Waiting up to a minute to be let in by: ${oneLine(names)}`)
    }
  }

  admit = (wanted: SeatWanted): Promise<boolean> =>
    new Promise(settle => this.#put({ type: 'seat', id: wanted.id, wanted, settle }))

  run = async (seat: OpenSeat, over: AbortSignal): Promise<void> => {
    const { trouble } = seat
    if (trouble !== null) this.#put({ type: 'trouble', id: 'trouble', trouble })
    const ended = AbortSignal.any([over, this.#line.typing.left])
    for (;;) {
      const question = await this.#questions.next(ended)
      if (question === undefined) return
      const posed = await this.#pose(question, { seat, over })
      if (posed === 'left') return
      if (posed === 'next' || posed === 'previous') this.#questions.putBack(question, posed)
    }
  }

  #say(text: string): void {
    this.#line.typing.say(ownText(text.split('\n'), this.#line.terminal))
  }

  /** One that is asked now stands as it was shown; what there is to say of it anew is said. */
  #put(question: Question): void {
    if (question.type === 'plan' && question.id === this.#standing?.question.id)
      this.#say(question.plan.warnings.map(warning => `! ${oneLine(warning)}`).join('\n'))
    else this.#questions.put(question)
  }

  #settled(id: string, why: string): void {
    const gone = this.#questions.remove(id)
    if (gone?.type === 'seat') gone.settle(false)
    if (gone?.type === 'plan') this.#say(overText(id, why))
    if (this.#standing?.question.id !== id) return
    this.#standing.why = why
    this.#standing.withdrawn.abort()
  }

  async #pose(
    question: Question,
    { seat, over }: { readonly seat: OpenSeat; readonly over: AbortSignal },
  ): Promise<Posed> {
    const withdrawn = new AbortController()
    const stop = () => withdrawn.abort()
    const standing: Standing = { question, withdrawn }
    over.addEventListener('abort', stop)
    this.#standing = standing
    try {
      const posed = await ask(question, this.#placed(seat, withdrawn.signal))
      if (posed === 'dropped' && standing.why !== undefined)
        printOwn([overText(question.id, standing.why)], this.#line)
      return posed
    } finally {
      this.#standing = undefined
      over.removeEventListener('abort', stop)
    }
  }

  /** A question, with what else waits by then. */
  #placed(seat: OpenSeat, drop: AbortSignal): LineQuestion {
    const questions = this.#questions
    return {
      ...this.#line,
      seat,
      drop,
      together: turn => questions.ofTurn(turn),
      get others() {
        return questions.some
      },
      answered: plan => void questions.remove(plan),
    }
  }
}

const overText = (id: string, why: string) => `${id} needs no answer any more: ${oneLine(why)}`

function ask(question: Question, at: LineQuestion): Promise<Posed> {
  switch (question.type) {
    case 'plan':
      return question.plan.hunks.length > 0 ? askHunks(question.plan, at) : askPlan(question, at)
    case 'seat':
      return askSeat(question, at)
    case 'trouble':
      return askTrouble(question.trouble, at)
    default:
      return question satisfies never
  }
}
