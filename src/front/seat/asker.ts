import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import type { SeatWanted } from '../protocol.ts'
import type { Printer } from '../terminal.ts'
import { askHunks } from './hunk-question.ts'
import {
  type LineQuestion,
  type LineTerminal,
  ownText,
  type Posed,
  printOwn,
  yesOrNo,
} from './line-question.ts'
import type { OpenSeat, SeatTold } from './open-seat.ts'
import { askPlan } from './plan-question.ts'

export { whyNot } from './line-question.ts'

/** A question that a person is asked, one after the other in the order in which they came. */
type Question =
  | { readonly type: 'plan'; readonly id: string; readonly plan: ShownPlan }
  | { readonly type: 'seat'; readonly id: string; readonly wanted: SeatWanted; settle(admit: boolean): void }
  | { readonly type: 'trouble'; readonly id: 'trouble'; readonly trouble: string }

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

/** What is asked now. */
interface Standing {
  readonly question: Question
  readonly withdrawn: AbortController
  /** Why it needs no answer any more. */
  why?: string
}

export function openAsker({ typing, printer, ...rest }: AskerOptions): Asker {
  const line: LineTerminal = { typing, print: text => printer.out(text), ...rest }
  const questions: Question[] = []
  let wake = () => {}
  let asking: Standing | undefined

  const say = (text: string) => typing.say(ownText(text.split('\n'), rest.terminal))

  function put(question: Question) {
    const { plan } = question.type === 'plan' ? question : {}
    if (plan !== undefined && plan.id === asking?.question.id)
      return say(plan.warnings.map(warning => `! ${oneLine(warning)}`).join('\n'))
    const known = questions.findIndex(({ id }) => id === question.id)
    if (known < 0) questions.push(question)
    else questions[known] = question
    wake()
  }

  function settled(id: string, why: string) {
    const index = questions.findIndex(question => question.id === id)
    const [gone] = index < 0 ? [] : questions.splice(index, 1)
    if (gone?.type === 'seat') gone.settle(false)
    if (gone?.type === 'plan') say(`${id} needs no answer any more: ${oneLine(why)}`)
    if (asking?.question.id !== id) return
    asking.why = why
    asking.withdrawn.abort()
  }

  async function next(over: AbortSignal): Promise<Question | undefined> {
    const stop = () => wake()
    over.addEventListener('abort', stop)
    typing.left.addEventListener('abort', stop)
    while (questions.length === 0 && !over.aborted && !typing.left.aborted)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    over.removeEventListener('abort', stop)
    typing.left.removeEventListener('abort', stop)
    return over.aborted || typing.left.aborted ? undefined : questions.shift()
  }

  async function pose(question: Question, seat: OpenSeat, over: AbortSignal): Promise<Posed> {
    const withdrawn = new AbortController()
    const stop = () => withdrawn.abort()
    const standing: Standing = { question, withdrawn }
    over.addEventListener('abort', stop)
    asking = standing
    try {
      const posed = await ask(question, placed(seat, withdrawn.signal))
      if (posed === 'dropped' && standing.why !== undefined)
        printOwn([`${question.id} needs no answer any more: ${oneLine(standing.why)}`], line)
      return posed
    } finally {
      asking = undefined
      over.removeEventListener('abort', stop)
    }
  }

  /** A question, with what else waits by then. */
  const placed = (seat: OpenSeat, drop: AbortSignal): LineQuestion => ({
    ...line,
    seat,
    drop,
    together: turn =>
      questions.flatMap(one => (one.type === 'plan' && one.plan.turn === turn ? [one.plan] : [])),
    get others() {
      return questions.length > 0
    },
    answered(plan) {
      const at = questions.findIndex(({ id }) => id === plan)
      if (at >= 0) questions.splice(at, 1)
    },
  })

  function ask(question: Question, at: LineQuestion): Promise<Posed> {
    switch (question.type) {
      case 'plan':
        return question.plan.hunks.length > 0 ? askHunks(question.plan, at) : askPlan(question.plan, at)
      case 'seat':
        return askSeat(question, at)
      case 'trouble':
        return askTrouble(question.trouble, at)
      default:
        return question satisfies never
    }
  }

  async function askSeat(
    { wanted, settle }: Extract<Question, { type: 'seat' }>,
    at: LineQuestion,
  ): Promise<Posed> {
    const [who, command] = [oneLine(wanted.who), oneLine(wanted.command)]
    printOwn(['', `==== Somebody else wants to approve, too: ${who}`, `  started with: ${command}`], at)
    const said = await yesOrNo('Is that you? Let it? [y]es [n]o ', at)
    if (said !== 'left') settle(said === 'yes')
    return said === 'yes' || said === 'no' ? 'done' : said
  }

  async function askTrouble(trouble: string, at: LineQuestion): Promise<Posed> {
    printOwn(['', `==== Dangerous calls are refused: ${oneLine(trouble)}`], at)
    const said = await yesOrNo('Take note of that, and let them be asked for again? [y]es [n]o ', at)
    if (said === 'yes') {
      await at.seat.acknowledge()
      say('Noted, and written down.')
    }
    return said === 'yes' || said === 'no' ? 'done' : said
  }

  return {
    tell(told) {
      if (told.type === 'plan') put({ type: 'plan', id: told.plan.id, plan: told.plan })
      else if (told.type === 'settled') settled(told.id, told.why)
      else if (told.type === 'notice') say(`! ${oneLine(told.text)}`)
      else {
        const names = told.seats.map(({ seat, who }) => `${seat}, ${who}`).join('; ')
        say(`There is a seat already. Waiting up to a minute to be let in by: ${oneLine(names)}`)
      }
    },
    admit: wanted =>
      new Promise(settle => {
        put({ type: 'seat', id: wanted.id, wanted, settle })
      }),
    async run(seat, over) {
      if (seat.trouble !== null) put({ type: 'trouble', id: 'trouble', trouble: seat.trouble })
      for (;;) {
        const question = await next(over)
        if (question === undefined) return
        const posed = await pose(question, seat, over)
        if (posed === 'left') return
        // Looked at again once the others were, or as soon as the one before it was.
        if (posed === 'next') questions.push(question)
        else if (posed === 'previous') questions.splice(0, 0, ...questions.splice(-1), question)
      }
    },
  }
}
